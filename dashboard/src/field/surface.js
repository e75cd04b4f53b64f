// Sensors -> a soft surface of their values: each spreads its value with a Gaussian as wide as the sensors are apart.
// It shows shapes, such as a plume, that single dots hide. It is interpolated, and the legend says so.
const CELLS = 128;
const MANY = 2000; // so many are put into their cells first: then the work is one of cells, not of sensors

/** An image of CELLS columns over the box of the sensors, or null for too few of them. */
export function surfaceOf(xs, ys, steps, box, palette, image) {
  const [left, bottom, right, top] = box;
  const [width, height] = [right - left, top - bottom];
  let count = 0;
  for (let at = 0; at < xs.length; at++) if (steps[at] >= 0) count++;
  if (count < 6 || !width || !height) return null;
  const spacing = Math.sqrt((width * height) / count);
  const margin = 1.9 * spacing; // as far as a sensor spreads
  const cell = (Math.max(width, height) + 2 * margin) / CELLS;
  const columns = Math.max(2, Math.ceil((width + 2 * margin) / cell));
  const rows = Math.max(2, Math.ceil((height + 2 * margin) / cell));
  const sums = new Float32Array(columns * rows);
  const weights = new Float32Array(columns * rows);
  const sigma = Math.max(0.8, (0.75 * spacing) / cell);
  const reach = Math.ceil(2.6 * sigma);
  if (count > MANY) blurred(xs, ys, steps, { left: left - margin, top: top + margin, cell, columns, rows, sigma, reach }, sums, weights);
  for (let at = 0; at < xs.length && count <= MANY; at++) {
    if (steps[at] < 0) continue;
    const column = (xs[at] - left + margin) / cell;
    const row = (top + margin - ys[at]) / cell;
    for (let r = Math.max(0, Math.floor(row) - reach); r <= Math.min(rows - 1, Math.floor(row) + reach); r++) {
      for (let c = Math.max(0, Math.floor(column) - reach); c <= Math.min(columns - 1, Math.floor(column) + reach); c++) {
        const weight = Math.exp(-((c + 0.5 - column) ** 2 + (r + 0.5 - row) ** 2) / (2 * sigma * sigma));
        sums[r * columns + c] += weight * steps[at];
        weights[r * columns + c] += weight;
      }
    }
  }
  image.width = columns;
  image.height = rows;
  const context = image.getContext('2d');
  const pixels = context.createImageData(columns, rows);
  for (let at = 0; at < sums.length; at++) {
    if (weights[at] < 0.02) continue;
    const colour = palette[Math.round(sums[at] / weights[at])];
    pixels.data[4 * at] = colour[0];
    pixels.data[4 * at + 1] = colour[1];
    pixels.data[4 * at + 2] = colour[2];
    pixels.data[4 * at + 3] = Math.min(1, weights[at] / 0.6) * 120;
  }
  context.putImageData(pixels, 0, 0);
  return { image, left: left - margin, top: top + margin, width: columns * cell, height: rows * cell };
}

/** The same for many sensors: each in its cell, and the cells spread across, then down (a Gaussian is separable). */
function blurred(xs, ys, steps, { left, top, cell, columns, rows, sigma, reach }, sums, weights) {
  const [value, number] = [new Float32Array(sums.length), new Float32Array(sums.length)];
  for (let at = 0; at < xs.length; at++) {
    if (steps[at] < 0) continue;
    const place = Math.floor((top - ys[at]) / cell) * columns + Math.floor((xs[at] - left) / cell);
    value[place] += steps[at];
    number[place]++;
  }
  const kernel = Float32Array.from({ length: 2 * reach + 1 }, (_, at) => Math.exp(-((at - reach) ** 2) / (2 * sigma * sigma)));
  const [across, heavy] = [new Float32Array(sums.length), new Float32Array(sums.length)];
  for (let r = 0; r < rows; r++)
    for (let c = 0; c < columns; c++) {
      const place = r * columns + c;
      if (!number[place]) continue;
      for (let d = Math.max(-reach, -c); d <= Math.min(reach, columns - 1 - c); d++) {
        across[place + d] += kernel[d + reach] * value[place];
        heavy[place + d] += kernel[d + reach] * number[place];
      }
    }
  for (let r = 0; r < rows; r++)
    for (let c = 0; c < columns; c++) {
      const place = r * columns + c;
      if (!heavy[place]) continue;
      for (let d = Math.max(-reach, -r); d <= Math.min(reach, rows - 1 - r); d++) {
        sums[place + d * columns] += kernel[d + reach] * across[place];
        weights[place + d * columns] += kernel[d + reach] * heavy[place];
      }
    }
}
