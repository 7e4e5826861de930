/**
 * Encodes and decodes packets by name, in any dialect. The codec reads the packet tables that the
 * server sends as `codes.json`; it contains no packet code or name.
 *
 * @module lib/codec
 */

import { decode as fromMsgpack, encode as toMsgpack } from './msgpack.js';

/**
 * Packet tables, as in `codes.json` and the output of `tickwire codes --format json`.
 * @typedef {{ name: string, type: string, members?: Argument[] }} Argument
 * @typedef {{ direction: string, name: string, lane?: string, meaning?: string, codes:
 *   Record<string, number | string>, arguments: Argument[] }} Row
 * @typedef {{ hash?: string, lanes?: string[],
 *   tables: { dialects?: string[], rows: Row[] }[] }} Codes
 */

/**
 * Compiled type of an argument or of a member of an argument.
 * @typedef {object} Field
 * @property {string} name
 * @property {string} type text in the packet table
 * @property {'groups' | 'list' | 'tuple' | 'map' | 'text' | 'bytes' | 'truth' | 'number' | 'any'}
 *   shape
 * @property {boolean} nil whether it may be null
 * @property {boolean} whole whether a number has no fraction
 * @property {number} low
 * @property {number} high bounds of a number; `high` of a list is the maximum number of entries
 * @property {number} unit pixels or radians for each step; 1 without such a unit
 * @property {number} turn steps of a full turn, for an angle; otherwise 0
 * @property {boolean} smooth whether it is a position or an angle, which can be interpolated
 * @property {Field[]} members
 * @property {Field | null} each element type of a list of scalars
 */

/**
 * @typedef {{ name: string, code: number | string, lane?: string, fields: Field[] }} Packet
 */

const TURN = 2 * Math.PI;
/** Units of positions and angles: pixels or radians for each step, and the steps of a full turn. */
const UNITS = new Map(Object.entries({
  px: [1, 0], hpx: [1 / 2, 0], fix4: [1 / 16, 0], fix16: [1 / 65536, 0],
  rad: [1, TURN], turn16: [TURN / 65536, 65536], turn8: [TURN / 256, 256],
}));

/** Code of `lane_request` and `lane_offer`. */
const LANE_CODE = 126;
/**
 * Packets that request and grant a lane. Every dialect with `hello` has them, unless its table uses
 * their code.
 */
const LANE_ROWS = [
  { direction: 'to_server', name: 'lane_request', lane: 'reliable', arguments: [{ name: 'offer', type: 'str<=4096|nil' }] },
  { direction: 'to_client', name: 'lane_offer', lane: 'reliable', arguments: [
    { name: 'connection', type: 'u32' }, { name: 'key', type: 'bin' }, { name: 'port', type: 'u16' }, { name: 'answer', type: 'str|nil' }] },
];

/** @param {Argument} argument @returns {Field} */
function field({ name, type, members }) {
  const [, shape, after] = /** @type {RegExpExecArray} */ (/^(.*?)((?:\|nil|\|0|\|loose)*)$/.exec(type));
  const scalar = /^(bool|flag|num|str|bin|any|[ui](?:8|16|32))(?:\.(\w+))?(?:<=(\d+))?$/.exec(shape);
  const max = Number(scalar?.[3] ?? /\]<=(\d+)$/.exec(shape)?.[1] ?? Infinity);
  const each = members ? undefined : /^\[([a-z].*)\](?:<=\d+)?$/.exec(shape)?.[1];
  const [unit, turn] = UNITS.get(scalar?.[2] ?? '') ?? [1, 0];
  return {
    name, type, unit, turn, nil: after.includes('|nil'), smooth: UNITS.has(scalar?.[2] ?? ''),
    members: (members ?? []).map(field), each: each === undefined ? null : field({ name, type: each }),
    ...scalar ? bounds(scalar[1], max) : { shape: container(shape, members), whole: false, low: 0, high: max },
  };
}

/** @param {string} shape @param {Argument[]} [members] */
function container(shape, members) {
  if (shape[0] === '[') return members ? 'groups' : 'list';
  return shape[0] === '{' ? 'map' : 'tuple';
}

/**
 * Returns the shape and the bounds of a scalar type.
 * @param {string} word scalar type in the packet table
 * @param {number} max
 * @returns {Pick<Field, 'shape' | 'whole' | 'low' | 'high'>}
 */
function bounds(word, max) {
  if (word === 'str') return { shape: 'text', whole: false, low: 0, high: max };
  if (word === 'bin') return { shape: 'bytes', whole: false, low: 0, high: max };
  if (word === 'any') return { shape: 'any', whole: false, low: 0, high: 0 };
  if (word === 'num') return { shape: 'number', whole: false, low: -Infinity, high: max };
  if (word === 'bool' || word === 'flag') return { shape: 'truth', whole: true, low: 0, high: 1 };
  const bits = Number(word.slice(1));
  const signed = word[0] === 'i';
  const high = 2 ** (signed ? bits - 1 : bits) - 1;
  return { shape: 'number', whole: true, low: signed ? -(2 ** (bits - 1)) : 0, high: Math.min(high, max) };
}

/**
 * Formats the rows of a dialect as the text of a packet table.
 * @param {Codes} codes
 * @param {string} dialect
 */
export function formatTable(codes, dialect) {
  const rows = codes.tables.flatMap((one) => one.rows).filter((row) => row.codes[dialect] !== undefined);
  const type = typeof rows[0]?.codes[dialect] === 'string' ? 'str' : 'int';
  const line = (/** @type {Row} */ row) => [row.direction, row.name, row.lane, row.codes[dialect],
    row.arguments.map((argument) => `${argument.name}:${argument.type}`).join(' ') || '-', row.meaning];
  return [['direction', 'name', 'lane', `${dialect}:${type}`, 'arguments', 'meaning'], ...rows.map(line)]
    .map((cells) => `${cells.join('\t')}\n`).join('');
}

/**
 * Returns the first dialect that has both `hello` and `welcome`.
 * @param {Codes} codes
 * @returns {string}
 * @throws {Error} when no dialect has both `hello` and `welcome`
 */
export function defaultDialect(codes) {
  const rows = codes.tables.flatMap((table) => table.rows);
  const all = [...new Set(rows.flatMap((row) => Object.keys(row.codes)))];
  const has = (/** @type {string} */ dialect, /** @type {string} */ packet) => rows.some(
    (row) => `${row.direction} ${row.name}` === packet && row.codes[dialect] !== undefined,
  );
  const found = all.find((dialect) => has(dialect, 'to_server hello') && has(dialect, 'to_client welcome'));
  if (found !== undefined) return found;
  throw new Error(`no dialect of the packet tables has both hello and welcome; there are: ${all.join(', ') || 'none'}`);
}

/**
 * One dialect of the packet tables. It encodes client packets (sent to the server), and decodes
 * server packets (sent to the client).
 */
export class Dialect {
  /**
   * @param {Codes} codes
   * @param {string} name of the dialect
   * @param {{ units?: boolean, areGroupsFlat?: boolean }} [how] `units`: whether positions are
   *   pixels and angles radians, instead of the sent integers; `areGroupsFlat`: whether a decoded
   *   list of groups stays one list of numbers, as it is sent, without an object for each group
   * @throws {Error} if the tables lack the dialect
   */
  constructor(codes, name, { units = false, areGroupsFlat = false } = {}) {
    this.name = name;
    this.units = units;
    this.areGroupsFlat = areGroupsFlat;
    this.codes = codes;
    /** Packets that clients send, by name. @type {Map<string, Packet>} */
    this.serverPackets = new Map();
    /** Packets that the server sends, by code. @type {Map<number | string, Packet>} */
    this.clientPacketsByCode = new Map();
    /** Packets that the server sends, by name. @type {Map<string, Packet>} */
    this.clientPackets = new Map();
    for (const row of codes.tables.flatMap((table) => table.rows)) {
      const code = row.codes[name];
      if (code !== undefined) this.#add(row, code);
    }
    if (this.serverPackets.size + this.clientPacketsByCode.size === 0) throw new Error(`the packet tables have no dialect ${name}`);
    const hasCode = [...this.serverPackets.values(), ...this.clientPackets.values()].some(({ code }) => code === LANE_CODE);
    if (this.serverPackets.has('hello') && !hasCode) LANE_ROWS.forEach((row) => this.#add(row, LANE_CODE));
  }

  /**
   * @param {Pick<Row, 'direction' | 'name' | 'lane' | 'arguments'>} row
   * @param {number | string} code
   */
  #add(row, code) {
    const packet = { name: row.name, code, lane: row.lane, fields: row.arguments.map(field) };
    if (row.direction === 'to_server') this.serverPackets.set(row.name, packet);
    else {
      this.clientPacketsByCode.set(code, packet);
      this.clientPackets.set(row.name, packet);
    }
  }

  /**
   * Whether a packet that clients send has this argument.
   * @param {string} packet
   * @param {string} argument
   */
  hasArgument(packet, argument) {
    return this.serverPackets.get(packet)?.fields.some(({ name }) => name === argument) ?? false;
  }

  /**
   * Removes the values for which the packet has no argument.
   * @param {string} packet
   * @param {Record<string, any>} values
   */
  supportedValues(packet, values) {
    return Object.fromEntries(Object.entries(values).filter(([name]) => this.hasArgument(packet, name)));
  }

  /**
   * Encodes a packet that clients send.
   * @param {string} name
   * @param {Record<string, any>} [values] by argument name; a missing value is null
   * @returns {Uint8Array<ArrayBuffer>}
   * @throws {TypeError | RangeError} naming the packet and the argument that do not fit the table
   */
  encode(name, values = {}) {
    const packet = this.serverPackets.get(name);
    if (!packet) throw new TypeError(`no packet ${name} to the server; there are: ${[...this.serverPackets.keys()].join(', ')}`);
    return toMsgpack([packet.code, this.#members(packet.fields, values, name)]);
  }

  /**
   * Decodes a packet that the server sends. A missing argument becomes null. A flat list of groups
   * becomes an array of objects.
   * @param {Uint8Array} bytes
   * @returns {{ name: string, values: Record<string, any> } | null} null if the tables lack the
   *   code
   * @throws {RangeError} if the bytes are not a packet
   */
  decode(bytes) {
    const message = fromMsgpack(bytes);
    if (!Array.isArray(message)) throw new RangeError('not [code, [arguments]]');
    const packet = this.clientPacketsByCode.get(message[0]);
    if (!packet) return null;
    const given = message[1] ?? [];
    if (!Array.isArray(given)) throw new RangeError(`${packet.name}: not [code, [arguments]]`);
    return { name: packet.name, values: this.#named(packet.fields, given, 0) };
  }

  /**
   * Converts a list of values to an object by argument name.
   * @param {Field[]} fields
   * @param {any[]} list
   * @param {number} from
   */
  #named(fields, list, from) {
    /** @type {Record<string, any>} */
    const values = {};
    fields.forEach((one, at) => { values[one.name] = this.#read(one, list[from + at]); });
    return values;
  }

  /** @param {Field} one @param {any} value @returns {any} */
  #read(one, value) {
    if (value === null || value === undefined) return null;
    if (typeof value === 'number') return this.units ? value * one.unit : value;
    if (value instanceof Map && one.shape === 'map' && one.members.length > 0) {
      return this.#named(one.members, one.members.map(({ name }) => value.get(name)), 0);
    }
    if (!Array.isArray(value)) return toPlainObject(value);
    if (one.shape === 'tuple') return this.#named(one.members, value, 0);
    const { each } = one;
    if (each) return value.map((item) => this.#read(each, item));
    if (one.shape !== 'groups' || this.areGroupsFlat) return value.map(toPlainObject);
    const groups = [];
    const stride = one.members.length;
    for (let from = 0; from + stride <= value.length; from += stride) groups.push(this.#named(one.members, value, from));
    return groups;
  }

  /**
   * Converts an object of values to a list in the order of the table.
   * @param {Field[]} fields
   * @param {any} values
   * @param {string} where prefix of error messages
   * @returns {any[]}
   */
  #members(fields, values, where) {
    if (typeof values !== 'object' || values === null || Array.isArray(values)) throw new TypeError(`${where}: give the values as an object`);
    for (const name of Object.keys(values)) {
      if (fields.some((one) => one.name === name)) continue;
      throw new TypeError(`${where} has no argument ${name}; it has: ${fields.map((one) => one.name).join(', ') || 'none'}`);
    }
    return fields.map((one) => this.#write(one, values[one.name], `${where}.${one.name}`));
  }

  /** @param {Field} one @param {any} value @param {string} where @returns {any} */
  #write(one, value, where) {
    if (value === null || value === undefined) {
      if (one.nil) return null;
      throw new TypeError(`${where} is missing: ${one.type}`);
    }
    const given = typeof value === 'object' ? 'an object or a list' : JSON.stringify(value) ?? typeof value;
    const wrong = () => new TypeError(`${where} must be ${one.type}, not ${given}`);
    switch (one.shape) {
      case 'number': return this.#number(one, value, where, wrong);
      case 'truth':
        if (value !== true && value !== false && value !== 0 && value !== 1) throw wrong();
        return one.type.startsWith('flag') ? Number(value) : Boolean(value);
      case 'text':
        if (typeof value !== 'string') throw wrong();
        return value;
      case 'bytes':
        if (!(value instanceof Uint8Array)) throw wrong();
        if (value.length > one.high) throw new RangeError(`${where} has ${value.length} bytes: ${one.type}`);
        return value;
      case 'groups': case 'list':
        if (!Array.isArray(value)) throw wrong();
        if (value.length > one.high) throw new RangeError(`${where} has ${value.length} entries: ${one.type}`);
        return value.flatMap((item, at) => this.#item(one, item, `${where}[${at}]`));
      case 'tuple': return this.#members(one.members, value, where);
      case 'map': {
        const values = this.#members(one.members, value, where);
        return Object.fromEntries(one.members.map(({ name }, at) => [name, values[at]]));
      }
      default: return value;
    }
  }

  /**
   * Encodes one entry of a list.
   * @param {Field} list
   * @param {any} item
   * @param {string} where
   * @returns {any[]}
   */
  #item(list, item, where) {
    if (list.shape === 'groups') return this.#members(list.members, item, where);
    return [list.each ? this.#write(list.each, item, where) : item];
  }

  /** @param {Field} one @param {any} value @param {string} where @param {() => Error} wrong */
  #number(one, value, where, wrong) {
    if (typeof value !== 'number' || !Number.isFinite(value)) throw wrong();
    let sent = value;
    if (this.units && one.whole && one.smooth) {
      sent = Math.round(value / one.unit);
      if (one.turn > 0) sent = wrapAngle(sent, one);
    }
    if (one.whole && !Number.isInteger(sent)) throw wrong();
    if (sent < one.low || sent > one.high) throw new RangeError(`${where} is ${value}: beyond ${one.type}`);
    return sent;
  }
}

/**
 * Returns the equivalent angle within one turn from the field's lowest value.
 * @param {number} steps
 * @param {Field} field an angle
 */
export function wrapAngle(steps, { turn, low }) {
  return ((((steps - low) % turn) + turn) % turn) + low;
}

/** Converts nested maps to objects. @param {any} value @returns {any} */
function toPlainObject(value) {
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, one]) => [key, toPlainObject(one)]));
  return Array.isArray(value) ? value.map(toPlainObject) : value;
}

/**
 * Adds `part` of the change from `from` to `to` to the state `base`. Positions, angles and the
 * numbers in `fields` change; other values come from `base`. Groups are matched by their first
 * member. A group that `from` or `to` lacks stays unchanged.
 * @param {Field[]} fields
 * @param {Record<string, any>} base
 * @param {Record<string, any>} from
 * @param {Record<string, any>} to
 * @param {number} part fraction of the change
 * @param {{ units: boolean, fields?: string[] }} how `fields`: names of further numbers that change
 * @returns {Record<string, any>} a new object
 */
export function lerpState(fields, base, from, to, part, how) {
  const out = { ...base };
  for (const one of fields) {
    const [at, a, b] = [base, from, to].map((state) => state[one.name]);
    if ([at, a, b].every((value) => typeof value === 'number')) {
      if (!one.smooth && !how.fields?.includes(one.name)) continue;
      const turn = one.turn > 0 && how.units ? TURN : one.turn;
      out[one.name] = at + part * (turn > 0 ? shortestTurn(b - a, turn) : b - a);
    } else if (one.members.length > 0 && [at, a, b].every(isObject)) out[one.name] = lerpState(one.members, at, a, b, part, how);
    else if (one.shape === 'groups' && [at, a, b].every(Array.isArray)) {
      const id = one.members[0].name;
      const [before, after] = [a, b].map((groups) => new Map(groups.map((/** @type {Record<string, any>} */ group) => [group[id], group])));
      out[one.name] = at.map((/** @type {Record<string, any>} */ group) => {
        const [start, end] = [before.get(group[id]), after.get(group[id])];
        return start && end ? lerpState(one.members, group, start, end, part, how) : { ...group };
      });
    }
  }
  return out;
}

/**
 * Interpolates between two states.
 * @param {Field[]} fields
 * @param {Record<string, any>} from
 * @param {Record<string, any>} to
 * @param {number} part 0 to 1
 * @param {{ units: boolean, fields?: string[] }} how
 */
export function blendStates(fields, from, to, part, how) {
  return lerpState(fields, from, from, to, part, how);
}

/** @param {any} value */
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Returns the equivalent angle difference of at most half a turn.
 * @param {number} way
 * @param {number} turn
 */
function shortestTurn(way, turn) {
  const rest = way % turn;
  if (rest > turn / 2) return rest - turn;
  return rest < -turn / 2 ? rest + turn : rest;
}
