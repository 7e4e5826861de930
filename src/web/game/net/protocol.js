/**
 * The native dialect: names, codes, arguments. A message is `[code, [args...]]` in one binary frame. Codes and the order of arguments are those of the
 * tables in force, which the server serves as `codes.json`: nothing in the page holds a code or a position in a list of arguments.
 *
 * @module game/net/protocol
 */

import { formatTable } from '../../lib/codec.js';
import { decode as fromMsgpack, encode as toMsgpack } from '../../lib/msgpack.js';

/** Offered in the upgrade request. */
export const SUBPROTOCOL = 'tickwire.v1';
/** The protocol's version, sent in `hello` and expected back in `welcome`. */
export const VERSION = 1;
/** A world's own server speaks this dialect here; relative, so that the page works below any path. */
export const ENDPOINT = 'play';
/** Modes of `hello`. */
export const MODE = Object.freeze({ watch: 0, play: 1 });
/** Characters of a name, and of a chat line. The server cuts what is longer. */
export const NAME_CHARS = 15;
export const CHAT_CHARS = 30;
/** Characters of a clan's name. */
export const CLAN_CHARS = 7;

/**
 * A packet of the tables, as `codes.json` and `tickwire codes --format json` have it.
 * @typedef {{ name: string, type: string, members?: Argument[] }} Argument
 * @typedef {{ direction: string, name: string, codes: Record<string, number | string>, arguments: Argument[] }} Row
 * @typedef {{ tables: { rows: Row[] }[] }} Codes
 */

/** The page's dialect. */
const DIALECT = 'native';
/** The game whose page this is. */
const GAME = 'moo';
/** The tables in force. */
const TABLES_FILE = '../../codes.json';

/** Packets that the page can send, by name: code and arguments in order. @type {Map<string, { code: number | string, args: string[] }>} */
const toServer = new Map();
/** Packets that the server sends, by code. A missing trailing argument is nil. @type {Map<number | string, { name: string, args: string[] }>} */
const toClient = new Map();
/** The packet table of the dialect in force, as `packet_codes/` has it. */
let table = '';
/** Numbers of a group in a flat list, by the list's name. @type {Map<string, number>} */
const strides = new Map();

/** Takes the packet tables in force. @param {Codes} codes */
export function setTables(codes) {
  for (const known of [toServer, toClient, strides]) known.clear();
  table = formatTable(codes, DIALECT);
  for (const row of codes.tables.flatMap((table) => table.rows)) {
    const code = row.codes[DIALECT];
    if (code === undefined) continue;
    const args = row.arguments.map(({ name }) => name);
    if (row.direction === 'to_server') {
      toServer.set(row.name, { code, args });
      continue;
    }
    toClient.set(code, { name: row.name, args });
    for (const { name, members } of row.arguments) if (members) strides.set(name, members.length);
  }
}

/** What `prediction.wasm` begins with: the game, the dialect and its table. @returns {[game: string, dialect: string, table: string]} */
export const predictionSetup = () => [GAME, DIALECT, table];

/**
 * Fetches the packet tables in force, and takes them.
 * @throws {Error} in words for the reader, if the server does not answer
 */
export async function loadTables() {
  const answer = await fetch(new URL(TABLES_FILE, import.meta.url), { cache: 'no-cache' });
  if (!answer.ok) throw new Error(`no packet tables: status ${answer.status}`);
  setTables(await answer.json());
}

/** Units of the wire. */
export const UNIT = Object.freeze({
  /** `hpx`: half pixels from the map's corner. */
  hpx: 0.5,
  /** 16.16 fixed point. */
  fixed: 1 / 65536,
  /** `angle16` and `angle8`, in radians. */
  angle16: (2 * Math.PI) / 65536,
  angle8: (2 * Math.PI) / 256,
});

/**
 * Encodes a packet for the server.
 *
 * @param {string} name
 * @param {Record<string, unknown>} values by argument name; one that is missing is nil
 * @returns {Uint8Array<ArrayBuffer> | null} null for a packet that the tables in force do not have
 */
export function encode(name, values) {
  const row = toServer.get(name);
  return row ? toMsgpack([row.code, row.args.map((arg) => values[arg] ?? null)]) : null;
}

/**
 * Decodes a packet of the server.
 *
 * @param {Uint8Array} bytes
 * @returns {{ name: string, values: Record<string, any> } | null} null for a code that the tables in force do not have
 * @throws {RangeError} when the bytes are no packet
 */
export function decode(bytes) {
  const message = fromMsgpack(bytes);
  if (!Array.isArray(message) || !Array.isArray(message[1])) throw new RangeError('not [code, [args...]]');
  const row = toClient.get(message[0]);
  if (!row) return null;
  /** @type {Record<string, any>} */
  const values = {};
  row.args.forEach((arg, i) => { values[arg] = message[1][i] ?? null; });
  return { name: row.name, values };
}

/**
 * Walks a flat list group by group. An incomplete last group is left out.
 *
 * @param {string} list the list's name
 * @param {any[] | null} flat
 * @param {(...fields: any[]) => void} each called with the fields in the order of the tables
 */
export function forEachGroup(list, flat, each) {
  const stride = strides.get(list);
  if (!flat || !stride) return;
  for (let i = 0; i + stride <= flat.length; i += stride) each(...flat.slice(i, i + stride));
}

/** @param {number} radians @returns {number} a binary angle, 65,536 a turn */
export function toAngle16(radians) {
  return Math.round(radians / UNIT.angle16) & 0xffff;
}

/** The first `count` characters, whole code points. @param {string} text @param {number} count */
export function cut(text, count) {
  return Array.from(text.trim()).slice(0, count).join('');
}
