// Places -> metres or units of a plane, with y upwards. WGS84 is Mercator's projection, as on the maps that people know.
const EARTH = 6_378_137;

export const forward = (wgs84) =>
  wgs84 ? (x, y) => [(EARTH * x * Math.PI) / 180, EARTH * Math.log(Math.tan(Math.PI / 4 + (Math.max(-85, Math.min(85, y)) * Math.PI) / 360))] : (x, y) => [x, y];
export const backward = (wgs84) =>
  wgs84 ? (x, y) => [((x / EARTH) * 180) / Math.PI, ((2 * Math.atan(Math.exp(y / EARTH)) - Math.PI / 2) * 180) / Math.PI] : (x, y) => [x, y];

/** Round numbers between two ends, about `count` of them. */
export function ticks(low, high, count) {
  const raw = (high - low) / count;
  const size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * size).find((one) => one >= raw);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high; at += step) found.push(Number(at.toPrecision(10)));
  return found;
}
