/**
 * Clients of Fog, of both servers: the same connections, decisions and counts.
 *
 *     node load.mjs SERVER PORT PID CLIENTS WOLVES WARM_UP_S SECONDS ROOT      prints a line of JSON
 *
 * Each client is a WebSocket without compression. Twenty times a second it decides, and sends a `control` with
 * random values on every fifth decision. Received bytes are those of the socket, with the frames of the WebSocket
 * protocol. The first clients decode everything with the library of their framework: they show that the clients
 * got a live world, and how much of it they see.
 *
 * @module load
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { Decoder, Reflection, decode as schemaDecode, encode as schemaEncode } from '@colyseus/schema';
import WebSocket from 'ws';

const [server, ...numbers] = process.argv.slice(2);
const [port, pid, count, wolves, warmUpS, seconds] = numbers.slice(0, 6).map(Number);
const library = (/** @type {string} */ name) => import(pathToFileURL(join(numbers[6], 'src/web/lib', name)).href);
const { decode: fromMsgpack, encode: toMsgpack } = await library('msgpack.js');
const { Dialect } = await library('codec.js');
const { EntityList, entityLayout } = await library('entities.js');

const DECIDE_MS = 50, ACT_ONE_IN = 5;
/** Number of clients that decode everything. */
const DECODING = 4;
const LISTS = ['soldiers', 'wolves', 'packs'];

const below = (/** @type {number} */ limit) => Math.floor(Math.random() * limit);

/** One client: its socket, and what it has received. */
class Client {
  sequence = 0;
  updates = 0;
  isPlaying = false;
  closed = '';

  /** @param {number} number */
  constructor(number) {
    this.number = number;
    this.name = `bot ${number}`;
    this.decodes = number < DECODING;
  }

  /** Opens a WebSocket. @param {string} path */
  connect(path) {
    this.socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { perMessageDeflate: false });
    this.socket.binaryType = 'nodebuffer';
    this.socket.on('message', (bytes) => this.receive(bytes));
    this.socket.on('close', (code, reason) => { this.closed = `closed with ${code} ${reason}`; });
    this.socket.on('error', (error) => { this.closed = error.message; });
  }

  decide() {
    if (!this.isPlaying || below(ACT_ONE_IN) > 0) return;
    this.sequence += 1;
    this.control({ sequence: this.sequence, way: below(9), aim: below(256) - 128, isFiring: below(3) === 0 });
  }

  get bytes() {
    return /** @type {any} */ (this.socket)._socket?.bytesRead ?? 0;
  }
}

class ColyseusClient extends Client {
  /** `joinOrCreate` of the SDK: a request for a seat, then the socket. */
  async open() {
    const body = JSON.stringify({ name: this.name, wolves });
    const headers = { 'Content-Type': 'application/json' };
    const answer = await fetch(`http://127.0.0.1:${port}/matchmake/joinOrCreate/fog`, { method: 'POST', headers, body });
    const seat = await answer.json();
    if (!seat.sessionId) throw new Error(`no seat: ${JSON.stringify(seat)}`);
    this.id = seat.sessionId;
    this.connect(`/${seat.processId}/${seat.roomId}?sessionId=${this.id}`);
  }

  /** @param {Buffer} bytes */
  receive(bytes) {
    const [JOIN_ROOM, ROOM_STATE, ROOM_STATE_PATCH] = [10, 14, 15];
    const code = bytes[0];
    if (code === JOIN_ROOM) {
      const it = { offset: 1 };
      for (let text = 0; text < 2; text++) it.offset += 1 + bytes[it.offset];
      const end = schemaDecode.number(bytes, it) + it.offset;
      if (this.decodes) this.decoder = Reflection.decode(bytes.subarray(0, end), it);
      this.socket.send(Buffer.from([JOIN_ROOM]));
    }
    if (code === ROOM_STATE) this.isPlaying = true;
    if (code === ROOM_STATE_PATCH) this.updates += 1;
    if (code === ROOM_STATE || code === ROOM_STATE_PATCH) this.decoder?.decode(bytes, { offset: 1 });
  }

  /** @param {{ sequence: number, way: number, aim: number, isFiring: boolean }} values */
  control(values) {
    const buffer = Buffer.alloc(64);
    const it = { offset: 1 };
    buffer[0] = 13; // ROOM_DATA
    schemaEncode.string(buffer, 'control', it);
    this.socket.send(Buffer.concat([buffer.subarray(0, it.offset), toMsgpack(values)]));
  }

  /** Positions by list and id. */
  view() {
    const { state } = /** @type {Decoder} */ (this.decoder);
    const positions = (/** @type {any} */ list) => new Map([...list?.entries() ?? []].filter(([, one]) => one).map(([id, { x, y }]) => [id, `${x} ${y}`]));
    return Object.fromEntries(LISTS.map((name) => [name, positions(state[name])]));
  }
}

const dialect = server === 'tickwire' ? new Dialect(await (await fetch(`http://127.0.0.1:${port}/codes.json`)).json(), 'fog') : null;

class TickwireClient extends Client {
  async open() {
    this.lists = new Map(LISTS.map((name) => [name, new EntityList(entityLayout(dialect.clientPackets.get(name)), dialect)]));
    this.welcome = dialect.clientPackets.get('welcome').code;
    this.own = dialect.clientPackets.get('spawned').code;
    this.codes = new Set(LISTS.map((name) => dialect.clientPackets.get(name).code));
    this.connect('/play');
    this.socket.on('open', () => this.socket.send(dialect.encode('hello', { version: 1, mode: 1, name: this.name })));
  }

  /** @param {Buffer} bytes */
  receive(bytes) {
    // The code of a packet is its second byte: an array of two follows, then a small integer.
    if (bytes[1] === this.own) this.isPlaying = true;
    if (!this.decodes) return;
    const packet = dialect.decode(bytes);
    if (packet?.name === 'spawned') this.id = packet.values.player;
    const list = this.lists.get(packet?.name);
    if (!list) return;
    list.apply(packet.values);
    if (packet.values.tick !== this.tick) this.updates += 1;
    this.tick = packet.values.tick;
  }

  /** @param {{ sequence: number, way: number, aim: number, isFiring: boolean }} values */
  control({ sequence, way, aim, isFiring }) {
    this.socket.send(dialect.encode('control', { sequence, tick: null, way, aim, is_firing: isFiring }));
  }

  view() {
    return Object.fromEntries([...this.lists].map(([name, list]) => [name, new Map(list.toList().map((one) => [one[list.layout.id], `${one.x} ${one.y}`]))]));
  }
}

/** CPU time of the server in seconds: user and system. */
function cpuSeconds() {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** @param {string} why */
function fail(why) {
  console.error(`${server}: ${why}`);
  process.exit(1);
}

const clients = Array.from({ length: count }, (_, number) => server === 'colyseus' ? new ColyseusClient(number) : new TickwireClient(number));
for (const client of clients) await client.open();
for (const deadline = Date.now() + 30_000; !clients.every(({ isPlaying }) => isPlaying); await sleep(50)) {
  if (Date.now() > deadline) fail(`${clients.filter(({ isPlaying }) => !isPlaying).length} clients do not play after 30 s`);
}
// The decisions of the clients are spread over the interval.
for (const client of clients) setTimeout(() => setInterval(() => client.decide(), DECIDE_MS), (client.number * DECIDE_MS) / count);
await sleep(warmUpS * 1000);

const decoding = clients.filter(({ decodes }) => decodes);
const total = (/** @type {string} */ what, of = clients) => of.reduce((sum, client) => sum + client[what], 0);
const [bytes, updates, cpu, began] = [total('bytes'), total('updates', decoding), cpuSeconds(), performance.now()];
const visible = Object.fromEntries(LISTS.map((name) => [name, 0]));
let samples = 0;
const moved = decoding.map(() => new Set());
let before = decoding.map((client) => client.view());
while (performance.now() - began < seconds * 1000) {
  await sleep(Math.min(500, seconds * 1000));
  samples += 1;
  const now = decoding.map((client) => client.view());
  now.forEach((view, at) => {
    for (const name of LISTS) visible[name] += view[name].size;
    for (const [id, position] of view.soldiers) if ((before[at].soldiers.get(id) ?? position) !== position) moved[at].add(id);
  });
  before = now;
}
const passed = (performance.now() - began) / 1000;
const result = {
  bytes_per_s: (total('bytes') - bytes) / passed / count,
  updates_per_s: (total('updates', decoding) - updates) / passed / decoding.length,
  cpu_s_per_10_s: ((cpuSeconds() - cpu) / passed) * 10,
  peak_kib: Number(/VmHWM:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]),
  ...Object.fromEntries(LISTS.map((name) => [name, visible[name] / samples / decoding.length])),
};
const lost = clients.find(({ closed }) => closed);
if (lost) fail(`client ${lost.number}: ${lost.closed}`);
decoding.forEach((client, at) => {
  // A team is half of the players, and its soldiers are always visible; most of them walk.
  const { soldiers } = before[at];
  if (!soldiers.has(client.id)) fail(`client ${at} does not see itself`);
  if (soldiers.size < Math.floor(count / 2)) fail(`client ${at} sees ${soldiers.size} soldiers of ${count}`);
  if (moved[at].size < count / 4) fail(`client ${at} has seen ${moved[at].size} soldiers move`);
});
console.log(JSON.stringify(result));
process.exit(0);
