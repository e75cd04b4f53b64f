// Statistics of a column -> a histogram of equal widths. The statistics have values that are common, and bounds that
// divide the others into parts of equal size.
export function binsOf(column, count = 30) {
  const common = column.common.filter(([value]) => typeof value === 'number');
  if (column.common.length && !common.length) return null;
  const ends = [...column.bounds, ...common.map(([value]) => value)];
  if (ends.length < 2) return null;
  const low = Math.min(...ends);
  const most = Math.max(...ends);
  // A few huge values would squeeze all others into one bar: the last bar takes them.
  const usual = column.bounds.length > 20 ? column.bounds[column.bounds.length - 2] : most;
  const high = most - low > 3 * (usual - low) && usual > low ? usual : most;
  if (low === high) return null;
  const width = (high - low) / count;
  const bins = new Array(count).fill(0);
  const bin = (value) => Math.min(count - 1, Math.floor((value - low) / width));
  for (const [value, share] of common) bins[bin(value)] += share;
  const rest = Math.max(0, 1 - column.nulls - column.common.reduce((sum, [, share]) => sum + share, 0));
  const parts = column.bounds.length - 1;
  for (let part = 0; part < parts; part++) {
    const [from, to] = [column.bounds[part], column.bounds[part + 1]];
    for (let at = bin(from); at <= bin(to); at++) {
      const overlap = Math.min(to, at === count - 1 ? Infinity : low + (at + 1) * width) - Math.max(from, low + at * width);
      bins[at] += (rest / parts) * (to > from ? Math.max(0, overlap) / (to - from) : at === bin(from) ? 1 : 0);
    }
  }
  const peak = Math.max(...bins);
  return peak ? { low, high, most, heights: bins.map((share) => share / peak) } : null;
}
