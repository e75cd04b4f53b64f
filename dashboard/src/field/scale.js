// Values -> steps of the colour scale. The ends are round numbers around nearly all values, and move only when they must.
import { STEPS } from '../lib/colours.js';

export function domainOf(values, before) {
  const known = values.filter((value) => typeof value === 'number' || typeof value === 'boolean').map(Number).sort((a, b) => a - b);
  if (!known.length) return before ?? [0, 1];
  const at = (share) => known[Math.min(known.length - 1, Math.floor(share * known.length))];
  let [low, high] = [at(0.01), at(0.99)];
  if (low === high) [low, high] = [low - 0.5, high + 0.5];
  if (before) {
    const width = before[1] - before[0];
    // Small changes would make all colours flicker.
    if (low >= before[0] - 0.02 * width && high <= before[1] + 0.02 * width && high - low > 0.4 * width) return before;
  }
  const step = 10 ** Math.floor(Math.log10((high - low) / 4));
  const nice = [1, 2, 5, 10].map((factor) => factor * step).find((size) => (high - low) / size <= 8) ?? step;
  return [Math.floor(low / nice) * nice, Math.ceil(high / nice) * nice].map((value) => Number(value.toPrecision(12)));
}

export const stepOf = (value, [low, high]) => Math.max(0, Math.min(STEPS - 1, Math.floor(((Number(value) - low) / (high - low)) * STEPS)));
