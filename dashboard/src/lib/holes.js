// Where a line breaks: between two values that are much further apart than its values usually are.
const FACTOR = 6;

/** Pairs of places in `times`, between which there is no line. */
export function holes(times, values) {
  const known = [];
  for (let at = 0; at < times.length; at++) if (values[at] != null) known.push(at);
  if (known.length < 3) return [];
  const steps = known.slice(1).map((at, place) => times[at] - times[known[place]]);
  const usual = [...steps].sort((a, b) => a - b)[Math.floor(steps.length / 2)];
  return steps.flatMap((step, place) => (step > FACTOR * usual ? [[known[place], known[place + 1]]] : []));
}

/** The places of values with a break on both sides: a line does not show them, a point does. */
export function alone(times, values) {
  const [begins, ends] = [new Set(), new Set()];
  for (const [from, to] of holes(times, values)) {
    ends.add(from);
    begins.add(to);
  }
  const known = times.map((_, at) => at).filter((at) => values[at] != null);
  return known.filter((at, place) => (begins.has(at) || place === 0) && (ends.has(at) || place === known.length - 1));
}
