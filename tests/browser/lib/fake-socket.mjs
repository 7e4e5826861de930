// A WebSocket whose server is the test: what `tickwire.js` is given in place of a real one.

import { readFileSync } from 'node:fs';
import { decode as fromMsgpack, encode as toMsgpack } from '../../../src/web/lib/msgpack.js';

/** `codes.json` of the built-in tables, as the server makes it. @type {import('../../../src/web/lib/codec.js').Codes} */
export const CODES = JSON.parse(readFileSync(new URL('../../../src/web/codes.json', import.meta.url), 'utf8'));

/** @param {string} direction @param {string} name @param {string} dialect */
export const rowOf = (direction, name, dialect = 'native', codes = CODES) => codes.tables.flatMap(({ rows }) => rows)
  .find((row) => row.direction === direction && row.name === name && row.codes[dialect] !== undefined);

/** A packet of the server as bytes: arguments in the order of the table. @param {string} name @param {Record<string, unknown>} values */
export function packet(name, values, dialect = 'native', codes = CODES) {
  const row = rowOf('to_client', name, dialect, codes);
  return toMsgpack([row.codes[dialect], row.arguments.map((argument) => values[argument.name] ?? null)]);
}

export const WELCOME = { version: 1, rules_hash: '00', seed: 7, map_size_px: 3600, tick_hz: 30, update_hz: 30, epoch: 'a', tick: 100 };

/** All that were made, oldest first. @type {FakeSocket[]} */
export const sockets = [];

export class FakeSocket {
  constructor(url, protocols) {
    Object.assign(this, { url: String(url), protocols, sent: [], closed: null, readyState: 1, dialect: new URL(url).searchParams.get('dialect') });
    sockets.push(this);
  }

  send(bytes) {
    this.sent.push(bytes);
  }

  close(code) {
    this.closed = code;
  }

  /** What the client has sent: code and arguments. */
  get heard() {
    return this.sent.map((bytes) => fromMsgpack(bytes));
  }

  /** The last packet of a name. @param {string} name @returns {Record<string, unknown> | undefined} its values */
  last(name, codes = CODES) {
    const row = rowOf('to_server', name, this.dialect, codes);
    const found = this.heard.findLast(([code]) => code === row.codes[this.dialect]);
    return found && Object.fromEntries(row.arguments.map((argument, at) => [argument.name, found[1][at]]));
  }

  /** The server sends bytes. @param {Uint8Array} bytes */
  give(bytes) {
    this.onmessage({ data: Uint8Array.from(bytes).buffer });
  }

  /** The server sends a packet. @param {string} name @param {Record<string, unknown>} values */
  say(name, values) {
    this.give(packet(name, values, this.dialect));
  }

  /** The server accepts, and says welcome. @param {object} [more] */
  welcome(more = {}) {
    this.onopen();
    this.say('welcome', { ...WELCOME, ...more });
  }

  /** The server closes. @param {number} code @param {string} [reason] */
  end(code, reason = '') {
    this.onclose({ code, reason });
  }
}
