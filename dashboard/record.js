// Gathers the licences of what is in the bundle, and records what was built from what, for the test that notices when
// they differ: tests/server/dashboard/test_built.py.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const here = import.meta.dirname;
const built = join(here, '../src/nilometer/server/pages');
const digest = (path) => createHash('sha256').update(readFileSync(path)).digest('hex');
const below = (folder) =>
  readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? below(path) : [path];
  });

const lock = JSON.parse(readFileSync(join(here, 'package-lock.json')));
const licences = Object.entries(lock.packages)
  .filter(([path, { dev }]) => path && !dev)
  .map(([path, { version, license }]) => {
    const text = ['LICENSE', 'LICENSE.md', 'LICENCE', 'license'].map((name) => join(here, path, name)).find(existsSync);
    return `${path.replace('node_modules/', '')} ${version} (${license})\n\n${text ? readFileSync(text, 'utf8').trim() : ''}\n`;
  });
writeFileSync(join(built, 'assets', 'licenses.txt'), licences.join('\n----\n\n'));

const digests = (root, paths) => Object.fromEntries(paths.sort().map((path) => [relative(root, path), digest(path)]));
const single = ['index.html', 'package.json', 'package-lock.json', 'record.js', 'vite.config.js'].map((name) => join(here, name));
const sources = digests(here, [...single, ...below(join(here, 'src')), ...below(join(here, 'public'))]);
const files = digests(built, below(built).filter((path) => !path.endsWith('build.json')));
writeFileSync(join(built, 'build.json'), JSON.stringify({ sources, files }, null, 1) + '\n');
