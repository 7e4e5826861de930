/**
 * Native dialect of the game: a message is `[code, [args...]]` in one binary frame. Codes and
 * argument order come from the tables that the server sends as `codes.json`.
 *
 * @module game/net/protocol
 */

import { Dialect, formatTable } from '../../lib/codec.js';

/** Path of the endpoint, relative, so that the page works below any path. */
export const ENDPOINT = 'play';
/** Maximum characters of a name. The server truncates longer names. */
export const NAME_CHARS = 15;
/** Maximum characters of a chat line. The server truncates longer lines. */
export const CHAT_CHARS = 30;
/** Maximum characters of a clan name. */
export const CLAN_CHARS = 7;

/** @typedef {import('../../lib/codec.js').Argument} Argument */

/** Dialect of the page. */
export const DIALECT = 'native';
/** Game of the page. */
export const GAME = 'moo';
/** File with the packet tables. */
const TABLES_FILE = '../../codes.json';

/** Codec of the current tables; null before they are loaded. @type {Dialect | null} */
let dialect = null;
/**
 * Number of members of each group in a flat list, by the name of the list.
 * @type {Map<string, number>}
 */
const strides = new Map();

/**
 * Sets the packet tables.
 * @param {import('../../lib/codec.js').Codes} codes
 * @returns {Dialect}
 */
export function setTables(codes) {
  dialect = new Dialect(codes, DIALECT, { areGroupsFlat: true });
  strides.clear();
  for (const { fields } of dialect.clientPackets.values()) {
    for (const { name, members } of fields) if (members.length > 0) strides.set(name, members.length);
  }
  return dialect;
}

/**
 * Returns what the world in this page and the prediction start with: the dialect and its table.
 * @returns {[dialect: string, table: string]}
 */
export const dialectAndTable = () => [DIALECT, dialect ? formatTable(dialect.codes, DIALECT) : ''];

/**
 * Fetches and sets the packet tables.
 * @param {AbortSignal} [signal]
 * @throws {Error} with a sentence for the player, if the server does not respond
 */
export async function loadTables(signal = undefined) {
  const answer = await fetch(new URL(TABLES_FILE, import.meta.url), { cache: 'no-cache', signal });
  if (!answer.ok) throw new Error(`no packet tables: status ${answer.status}`);
  return setTables(await answer.json());
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
 * Encodes a packet that clients send. Values without an argument in the tables are dropped.
 * @param {string} name
 * @param {Record<string, unknown>} values by argument name; a missing value is nil
 * @returns {Uint8Array<ArrayBuffer> | null} null if the tables lack the packet
 * @throws {TypeError | RangeError} naming the packet and the argument that do not fit the tables
 */
export function encode(name, values) {
  return dialect?.serverPackets.has(name) ? dialect.encode(name, dialect.supportedValues(name, values)) : null;
}

/**
 * Decodes a packet that the server sends. Lists of groups stay flat, for `forEachGroup`.
 * @param {Uint8Array} bytes
 * @returns {{ name: string, values: Record<string, any> } | null} null if the tables lack the code
 * @throws {RangeError} if the bytes are not a packet
 */
export function decode(bytes) {
  return dialect?.decode(bytes) ?? null;
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
