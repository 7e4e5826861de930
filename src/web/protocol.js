/**
 * The native dialect: names, codes, arguments. A message is `[code, [args...]]` in one binary frame. The rows repeat
 * `packet_codes/`, and a test compares them, so that nothing else in the page holds a code or a position in a list.
 *
 * @module protocol
 */

import { decode as fromMsgpack, encode as toMsgpack } from './msgpack.js';

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

/** Packets that the page sends: code and arguments in order. */
export const TO_SERVER = Object.freeze({
  hello: { code: 1, args: ['version', 'mode', 'name', 'skin'] },
  enter: { code: 2, args: ['name', 'skin'] },
  move: { code: 3, args: ['sequence', 'tick', 'direction'] },
  aim: { code: 4, args: ['sequence', 'tick', 'heading'] },
  chat: { code: 5, args: ['sequence', 'tick', 'text'] },
  ping: { code: 6, args: ['nonce'] },
  follow: { code: 7, args: ['player'] },
  attack: { code: 8, args: ['sequence', 'tick', 'state'] },
  select: { code: 9, args: ['sequence', 'tick', 'id', 'is_weapon'] },
  upgrade: { code: 10, args: ['sequence', 'tick', 'choice'] },
  clan_create: { code: 11, args: ['sequence', 'tick', 'name'] },
  clan_leave: { code: 12, args: ['sequence', 'tick'] },
  clan_request: { code: 13, args: ['sequence', 'tick', 'name'] },
  clan_answer: { code: 14, args: ['sequence', 'tick', 'player', 'accept'] },
  clan_kick: { code: 15, args: ['sequence', 'tick', 'player'] },
  map_ping: { code: 16, args: ['sequence', 'tick'] },
});

/** Packets that the server sends. A missing trailing argument is nil. */
export const TO_CLIENT = Object.freeze({
  welcome: {
    code: 1,
    args: ['version', 'code_hash', 'seed', 'map_size_px', 'tick_hz', 'update_hz', 'epoch', 'tick'],
  },
  update: { code: 2, args: ['tick', 'own', 'leaves', 'enters', 'full', 'moved', 'turned'] },
  spawned: { code: 3, args: ['player'] },
  objects: { code: 4, args: ['objects'] },
  leaderboard: { code: 5, args: ['rows', 'place', 'players'] },
  chat: { code: 6, args: ['player', 'text'] },
  pong: { code: 7, args: ['nonce', 'tick'] },
  error: { code: 8, args: ['rule', 'detail'] },
  watching: { code: 9, args: ['player'] },
  swings: { code: 10, args: ['swings'] },
  shakes: { code: 11, args: ['shakes'] },
  health: { code: 12, args: ['health'] },
  stats: { code: 13, args: ['wood', 'food', 'stone', 'gold', 'kills', 'xp', 'xp_next', 'age', 'score'] },
  died: { code: 14, args: ['by', 'name'] },
  kill: { code: 15, args: ['killer', 'killer_name', 'victim', 'victim_name'] },
  structures: { code: 16, args: ['structures'] },
  gone: { code: 17, args: ['objects'] },
  kit: { code: 18, args: ['weapons', 'items', 'counts'] },
  offers: { code: 19, args: ['points', 'age', 'choices'] },
  hands: { code: 20, args: ['hands'] },
  shots: { code: 21, args: ['shots'] },
  shot_ends: { code: 22, args: ['ends'] },
  animals: { code: 23, args: ['animals'] },
  animals_gone: { code: 24, args: ['animals'] },
  strikes: { code: 25, args: ['animals'] },
  clans: { code: 26, args: ['clans'] },
  clan_changes: { code: 32, args: ['ended', 'founded'] },
  clan: { code: 27, args: ['clan', 'owner', 'members', 'asks'] },
  mates: { code: 28, args: ['mates'] },
  map_ping: { code: 29, args: ['player', 'x', 'y'] },
  say: { code: 30, args: ['text'] },
  tags: { code: 31, args: ['tags'] },
});

/** Fields of one group in a flat list, by the list's name. */
export const GROUPS = Object.freeze({
  own: ['sequence', 'margin', 'x', 'y', 'vx', 'vy', 'heading', 'direction'],
  enters: ['player', 'name', 'skin', 'x', 'y', 'heading'],
  full: ['player', 'x', 'y', 'heading'],
  moved: ['player', 'dx', 'dy'],
  turned: ['player', 'heading'],
  objects: ['id', 'kind', 'x', 'y', 'scale'],
  rows: ['player', 'name', 'score'],
  swings: ['player', 'weapon', 'hit'],
  shakes: ['object', 'direction'],
  health: ['player', 'health'],
  structures: ['id', 'item', 'owner', 'x', 'y', 'heading'],
  counts: ['group', 'count'],
  hands: ['player', 'weapon', 'item'],
  shots: ['id', 'kind', 'by', 'x', 'y', 'heading', 'range'],
  ends: ['id', 'x', 'y'],
  animals: ['id', 'kind', 'x', 'y', 'heading', 'health'],
  clans: ['clan', 'name', 'owner'],
  founded: ['clan', 'name', 'owner'],
  members: ['player', 'name'],
  asks: ['player', 'name'],
  mates: ['player', 'x', 'y'],
  tags: ['player', 'clan'],
});

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

const byCode = new Map(Object.entries(TO_CLIENT).map(([name, row]) => [row.code, { name, args: row.args }]));

/**
 * Encodes a packet for the server.
 *
 * @param {keyof typeof TO_SERVER} name
 * @param {Record<string, unknown>} values by argument name; one that is missing is nil
 */
export function encode(name, values) {
  const row = TO_SERVER[name];
  const args = row.args.map((arg) => values[arg] ?? null);
  return toMsgpack([row.code, args]);
}

/**
 * Decodes a packet of the server.
 *
 * @param {Uint8Array} bytes
 * @returns {{ name: string, values: Record<string, any> } | null} null for a code that this page does not know
 * @throws {RangeError} when the bytes are no packet
 */
export function decode(bytes) {
  const message = fromMsgpack(bytes);
  if (!Array.isArray(message) || !Array.isArray(message[1])) throw new RangeError('not [code, [args...]]');
  const row = byCode.get(message[0]);
  if (!row) return null;
  /** @type {Record<string, any>} */
  const values = {};
  row.args.forEach((arg, i) => { values[arg] = message[1][i] ?? null; });
  return { name: row.name, values };
}

/**
 * Walks a flat list group by group. An incomplete last group is left out.
 *
 * @param {keyof typeof GROUPS} list the list's name
 * @param {any[] | null} flat
 * @param {(...fields: any[]) => void} each called with the fields in the order of `GROUPS`
 */
export function eachGroup(list, flat, each) {
  if (!flat) return;
  const stride = GROUPS[list].length;
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
