// A client of its own on a raw socket: handshake, frames and MessagePack are written out here, so that what it says
// about positions owes nothing to the page's modules or to the server's.

import { createHash, randomBytes } from 'node:crypto';
import { connect } from 'node:net';

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const WELCOME = 1;
const UPDATE = 2;
const CHAT = 6;
const STRUCTURES = 16;
const GONE = 17;

/** A watcher at `/play`. */
export class RawWatcher {
  /** @param {number} port */
  constructor(port) {
    /** Players in view by id: name, skin, x and y in px, heading in 1/256 turn. @type {Map<number, any>} */
    this.players = new Map();
    /** Ticks at which each player was first told to have moved since `mark`. @type {Map<number, number>} */
    this.movedAt = new Map();
    this.chat = [];
    /** What is known to stand, by id: item, owner, x and y in px. @type {Map<number, any>} */
    this.structures = new Map();
    this.tick = 0;
    this.updates = 0;
    this.updateTicks = 1;
    this.closeCode = null;
    this.pending = Buffer.alloc(0);
    this.upgraded = false;
    const key = randomBytes(16).toString('base64');
    this.accept = createHash('sha1').update(key + GUID).digest('base64');
    this.ready = new Promise((resolve, reject) => { this.welcomed = resolve; this.failed = reject; });
    this.closed = new Promise((resolve) => { this.ended = resolve; });
    this.socket = connect(port, '127.0.0.1', () => this.socket.write(
      `GET /play HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n`
      + `Sec-WebSocket-Key: ${key}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: tickwire.v1\r\n\r\n`));
    this.socket.on('data', (data) => this.receive(data));
    this.socket.on('error', (error) => this.failed(error));
    this.socket.on('close', () => this.ended(this.closeCode));
  }

  /** Forgets who has moved. */
  mark() {
    this.movedAt.clear();
  }

  /** Asks to follow a player. @param {number} id */
  follow(id) {
    // [7, [id]] with the number as uint 16.
    this.send(2, Buffer.from([0x92, 7, 0x91, 0xcd, id >> 8, id & 0xff]));
  }

  close() {
    this.send(8, Buffer.from([0x03, 0xe8]));
    this.socket.end();
  }

  receive(data) {
    this.pending = Buffer.concat([this.pending, data]);
    try {
      if (!this.upgraded && !this.head()) return;
      while (this.frame());
    } catch (error) {
      this.failed(error);
      this.socket.destroy(error);
    }
  }

  /** The response head: 101, the right key, the right subprotocol. */
  head() {
    const end = this.pending.indexOf('\r\n\r\n');
    if (end < 0) return false;
    const [status, ...lines] = this.pending.subarray(0, end).toString('latin1').split('\r\n');
    const headers = new Map(lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]));
    if (!status.startsWith('HTTP/1.1 101 ')) throw new Error(`refused: ${status}`);
    if (headers.get('sec-websocket-accept') !== this.accept) throw new Error('wrong Sec-WebSocket-Accept');
    if (headers.get('sec-websocket-protocol') !== 'tickwire.v1') throw new Error('wrong subprotocol');
    this.pending = this.pending.subarray(end + 4);
    this.upgraded = true;
    this.send(2, this.hello);
    return true;
  }

  /** The packet `hello`: [1, [version 1, mode 0 (watch), nil, nil]]. */
  get hello() {
    return Buffer.from([0x92, 1, 0x94, 1, 0, 0xc0, 0xc0]);
  }

  /** One frame of the server: unmasked, unfragmented. */
  frame() {
    const bytes = this.pending;
    if (bytes.length < 2) return false;
    if ((bytes[0] & 0x70) !== 0 || (bytes[0] & 0x80) === 0) throw new Error(`unexpected first byte ${bytes[0]}`);
    if (bytes[1] & 0x80) throw new Error('a masked frame from the server');
    let length = bytes[1] & 0x7f;
    let at = 2;
    if (length === 126) {
      if (bytes.length < 4) return false;
      length = bytes.readUInt16BE(2);
      at = 4;
    } else if (length === 127) {
      if (bytes.length < 10) return false;
      length = Number(bytes.readBigUInt64BE(2));
      at = 10;
    }
    if (bytes.length < at + length) return false;
    const payload = bytes.subarray(at, at + length);
    this.pending = bytes.subarray(at + length);
    this.take(bytes[0] & 0x0f, payload);
    return true;
  }

  /** @param {number} opcode @param {Buffer} payload */
  take(opcode, payload) {
    if (opcode === 2) this.packet(unpack(payload));
    else if (opcode === 9) this.send(10, payload);
    else if (opcode === 8) {
      this.closeCode = payload.length >= 2 ? payload.readUInt16BE(0) : null;
      this.send(8, payload.subarray(0, 2));
      this.socket.end();
    } else if (opcode !== 10) throw new Error(`unexpected opcode ${opcode}`);
  }

  /** @param {any[]} message `[code, args]` */
  packet([code, args]) {
    if (code === WELCOME) {
      this.updateTicks = args[4] / args[5];
      this.welcomed(args);
    } else if (code === UPDATE) this.update(args);
    else if (code === CHAT) this.chat.push({ player: args[0], text: args[1] });
    else if (code === STRUCTURES) for (const [id, item, owner, x, y] of groups(args[0], 6)) this.structures.set(id, { item, owner, x, y });
    else if (code === GONE) for (const id of args[0]) this.structures.delete(id);
  }

  /** The native update, list by list: tick, own, leaves, enters, full, moved, turned. */
  update([tick, , leaves, enters, full, moved, turned]) {
    this.tick = tick;
    this.updates += 1;
    for (const id of leaves ?? []) this.players.delete(id);
    for (const [id, name, skin, x, y, heading] of groups(enters, 6)) this.players.set(id, { name, skin, x: x / 2, y: y / 2, heading });
    for (const [id, x, y, heading] of groups(full, 4)) Object.assign(this.players.get(id), { x: x / 2, y: y / 2, heading });
    for (const [id, dx, dy] of groups(moved, 3)) {
      const player = this.players.get(id);
      player.x += dx / 2;
      player.y += dy / 2;
      if (!this.movedAt.has(id)) this.movedAt.set(id, tick);
    }
    for (const [id, heading] of groups(turned, 2)) this.players.get(id).heading = heading;
  }

  /** A masked frame. @param {number} opcode @param {Buffer} payload at most 125 bytes */
  send(opcode, payload) {
    const mask = randomBytes(4);
    const masked = Buffer.from(payload.map((byte, i) => byte ^ mask[i % 4]));
    if (!this.socket.destroyed) this.socket.write(Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | payload.length]), mask, masked]));
  }
}

function* groups(flat, size) {
  for (let i = 0; i < (flat?.length ?? 0); i += size) yield flat.slice(i, i + size);
}

/** MessagePack as the native dialect uses it: nil, integers, strings, arrays. */
function unpack(bytes) {
  let at = 0;
  const number = (size, read) => { const value = read.call(bytes, at); at += size; return value; };
  const text = (length) => { const value = bytes.toString('utf8', at, at + length); at += length; return value; };
  const list = (length) => Array.from({ length }, value);
  function value() {
    const lead = bytes.readUInt8(at++);
    if (lead <= 0x7f) return lead;
    if (lead >= 0xe0) return lead - 256;
    if (lead >= 0x90 && lead <= 0x9f) return list(lead & 15);
    if (lead >= 0xa0 && lead <= 0xbf) return text(lead & 31);
    switch (lead) {
      case 0xc0: return null;
      case 0xcc: return number(1, bytes.readUInt8);
      case 0xcd: return number(2, bytes.readUInt16BE);
      case 0xce: return number(4, bytes.readUInt32BE);
      case 0xd0: return number(1, bytes.readInt8);
      case 0xd1: return number(2, bytes.readInt16BE);
      case 0xd2: return number(4, bytes.readInt32BE);
      case 0xd9: return text(number(1, bytes.readUInt8));
      case 0xdc: return list(number(2, bytes.readUInt16BE));
      default: throw new Error(`MessagePack type 0x${lead.toString(16)} at byte ${at - 1}`);
    }
  }
  const whole = value();
  if (at !== bytes.length) throw new Error(`${bytes.length - at} bytes after the packet`);
  return whole;
}
