// Thousands of sensors -> one picture of squares, made in an array of pixels and drawn by one call. A call of the canvas for
// each of them would take most of an update.
const sheet = document.createElement('canvas');
let context = null;
let image = null;
let pixels = null; // the image as one number a pixel

const WORD = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1; // the lowest byte comes first
/** A colour as the number of an opaque pixel. */
export const pixelOf = ([r, g, b]) => (WORD ? (255 << 24) | (b << 16) | (g << 8) | r : (r << 24) | (g << 16) | (b << 8) | 255) >>> 0;
/** #rrggbb -> [r, g, b] */
export const rgbOf = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

/** Draw `side` wide squares around (x0 + xs * scale, y0 - ys * scale), all in pixels of the device. `steps` are places in
 * `colours`; those below 0 have the colour `none`, and lie below the others. `bounds` are those of xs and ys. */
export function drawDots(target, width, height, { xs, ys, steps, bounds, x0, y0, scale, side, colours, none }) {
  if (!image || image.width !== width || image.height !== height) {
    [sheet.width, sheet.height] = [width, height];
    context = sheet.getContext('2d', { willReadFrequently: true }); // it stays in memory, where it is written
    image = context.createImageData(width, height);
    pixels = new Uint32Array(image.data.buffer);
  }
  // Only the part of the picture that has squares is emptied, written and drawn.
  const west = Math.max(0, Math.floor(x0 + bounds[0] * scale - side));
  const east = Math.min(width, Math.ceil(x0 + bounds[2] * scale + side));
  const north = Math.max(0, Math.floor(y0 - bounds[3] * scale - side));
  const south = Math.min(height, Math.ceil(y0 - bounds[1] * scale + side));
  if (east <= west || south <= north) return;
  for (let row = north; row < south; row++) pixels.fill(0, row * width + west, row * width + east);
  const half = side / 2;
  for (const known of [false, true]) {
    for (let at = 0; at < xs.length; at++) {
      const step = steps[at];
      if (step >= 0 !== known) continue;
      const left = Math.round(x0 + xs[at] * scale - half);
      const top = Math.round(y0 - ys[at] * scale - half);
      const right = Math.min(left + side, width);
      const bottom = Math.min(top + side, height);
      const colour = known ? colours[step] : none;
      for (let row = Math.max(top, 0); row < bottom; row++) {
        const begin = row * width;
        for (let column = Math.max(left, 0); column < right; column++) pixels[begin + column] = colour;
      }
    }
  }
  const size = [east - west, south - north];
  context.putImageData(image, 0, 0, west, north, ...size);
  target.drawImage(sheet, west, north, ...size, west, north, ...size);
}
