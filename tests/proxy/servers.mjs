// Shared by the tests of several servers behind a proxy: checks, free ports, requests and waiting.

import http from 'node:http';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const PATIENCE_MS = 30000;
/** The proxies are in a directory that is only in root's path. */
export const PATH = `${process.env.PATH}:/usr/sbin:/sbin`;
const counts = { passed: 0, failed: 0 };

/** Runs one check; what it throws is printed and counted. @param {string} name @param {() => any} body */
export async function check(name, body) {
  try {
    const note = await body();
    counts.passed += 1;
    console.log(`ok ${counts.passed + counts.failed} - ${name}${note ? `: ${note}` : ''}`);
  } catch (error) {
    counts.failed += 1;
    console.log(`not ok ${counts.passed + counts.failed} - ${name}\n${String(error.stack ?? error).replace(/^/gm, '    ')}`);
  }
}

/** Prints how many checks have passed and failed, and sets the exit status. */
export function printCounts() {
  console.log(`${counts.passed} passed, ${counts.failed} failed`);
  process.exitCode = counts.failed === 0 ? 0 : 1;
}

/** @returns {Promise<number>} */
export function freePort() {
  return new Promise((resolve, reject) => {
    const server = net.createServer().once('error', reject).listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** Status, body and cookie of a page. @param {number} port @param {string} path @param {object} [headers] */
export function ask(port, path, headers = {}) {
  return new Promise((resolve, reject) => {
    const request = http.get({ host: '127.0.0.1', port, path, headers, agent: false, timeout: PATIENCE_MS }, (response) => {
      let body = '';
      response.on('data', (part) => { body += part; });
      response.on('end', () => resolve({ status: response.statusCode, body, cookie: response.headers['set-cookie']?.[0] ?? '' }));
    });
    request.on('timeout', () => request.destroy(new Error(`no answer from port ${port}`)));
    request.on('error', reject);
  });
}

/** Waits until this holds. @param {string} what @param {() => any} body */
export async function until(what, body) {
  const late = performance.now() + PATIENCE_MS;
  for (;;) {
    if (await Promise.resolve(body()).catch(() => false)) return;
    if (performance.now() > late) throw new Error(`${what}: not in time`);
    await sleep(50);
  }
}
