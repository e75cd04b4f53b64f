// Numbers, times and sizes as people read them.

const pad = (number, width = 2) => String(number).padStart(width, '0');

/** Microseconds since 1970 -> 2026-03-01 06:00:00 (UTC, as in all of Nilometer). */
export function time(micros, { date = true, seconds = true } = {}) {
  if (micros == null) return '–';
  const at = new Date(micros / 1000);
  const day = `${at.getUTCFullYear()}-${pad(at.getUTCMonth() + 1)}-${pad(at.getUTCDate())}`;
  const clock = `${pad(at.getUTCHours())}:${pad(at.getUTCMinutes())}${seconds ? ':' + pad(at.getUTCSeconds()) : ''}`;
  return date ? `${day} ${clock}` : clock;
}

export const iso = (micros) => new Date(Math.floor(micros / 1000)).toISOString().replace(/\.(\d{3})Z$/, (_, ms) => `.${ms}${pad(Math.floor(micros) % 1000, 3)}Z`);
export const micros = (text) => {
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : at * 1000;
};

/** The labels of a time axis: seconds since 1970 -> 06:15, with the day where it changes. `step` is the distance of two. */
export function ticks(seconds, step) {
  let day = '';
  return seconds.map((at) => {
    const text = time(at * 1e6);
    const changed = text.slice(0, 10) !== day;
    day = text.slice(0, 10);
    if (step >= 86_400) return day;
    const clock = step >= 60 ? text.slice(11, 16) : text.slice(11, 19);
    return changed ? `${clock}\n${day}` : clock;
  });
}

const UNITS = [[86_400, 'd'], [3_600, 'h'], [60, 'min'], [1, 's']];
export function duration(seconds) {
  if (seconds == null) return '–';
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  const [size, unit] = UNITS.find(([size]) => seconds >= size);
  const value = seconds / size;
  return `${value >= 10 ? Math.round(value) : Math.round(value * 10) / 10} ${unit}`;
}
export const ago = (micros) => (micros < 1e6 ? 'just now' : `${duration(micros / 1e6)} ago`);

export function bytes(count) {
  if (count == null) return '–';
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  let at = 0;
  for (; count >= 1024 && at < 3; at++) count /= 1024;
  return `${at && count < 10 ? count.toFixed(1) : Math.round(count)} ${units[at]}`;
}

export const whole = (count) => (count == null ? '–' : Math.round(count).toLocaleString('en-US'));
export function number(value) {
  if (value == null) return '–';
  if (typeof value !== 'number') return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e7) return value.toLocaleString('en-US');
  const size = Math.abs(value);
  if (size && (size >= 1e7 || size < 1e-3)) return value.toExponential(2);
  return size >= 1000 ? value.toLocaleString('en-US', { maximumFractionDigits: 1 }) : String(Number(value.toPrecision(4)));
}
/** A share in percent. Only none is 0 %, and only all is 100 %. */
export function percent(share) {
  if (share == null) return '–';
  if (share > 0 && share < 0.0005) return '<\u00a00.1\u00a0%';
  if (share < 1 && share >= 0.9995) return '>\u00a099.9\u00a0%';
  return `${(100 * share).toFixed((share > 0.95 && share < 1) || (share > 0 && share < 0.1) ? 1 : 0)} %`;
}
export const rate = (perSecond) => (perSecond == null ? '–' : perSecond >= 1 || !perSecond ? `${number(Math.round(perSecond * 10) / 10)}/s` : `${number(Math.round(perSecond * 600) / 10)}/min`);

/** A cell of a table of answers. */
export function cell(value, type) {
  if (value == null) return '';
  if (type === 'TIME') return String(value).replace('T', ' ').replace(/(\.\d+)?Z$/, (_, part) => (part ? part.slice(0, 4) : ''));
  if (typeof value === 'object') return JSON.stringify(value);
  return typeof value === 'number' ? number(value) : String(value);
}
