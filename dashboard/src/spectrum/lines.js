// Energies of known gamma lines, in keV: what a peak may be called.
const LINES = {
  'Am-241': [59.54],
  'Co-57': [122.06],
  'Tc-99m': [140.51],
  'Lu-177': [112.95, 208.37],
  'Lu-176': [201.83, 306.78],
  'Ba-133': [81.0, 302.85, 356.01],
  'I-131': [364.49],
  'Ac-225': [218.1, 440.4],
  'Na-22': [511.0, 1274.54],
  'Cs-137': [661.66],
  'Co-60': [1173.23, 1332.49],
  'Eu-152': [121.78, 344.28, 1408.0],
  'Ra-226': [186.2, 351.93, 609.31],
  'K-40': [1460.82],
};
const ALL = Object.entries(LINES).flatMap(([nuclide, energies]) => energies.map((energy) => ({ nuclide, energy })));

/** The nuclide of a peak: one with a line within so many keV, the label's own before others; null if there is none. */
export function nuclideAt(energy, label, within = 2.5) {
  const near = ALL.filter((one) => Math.abs(one.energy - energy) <= within);
  const own = near.find((one) => label?.startsWith(one.nuclide));
  const best = own ?? near.sort((a, b) => Math.abs(a.energy - energy) - Math.abs(b.energy - energy))[0];
  return best?.nuclide ?? null;
}
