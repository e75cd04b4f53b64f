// The server's API: requests with the token, problems as errors, and server-sent events that resume.
// EventSource cannot send a token, so events are read from a fetch.

export const BASE = '/api/v1';
const KEY = 'nilometer-token';

let onUnauthorized = () => {};
export const whenUnauthorized = (call) => (onUnauthorized = call);
export const token = () => sessionStorage.getItem(KEY);
export const keepToken = (text) => (text ? sessionStorage.setItem(KEY, text) : sessionStorage.removeItem(KEY));

export class Problem extends Error {
  constructor(body) {
    super(body.detail ?? body.title ?? 'the server does not answer');
    this.body = body;
  }
}

async function send(path, { method = 'GET', body, type, accept = 'application/json', signal, headers = {} } = {}) {
  const sent = { Accept: accept, ...headers };
  if (token()) sent.Authorization = `Bearer ${token()}`;
  if (body !== undefined) sent['Content-Type'] = type ?? 'application/json';
  const data = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  let response;
  try {
    response = await fetch(path.startsWith('/') ? path : `${BASE}/${path}`, { method, body: data, headers: sent, signal });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Problem({ detail: 'the server does not answer', hint: 'is it still running?', offline: true });
  }
  if (response.status === 401) onUnauthorized();
  if (!response.ok) {
    const found = await response.json().catch(() => ({ detail: response.statusText }));
    throw new Problem({ status: response.status, ...found });
  }
  return response;
}

export const get = async (path, options) => (await send(path, options)).json();
export const post = async (path, body, options = {}) => (await send(path, { method: 'POST', body, ...options })).json();
export const put = async (path, body, options = {}) => (await send(path, { method: 'PUT', body, ...options })).json();
export const remove = async (path) => (await send(path, { method: 'DELETE' })).json();
export const respond = send;

/** All items of a list that has pages. */
export async function all(path) {
  const found = [];
  for (let next = path; next; ) {
    const page = await get(next);
    found.push(...page.items);
    next = page.next;
  }
  return found;
}

/** Save an answer as a file, in the form that `accept` names. */
export async function save(path, accept, name, options = {}) {
  const blob = await (await send(path, { accept, ...options })).blob();
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

async function* parsed(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split('\n\n');
    rest = parts.pop();
    for (const part of parts) {
      const event = {};
      for (const line of part.split('\n')) {
        const colon = line.indexOf(': ');
        if (colon > 0) event[line.slice(0, colon)] = line.slice(colon + 2);
      }
      if (event.event) yield { name: event.event, id: event.id, data: JSON.parse(event.data) };
    }
  }
}

/** Give every event to `take` until `end`, a problem, or the signal; a lost connection is resumed where it broke. */
export async function follow(path, take, { signal, method, body } = {}) {
  let last;
  let wait = 500;
  while (!signal.aborted) {
    try {
      const headers = last ? { 'Last-Event-ID': last } : {};
      const response = await send(path, { accept: 'text/event-stream', signal, headers, method, body });
      for await (const event of parsed(response)) {
        wait = 500;
        last = event.id ?? last;
        take(event);
        if (event.name === 'end' || event.name === 'problem') return;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Problem && !error.body.offline && error.body.status !== 503) {
        take({ name: 'problem', data: error.body });
        return;
      }
    }
    await new Promise((resume) => setTimeout(resume, wait));
    wait = Math.min(wait * 2, 8_000);
  }
}
