/**
 * Entity lists. The packet of an entity list contains the entities that enter and leave the
 * client's view, and the changes of the entities in view:
 *
 * ```text
 * enter:[player:u16,x:u16.px,health:u8] leave:[u16]
 * moved:[player:u16,dx:i8.px] hurt:[player:u16,health:u8]
 * ```
 *
 * The first member of each list is the id. In a change list, a member with the name of a member of
 * `enter` is its new value, and `d` before the name marks a difference. The difference of an id is
 * to the id of the entry before. With `x` and `vx` in `enter`, `vx` is the velocity of `x`: what it
 * gains in each tick, also without an entry.
 *
 * @module lib/entities
 */

import { wrapAngle } from './codec.js';

/** @typedef {import('./codec.js').Field} Field */
/** @typedef {import('./codec.js').Packet} Packet */
/** Entity, with the members of `enter`. @typedef {Record<string, any>} Entity */

/**
 * Change of one member. `given` is a member of the change list, `member` a member of `enter`.
 * @typedef {{ given: Field, member: Field, isDifference: boolean }} Change
 */

/** Names of a member and of its velocity. @typedef {{ name: string, velocity: string }} Velocity */

/**
 * Description of an entity list.
 * @typedef {object} EntityLayout
 * @property {string} id name of the id
 * @property {Field[]} members members of `enter`
 * @property {{ name: string, hasIdDifferences: boolean, changes: Change[] }[]} changeLists
 * @property {Velocity[]} velocities
 * @property {Packet} state virtual packet `{ tick, entities }` of the state
 */

const [ENTER, LEAVE, TICK, ENTITIES] = ['enter', 'leave', 'tick', 'entities'];

/**
 * Returns the description of an entity list; null for any other packet.
 * @param {Packet} packet
 * @returns {EntityLayout | null}
 */
export function entityLayout({ name, code, lane, fields }) {
  const enter = fields.find((one) => one.name === ENTER);
  if (lane !== 'latest' || enter?.shape !== 'groups') return null;
  const { members } = enter;
  const id = members[0].name;
  const lists = fields.filter((one) => one !== enter && one.shape === 'groups' && [id, `d${id}`].includes(one.members[0].name));
  const changeLists = lists.map((list) => {
    const [first, ...rest] = list.members;
    return { name: list.name, hasIdDifferences: first.name !== id, changes: rest.flatMap((given) => changeOf(given, members)) };
  });
  const tick = fields.filter((one) => one.name === TICK);
  const moving = members.slice(1).filter(({ name }) => members.some((other) => other.name === `v${name}`));
  const velocities = moving.map(({ name }) => ({ name, velocity: `v${name}` }));
  return { id, members, changeLists, velocities, state: { name, code, lane, fields: [...tick, { ...enter, name: ENTITIES }] } };
}

/** @param {Field} given @param {Field[]} members @returns {Change[]} empty if no member fits */
function changeOf(given, members) {
  const named = (/** @type {string} */ prefix) => members.find(({ name }) => prefix + name === given.name);
  const [value, difference] = [named(''), named('d')];
  const member = value ?? difference;
  return member ? [{ given, member, isDifference: !value }] : [];
}

/**
 * Returns the new value of a member. A difference of a whole number yields the value that `enter`
 * would contain; angles wrap.
 * @param {Change} change
 * @param {any} old
 * @param {any} given
 * @param {boolean} units whether positions are pixels and angles radians
 */
function changed({ given: { smooth, unit }, member, isDifference }, old, given, units) {
  if (typeof given !== 'number') return isDifference ? old : given;
  const [from, to] = units ? [smooth ? 1 : member.unit, 1] : [smooth ? unit : member.unit, member.unit];
  const value = from === to ? given : (given * from) / to;
  if (!isDifference) return value;
  if (typeof old !== 'number') return old;
  const step = units ? member.unit : 1;
  if (!member.whole) return old + value;
  const steps = Math.round((old + value) / step);
  return (Number.isInteger(member.turn) && member.turn > 0 ? wrapAngle(steps, member) : steps) * step;
}

/**
 * The entities in the client's view. A change replaces the object of an entity, so a list that was
 * returned earlier keeps its state.
 */
export class EntityList {
  /** @type {Map<any, Entity>} */
  #entities = new Map();
  /** Entities in order of id; null after a change. @type {Entity[] | null} */
  #sorted = null;
  /** Tick of the last packet. @type {number | null} */
  #tick = null;

  /**
   * @param {EntityLayout} layout
   * @param {{ units?: boolean }} [how] `units`: as for `Dialect`
   */
  constructor(layout, { units = false } = {}) {
    this.layout = layout;
    this.units = units;
  }

  /** Number of entities. */
  get size() {
    return this.#entities.size;
  }

  /** @param {any} id @returns {Entity | undefined} */
  get(id) {
    return this.#entities.get(id);
  }

  /** Iterates over the entities in order of id. */
  [Symbol.iterator]() {
    return this.toList()[Symbol.iterator]();
  }

  /**
   * Returns the entities in order of id. The array stays as it is; without a change the next call
   * returns the same array.
   * @returns {Entity[]}
   */
  toList() {
    const { id } = this.layout;
    this.#sorted ??= [...this.#entities.values()].sort((a, b) => (a[id] < b[id] ? -1 : Number(a[id] > b[id])));
    return this.#sorted;
  }

  /**
   * Applies a packet: the velocities, `leave`, `enter`, then the change lists. Changes of unknown
   * ids are skipped.
   * @param {Record<string, any>} values
   * @returns {any[]} ids of the entities that have entered, without replaced ones
   */
  apply(values) {
    const { id, changeLists } = this.layout;
    const entered = [];
    this.#sorted = null;
    this.#advance(values[TICK]);
    for (const one of values[LEAVE] ?? []) this.#entities.delete(one);
    for (const one of values[ENTER] ?? []) {
      if (!this.#entities.has(one[id])) entered.push(one[id]);
      this.#entities.set(one[id], one);
    }
    for (const { name, hasIdDifferences, changes } of changeLists) {
      let key = 0;
      for (const one of values[name] ?? []) {
        key = hasIdDifferences ? key + one[`d${id}`] : one[id];
        this.#change(key, one, changes);
      }
    }
    return entered;
  }

  /** Moves the entities by their velocities. @param {number} tick */
  #advance(tick) {
    const { velocities } = this.layout;
    if (velocities.length === 0) return;
    const ticks = Math.max(0, tick - (this.#tick ?? tick));
    this.#tick = Math.max(tick, this.#tick ?? tick);
    if (ticks === 0) return;
    for (const [id, old] of this.#entities) {
      if (velocities.every(({ velocity }) => old[velocity] === 0)) continue;
      const entity = { ...old };
      for (const { name, velocity } of velocities) entity[name] += ticks * entity[velocity];
      this.#entities.set(id, entity);
    }
  }

  /**
   * Applies one entry of a change list. With a new velocity, the entity has already moved in the
   * last tick.
   * @param {any} id
   * @param {Record<string, any>} given
   * @param {Change[]} changes
   */
  #change(id, given, changes) {
    const old = this.#entities.get(id);
    if (!old) return;
    const entity = { ...old };
    for (const change of changes) {
      const { name } = change.member;
      const before = entity[name];
      entity[name] = changed(change, before, given[change.given.name], this.units);
      const moved = this.layout.velocities.find(({ velocity }) => velocity === name)?.name;
      if (moved !== undefined) entity[moved] += entity[name] - before;
    }
    this.#entities.set(id, entity);
  }
}

/** The entity lists of a connection, by packet name. */
export class EntityLists {
  /** @type {Map<string, EntityList>} */
  #lists = new Map();
  /** Newest entities by id, built on demand. @type {Map<string, Map<any, Entity>>} */
  #maps = new Map();

  /**
   * Starts after a `welcome`: all lists are empty. Without entities in view, no packet follows, so
   * a list with earlier states receives an empty state. The first packet soon after replaces it.
   * @param {import('./codec.js').Dialect} dialect
   * @param {import('./state-buffer.js').StateBuffer} states
   * @param {Record<string, any>} welcome
   * @param {number} now
   */
  begin(dialect, states, { tick }, now) {
    this.#lists.clear();
    this.#maps.clear();
    for (const [name, packet] of dialect.clientPackets) {
      const layout = entityLayout(packet);
      if (!layout) continue;
      this.#lists.set(name, new EntityList(layout, dialect));
      if (states.newest(name)) states.onPacket(name, { tick, [ENTITIES]: [] }, now, true, { isProvisional: true });
    }
  }

  /**
   * Applies a packet.
   * @param {string} name
   * @param {Record<string, any>} values
   * @returns {{ values: Record<string, any>, entered: any[] } | null} the state after the packet,
   *   and the ids that have entered; null if the packet is no entity list
   */
  apply(name, values) {
    const list = this.#lists.get(name);
    if (!list) return null;
    const entered = list.apply(values);
    this.#maps.delete(name);
    const state = { [ENTITIES]: list.toList() };
    return { values: TICK in values ? { tick: values.tick, ...state } : state, entered };
  }

  /** Returns the virtual packet of a list's state. @param {string} name @returns {Packet | null} */
  statePacket(name) {
    return this.#lists.get(name)?.layout.state ?? null;
  }

  /**
   * Returns the newest entities of a list by id.
   * @param {string} name
   * @returns {Map<any, Entity>}
   */
  byId(name) {
    const known = this.#maps.get(name);
    if (known) return known;
    const list = this.#lists.get(name);
    const map = new Map(list?.toList().map((one) => [one[list.layout.id], one]));
    this.#maps.set(name, map);
    return map;
  }
}
