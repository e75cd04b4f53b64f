// A stream -> queries that work on it, to begin with.

/** Titles and texts; none if the stream has no number. */
export function examplesOf(stream) {
  const named = (name) => (/^[a-z_][a-z0-9_]*$/i.test(name) ? name : `"${name}"`);
  const value = stream.columns.find((one) => one.type === 'FLOAT') ?? stream.columns.find((one) => one.type === 'INT' && one.name !== 'id');
  if (!value) return [];
  const [v, from] = [named(value.name), named(stream.name)];
  return [
    { title: 'The mean of each sensor over an hour', sql: `SELECT id, AVG(${v}) AS mean, MAX(${v}) AS most\nFROM ${from} [RANGE 1 HOUR SLIDE 15 MINUTES]\nGROUP BY id` },
    { title: 'The ten highest readings', sql: `SELECT time, id, ${v}\nFROM ${from}\nORDER BY ${v} DESC\nLIMIT 10` },
    { title: 'How many readings came, hour by hour', sql: `SELECT COUNT(*) AS readings, AVG(${v}) AS mean\nFROM ${from} [RANGE 1 HOUR SLIDE 1 HOUR]` },
    { title: 'Sensors that have fallen silent', sql: `SELECT *\nFROM SILENT(${from}, 10 MINUTES)` },
    { title: 'An alert: above a bound for two minutes', sql: `CREATE ALERT too_high\n  WHEN (SELECT time, id, ${v} FROM ${from} WHERE ${v} > 100)\n  THEN 'mailto:you@example.org' GROUP BY id DEBOUNCE 2 MINUTES` },
  ];
}
