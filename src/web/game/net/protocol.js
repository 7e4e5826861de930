/**
 * Native dialect of the game: a message is `[code, [args...]]` in one binary frame. Codes and
 * argument order come from the tables that the server sends as `codes.json`.
 *
 * @module game/net/protocol
 */

import { formatTable } from '../../lib/codec.js';
import { decode as fromMsgpack, encode as toMsgpack } from '../../lib/msgpack.js';

/** Subprotocol that the upgrade request offers. */
export const SUBPROTOCOL = 'tickwire.v1';
/** Version of the protocol in `hello` and `welcome`. */
export const VERSION = 1;
/** Path of the endpoint, relative, so that the page works below any path. */
export const ENDPOINT = 'play';
/** Modes of `hello`. */
export const MODE = Object.freeze({ watch: 0, play: 1 });
/** Maximum characters of a name. The server truncates longer names. */
export const NAME_CHARS = 15;
/** Maximum characters of a chat line. The server truncates longer lines. */
export const CHAT_CHARS = 30;
/** Maximum characters of a clan name. */
export const CLAN_CHARS = 7;

/**
 * Packet tables, as in `codes.json` and the output of `tickwire codes --format json`.
 * @typedef {{ name: string, type: string, members?: Argument[] }} Argument
 * @typedef {{ direction: string, name: string, codes: Record<string, number | string>, arguments:
 *   Argument[] }} Row
 * @typedef {{ tables: { rows: Row[] }[] }} Codes
 */

/** Dialect of the page. */
const DIALECT = 'native';
/** Game of the page. */
const GAME = 'moo';
/** File with the packet tables. */
const TABLES_FILE = '../../codes.json';

/**
 * Packets to the server by name: code and argument names in order.
 * @type {Map<string, { code: number | string, args: string[] }>}
 */
const toServer = new Map();
/**
 * Packets to the client by code. A missing trailing argument is nil.
 * @type {Map<number | string, { name: string, args: string[] }>}
 */
const toClient = new Map();
/** Text of the packet table, as in `packet_codes/`. */
let table = '';
/**
 * Number of members of each group in a flat list, by the name of the list.
 * @type {Map<string, number>}
 */
const strides = new Map();

/** Sets the packet tables. @param {Codes} codes */
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

/**
 * Returns the setup of `prediction.wasm`: the game, the dialect and its table.
 * @returns {[game: string, dialect: string, table: string]}
 */
export const predictionSetup = () => [GAME, DIALECT, table];

/**
 * Fetches and sets the packet tables.
 * @throws {Error} with a sentence for the player, if the server does not respond
 */
export async function loadTables() {
  const answer = await fetch(new URL(TABLES_FILE, import.meta.url), { cache: 'no-cache' });
  if (!answer.ok) throw new Error(`no packet tables: status ${answer.status}`);
  setTables(await answer.json());
}

/** Units of the wire, in px or radians. */
export const UNIT = Object.freeze({
  /** `hpx`: half pixels from the corner of the map. */
  hpx: 0.5,
  /** 16.16 fixed point. */
  fixed: 1 / 65536,
  /** Binary angle of 16 bits. */
  angle16: (2 * Math.PI) / 65536,
  /** Binary angle of 8 bits. */
  angle8: (2 * Math.PI) / 256,
});

/**
 * Encodes a packet to the server.
 * @param {string} name
 * @param {Record<string, unknown>} values by argument name; a missing one is nil
 * @returns {Uint8Array<ArrayBuffer> | null} null if the tables lack the packet
 */
export function encode(name, values) {
  const row = toServer.get(name);
  return row ? toMsgpack([row.code, row.args.map((arg) => values[arg] ?? null)]) : null;
}

/**
 * Decodes a packet to the client.
 * @param {Uint8Array} bytes
 * @returns {{ name: string, values: Record<string, any> } | null} null if the tables lack the code
 * @throws {RangeError} if the bytes are no packet
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
 * Calls a function for each group of a flat list. An incomplete last group is dropped.
 * @param {string} list name of the list
 * @param {any[] | null} flat
 * @param {(...fields: any[]) => void} each called with the members in the order of the tables
 */
export function forEachGroup(list, flat, each) {
  const stride = strides.get(list);
  if (!flat || !stride) return;
  for (let i = 0; i + stride <= flat.length; i += stride) each(...flat.slice(i, i + stride));
}

/** Converts an angle to a binary angle. @param {number} radians @returns {number} 0 to 65,535 */
export function toAngle16(radians) {
  return Math.round(radians / UNIT.angle16) & 0xffff;
}

/** Trims a text to `count` code points. @param {string} text @param {number} count */
export function cut(text, count) {
  return Array.from(text.trim()).slice(0, count).join('');
}
