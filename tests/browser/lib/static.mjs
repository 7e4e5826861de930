// A plain static server: the files of a folder below a path, and nothing else. It can be cut.

import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const TYPES = {
  css: 'text/css', html: 'text/html', js: 'text/javascript', json: 'application/json', svg: 'image/svg+xml', ts: 'text/plain', wasm: 'application/wasm',
};
/** Somewhere below the top of a host. */
const BASE = '/some/where/';

/** Writes the tab edition into a folder of its own. @param {string[]} [options] of the script @returns {string} the folder */
export function tabEdition(options = []) {
  const folder = join(ROOT, 'target/tmp', ['tab-edition', ...options.map((word) => word.replace('--', ''))].join('-'));
  rmSync(folder, { recursive: true, force: true });
  console.log(`# ${execFileSync(join(ROOT, 'scripts/browser-edition.sh'), [...options, folder], { encoding: 'utf8' }).trim()}`);
  return folder;
}

/**
 * @param {string} folder
 * @param {{ types?: Record<string, string>, missing?: string }} [odd] types of its own for some names' ends, a file that it does not have
 */
export async function serve(folder, { types = {}, missing = '' } = {}) {
  const kinds = { ...TYPES, ...types };
  /** @type {string[]} */
  const asked = [];
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://host');
    const name = pathname.slice(BASE.length) || 'index.html';
    asked.push(name);
    const body = pathname.startsWith(BASE) && name !== missing ? await readFile(join(folder, name)).catch(() => null) : null;
    response.writeHead(body === null ? 404 : 200, { 'Content-Type': body === null ? 'text/plain' : kinds[name.split('.').pop() ?? ''] });
    response.end(body ?? 'no such file');
  });
  await new Promise((ready) => { server.listen(0, '127.0.0.1', () => ready(undefined)); });
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    url: `http://127.0.0.1:${port}${BASE}`,
    /** What was asked for, oldest first. */
    asked,
    /** From now on nobody answers. */
    cut: () => new Promise((ended) => {
      server.closeAllConnections();
      server.close(() => ended(undefined));
    }),
  };
}
