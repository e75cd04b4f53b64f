// Rows of an answer -> the lines of a chart: time across, numbers up, a line for each group of the other columns.
const MOST = 12;

/** `times` in seconds, `series` with labels and values, and how many groups were left out. Null without a time or number. */
export function seriesOf(columns, rows) {
  const when = columns.find((one) => one.name === 'tick') ?? columns.find((one) => one.type === 'TIME');
  // A sensor is one line, whatever words its rows have.
  const names = columns.filter((one) => one !== when && one.type !== 'FLOAT' && (one.name === 'id' || one.type === 'STRING' || one.name.endsWith('_id')));
  const sensors = names.filter((one) => one.name === 'id' || one.name.endsWith('_id'));
  const keys = sensors.length ? sensors : names;
  const numbers = columns.filter((one) => ['INT', 'FLOAT'].includes(one.type) && !names.includes(one));
  if (!when || !numbers.length || !rows.length) return null;
  const measured = numbers.slice(0, keys.length ? 1 : 6);
  const lines = new Map();
  let left = 0;
  for (const row of rows) {
    const at = Date.parse(row[when.name]) / 1000;
    if (Number.isNaN(at)) continue;
    for (const column of measured) {
      const group = keys.map((key) => row[key.name]).join(' ');
      const label = keys.length ? group || column.name : column.name;
      if (!lines.has(label)) {
        if (lines.size >= MOST) {
          left++;
          continue;
        }
        lines.set(label, new Map());
      }
      lines.get(label).set(at, row[column.name]);
    }
  }
  const times = [...new Set([...lines.values()].flatMap((line) => [...line.keys()]))].sort((a, b) => a - b);
  const shown = keys.length ? shortened([...lines.keys()]) : [...lines.keys()];
  const series = [...lines.values()].map((line, place) => ({ label: shown[place], values: times.map((at) => line.get(at) ?? null) }));
  const { name, unit } = measured[0];
  return { times, series, unit: [keys.length && name, unit].filter(Boolean).join(', '), name, left };
}

const LONGEST = 26;
/** Labels without what all of them begin with, up to a sign; a long one keeps its two ends. Two never become one. */
export function shortened(labels) {
  const common = labels.reduce((one, other) => {
    let at = 0;
    while (at < one.length && one[at] === other[at]) at++;
    return one.slice(0, at);
  });
  const cut = labels.length > 1 ? common.search(/[^\p{L}\p{N}][\p{L}\p{N}]*$/u) + 1 : 0;
  const short = labels.map((label) => label.slice(cut)).map((label) => (label.length > LONGEST ? `${label.slice(0, 16)}…${label.slice(-9)}` : label));
  return new Set(short).size === labels.length ? short : labels;
}
