// Phenomena on the map: any standing query whose answers have a region (WKT), such as PHENOMENA(p) or CURRENT(p).
import { get } from '../lib/api.js';
import { micros } from '../lib/format.js';
import { answersAt } from '../queries/answers-at.js';

const KEPT = 2000;
export const hasRegions = (query) => query.columns.some((one) => one.name === 'region') && query.columns.some((one) => one.name === 'id');

/** The rings of a POLYGON or MULTIPOLYGON: arrays of [x, y]. */
export const ringsOf = (wkt) =>
  [...String(wkt ?? '').matchAll(/\(([^()]+)\)/g)].map(([, ring]) => ring.split(',').map((pair) => pair.trim().split(/\s+/).map(Number)));

/** The phenomena that there are after these rows: the last row of each, its rings, and where its middle has been. */
export function phenomenaOf(rows) {
  const found = new Map();
  const when = (row) => micros(row.tick ?? row.time);
  const last = rows.length ? Math.max(...rows.map(when)) : 0;
  for (const row of rows) {
    const before = found.get(row.id);
    const trail = [...(before?.trail ?? []), row.location].filter(Boolean).slice(-40);
    if (row.kind === 'DISAPPEAR') found.delete(row.id);
    else found.set(row.id, { ...row, trail, rings: ringsOf(row.region), at: when(row) });
  }
  // Without kinds, as in CURRENT, those of the last evaluation are there.
  const all = [...found.values()];
  return rows.some((row) => 'kind' in row) ? all : all.filter((one) => one.at === last);
}

/** The phenomena of a query now, or at a moment. */
export async function phenomenaAt(query, at, signal) {
  const path = `queries/${encodeURIComponent(query.name)}/results`;
  const found = at == null ? await get(`${path}?from=${Math.max(0, query.rows - KEPT)}&limit=${KEPT}`, { signal }) : await answersAt(path, at, KEPT, query.rows, signal);
  return phenomenaOf(found.rows);
}

/** A standing query over ARRIVALS: which sensors a phenomenon will reach, and after how many seconds. */
export const hasArrivals = (query) => ['sensor', 'at', 'seconds'].every((name) => query.columns.some((one) => one.name === name));

/** By sensor, the seconds until it is reached, as the last evaluation of the query says. */
export async function arrivalsAt(query, at, signal) {
  const path = `queries/${encodeURIComponent(query.name)}/results`;
  const found = at == null ? await get(`${path}?from=${Math.max(0, query.rows - KEPT)}&limit=${KEPT}`, { signal }) : await answersAt(path, at, KEPT, query.rows, signal);
  const when = (row) => micros(row.tick ?? row.time);
  const last = found.rows.length ? Math.max(...found.rows.map(when)) : 0;
  const soon = new Map();
  for (const row of found.rows) {
    const sensor = String(row.sensor);
    if (when(row) === last && !(soon.get(sensor) <= row.seconds)) soon.set(sensor, row.seconds);
  }
  return soon;
}
