/**
 * Runs Fog here and in Colyseus in turn, and prints what each costs: see scripts/bench-colyseus.sh.
 *
 *     node bench.mjs ROOT PROGRAM ROUNDS SECONDS CASE...
 *
 * @module bench
 */

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const [root, program, rounds, seconds, ...chosen] = process.argv.slice(2);
const here = import.meta.dirname;
const WARM_UP_S = Math.min(5, Number(seconds));
const CASES = [
  { name: '10', title: '10 clients', clients: 10, wolves: 60 },
  { name: '100', title: '100 clients', clients: 100, wolves: 60 },
  { name: 'wolves', title: '100 clients, 2,000 wolves', clients: 100, wolves: 2000 },
];
const SERVERS = {
  tickwire: (/** @type {number} */ wolves) => [program, '--bind', '127.0.0.1:0', '--bots', '0', '--log', 'warn', '--max-clients-per-address', '1000', '--address-rate-limits', 'off', '--game', `fog,wolves=${wolves}`],
  colyseus: () => [process.execPath, join(here, 'server.mjs')],
};

/** @type {import('node:child_process').ChildProcess | null} */
let running = null;
process.on('exit', () => running?.kill());
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130));

/** Starts a program and returns its first match of a pattern in its output. @param {string[]} words @param {RegExp} pattern */
async function start([command, ...args], pattern) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  for await (const data of child.stdout) {
    output += data;
    const found = pattern.exec(output);
    // The program may continue to print.
    if (found) { child.stdout.resume(); return { child, found: found[1] }; }
  }
  throw new Error(`${command} has ended: ${output}`);
}

/** Measures one server once. @param {keyof SERVERS} server @param {CASES[number]} one @returns {Promise<Record<string, number>>} */
async function measure(server, { clients, wolves }) {
  const { child, found: port } = await start(SERVERS[server](wolves), server === 'colyseus' ? /"port":(\d+)/ : /127\.0\.0\.1:(\d+)/);
  running = child;
  const load = [server, port, child.pid, clients, wolves, WARM_UP_S, seconds, root].map(String);
  const { child: client, found } = await start([process.execPath, join(here, 'load.mjs'), ...load], /^(\{.*\})\n/);
  client.kill();
  const ended = new Promise((resolve) => { child.once('exit', resolve); });
  child.kill();
  await ended;
  running = null;
  const result = JSON.parse(found);
  const { bytes_per_s: bytes, cpu_s_per_10_s: cpu, updates_per_s: updates } = result;
  return { ...result, bytes_per_update: bytes / updates, cpu_ms_per_update: (cpu * 100) / updates };
}

/** Lines of code: neither empty nor only a comment. @param {string[]} files */
const lines = (...files) => files.flatMap((file) => readFileSync(file, 'utf8').split('\n')).filter((line) => !/^\s*($|\/\/|\/?\*)/.test(line)).length;
const median = (/** @type {number[]} */ values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const format = (/** @type {number} */ value) => value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(value < 10 ? 2 : 1);

const COLUMNS = [
  ['bytes_per_s', 'B/s'], ['updates_per_s', 'updates/s'], ['bytes_per_update', 'B/update'], ['cpu_s_per_10_s', 'CPU s/10 s'],
  ['cpu_ms_per_update', 'CPU ms/update'], ['peak_kib', 'peak KiB'], ['soldiers', 'soldiers'], ['wolves', 'wolves'],
];
/** @param {string[]} cells */
const row = ([first, ...cells]) => console.log(first.padEnd(11) + cells.map((cell) => cell.padStart(14)).join(''));

for (const one of CASES.filter(({ name }) => chosen.includes(name))) {
  console.log(`\n== ${one.title}: medians of ${rounds} rounds of ${seconds} s`);
  const results = /** @type {Record<keyof SERVERS, Record<string, number>[]>} */ ({ tickwire: [], colyseus: [] });
  for (let round = 0; round < Number(rounds); round++) {
    const order = /** @type {(keyof SERVERS)[]} */ (['tickwire', 'colyseus']);
    for (const server of round % 2 ? order.reverse() : order) results[server].push(await measure(server, one));
  }
  row(['', ...COLUMNS.map(([, title]) => title)]);
  for (const server of /** @type {(keyof SERVERS)[]} */ (Object.keys(results))) {
    row([server, ...COLUMNS.map(([name]) => format(median(results[server].map((result) => result[name]))))]);
  }
  const ratio = (/** @type {string} */ name) => median(results.tickwire.map((result, round) => result[name] / results.colyseus[round][name])).toFixed(3);
  row(['ratio', ...COLUMNS.map(([name]) => ratio(name))]);
}
console.log('\nB/s and B/update: for each client; CPU: of the server, for all clients');
console.log('soldiers and wolves: number in view, on average over the clients that decode everything');
const ours = lines(join(root, 'examples/fog.rs'), join(root, 'examples/fog.tsv'));
console.log(`lines of code on the server: tickwire ${ours} (with the table of packets), colyseus ${lines(join(here, 'server.mjs'), join(here, 'geometry.mjs'))} (with the geometry)`);
