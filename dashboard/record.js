// Records what was built from what, for the test that notices when they differ: tests/server/dashboard/test_built.py.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const here = import.meta.dirname;
const built = join(here, '../src/nilometer/server/pages');
const digest = (path) => createHash('sha256').update(readFileSync(path)).digest('hex');
const below = (folder) =>
  readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? below(path) : [path];
  });

const digests = (root, paths) => Object.fromEntries(paths.sort().map((path) => [relative(root, path), digest(path)]));
const single = ['index.html', 'package.json', 'package-lock.json', 'record.js', 'vite.config.js'].map((name) => join(here, name));
const sources = digests(here, [...single, ...below(join(here, 'src')), ...below(join(here, 'public'))]);
const files = digests(built, below(built).filter((path) => !path.endsWith('build.json')));
writeFileSync(join(built, 'build.json'), JSON.stringify({ sources, files }, null, 1) + '\n');
