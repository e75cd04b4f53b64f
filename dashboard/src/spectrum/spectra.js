// The spectra of boxes, by ordinary queries over the views of examples/baggage: `decided`, `nets` and the table `library`.
import { post } from '../lib/api.js';

export const WIDTH = 2; // keV a bin, as the view `spectra` has it
export const SIGMA = 3; // how far a peak stands out; a box has few counts at first
const FIRST = 1; // the energy of the middle of the first bin

const ask = async (sql, parameters = {}) => (await post('query', { sql, parameters, live: false })).rows;

/** The last decision about each box, in the order of their names. */
export async function boxes() {
  const rows = await ask('SELECT id, decision, label, evidence, seconds, bursts FROM decided');
  return [...new Map(rows.map((row) => [row.id, row])).values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** What a box has shown by now: counts, background, peaks, and what its label would look like. */
export async function spectrumOf(box) {
  const sql = `SELECT id, seconds, spectrum, net, peaks(spectrum, ${FIRST}, ${WIDTH}, ${SIGMA}) AS peaks FROM nets WHERE id = box`;
  const rows = await ask(sql, { box: box.id });
  const last = rows[rows.length - 1];
  if (!last) return null;
  const background = last.spectrum.map((count, bin) => count - last.net[bin]);
  const examples = box.decision === 'hazard' ? await ask('SELECT features FROM library WHERE label = wanted', { wanted: box.label }) : [];
  return { ...last, background, matched: matched(last.net, background, examples[examples.length - 1]?.features) };
}

/** The background and as much of an example as fits the net counts best, by least squares; null without an example. */
function matched(net, background, example) {
  if (!example) return null;
  const dot = (a, b) => a.reduce((sum, value, place) => sum + value * b[place], 0);
  const share = Math.max(dot(net, example) / dot(example, example), 0);
  return background.map((count, bin) => count + share * example[bin]);
}
