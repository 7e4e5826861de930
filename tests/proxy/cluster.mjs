// Three processes of a cluster behind HAProxy, set up as scripts/deploy/compose says: bots play in six rooms while one process is killed and
// another stops. `node cluster.mjs [path of the server]`. Needs redis-server and haproxy.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { binary, start } from '../browser/lib/server.mjs';
import { PATH, ask, check, freePort, printCounts, until } from './servers.mjs';

const ROOMS = ['arena', 'beach', 'cave', 'dune', 'elm', 'fjord'];
const BOTS = 2;
const run = promisify(execFile);

/** The rooms that run in a process, and in which all bots play. @param {{ port: number }} server @returns {Promise<string[]>} */
async function roomsOf(server) {
  const { rooms } = JSON.parse((await ask(server.port, '/rooms?format=json', { Host: 'localhost' })).body);
  return rooms.filter(({ name, players, here }) => here && ROOMS.includes(name) && players === BOTS).map(({ name }) => name);
}

/** Bots that walk in a room, and come back when their connection ends. @param {number} port @param {string} room @param {number} seconds */
const bots = (port, room, seconds) => run(binary(), ['bots', '--count', String(BOTS), '--seconds', String(seconds), '--reconnect', '--late-acks', `ws://127.0.0.1:${port}/r/${room}/play`]);

const folder = mkdtempSync(join(tmpdir(), 'tickwire-cluster-'));
const [redisPort, port] = [await freePort(), await freePort()];
const redis = spawn('redis-server', ['--port', String(redisPort), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder], { stdio: 'ignore' });
// Local requests come from an address that is no proxy's: 127.0.0.2 is HAProxy's.
const flags = ['--cluster', `redis://127.0.0.1:${redisPort}`, '--rooms-on-demand', '20', '--journal', join(folder, 'journal'), '--durability', 'tick', '--trusted-proxy', '127.0.0.2'];
const answers = () => new Promise((resolve) => {
  const socket = net.connect(redisPort, '127.0.0.1', () => { socket.destroy(); resolve(true); }).once('error', () => resolve(false));
});
/** @type {Awaited<ReturnType<typeof start>>[]} */
const servers = [];
/** @type {import('node:child_process').ChildProcess | undefined} */
let proxy;

try {
  await until('Redis answers', answers);
  for (let number = 0; number < 3; number += 1) servers.push(await start(0, flags));
  let config = readFileSync(new URL('../../scripts/deploy/compose/haproxy.cfg', import.meta.url), 'utf8');
  for (const [from, to] of [
    ['bind :3000', `bind 127.0.0.1:${port}`],
    ['server-template tickwire 9 tickwire:3000 resolvers docker init-addr none', servers.map((server, at) => `server s${at} 127.0.0.1:${server.port} source 127.0.0.2`).join('\n    ')],
  ]) {
    assert.ok(config.includes(from), from);
    config = config.replace(from, to);
  }
  writeFileSync(join(folder, 'haproxy.cfg'), config);
  proxy = spawn('haproxy', ['-db', '-f', join(folder, 'haproxy.cfg')], { stdio: 'inherit', env: { ...process.env, PATH } });
  await until('the proxy answers', async () => (await ask(port, '/readyz')).status === 200);

  const playing = ROOMS.map((room) => bots(port, room, 30));
  const hasAll = async () => (await Promise.all(servers.filter((server) => server.isRunning()).map(roomsOf))).flat().sort();
  await check('each room runs in one process, and every process knows where it is', async () => {
    await until('six rooms', async () => (await hasAll()).length === ROOMS.length);
    assert.deepEqual(await hasAll(), ROOMS);
    for (const server of servers) {
      const found = await Promise.all(ROOMS.map((room) => ask(server.port, `/rooms/${room}`)));
      assert.deepEqual(found.map(({ body }) => JSON.parse(body).exists), ROOMS.map(() => true));
    }
  });
  await check('the rooms of a process that is killed are back elsewhere', async () => {
    // The bots count from a second after they have begun to play.
    await sleep(2000);
    const counts = await Promise.all(servers.map(roomsOf));
    const victim = counts.findIndex((rooms) => rooms.length > 0);
    const from = performance.now();
    servers[victim].kill();
    await until('it is gone', () => !servers[victim].isRunning());
    await until('all rooms', async () => (await hasAll()).length === ROOMS.length);
    return `${counts[victim].length} rooms, ${Math.round(performance.now() - from)} ms`;
  });
  await check('the rooms of a process that stops are handed over', async () => {
    const left = servers.filter((server) => server.isRunning());
    const { code } = await left[0].stop();
    assert.equal(code, 0, left[0].log());
    await until('all rooms', async () => (await hasAll()).length === ROOMS.length);
  });
  await check('every bot has played on, and saw no fault', async () => {
    for (const { stdout } of await Promise.all(playing)) {
      assert.match(stdout, /errors +0\n/);
      assert.match(stdout, new RegExp(`^${BOTS} bots, ${BOTS} playing`));
    }
  });
} finally {
  proxy?.kill();
  for (const server of servers) server.kill();
  redis.kill();
  rmSync(folder, { recursive: true, force: true });
}
printCounts();
