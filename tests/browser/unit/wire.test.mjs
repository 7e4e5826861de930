// The inspector's pure parts: leaves and rows of a tree, places of the figure, the filter, the ring, means, whose frames are whose.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { HostPage } from '../../../src/web/inspector/host-page.js';
import { ByteRates, formatBytes } from '../../../src/web/inspector/byte-rates.js';
import { changesHeading } from '../../../src/web/inspector/frame/changes.js';
import { asArray, asCommand, asHex, asJson } from '../../../src/web/inspector/frame/copy-menu.js';
import { Explainer } from '../../../src/web/inspector/explainer.js';
import { underline } from '../../../src/web/inspector/list/filter-bar.js';
import { VisibleFrames } from '../../../src/web/inspector/list/frames.js';
import { bearerSubprotocol } from '../../../src/web/wasm/open-socket.js';
import { statusReason } from '../../../src/web/inspector/connection.js';
import { milliseconds } from '../../../src/web/inspector/list/duration.js';
import { formatSince, formatTime, linesAt } from '../../../src/web/inspector/list/list.js';
import { shortJson, valuesOf } from '../../../src/web/inspector/list/row-values.js';
import { nextMark } from '../../../src/web/inspector/list/bookmarks.js';
import { EndedClients } from '../../../src/web/inspector/list/ended-clients.js';
import { nameOfClient } from '../../../src/web/inspector/list/source-menu.js';
import { barOf, causeOf, describe } from '../../../src/web/inspector/list/update-strip.js';
import { bitAt, bytesOf, closedAtFirst, flattenTree, leafAt, unmaskedBytes, openRows, segments, overlaps, parseHex } from '../../../src/web/inspector/frame/tree.js';
import { TABLES } from '../lib/table-files.mjs';

const node = (name, start, end, children = [], value = '') => ({ name, bits: [start, end], value, encoding: '', children });
const bytes = (name, start, end, children) => node(name, start * 8, end * 8, children);

/** The frame of a native `move` with its three arguments: 6 bytes of header, 10 of payload. */
const MOVE = bytes('frame', 0, 16, [
  node('fin', 0, 1), node('rsv1', 1, 2), node('rsv2', 2, 3), node('rsv3', 3, 4), node('opcode', 4, 8, [], '2, binary'),
  node('mask', 8, 9), node('payload_length', 9, 16, [], '10'), bytes('masking_key', 2, 6),
  bytes('payload', 6, 16, [bytes('move', 6, 16, [
    bytes('head', 6, 7), bytes('code', 7, 8),
    bytes('arguments', 8, 16, [bytes('head', 8, 9), bytes('sequence', 9, 10), bytes('tick', 10, 13), bytes('direction', 13, 16)]),
  ])]),
]);
const MOVE_BYTES = parseHex('828a37fa213da5f9b22cfafe91f077fa');
const MOVE_PAYLOAD = parseHex('92039311cd04b0cd4000');

test('leaves tile the frame, and a container\'s row speaks for its head', () => {
  const { leaves, rows } = flattenTree(MOVE);
  assert.equal(leaves[0].start, 0);
  leaves.slice(1).forEach((leaf, i) => assert.equal(leaf.start, leaves[i].end, leaf.name));
  assert.equal(leaves.at(-1).end, 16 * 8);
  assert.deepEqual(rows.map((row) => row.name), ['payload', 'move', 'code', 'arguments', 'sequence', 'tick', 'direction',
    'fin', 'rsv1', 'rsv2', 'rsv3', 'opcode', 'mask', 'payload_length', 'masking_key'], 'the header, which is drawn, comes last');
  const move = rows[1];
  assert.deepEqual([move.start, move.headEnd, move.end], [48, 56, 128]);
  assert.deepEqual([move.depth, rows[move.parent].name, rows[move.last].name], [1, 'payload', 'direction']);
  assert.equal(leaves.find((leaf) => leaf.start === 48).name, 'move');
  assert.deepEqual(leaves.slice(-3).map((leaf) => leaf.tint), ['a0', 'a1', 'a2']);
  assert.equal(rows[0].headEnd, rows[0].start, 'the payload has no bytes of its own');
});

test('the leaf at each bit is the one that holds it', () => {
  const { leaves } = flattenTree(MOVE);
  for (let bit = 0; bit < 128; bit += 1) {
    const leaf = leaves[leafAt(leaves, bit)];
    assert.ok(leaf.start <= bit && bit < leaf.end, `bit ${bit}`);
  }
  assert.equal(leafAt(leaves, 128), -1);
  assert.equal(leafAt([], 0), -1);
});

test('the figure has 16 bits a row, and each leaf one part with its name', () => {
  const { leaves } = flattenTree(MOVE);
  const parts = segments(leaves, 128);
  const key = parts.filter((part) => leaves[part.leaf].name === 'masking_key');
  assert.deepEqual(key.map(({ row, column, bits, main }) => [row, column, bits, main]), [[1, 0, 16, true], [2, 0, 16, false]]);
  assert.equal(parts.reduce((sum, part) => sum + part.bits, 0), 128);
  assert.equal(parts.filter((part) => part.main).length, leaves.length);
  const tick = parts.filter((part) => leaves[part.leaf].name === 'tick');
  assert.deepEqual(tick.map(({ row, column, bits, main }) => [row, column, bits, main]), [[5, 0, 16, true], [6, 0, 8, false]]);
  assert.ok(segments(leaves, 64).every((part) => part.end <= 64), 'cut where the figure ends');
});

test('bits of the wire, and what is meant by them', () => {
  assert.deepEqual([4, 5, 6, 7].map((bit) => bitAt(MOVE_BYTES, bit)), [0, 0, 1, 0]);
  assert.equal(bitAt(MOVE_BYTES, 8), 1);
  const plain = unmaskedBytes(MOVE_BYTES, MOVE_PAYLOAD);
  assert.deepEqual([...plain.slice(0, 6)], [...MOVE_BYTES.slice(0, 6)], 'the header is as it travels');
  assert.deepEqual([...plain.slice(6)], [...MOVE_PAYLOAD]);
  for (let i = 6; i < 16; i += 1) assert.equal(plain[i] ^ MOVE_BYTES[2 + (i - 6) % 4], MOVE_BYTES[i], `byte ${i}`);
  assert.deepEqual([...unmaskedBytes(MOVE_BYTES, new Uint8Array())], [...MOVE_BYTES]);
  assert.deepEqual([bytesOf(4, 8), bytesOf(9, 16), bytesOf(80, 104), bytesOf(16, 16)], [[0, 1], [1, 2], [10, 13], [2, 2]]);
  assert.ok(overlaps({ start: 0, end: 8 }, { start: 4, end: 5 }) && !overlaps({ start: 0, end: 8 }, { start: 8, end: 9 }));
});

test('a long tree begins with its groups closed; a short one open', () => {
  assert.equal(closedAtFirst(flattenTree(MOVE).rows, 48).size, 0);
  const groups = Array.from({ length: 40 }, (_, i) => bytes(`[${i}]`, 9 + 3 * i, 12 + 3 * i, ['id', 'x', 'y'].map((name, j) => bytes(name, 9 + 3 * i + j, 10 + 3 * i + j))));
  const payload = bytes('payload', 2, 129, [bytes('update', 2, 129, [bytes('arguments', 3, 129, [bytes('moved', 4, 129, groups)])])]);
  const { rows } = flattenTree(bytes('frame', 0, 129, [payload]));
  const closed = closedAtFirst(rows, 60);
  const seen = openRows(rows, closed);
  assert.equal(seen.length, rows.length - 120);
  assert.equal(rows[seen.at(-1)].name, '[39]');
  const tight = openRows(rows, closedAtFirst(rows, 20));
  assert.deepEqual(tight.map((at) => rows[at].name), ['payload', 'update', 'arguments', 'moved']);
});

const entry = (n, packet, from = 'client', more = {}) => ({ n, client: 1, at_ms: n, tick: n, from, line: '', opcode: 'binary', packet, rule: null, bytes: 9, ...more });

const file = (path) => readFileSync(new URL(`../../../${path}`, import.meta.url));

/** A message of observed bytes, as PROTOCOL.md has it. @param {[number, Buffer][]} records kind and body */
function message(client, records) {
  const parts = records.map(([kind, body]) => {
    const head = Buffer.alloc(17);
    head.writeUInt8(kind, 0);
    head.writeUInt32BE(3, 1);
    head.writeBigUInt64BE(5_000_000n, 5);
    head.writeUInt32BE(body.length, 13);
    return Buffer.concat([head, body]);
  });
  const front = Buffer.alloc(8);
  front.writeBigUInt64BE(BigInt(client));
  return Uint8Array.from(Buffer.concat([front, ...parts])).buffer;
}

test('the explainer lists, explains, counts and saves observed bytes by the tables of the server', async () => {
  const explainer = await Explainer.from(file('src/web/wasm/tickwire.wasm'));
  const request = 'GET /play HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n'
    + 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
  const opened = [1, Buffer.from(`127.0.0.1:40000 127.0.0.1:3000 native msgpack ${request.length}\n${request}HTTP/1.1 101 Yes\r\n\r\n`)];
  const move = [2, Buffer.from(MOVE_BYTES)];
  for (const [code, packet, rule] of [[3, 'move', null], [30, null, 'unknown_code']]) {
    const codes = TABLES.map(([name, text]) => [name, text.replace('move\treliable\t3\t', `move\treliable\t${code}\t`)]);
    explainer.welcome(JSON.stringify({ welcome: { began_us: 0, codes } }));
    explainer.selectClient(7);
    assert.deepEqual(explainer.receive(message(8, [opened, move])), {}, 'another client');
    const told = explainer.receive(message(7, [opened, move, [5, Buffer.from('idle_timeout')]]));
    assert.equal(told.ended, 'idle_timeout');
    assert.deepEqual(told.frames.map((frame) => [frame.n, frame.opcode, frame.packet, frame.rule, frame.at_ms, frame.tick]),
      [[1, 'upgrade', null, null, 5000, 3], [2, 'upgrade', null, 'answer_upgrade_missing', 5000, 3], [3, 'binary', packet, rule, 5000, 3]]);
    const { raw, frames: [frame] } = explainer.explain(3);
    assert.deepEqual([raw, frame.packet, frame.tree.children[7].name], ['828a37fa213da5f9b22cfafe91f077fa', packet, 'masking_key']);
    assert.equal(explainer.explain(9).gone, true);
    assert.deepEqual(explainer.fields().map((kind) => [kind.packet, kind.bytes]), [[packet ?? rule, 16]]);
    assert.equal(Buffer.from(explainer.save([{ id: 7, player: 1, name: 'Ada' }])).readUInt32BE(0), 0x0a0d0d0a);
  }
  assert.throws(() => explainer.receive(new ArrayBuffer(9)), /byte 8/);
  explainer.selectClient(null);
  assert.equal(explainer.save([{ id: 7, player: 1, name: 'Ada' }]), null);
});

/** An explainer that only counts and lists. */
const listing = (all, seen = all) => ({
  asked: 0,
  count: () => ({ all: all.length, seen: seen.length, judged: all.length }),
  rows(first, count) { this.asked += 1; return seen.slice(first, first + count).map((n) => entry(n, 'move')); },
  indexOf(n) {
    const at = seen.findIndex((one) => one >= n);
    return seen[at] === n ? at : -1 - (at < 0 ? seen.length : at);
  },
});

test('rows are asked for around those in sight, and not again while these are there', () => {
  const explainer = listing(Array.from({ length: 1000 }, (_, i) => i + 1));
  const frames = new VisibleFrames(explainer);
  frames.refresh();
  assert.deepEqual(frames.between(500, 530).map((one) => one.n), Array.from({ length: 30 }, (_, i) => 501 + i));
  assert.deepEqual(frames.between(470, 500).map((one) => one.n).at(0), 471);
  assert.equal(explainer.asked, 1);
  assert.deepEqual([frames.newest.n, frames.at(-1), frames.at(1000)], [1000, undefined, undefined]);
  assert.equal(frames.between(0, 300).length, 300, 'a high window');
});

test('the arrow keys go to the next seen frame, also from one that is not seen', () => {
  const all = Array.from({ length: 10 }, (_, i) => i + 1);
  const frames = new VisibleFrames(listing(all, all.filter((n) => n % 2 === 1)));
  frames.refresh();
  assert.deepEqual([frames.neighbor(3, 1).n, frames.neighbor(3, -1).n, frames.neighbor(9, 1).n, frames.neighbor(1, -20).n], [5, 1, 9, 1]);
  assert.deepEqual([frames.neighbor(4, 0).n, frames.neighbor(4, -1).n], [5, 3]);
  assert.equal(frames.neighbor(0, -1).n, 1);
  assert.equal(frames.neighbor(99, -1).n, 9);
  const none = new VisibleFrames(listing(all, []));
  none.refresh();
  assert.equal(none.neighbor(9, 1), undefined);
});

test('what is wrong with a filter is pointed at', () => {
  assert.equal(underline('x > Ann', { begin: 4, end: 7 }), 'x > Ann\n    ^^^');
  assert.equal(underline('x >', { begin: 3, end: 3 }), 'x >\n   ^');
});

test('a frame is copied as hexadecimal, JSON, a command and a C array', () => {
  const explained = { n: 7, raw: '818537fa213d7f9f4d5158', from: 'client', dialect: 'native', bytes: 11, frames: [] };
  assert.equal(asHex(explained), '81 85 37 fa 21 3d 7f 9f 4d 51 58');
  assert.deepEqual(JSON.parse(asJson(explained)), { from: 'client', dialect: 'native', bytes: 11, frames: [] });
  assert.equal(asCommand(explained), 'tickwire explain --dialect native --from client 818537fa213d7f9f4d5158');
  assert.equal(asCommand({ ...explained, frames: [{ kind: 'message' }] }), 'tickwire explain --message --dialect native --from client 818537fa213d7f9f4d5158');
  assert.equal(asArray({ ...explained, raw: '00'.repeat(13) }, 'move'), '/* move, from the client */\nstatic const unsigned char move_frame[13] = {\n'
    + `    ${Array(12).fill('0x00').join(', ')},\n    0x00,\n};\n`);
  assert.match(asArray(explained, '33'), /char _33_frame\[11\]/);
});

test('the frames of an ended client are asked for once', () => {
  const past = new EndedClients();
  assert.deepEqual(past.request(7), { select: 7 });
  past.received(7);
  assert.deepEqual([past.request(7), past.request(8), past.request(null)], [{ select: null }, { select: 8 }, { select: null }]);
  past.forget();
  assert.deepEqual(past.request(7), { select: 7 }, 'another server counts its clients from 1');
  assert.match(nameOfClient({ id: 7, player: 0, name: '', room: '', dialect: 'native', address: '127.0.0.1:4', ended: 'mask_missing' }), /^#7 · watching · native · 127\.0\.0\.1:4 · mask_missing$/);
  assert.equal(nameOfClient({ id: 5, player: 0, name: '/chat', room: '', dialect: 'none', address: '127.0.0.1:4' }), '#5 · /chat · 127.0.0.1:4');
});

test('ticks without an update are a silence that is named, and late ticks are a gap', () => {
  // Each row: gap in ms, ticks since the update before.
  const timeline = (rows, hasTicks = true) => ({ packet: 'update', normal_ms: 100, hasTicks, updates: rows.map(([gap, ticks], n) => [n + 1, 0, gap, 40, ticks]) });
  const idle = [[100, 3], [100, 3], [100, 3], [11_529, 346], [400, 12]];
  assert.equal(describe(timeline(idle)), 'Update every 100 ms · jitter 0.00 ms · longest gap 100 ms · no update was due 2 times, at most for 11529 ms');
  assert.deepEqual(timeline(idle).updates.map((update) => barOf(update, timeline(idle)).kind), ['normal', 'normal', 'normal', 'silence', 'silence']);
  const late = [[100, 3], [100, 3], [100, 3], [11_529, 3], [400, 4]];
  assert.match(describe(timeline(late)), /longest gap 11529 ms · 2 large gaps: late ticks$/);
  assert.deepEqual([idle, late].map((rows) => causeOf(timeline(rows).updates[3], timeline(rows))),
    [' and 346 ticks, in which nothing changed for the client or it did not read', ', because the tick of the room was late']);
  assert.match(describe(timeline(idle, false)), /2 large gaps$/, 'a capture has no ticks');
});

test('updates are summed up in words, and a gap that is larger than normal stands out', () => {
  assert.equal(describe({ updates: [] }), 'No state packet yet');
  assert.equal(describe({ packet: 'update', updates: [] }), 'Update: too few for an interval');
  const updates = [[1, 0, null, 40], [2, 33, 33, 40], [3, 66, 33, 40], [4, 166, 100, 40], [5, 199, 33, 40]];
  assert.equal(describe({ packet: 'state', normal_ms: 33, updates }), 'state every 33.0 ms · jitter 16.8 ms · longest gap 100 ms · 1 large gap');
  const bar = (gap) => barOf([1, 0, gap, 40, 0], { normal_ms: 33, updates });
  assert.deepEqual([33, 200].map(bar), [{ height: 1 / 3, kind: 'normal' }, { height: 1, kind: 'large' }]);
  assert.equal(bar(null).kind, 'unknown');
  assert.deepEqual([milliseconds(0.1234), milliseconds(12.34), milliseconds(123.4)], ['0.12 ms', '12.3 ms', '123 ms']);
});

test('marks are gone through in both directions, around the ends', () => {
  assert.deepEqual([nextMark([5, 9, 2], 5, 1), nextMark([5, 9, 2], 5, -1), nextMark([5, 9, 2], 9, 1), nextMark([5, 9, 2], 2, -1)], [9, 2, 2, 9]);
  assert.equal(nextMark([], 1, 1), undefined);
});

test('what changed is said in one line', () => {
  assert.equal(changesHeading({ before: 1, same: 4, count: 2, changed: [] }, 'update'), 'Since the previous update: 2 of 6 values changed');
  assert.equal(changesHeading({ before: 1, same: 1, count: 0, changed: [] }, 'move'), 'Since the previous move: nothing has changed');
  assert.equal(changesHeading({}, 'move'), '');
});

/** An explainer with a capture, read to its end. */
async function opened(bytes) {
  const explainer = await Explainer.from(file('src/web/wasm/tickwire.wasm'));
  explainer.openFile(bytes);
  while (explainer.advance(100_000).more);
  return explainer;
}

test('a capture is listed, filtered, explained and linked without a server; what is wrong with it is said with the place', async () => {
  const sample = file('scripts/wireshark/samples/server.pcapng');
  const explainer = await opened(sample);
  const { connections } = explainer.fileSummary();
  assert.ok(connections.length > 0 && connections.every(({ dialect }) => dialect !== null), JSON.stringify(connections));
  const wish = (text, more = {}) => ({ text, from: '', client: null, automatic: true, ...more });
  const { all } = explainer.count();
  assert.deepEqual(explainer.filter(wish('from client')), {});
  const some = explainer.count().seen;
  assert.ok(some > 0 && some < all && explainer.rows(0, 500).every(({ from }) => from === 'client'));
  assert.deepEqual(explainer.filter(wish('tick >')), { wrong: 'a value is missing after this; example: tick > 7000', begin: 5, end: 6 });
  assert.equal(explainer.count().seen, some, 'the filter before is still in force');
  explainer.filter(wish('sequence > 123456789'));
  while (explainer.advance(1000).more);
  assert.match(explainer.count().why, /^No frame matches `sequence > 123456789`; \d+ frames have no field sequence; in the others, the field is/);
  explainer.filter(wish('move'));
  const other = await Explainer.from(file('src/web/wasm/tickwire.wasm'));
  // The sample carries its own tables. A capture without tables is explained by those of the page.
  const plain = await opened(file('scripts/wireshark/samples/ipv6.pcapng'));
  plain.filter(wish('move'));
  while (plain.advance(1000).more);
  const [row] = plain.rows(0, 1);
  other.openLink(plain.link(row.n));
  assert.equal(other.explain(1).raw, plain.explain(row.n).raw);
  assert.deepEqual(other.explain(1).frames, plain.explain(row.n).frames);
  assert.throws(() => other.openLink('frame=8g'), /not a hexadecimal digit/);
  const damaged = Uint8Array.from(sample);
  const second = sample.readUInt32LE(4);
  damaged.fill(1, second + 4, second + 8);
  await assert.rejects(opened(damaged), new RegExp(`at byte ${second + 4}: a block has the invalid length 16843009`));
  await assert.rejects(opened(Uint8Array.from([1, 2, 3])), /at byte 0: this is neither pcapng nor pcap/);
  await assert.rejects(opened(Uint8Array.from([0x1f, 0x8b, 8, 0])), /gzip -dc FILE/);
  const cut = await opened(sample.subarray(0, sample.length - 5));
  assert.match(cut.fileSummary().notes[0], /^the file ends in the middle of the block at byte \d+$/);
  assert.throws(() => other.setFileInput({ length: other.maxFileBytes + 1 }), /The file is 257 MiB; this page opens at most 256 MiB/);
});

test('bytes a second are means over the last counts, the largest first', () => {
  const all = new ByteRates();
  all.add([{ packet: 'move', from: 'client', count: 2, bytes: 32, fields: [{ name: 'header', bytes: 12 }, { name: 'tick', bytes: 20 }] }], 1);
  all.add([{ packet: 'update', from: 'server', count: 30, bytes: 900, fields: [{ name: 'own.x', bytes: 300 }, { name: 'own.y', bytes: 500 }, { name: 'own', bytes: 100 }] }], 1);
  const [update, move] = all.bars();
  assert.deepEqual([update.packet, update.count, update.bytes], ['update', 15, 450]);
  assert.deepEqual(update.fields, [{ name: 'own', bytes: 450, parts: [{ name: 'y', bytes: 250 }, { name: 'x', bytes: 150 }] }]);
  assert.deepEqual([move.count, move.bytes, move.fields.map((field) => field.name)], [1, 16, ['header', 'tick']]);
  for (let i = 0; i < 4; i += 1) all.add([], 1);
  assert.deepEqual(all.bars(), []);
  assert.deepEqual([0, 3.25, 12.4, 1234, 45_678].map(formatBytes), ['0 B', '3.3 B', '12 B', '1.2 kB', '46 kB']);
});

/** A window of the inspector, in one of the game. @param {string} search @param {object | null} game what the game's page shows of itself */
function windowIn(search, game) {
  const frame = Object.assign(new EventTarget(), { hidden: true });
  return { frame, page: /** @type {any} */ ({ location: { search }, frameElement: game && frame, parent: { tickwire: game } }) };
}

test('the game around the inspector is the client with its player number', () => {
  const clients = [{ id: 3, player: 1, dialect: 'native' }, { id: 7, player: 0, dialect: 'native' }, { id: 8, player: 2, dialect: 'letters' }];
  const own = (search, game) => new HostPage(windowIn(search, game).page).ownClient(clients);
  assert.equal(own('?embedded', { id: 2 }), 8);
  assert.equal(own('?embedded', { id: 9 }), null, 'a player that the list does not know yet');
  assert.equal(own('?embedded', { id: null }), null, 'one who only watches');
  assert.equal(own('', { id: 2 }), null, 'not asked to be beside');
  const page = { location: { search: '?embedded' }, frameElement: null, get parent() { throw new Error('another site'); } };
  assert.equal(new HostPage(/** @type {any} */ (page)).isOpen, false);
});

test('the inspector beside the game works while it is shown, and asks to be closed', () => {
  const { frame, page } = windowIn('?embedded', { id: 2 });
  const seen = [];
  const beside = new HostPage(page);
  beside.whileVisible(() => seen.push('shown'), () => seen.push('hidden'));
  assert.deepEqual(seen, [], 'it is hidden as yet');
  for (const name of ['show', 'hide', 'show']) frame.dispatchEvent(new Event(name));
  assert.deepEqual(seen, ['shown', 'hidden', 'shown']);
  frame.addEventListener('close', () => seen.push('close'));
  beside.close();
  assert.equal(seen.at(-1), 'close');
  new HostPage(windowIn('', null).page).whileVisible(() => seen.push('alone'), () => {});
  assert.equal(seen.at(-1), 'alone');
});

test('lines that are seen exist, also while the box is scrolled past the end of a list that a filter has shortened', () => {
  assert.deepEqual(linesAt(0, 240, 1000), [0, 22]);
  assert.deepEqual(linesAt(2400, 240, 1000), [94, 116]);
  assert.deepEqual(linesAt(23_760, 240, 1000), [984, 1000]);
  assert.deepEqual(linesAt(24_000, 240, 2), [2, 2]);
  assert.deepEqual(linesAt(24_000, 240, 0), [0, 0]);
  assert.deepEqual(linesAt(4200, 210, 1000, 42), [94, 111]);
});

test('a token is a word that a header can list; a refusal says what helps', () => {
  assert.match(bearerSubprotocol('a+/=~._-token-of-16??'), /^bearer\.[A-Za-z0-9_-]+$/);
  assert.match(bearerSubprotocol('🔑'), /^bearer\.[A-Za-z0-9_-]+$/, 'what is no token is offered all the same');
  assert.equal(Buffer.from(bearerSubprotocol('a-token-of-the-test').slice(7), 'base64url').toString(), 'a-token-of-the-test');
  assert.deepEqual([statusReason(401), statusReason(403)], ['', '']);
  assert.match(statusReason(429), /wait/);
  assert.match(statusReason(500), /500/);
  assert.deepEqual([formatTime(0), formatTime(61_234), formatTime(600_000)], ['0:00.000', '1:01.234', '10:00.000']);
});

test('the JSON of a row begins with its values, also where it is cut off', () => {
  for (const [text, expected] of [
    ['{"type":"chat","text":"a, \\"b\\": {c}"}', 'type:"chat" text:"a, \\"b\\": {c}"'],
    ['{"a b":{"c":[1,2]},"d":null}', '"a b":{c:[1,2]} d:null'],
    ['["1",null,"room:lobby",{"body":"hi"}]', '["1",null,"room:lobby",{body:"hi"}]'],
    ['{"text":"cut o …', 'text:"cut o …'],
    ['{}', ''],
  ]) assert.equal(shortJson(text), expected);
});

test('a line shows the values of its packet, and the time since the line above', () => {
  for (const [line, packet, tick, expected] of /** @type {const} */ ([
    ['binary, 9 bytes: scores tick=31 points=[7,4]', 'scores', 31, 'points=[7,4]'],
    ['binary, 9 bytes: scores tick=30 points=[7,4]', 'scores', 31, 'tick=30 points=[7,4]'],
    ['binary, masked, 3 bytes: stop', 'stop', 31, ''],
    ['binary, 9 bytes: update tick=31 own=[] moved=[[1, 2]] leaves=[]', 'update', 31, 'moved=[[1, 2]]'],
    ['binary, compressed, 18 bytes: inflated 60 bytes: scores tick=31 points=[7,4]', 'scores', 31, 'points=[7,4]'],
    ['text, masked, 5 bytes: "a: b"', null, 31, '"a: b"'],
    ['text, 30 bytes: JSON {"type":"chat"}', null, 31, 'type:"chat"'],
    ['binary, 30 bytes: MessagePack {"type":"chat"}', null, 31, 'type:"chat"'],
    ['ping, 0 bytes', null, 31, ''],
    ['', 'scores', 31, ''],
  ])) assert.equal(valuesOf(line, { packet, tick }), expected, line);
  assert.deepEqual([-1, 0, 27.6, 9999, 12_345].map(formatSince), ['+0', '+0', '+28', '+9999', '+12 s']);
});
