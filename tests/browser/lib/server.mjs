// Starts the server as a user would, reads its banner, stops it with SIGTERM.

import { spawn } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = new URL('../../../', import.meta.url);
const START_MS = 15000;

/** The binary: the first argument, or TICKWIRE_BIN, or whichever of release and debug was built last. */
export function binary() {
  const given = process.argv[2] ?? process.env.TICKWIRE_BIN;
  const candidates = given ? [given] : ['target/release/tickwire', 'target/debug/tickwire'].map((path) => fileURLToPath(new URL(path, ROOT)));
  const [found] = candidates.filter((path) => existsSync(path)).sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
  if (!found) throw new Error(`no server at ${candidates.join(' or ')}: run cargo build --release, or name one`);
  return found;
}

/**
 * Starts the server with default flags but for the address, without bots, and with a console for its operator.
 * @param {number} port 0 for any @param {string[]} [flags] more of them @param {string[]} [command] of the program
 * @param {string} [program] its path @param {string} [host] its address
 */
export async function start(port, flags = [], command = [], program = binary(), host = '127.0.0.1') {
  const child = spawn(program, [...command, '--bind', `${host}:${port}`, ...flags], { stdio: ['pipe', 'pipe', 'pipe'], env: { ...process.env, TICKWIRE_BOTS: '0' } });
  const log = [];
  const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })));
  child.stderr.on('data', (data) => log.push(String(data)));
  const url = await new Promise((resolve, reject) => {
    // `dev` compiles first.
    const late = command[0] === 'dev' ? undefined : setTimeout(() => reject(new Error('no banner in time')), START_MS);
    child.stdout.on('data', (data) => {
      log.push(String(data));
      const match = log.join('').match(/http:\/\/[\d.]+:(\d+)/);
      if (!match) return;
      clearTimeout(late);
      resolve(match[0]);
    });
    ended.then(({ code }) => reject(new Error(`the server ended with ${code}:\n${log.join('')}`)));
  });
  return {
    url,
    port: Number(new URL(url).port),
    log: () => log.join(''),
    isRunning: () => child.exitCode === null && child.signalCode === null,
    /** The operator types a line. @param {string} line */
    order: (line) => child.stdin.write(`${line}\n`),
    /** Asks it to stop. @returns how it ended and how long that took */
    stop: async () => {
      const from = performance.now();
      child.kill('SIGTERM');
      const { code, signal } = await ended;
      return { code, signal, ms: performance.now() - from };
    },
    kill: () => child.kill('SIGKILL'),
  };
}
