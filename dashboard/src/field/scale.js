// Values -> steps of the colour scale. The ends are round numbers around nearly all values, and move only when they must.
import { STEPS } from '../lib/colours.js';

const SAMPLED = 4096;

/** Of many values, each n-th is looked at: the ends of nearly all are the same. */
function knownOf(values) {
  const stride = Math.max(1, Math.floor(values.length / SAMPLED));
  const known = new Float64Array(Math.ceil(values.length / stride));
  let count = 0;
  for (let at = 0; at < values.length; at += stride) {
    const value = values[at];
    if (typeof value === 'number' || typeof value === 'boolean') known[count++] = Number(value);
  }
  return known.subarray(0, count).sort(); // numbers, by their size
}

export function domainOf(values, before) {
  const known = knownOf(values);
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

/** The step of each sensor at `at`; -1 without a value, and for those that are silent. `before` is used again if it fits. */
export function stepsOf(values, at, status, [low, high], before) {
  const steps = before.length === at.length ? before : new Int16Array(at.length);
  const factor = STEPS / (high - low);
  for (let place = 0; place < at.length; place++) {
    const value = values[at[place]];
    if (value == null || status[at[place]] === 'silent') steps[place] = -1;
    else steps[place] = Math.max(0, Math.min(STEPS - 1, Math.floor((Number(value) - low) * factor)));
  }
  return steps;
}
