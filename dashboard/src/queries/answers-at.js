// The answers of a query up to a moment. They come in the order of their ticks, so the last one is found by bisection.
import { get } from '../lib/api.js';
import { micros } from '../lib/format.js';

export async function answersAt(path, at, most, total, signal) {
  const page = (from, limit) => get(`${path}?from=${from}&limit=${limit}`, { signal });
  if (!total) return { columns: [], rows: [] };
  const first = await page(0, 1);
  const when = (first.columns.find((one) => one.name === 'tick') ?? first.columns.find((one) => one.type === 'TIME'))?.name;
  if (!when) return { columns: first.columns, rows: [] };
  const later = async (place) => {
    const { rows } = await page(place, 1);
    return !rows.length || micros(rows[0][when]) > at;
  };
  if (micros(first.rows[0]?.[when]) > at) return { columns: first.columns, rows: [] };
  let low = 0;
  let high = total; // beyond the last answer there is nothing to ask for
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (await later(middle)) high = middle;
    else low = middle;
  }
  const begin = Math.max(0, high - most);
  const found = await page(begin, high - begin);
  return { columns: found.columns, rows: found.rows.filter((row) => micros(row[when]) <= at) };
}
