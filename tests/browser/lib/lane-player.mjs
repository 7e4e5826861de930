// A player with a lane by UDP, written from PROTOCOL.md alone: it shares no code for datagrams with
// the page or the server. The caller selects the datagrams that it loses, delays and repeats.

import { createCipheriv, createDecipheriv } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { decode, encode } from '../../../src/web/lib/msgpack.js';
import { RawWatcher } from './wire.mjs';

const [WELCOME, UPDATE, SPAWNED, MOVE, LANE] = [1, 2, 3, 3, 126];
const [PACKET, COMMANDS, RECEIVED] = [1, 2, 3];
const [HEADER_BYTES, TAG_BYTES, WINDOW] = [12, 16, 32];
const NO_TICK = 0xffffffff;
const DATAGRAM_MS = 50;
/** Number of later datagrams that overtake a late one. */
const LATE_BY = 4;

/** The number nearest to another with these lower 16 bits. @param {number} low @param {number} near */
const nearest = (low, near) => near + ((low - near + 0x8000) & 0xffff) - 0x8000;

/** @param {number} kind @param {Buffer} content */
function message(kind, content) {
  const head = Buffer.alloc(3);
  head.writeUInt8(kind);
  head.writeUInt16BE(content.length, 1);
  return Buffer.concat([head, content]);
}

/** The block of all commands without an acknowledgement. A repeated direction is a single bit. @param {{ sequence: number, direction: number }[]} commands */
function block(commands) {
  const head = Buffer.alloc(10);
  head.writeUInt32BE(commands[0].sequence);
  head.writeUInt32BE(NO_TICK, 4);
  head.writeUInt8(commands.length, 9);
  const same = Buffer.alloc(Math.ceil(commands.length / 8));
  const bodies = commands.flatMap(({ direction }, at) => {
    if (at > 0 && commands[at - 1].direction === direction) {
      same[at >> 3] |= 0x80 >> (at & 7);
      return [];
    }
    const body = Buffer.concat([encode(MOVE), encode([direction])]);
    return [Buffer.from([0, body.length]), body];
  });
  return Buffer.concat([head, same, ...bodies]);
}

/** A player that walks in a circle, by datagrams. */
export class LanePlayer extends RawWatcher {
  /**
   * @param {number} port
   * @param {(way: 'up' | 'down', number: number) => 'lose' | 'late' | 'repeat' | null} carry selects the fault of a datagram
   * @param {number} delayMs on the way, in each direction
   */
  constructor(port, carry = () => null, delayMs = 0) {
    super(port);
    this.carry = carry;
    this.delayMs = delayMs;
    this.lane = null;
    this.commands = [];
    this.made = 0;
    this.byDatagram = 0;
    this.streamed = 0;
  }

  // [1, [version 1, mode 1 (play), name, nil]]
  get hello() {
    return Buffer.from(encode([1, [1, 1, 'Lane', null]]));
  }

  take(opcode, payload) {
    if (opcode !== 2) return super.take(opcode, payload);
    if (this.socket.writableEnded) return;
    const [code, args] = /** @type {[number, any[]]} */ (decode(payload));
    if (code === WELCOME) {
      this.welcomed(args);
      this.send(2, Buffer.from(encode([LANE, []])));
    } else if (code === LANE) this.begin(args);
    else if (code === SPAWNED) this.timer ??= setInterval(() => this.turn(), DATAGRAM_MS);
  }

  /** @param {[number, Uint8Array, number]} offer */
  begin([connection, key, port]) {
    const socket = createSocket('udp4');
    this.lane = { connection, key, socket, sequence: 0, newest: 0, received: new Set(), late: { up: [], down: [] } };
    socket.connect(port, '127.0.0.1');
    socket.on('message', (datagram) => {
      const number = nearest(datagram.readUInt16BE(4), this.lane.newest);
      this.pass('down', number, () => this.open(number, datagram));
    });
    socket.on('error', () => {});
  }

  /** Passes a datagram on, or injects its fault. @param {'up' | 'down'} way @param {number} number @param {() => void} go */
  pass(way, number, go) {
    const what = this.carry(way, number);
    const pass = this.delayMs === 0 ? go : () => setTimeout(go, this.delayMs);
    if (what === 'late') this.lane.late[way].push({ after: number + LATE_BY, pass });
    else if (what !== 'lose') pass();
    if (what === 'repeat') pass();
    if (this.lane.late[way][0]?.after <= number) this.lane.late[way].shift().pass();
  }

  open(number, datagram) {
    const { key, received } = this.lane;
    const [header, sealed, tag] = [datagram.subarray(0, HEADER_BYTES), datagram.subarray(HEADER_BYTES, -TAG_BYTES), datagram.subarray(-TAG_BYTES)];
    // Ignores repeated datagrams.
    if (received.has(number) || this.socket.destroyed) return;
    const cipher = createDecipheriv('chacha20-poly1305', key, nonce(1, number), { authTagLength: TAG_BYTES });
    cipher.setAAD(header, { plaintextLength: sealed.length });
    cipher.setAuthTag(tag);
    let messages = Buffer.concat([cipher.update(sealed), cipher.final()]);
    received.add(number);
    this.lane.newest = Math.max(this.lane.newest, number);
    while (messages.length > 0) {
      const [kind, content] = [messages[0], messages.subarray(3, 3 + messages.readUInt16BE(1))];
      if (kind === RECEIVED) this.commands = this.commands.filter(({ sequence }) => sequence > content.readUInt32BE());
      else if (kind === PACKET && decode(content)[0] === UPDATE) this.byDatagram += 1;
      messages = messages.subarray(3 + content.length);
    }
  }

  turn() {
    this.made += 1;
    if (this.made % 2 === 0) this.commands.push({ sequence: this.made / 2, direction: (this.made >> 3) * 4096 & 0xffff });
    // The stream carries the first command as well, because the server does not know its number.
    if (this.made === 2) this.send(2, Buffer.from(encode([MOVE, [1, null, 0]])));
    const commands = this.commands.slice(0, 64);
    this.seal(commands.length === 0 ? Buffer.alloc(0) : message(COMMANDS, block(commands)));
  }

  seal(messages) {
    const { connection, key, socket, newest, received } = this.lane;
    const number = this.lane.sequence += 1;
    const header = Buffer.alloc(HEADER_BYTES);
    header.writeUInt32BE(connection);
    header.writeUInt16BE(number & 0xffff, 4);
    header.writeUInt16BE(newest & 0xffff, 6);
    for (let bit = 0; bit < WINDOW; bit += 1) if (received.has(newest - 1 - bit)) header[11 - (bit >> 3)] |= 1 << (bit & 7);
    const cipher = createCipheriv('chacha20-poly1305', key, nonce(0, number), { authTagLength: TAG_BYTES });
    cipher.setAAD(header, { plaintextLength: messages.length });
    const sealed = Buffer.concat([cipher.update(messages), cipher.final()]);
    const datagram = Buffer.concat([header, sealed, cipher.getAuthTag()]);
    this.pass('up', number, () => { if (this.timer) socket.send(datagram, () => {}); });
  }

  close() {
    clearInterval(this.timer);
    this.timer = 0;
    this.lane?.socket.close();
    super.close();
  }
}

/** @param {number} direction @param {number} number */
function nonce(direction, number) {
  const made = Buffer.alloc(12);
  made.writeUInt32BE(direction);
  made.writeBigUInt64BE(BigInt(number), 4);
  return made;
}
