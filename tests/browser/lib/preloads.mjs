// Modules that a page imports, directly or not, and the `modulepreload` links for them: a browser then requests all of them as soon as it has
// read the page, instead of one level of imports after the other. `node tests/browser/lib/preloads.mjs` writes the links into the pages.

import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

const WEB = fileURLToPath(new URL('../../../src/web/', import.meta.url));
/** The pages with modules. */
export const PAGES = ['index.html', 'inspector.html', 'admin.html', 'quiz.html'];

/** Static imports and exports of a module: `import … from './x.js'`, `import './x.js'`, `export … from './x.js'`. */
const IMPORT = /^(?:import|export)\b[^'";]*'(\.[^']+)';$/gm;
/** The module that a page starts. */
const START = /<script type="module" src="([^"]+)"><\/script>/;
const LINK = /^ *<link rel="modulepreload" href="([^"]+)">\n/gm;

/** @param {string} name of a file below `src/web/` */
export const read = (name) => readFileSync(join(WEB, name), 'utf8');

/** Names of the modules that a module imports itself. @param {string} name @param {string} text */
export const importsOf = (name, text) => [...text.matchAll(IMPORT)].map(([, path]) => posix.join(dirname(name), path));

/** Names of the modules that a page needs besides its first one, nearest first. @param {string} page */
export function modulesOf(page) {
  const [, start] = read(page).match(START) ?? [];
  if (!start) throw new Error(`${page} starts no module`);
  const found = new Set([start]);
  // A set yields what is added while it is iterated.
  for (const name of found) for (const imported of importsOf(name, read(name))) found.add(imported);
  return [...found].slice(1);
}

/** Names in the links of a page. @param {string} page */
export const linksOf = (page) => [...read(page).matchAll(LINK)].map(([, name]) => name);

/** The page with the links for its modules. @param {string} page */
export function withLinks(page) {
  const text = read(page).replace(LINK, '');
  const links = modulesOf(page).map((name) => `  <link rel="modulepreload" href="${name}">\n`).join('');
  return text.replace(/^.*<script type="module"/m, (line) => `${links}${line}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) for (const page of PAGES) writeFileSync(join(WEB, page), withLinks(page));
