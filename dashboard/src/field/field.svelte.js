// The sensors of one stream: places, newest values and times, kept in arrays; asks the server for what has changed.
import { get } from '../lib/api.js';
import { iso } from '../lib/format.js';

export const STATUSES = ['live', 'slow', 'silent', 'asleep', 'unknown'];

export class Field {
  version = $state(0); // goes up whenever there is something new to draw
  loading = $state(true);
  problem = $state(null);
  columns = $state.raw([]);
  numeric = $state.raw([]);
  counts = $state.raw({});
  ids = [];
  x = [];
  y = [];
  attributes = [];
  time = [];
  values = {};
  status = [];
  wgs84 = false;
  complete = true;
  finite = false;
  moves = 0; // goes up whenever a sensor has another place
  #index = new Map();
  #after = null;
  #clock = null; // the server's time, less ours
  #about = null;
  #asleep = new Set();
  #placed = null;

  constructor(stream) {
    this.stream = stream;
  }

  get now() {
    return this.#about?.at ?? (this.#clock == null ? Date.now() * 1000 : Date.now() * 1000 + this.#clock);
  }
  find(id) {
    return this.#index.get(String(id));
  }

  /** The whole field: as it is now, or as it was. */
  async load(at, signal) {
    try {
      const when = at == null ? '' : `&at=${encodeURIComponent(iso(at))}`;
      const found = await get(`field?stream=${encodeURIComponent(this.stream)}${when}`, { signal });
      this.problem = null;
      this.columns = found.columns;
      this.wgs84 = found.coordinates === 'WGS84';
      const hidden = new Set(['time', 'id']);
      this.numeric = found.columns.filter((one) => ['FLOAT', 'INT', 'BOOLEAN'].includes(one.type) && !hidden.has(one.name.toLowerCase()));
      this.#placed = found.columns.find((one) => one.type === 'POINT')?.name ?? null;
      this.ids = [];
      this.x = [];
      this.y = [];
      this.attributes = [];
      this.time = [];
      this.status = [];
      this.values = Object.fromEntries(found.columns.map((one) => [one.name, []]));
      this.#index = new Map();
      this.moves++;
      const { id, x, y, attributes } = found.sensors;
      for (let place = 0; place < id.length; place++) {
        const at = this.#add(id[place]);
        this.x[at] = x[place];
        this.y[at] = y[place];
        this.attributes[at] = attributes[place];
      }
      this.#take(found);
    } catch (error) {
      if (error.name !== 'AbortError') this.problem = error.body ?? { detail: error.message };
    } finally {
      this.loading = false;
    }
  }

  /** What came since the last time. */
  async poll(signal) {
    if (this.#after == null || this.finite) return;
    try {
      this.#take(await get(`field?stream=${encodeURIComponent(this.stream)}&after=${this.#after}`, { signal }));
    } catch (error) {
      if (error.body?.status === 404) this.problem = error.body;
    }
  }

  #add(id) {
    const known = this.#index.get(id);
    if (known !== undefined) return known;
    this.moves++;
    const at = this.ids.push(id) - 1;
    this.#index.set(id, at);
    this.x[at] = this.y[at] = null;
    this.attributes[at] = {};
    this.time[at] = null;
    for (const name in this.values) this.values[name][at] = null;
    return at;
  }

  #take(found) {
    this.#about = found;
    this.#after = found.at == null ? found.position : null;
    this.#clock = found.now - Date.now() * 1000;
    this.finite = found.finite;
    this.complete = found.complete;
    this.#asleep = new Set(found.asleep);
    for (let place = 0; place < found.id.length; place++) {
      const at = this.#add(found.id[place]);
      this.time[at] = found.time[place];
    }
    for (const name in found.values) {
      const column = (this.values[name] ??= []);
      const given = found.values[name];
      for (let place = 0; place < given.length; place++) column[this.#index.get(found.id[place])] = given[place];
    }
    if (this.#placed && found.values[this.#placed]) {
      this.moves++;
      found.values[this.#placed].forEach((point, place) => {
        const at = this.#index.get(found.id[place]);
        if (point) [this.x[at], this.y[at]] = point;
      });
    }
    this.look(found.id.length > 0 || found.sensors != null);
  }

  /** Which sensors are live, slow, silent or asleep now. Without a change there is nothing to draw. */
  look(changed = true) {
    const { slow_after: slow, silent_after: silent, slowed = {}, delay = 0 } = this.#about ?? {};
    const now = this.now;
    const counts = Object.fromEntries(STATUSES.map((name) => [name, 0]));
    const [sleeping, own] = [this.#asleep.size > 0, Object.keys(slowed).length > 0];
    const judged = slow != null && !this.finite;
    for (let at = 0; at < this.ids.length; at++) {
      let status = 'unknown';
      if (sleeping && this.#asleep.has(this.ids[at])) status = 'asleep';
      else if (judged) {
        const age = this.time[at] == null ? Infinity : now - this.time[at];
        // A sensor that was told to sample less often has more time: two intervals and five, as the server counts.
        const interval = own ? slowed[this.ids[at]] : undefined;
        const late = interval ? 2 * interval + delay : slow;
        const lost = interval ? 5 * interval + delay : silent;
        status = age <= late ? 'live' : age <= lost ? 'slow' : 'silent';
      }
      changed ||= this.status[at] !== status;
      this.status[at] = status;
      counts[status]++;
    }
    if (!changed) return;
    this.counts = counts;
    this.version++;
  }
}
