// What all pages share: the route, the theme, the lists of streams and queries, and the moment that is shown.
import { all, get, keepToken, token, whenUnauthorized } from './api.js';

const wanted = localStorage.getItem('nilometer-theme');
const dark = matchMedia('(prefers-color-scheme: dark)');

export const app = $state({
  page: 'field',
  argument: null,
  theme: wanted ?? (dark.matches ? 'dark' : 'light'),
  streams: [],
  queries: [],
  stream: null, // the stream of the map and of the time bar
  at: null, // microseconds; null is now
  locked: false, // the server wants a token
  offline: false,
  loaded: false, // the streams are known
  asked: false, // the queries are
  said: '', // for screen readers, and for a moment on the screen
});

// ---- route -----------------------------------------------------------------------------------------------------------

function route() {
  const [, page, ...rest] = location.hash.split('/');
  app.page = page || 'field';
  app.argument = rest.length ? decodeURIComponent(rest.join('/')) : null;
}
export const go = (page, argument) => (location.hash = `/${page}${argument ? '/' + encodeURIComponent(argument) : ''}`);
addEventListener('hashchange', route);
route();

// ---- theme -----------------------------------------------------------------------------------------------------------

const show = () => (document.documentElement.dataset.theme = app.theme);
export function toggleTheme() {
  app.theme = app.theme === 'dark' ? 'light' : 'dark';
  localStorage.setItem('nilometer-theme', app.theme);
  show();
}
dark.addEventListener('change', () => {
  if (!localStorage.getItem('nilometer-theme')) {
    app.theme = dark.matches ? 'dark' : 'light';
    show();
  }
});
show();

// ---- what is declared, and how it does -------------------------------------------------------------------------------

whenUnauthorized(() => (app.locked = true));
export const unlock = (text) => {
  keepToken(text.trim());
  app.locked = false;
  refresh();
};
export const hasToken = () => token() !== null;

export const refresh = () => Promise.all([refreshStreams(), refreshQueries()]);

const attempt = (call) => async () => {
  if (app.locked) return;
  try {
    await call();
    app.offline = false;
  } catch (error) {
    app.offline = Boolean(error.body?.offline);
  }
};
export const refreshQueries = attempt(async () => {
  app.queries = await all('queries?limit=1000');
  app.asked = true;
});
export const refreshStreams = attempt(async () => {
  const streams = await all('streams?limit=1000');
  app.streams = streams;
  if (!streams.some((one) => one.name === app.stream)) {
    const busiest = [...streams].sort((a, b) => weight(b) - weight(a))[0];
    app.stream = busiest?.name ?? null;
  }
  app.loaded = true;
});
const weight = (stream) => (stream.sensors ? 1e6 : 0) + (stream.status ? 1e3 : 0) + stream.sensors;

/** Call now and every so many seconds while the page is seen. Returns what ends it. */
export function every(seconds, call) {
  let timer;
  let over = false;
  const turn = async () => {
    if (!document.hidden) await call();
    if (!over) timer = setTimeout(turn, 1000 * seconds);
  };
  turn();
  return () => {
    over = true;
    clearTimeout(timer);
  };
}

let silence;
export function say(text) {
  app.said = text;
  clearTimeout(silence);
  silence = setTimeout(() => (app.said = ''), 5_000);
}
export const streamOf = (name) => app.streams.find((one) => one.name === name);
export { get };
