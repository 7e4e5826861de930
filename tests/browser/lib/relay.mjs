// A bad network between a page and a server: `tickwire netem`.

import { spawn } from 'node:child_process';
import { binary } from './server.mjs';

/** 150 ms in each direction, 30 ms more or less, and every 50th segment lost. */
const NET = ['--delay', '150ms', '--jitter', '30ms', '--loss', '2%'];
export const ROUND_TRIP_MS = 300;

/** Starts a relay before a server. @param {number} port of the server */
export async function relay(port) {
  const child = spawn(binary(), ['netem', '--bind', '127.0.0.1:0', '--upstream', `127.0.0.1:${port}`, ...NET], { stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  /** @type {string} */
  const url = await new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`netem ended with ${code}: ${printed}`)));
    child.stdout.on('data', (data) => {
      printed += data;
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(printed);
      if (found) resolve(found[0]);
    });
  });
  return { url, kill: () => child.kill() };
}
