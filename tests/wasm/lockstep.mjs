// A room in one instance of the committed src/web/wasm/tickwire.wasm, two clients in lockstep in others: a random field of the first one's world is changed a
// hundred times. Each time the server must name that field, with both values, to both; and the world must come back by itself.
//
//   node tests/wasm/lockstep.mjs [COUNT]
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { formatTable } from '../../src/web/lib/codec.js';
import { Lockstep } from '../../src/web/lib/lockstep.js';
import { encode } from '../../src/web/lib/msgpack.js';
import { parseEvents } from '../../src/web/wasm/worker-socket.js';
import { WasmInstance } from '../../src/web/wasm/instance.js';

const COUNT = Number(process.argv[2] ?? 100);
const BOTS = 12;
const TICK_MS = 1000 / 30;
/** Ticks within which a report must have come: two intervals of checksums, and a few for the way. */
const PATIENCE = 220;
const [OPEN, BINARY] = [1, 2];
const [WATCH, PLAY] = [2, 3];

const at = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const module = await WebAssembly.compile(readFileSync(at('src/web/wasm/tickwire.wasm')));
const codes = JSON.parse(readFileSync(at('src/web/codes.json'), 'utf8'));
const instance = async () => {
  const made = new WasmInstance(await WebAssembly.instantiate(module, {}));
  made.seed();
  return made;
};
const server = await instance();
let now = 1000;
server.setInputText(JSON.stringify({ seed: 7, bots: BOTS, epoch_ms: now }));
server.json(server.wasm.server_start(now));

/** A client: a link to the server, and its own world. */
class Client {
  static async join(mode) {
    const client = new Client();
    client.mode = mode;
    client.link = await instance();
    client.lockstep = new Lockstep(async () => module);
    assert.ok(await client.lockstep.begin('moo', 'native', formatTable(codes, 'native')), client.lockstep.why);
    client.link.setInputText(JSON.stringify({ host: 'tab', target: '/play?dialect=native', protocols: ['tickwire.v1'] }));
    client.number = client.link.wasm.client_open();
    client.connection = server.wasm.server_open();
    client.flush();
    return client;
  }

  say(bytes) {
    this.link.setInput(bytes);
    this.link.wasm.client_send_binary(this.number);
  }

  flush() {
    server.setInput(this.link.outputBytes(this.link.wasm.client_read_output(this.number)));
    server.wasm.server_receive(this.connection, now);
  }

  /** Takes what the server has sent. */
  listen() {
    this.link.setInput(server.outputBytes(server.wasm.server_take(this.connection)));
    for (const [kind, body] of parseEvents(this.link.outputBytes(this.link.wasm.client_receive(this.number)))) {
      if (kind === OPEN) this.say(encode([1, [1, this.mode, 'Ann', null, null]]));
      else if (kind === BINARY) this.lockstep.receive(body, now).toSend.forEach((message) => this.say(message));
      else assert.fail(`the connection has ended: ${Buffer.from(body)}`);
    }
    this.flush();
  }
}

const changed = await Client.join(PLAY);
const honest = await Client.join(WATCH);
const tick = () => {
  now += TICK_MS;
  server.wasm.server_advance(now);
  for (const client of [changed, honest]) client.listen();
};
for (let wait = 0; wait < 200; wait += 1) tick();

const fields = new Set();
for (let turn = 1; turn <= COUNT; turn += 1) {
  const before = changed.lockstep.status();
  changed.lockstep.corrupt(turn * 7919);
  let status = before;
  for (let wait = 0; wait < PATIENCE && !(status.differed > before.differed && status.report?.tick === status.corrupted?.tick); wait += 1) {
    tick();
    status = changed.lockstep.status();
  }
  const { corrupted, report, player } = status;
  const seen = `turn ${turn}: ${JSON.stringify({ corrupted, report })}`;
  assert.equal(report?.tick, corrupted?.tick, seen);
  const { entity, field, before: server, after: own } = corrupted;
  assert.deepEqual(report.fields, [{ participant: `player ${player}`, entity, field, server, own }], seen);
  assert.deepEqual(report.groups.map(([, names]) => names.includes(`player ${player}`)), [false, true], seen);
  assert.equal(report.groups[0][1].length, 2, seen);
  for (let wait = 0; wait < 4; wait += 1) tick();
  assert.deepEqual(honest.lockstep.status().report, report, seen);
  assert.equal(changed.lockstep.status().syncs, turn + 1, seen);
  fields.add(`${entity.replace(/\[.*/, '')} ${field}`);
}
// Two more checksums of both, and the last of them agree.
for (let wait = 0; wait < PATIENCE; wait += 1) tick();
const last = changed.lockstep.status();
assert.equal(last.differed, COUNT);
assert.deepEqual([honest.lockstep.status().differed, honest.lockstep.status().syncs], [0, 1]);
assert.equal(last.tick, honest.lockstep.status().tick);
console.log(`wasm: ${COUNT} changed fields of ${fields.size} kinds; ${last.tick} ticks, ${BOTS} bots, ${honest.lockstep.status().checksums} checksums of the other client agree`);
console.log(`wasm: ${COUNT} checks, 0 failed`);
