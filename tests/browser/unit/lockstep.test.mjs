// A world in a page: what goes on, what is sent, what cannot be had; the panel's sentences; and `tickwire.js` in lockstep, with the real
// `tickwire.wasm` and a fake server.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, mock, test } from 'node:test';
import { formatTable } from '../../../src/web/lib/codec.js';
import { joinNames, describeEvents } from '../../../src/web/game/hud/lockstep-panel.js';
import { Lockstep, parseRecords } from '../../../src/web/lib/lockstep.js';
import { connect } from '../../../src/web/tickwire.js';
import { CODES, FakeSocket, packet, sockets, WELCOME } from '../lib/fake-socket.mjs';

const module = await WebAssembly.compile(readFileSync(new URL('../../../src/web/wasm/tickwire.wasm', import.meta.url)));
const NATIVE = formatTable(CODES, 'native');
const begun = async () => {
  const lockstep = new Lockstep(async () => module);
  assert.equal(await lockstep.begin('moo', 'native', NATIVE), true);
  return lockstep;
};

beforeEach(() => { sockets.length = 0; });
afterEach(() => mock.restoreAll());

test('records are taken apart by their kind', () => {
  const bytes = Uint8Array.of(0, 2, 0, 0, 0, 7, 8, 1, 1, 0, 0, 0, 9, 0, 0, 0, 0, 0);
  const { received, toSend } = parseRecords(bytes);
  assert.deepEqual(received.map((one) => [...one]), [[7, 8], []]);
  assert.deepEqual(toSend.map((one) => [...one]), [[9]]);
});

test('what is not for the world goes on as it is, and is not counted', async () => {
  const lockstep = await begun();
  for (const message of [packet('welcome', WELCOME), packet('pong', { nonce: 1, tick: 8 }), Uint8Array.of(0xc1)]) {
    const { received, toSend } = lockstep.receive(message, 0);
    assert.deepEqual(received.map((one) => [...one]), [[...message]]);
    assert.equal(toSend.length, 0);
  }
  assert.deepEqual(lockstep.counts, { bytesIn: 0, bytesStream: 0 });
});

test('a frame without a world asks for a snapshot, once', async () => {
  const lockstep = await begun();
  const frame = packet('command_frame', { frame: new Uint8Array(6) });
  assert.deepEqual(lockstep.receive(frame, 0).toSend.map((one) => [...one]), [[0x92, 17, 0x90]]);
  assert.equal(lockstep.receive(frame, 0).toSend.length, 0);
  assert.equal(lockstep.counts.bytesIn, 2 * frame.length);
  assert.equal(lockstep.status().tick, null);
});

test('a snapshot in parts waits for its last part, and a missing part is named', async () => {
  // By hand: `encode` is made for the small packets of a page.
  const part = (tick, length) => {
    const { native } = CODES.tables.flatMap(({ rows }) => rows).find((row) => row.name === 'snapshot').codes;
    const head = [0x92, native, 0x92, tick, 0xc6, 0, length >> 16, (length >> 8) & 255, length & 255];
    const message = new Uint8Array(head.length + length);
    message.set(head);
    return message;
  };
  const sync = packet('state_sync', { player: null, tick: 9, snapshot_tick: 9, checksum_ticks: 100, epoch: '1' });
  const rows = [
    [packet('command_frame', { frame: new Uint8Array(6) }), /command_frame came after 1048576 bytes of the snapshot of tick 9: a part is missing/],
    [sync, /state_sync came after 1048576 bytes of the snapshot of tick 9: a part is missing/],
    [part(12, 524_288), /a snapshot part of tick 12 came after 1048576 bytes of tick 9: a part is missing/],
    [part(9, 524_289), /a snapshot part of tick 9 has 524289 bytes: must be at most 524288/],
  ];
  for (const [message, sentence] of rows) {
    const lockstep = await begun();
    for (const before of [sync, part(9, 524_288), part(9, 524_288)]) {
      assert.deepEqual(lockstep.receive(before, 0), { received: [], toSend: [] });
      assert.equal(lockstep.isActive, true, lockstep.why);
    }
    lockstep.receive(message, 0);
    assert.equal(lockstep.isActive, false);
    assert.match(lockstep.why, sentence);
  }
});

test('without the rules, the file or a snapshot of these rules a page follows as a stream, and says why', async () => {
  const other = new Lockstep(async () => module);
  assert.equal(await other.begin('no such game', 'native', NATIVE), false);
  assert.equal(other.fallbackReason, 'This page follows as a stream: this page does not have the rules of this game.');
  const message = packet('pong', { nonce: 1, tick: 8 });
  assert.deepEqual(other.receive(message, 0).received, [message]);
  const none = new Lockstep(async () => { throw new Error('The file tickwire.wasm could not be loaded: 404.'); });
  assert.equal(await none.begin('moo', 'native', NATIVE), false);
  assert.match(none.fallbackReason, /stream: the file tickwire\.wasm could not be loaded: 404\.$/);
  const lockstep = await begun();
  lockstep.receive(packet('snapshot', { tick: 1, state: Uint8Array.of(1, 2, 3) }), 0);
  assert.equal(lockstep.isActive, false);
  assert.match(lockstep.fallbackReason, /stream: these bytes are not a snapshot/);
  assert.equal(await lockstep.begin('moo', 'native', NATIVE), false, 'and does not try again');
});

test('the lateness of a tick is measured against the most punctual one', async () => {
  const lockstep = new Lockstep(async () => module);
  assert.equal(lockstep.jitterMs(10), 0);
  for (const [tick, ms] of [[1, 0], [2, 5], [3, 105], [4, 225]]) lockstep.onTick(tick, ms);
  assert.equal(lockstep.jitterMs(10), 20 + 0);
  lockstep.onTick(90, 500);
  assert.equal(lockstep.jitterMs(10), 0, 'a world that begins again begins a new measure');
});

const CORRUPTED = { tick: 100, entity: 'player 3', field: 'health', before: '100', after: '37' };
const REPORT = {
  tick: 100, more: 0, groups: [['aa', ['server', 'player 2']], ['bb', ['player 3']]],
  fields: [{ participant: 'player 3', entity: 'player 3', field: 'health', server: '100', own: '37' }],
};

test('the panel tells what differs, and then what happened, in order', () => {
  const since = { asked: false, checksums: null };
  assert.deepEqual(describeEvents({ corrupted: null, report: null }, since), []);
  assert.equal(describeEvents({ corrupted: CORRUPTED, report: REPORT }, { ...since, asked: true }).length, 1);
  assert.deepEqual(describeEvents({ corrupted: CORRUPTED, report: null }, since), ['Tick 100: this page has changed health of player 3 from 100 to 37.']);
  assert.deepEqual(describeEvents({ corrupted: CORRUPTED, report: REPORT }, { asked: false, checksums: 1 }), [
    'player 3, health: 100 on the server, 37 with player 3.',
    'Tick 100: this page has changed health of player 3 from 100 to 37.',
    'The server reports tick 100: player 3 has the checksum bb; the server and player 2 have aa.',
    'The world has begun again from a snapshot, and the server has objected to none of 1 checksum since.',
  ]);
  assert.equal(describeEvents({ corrupted: CORRUPTED, report: { ...REPORT, tick: 50 } }, since).length, 1, 'an older report is another story');
  assert.equal(describeEvents({ corrupted: CORRUPTED, report: { ...REPORT, tick: 200 } }, since).length, 2, 'a newer one as well');
});

test('long lists are counted', () => {
  assert.equal(joinNames(['a']), 'a');
  assert.equal(joinNames(['a', 'b', 'c', 'd']), 'a, b, c and d');
  assert.equal(joinNames(['a', 'b', 'c', 'd', 'e']), 'a, b, c and 2 others');
});

test('a table of a dialect has a mark for no arguments: without it no program reads the table', () => {
  const row = NATIVE.split('\n').find((line) => line.includes('state_sync_request'));
  assert.equal(row?.split('\t')[4], '-');
});

/** Waits for what needs no time, but turns: a file is compiled. @param {() => any} test */
async function until(test) {
  for (let turn = 0; turn < 1000 && !test(); turn += 1) await new Promise((go) => { setTimeout(go, 10); });
  assert.ok(test(), String(test));
}

test('tickwire.js asks for lockstep, and for a stream where the server does not offer it', async () => {
  const file = readFileSync(new URL('../../../src/web/wasm/tickwire.wasm', import.meta.url));
  mock.method(globalThis, 'fetch', async () => ({ ok: true, headers: new Map(), arrayBuffer: async () => file }));
  const pending = connect({ path: 'http://game.test/play', codes: CODES, WebSocket: FakeSocket, mode: 'lockstep', game: 'moo' });
  try {
    await until(() => sockets.length > 0);
    sockets[0].onopen();
    await until(() => sockets[0].sent.length > 0);
    assert.equal(sockets[0].last('hello').mode, 3);
    sockets[0].say('welcome', WELCOME);
    const game = await pending;
    assert.equal(game.lockstep?.isActive, true);
    sockets[0].say('command_frame', { frame: new Uint8Array(6) });
    assert.deepEqual(sockets[0].last('state_sync_request'), {});
    sockets[0].end(1008, 'lockstep_off');
    assert.match(game.lockstep?.fallbackReason ?? '', /stream: this server does not offer lockstep/);
    await until(() => sockets.length > 1);
    sockets[1].onopen();
    await until(() => sockets[1].sent.length > 0);
    assert.equal(sockets[1].last('hello').mode, 1);
  } finally {
    sockets.forEach((socket) => { socket.end(1008, 'kicked'); });
    await pending.catch(() => {}).then((game) => game?.close());
  }
});
