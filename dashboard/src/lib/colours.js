// The colours of values: even steps of lightness, so that they can be told apart without red and green. Much stands out
// and little recedes: on dark ground viridis without its dark end, on light ground from pale green to deep blue.
const rgb = (stops) => stops.map((text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16)));
const DARK = rgb(['#3f4a8a', '#355f8d', '#2a788e', '#21918c', '#22a884', '#44bf70', '#7ad151', '#bddf26', '#fde725']);
const LIGHT = rgb(['#d9eecb', '#b4dfc0', '#7dcbb9', '#45b2c0', '#268eb8', '#2266a8', '#233f90', '#1c1c62']);
export const STEPS = 64;

function mixed(stops, share) {
  const at = Math.min(share, 0.9999) * (stops.length - 1);
  const [low, high] = [stops[Math.floor(at)], stops[Math.floor(at) + 1]];
  return low.map((value, channel) => Math.round(value + (at % 1) * (high[channel] - value)));
}

/** STEPS colours as [r, g, b], for a theme. */
export function palette(dark) {
  return Array.from({ length: STEPS }, (_, step) => mixed(dark ? DARK : LIGHT, step / (STEPS - 1)));
}
export const css = ([r, g, b]) => `rgb(${r} ${g} ${b})`;

/** The lines of a chart. */
export const LINES = {
  light: ['#0d6e8a', '#c2410c', '#4d7c0f', '#7c3aed', '#be185d', '#0369a1', '#a16207', '#047857', '#6d28d9', '#b91c1c', '#475569', '#0f766e'],
  dark: ['#4cc3e0', '#fb923c', '#a3e635', '#c4b5fd', '#f472b6', '#7dd3fc', '#facc15', '#34d399', '#a78bfa', '#f87171', '#94a3b8', '#2dd4bf'],
};
