// The lane of a page: command blocks and acknowledgements equal to the Rust client's, lost
// datagrams, and lost channels.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { CommandQueue } from '../../../src/web/lib/command-queue.js';
import { KIND, LaneEndpoint, readMessages, writeMessages } from '../../../src/web/lib/datagram.js';
import { Lane, NewestStates } from '../../../src/web/lib/lane.js';
import { encode } from '../../../src/web/lib/msgpack.js';
import { connect } from '../../../src/web/tickwire.js';
import { CODES, FakeSocket, packet, sockets } from '../lib/fake-socket.mjs';

const { blocks, acks } = JSON.parse(readFileSync(new URL('../../fixtures/lane.json', import.meta.url), 'utf8'));
const hex = (bytes) => Buffer.from(bytes).toString('hex');
const bytes = (text) => new Uint8Array(Buffer.from(text, 'hex'));

for (const { name, most, commands, block } of blocks) {
  test(`a block equals the block of the Rust client: ${name}`, () => {
    const queue = new CommandQueue();
    for (const { sequence, tick, packet } of commands) queue.push(sequence, tick, bytes(packet), 0);
    assert.equal(hex(queue.block(most)), block);
  });
}

test('acknowledgements equal those of the Rust client', () => {
  for (const { sequences, newest, received } of acks) {
    const end = new LaneEndpoint(7);
    for (const sequence of sequences) end.open(datagram(7, sequence), 0);
    const header = new DataView(end.seal(new Uint8Array(), 0).buffer);
    assert.deepEqual([header.getUint16(6), header.getUint32(8)], [newest, received], String(sequences));
  }
});

/** A datagram without messages. */
function datagram(connection, sequence, newest = 0, messages = []) {
  const out = new Uint8Array([...new Uint8Array(12), ...writeMessages(messages)]);
  const view = new DataView(out.buffer);
  view.setUint32(0, connection);
  view.setUint16(4, sequence & 0xffff);
  view.setUint16(6, newest);
  return out;
}

test('an endpoint drops datagrams that are repeated, too old, too short or of another lane, and extends 16-bit numbers', () => {
  const end = new LaneEndpoint(7);
  assert.equal(end.open(datagram(8, 1), 0), null);
  assert.equal(end.open(new Uint8Array(11), 0), null);
  assert.equal(end.open(datagram(7, 1), 0)?.length, 0);
  assert.equal(end.open(datagram(7, 1), 0), null);
  for (let sequence = 2; sequence < 70_000; sequence += 1) assert.ok(end.open(datagram(7, sequence), 0), String(sequence));
  assert.equal(end.newest, 69_999);
  assert.equal(end.open(datagram(7, 69_999 - 65), 0), null);
  assert.deepEqual(end.missing, { sent: 32, missing: 0 });
});

test('an endpoint is usable while datagrams are acknowledged and at least half of them arrive', () => {
  const end = new LaneEndpoint(7);
  end.seal(new Uint8Array(), 0);
  assert.equal(end.isUsable(0), false);
  end.open(datagram(7, 1, 1), 80);
  assert.deepEqual([end.tripMs, end.isUsable(80), end.isUsable(560), end.isUsable(561)], [80, true, true, false]);
  for (let sequence = 2; sequence < 100; sequence += 3) end.open(datagram(7, sequence, 1), 600);
  assert.equal(end.isUsable(600), false);
});

test('an endpoint whose datagrams are not acknowledged is not usable, though those of the other end arrive', () => {
  const end = new LaneEndpoint(7);
  end.seal(new Uint8Array(), 0);
  end.open(datagram(7, 1, 1), 80);
  end.seal(new Uint8Array(), 100);
  end.open(datagram(7, 2, 1), 570);
  assert.deepEqual([end.isUsable(580), end.isUsable(581)], [true, false]);
  end.open(datagram(7, 3, 2), 590);
  assert.equal(end.isUsable(590), true);
});

/** A lane whose channel is a list of sent datagrams. */
function openLane() {
  const sent = [];
  const streamed = [];
  const packets = [];
  let deliver = () => {};
  let lose = () => {};
  const channel = { offer: async () => 'offer', accept: async () => {}, send: (one) => sent.push(one), close: () => {} };
  const lane = new Lane({
    openChannel: (onDatagram, onLost) => {
      [deliver, lose] = [onDatagram, onLost];
      return channel;
    },
    request: () => {},
    sendInStream: (packet) => streamed.push(hex(packet)),
    onPacket: (packet) => packets.push(hex(packet)),
  });
  return { lane, sent, streamed, packets, deliver: (one) => deliver(one), lose: () => lose() };
}

const MOVE = { name: 'move', code: 3, fields: [{ name: 'sequence' }, { name: 'tick' }] };
const move = (sequence) => encode([3, [sequence, 10 + sequence, 1]]);
const received = (sequence) => ({ kind: KIND.received, content: new Uint8Array([0, 0, 0, sequence]) });

test('the stream carries the first command, and datagrams repeat all commands until they are acknowledged', async () => {
  const { lane, sent, streamed, packets, deliver } = openLane();
  await lane.begin();
  await lane.onOffer({ connection: 7, answer: 'answer' });
  try {
    lane.send(MOVE, { sequence: 1, tick: 11 }, move(1));
    assert.deepEqual(streamed.splice(0), [hex(move(1))], 'the first command');
    deliver(datagram(7, 1, sent.length, [received(1), { kind: KIND.packet, content: new Uint8Array([0x92, 1, 0x90]) }]));
    assert.deepEqual(packets, ['920190']);
    for (const sequence of [2, 3]) lane.send(MOVE, { sequence, tick: 10 + sequence }, move(sequence));
    const [{ kind, content }] = readMessages(sent.at(-1).subarray(12));
    assert.deepEqual([kind, content[3], content[9]], [KIND.commands, 2, 2], 'both commands are in the newest datagram');
    assert.equal(lane.status().isUsable, true);
    assert.deepEqual(streamed, []);
    const long = encode([3, [4, 14, 'x'.repeat(300)]]);
    lane.send(MOVE, { sequence: 4, tick: 14 }, long);
    assert.deepEqual(streamed.splice(0), [move(2), move(3), long].map(hex), 'a long command follows all earlier ones');
    lane.send(MOVE, { sequence: 5, tick: 15 }, move(5));
    lane.send({ name: 'join', fields: [] }, {}, encode([4, []]));
    assert.deepEqual(streamed.splice(0), [move(5), encode([4, []])].map(hex), '`join` follows all commands of the earlier player');
    lane.end();
    lane.send(MOVE, { sequence: 6, tick: 16 }, move(6));
    assert.deepEqual(streamed, [hex(move(6))], 'without a lane, the stream carries every command');
  } finally {
    lane.end();
  }
});

test('after the loss of the channel, the stream carries its commands once and in order', async () => {
  const { lane, sent, streamed, deliver, lose } = openLane();
  await lane.begin();
  await lane.onOffer({ connection: 7, answer: 'answer' });
  try {
    lane.send(MOVE, { sequence: 1, tick: 11 }, move(1));
    streamed.length = 0;
    deliver(datagram(7, 1, sent.length, [received(1)]));
    for (const sequence of [2, 3, 4]) lane.send(MOVE, { sequence, tick: 10 + sequence }, move(sequence));
    deliver(datagram(7, 2, sent.length, [received(2)]));
    lose();
    assert.deepEqual(streamed, [move(3), move(4)].map(hex));
    lane.send(MOVE, { sequence: 5, tick: 15 }, move(5));
    assert.deepEqual(streamed.slice(2), [hex(move(5))]);
    assert.match(lane.status().why, /lost/);
  } finally {
    lane.end();
  }
});

test('a state is overtaken by a newer one of its row', () => {
  const newest = new NewestStates();
  newest.begin({ clientPackets: new Map([['state', { name: 'state', lane: 'latest' }], ['chat', { name: 'chat', lane: 'reliable' }]]) });
  const is = (name, tick) => newest.isOvertaken({ name, values: { tick } });
  assert.deepEqual([is('state', 5), is('state', 4), is('state', 5), is('state', 9), is('state', 8)], [false, true, false, false, true]);
  assert.deepEqual([is('chat', 1), is('chat', 0)], [false, false], 'events are not replaced');
});

test('a lane without a channel shows the reason, and the stream carries its commands', async () => {
  const streamed = [];
  const lane = new Lane({ openChannel: () => { throw new Error('blocked'); }, request: () => {}, sendInStream: (packet) => streamed.push(hex(packet)), onPacket: () => {} });
  await lane.begin();
  lane.send(MOVE, { sequence: 1, tick: 11 }, move(1));
  assert.deepEqual(streamed, [hex(move(1))]);
  const { isWaiting, why } = lane.status();
  assert.deepEqual([isWaiting, why], [false, 'Error: blocked']);
  lane.end();
});

/** A data channel that is always open. */
class FakePeer {
  static channel = /** @type {any} */ (null);

  createDataChannel() {
    FakePeer.channel = { readyState: 'open', bufferedAmount: 0, send: () => {} };
    return FakePeer.channel;
  }

  async setLocalDescription() {
    this.localDescription = { sdp: 'offer' };
  }

  async setRemoteDescription() {}

  close() {}
}

/** Runs pending promises. */
const settle = async () => { for (let turn = 0; turn < 30; turn += 1) await null; };

test('an unreadable packet of a datagram is an error event, and the packets after it are received', async (t) => {
  Object.assign(globalThis, { RTCPeerConnection: FakePeer });
  t.after(() => { Reflect.deleteProperty(globalThis, 'RTCPeerConnection'); });
  const errors = [];
  const codes = { ...CODES, lanes: ['webrtc'] };
  const pending = connect({ path: 'http://game.test/play', codes, WebSocket: FakeSocket, on: { error: ({ rule }) => errors.push(rule) } });
  await settle();
  const socket = /** @type {FakeSocket} */ (sockets.at(-1));
  socket.welcome({});
  const game = await pending;
  await settle();
  assert.deepEqual(socket.heard.at(-1), [126, ['offer']]);
  socket.give(encode([126, [7, new Uint8Array(), 3000, 'answer']]));
  await settle();
  const messages = [Uint8Array.of(0x92), packet('update', { tick: 102 })].flatMap((content) => [1, 0, content.length, ...content]);
  FakePeer.channel.onmessage({ data: Uint8Array.of(0, 0, 0, 7, 0, 1, 0, 0, 0, 0, 0, 0, ...messages).buffer });
  assert.deepEqual(errors, ['unreadable']);
  assert.deepEqual([game.counts.unreadable, game.newest('update').tick], [1, 102]);
  game.close();
});
