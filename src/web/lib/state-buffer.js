/**
 * Buffers the recent states of a game's packets and interpolates between them. No clock is read
 * here: time is an argument in ms.
 *
 * @module lib/state-buffer
 */

import { blendStates, lerpState } from './codec.js';
import { TickClock, BLEND_MS, SNAP_PX, MAX_EXTRAPOLATION_MS } from './interpolation.js';

/** Maximum number of buffered states of each packet: about a second at 60 Hz. */
const MAX_STATES = 64;
/** Number of update periods after which a packet counts as idle. */
const IDLE_PERIODS = 4;
/** Rate of a server whose `welcome` has none, Hz. */
const DEFAULT_HZ = 30;
/**
 * Number of update periods over which a velocity is measured. A single period is too short, because
 * positions in packets are rounded.
 */
const VELOCITY_PERIODS = 4;

/**
 * @typedef {object} InterpolationOptions
 * @property {boolean} units whether positions are in px
 * @property {string[]} [fields] names of further numbers to interpolate
 * @property {string[]} [extrapolate] names of group lists with `x` and `y` that
 *   `extrapolatePosition` moves
 * @property {{ interpolation: boolean, deadReckoning: boolean }} [features] both are on by default
 * @property {import('./interpolation.js').ExtrapolatePosition} [extrapolatePosition]
 */

/**
 * Further properties of a state. `entered`: ids of the entities that entered with it, which have no
 * earlier position; `isProvisional`: whether the next state replaces it, unless that state is late.
 * @typedef {{ entered?: any[], isProvisional?: boolean }} StateProperties
 */
/**
 * A state and its tick.
 * @typedef {StateProperties & { at: number, values: Record<string, any> }} TimedState
 */
/**
 * Last rendered state of a packet. `before`: state rendered before it; `base`: tick of the state
 * that was extrapolated; `glide`: decaying extrapolation error.
 * @typedef {{ now: number, values: Record<string, any>, before: { now: number, values:
 *   Record<string, any> } | null, base: number | null, glide: { now: number, from: Record<string,
 *   any>, to: Record<string, any> } | null }} RenderedState
 */

export class StateBuffer {
  /** @param {Record<string, any>} welcome */
  constructor({ tick_hz: tickHz, update_hz: updateHz }) {
    const clockHz = tickHz || DEFAULT_HZ;
    this.clock = new TickClock(clockHz, updateHz || clockHz);
    /**
     * Recent states by packet, oldest first.
     * @type {Map<string, TimedState[]>}
     */
    this.states = new Map();
    /** Newest tick that a command targeted. Commands do not overtake each other. */
    this.lastTick = 0;
    /** Newest tick of an update. */
    this.newestTick = 0;
    /** Last rendered state by packet. @type {Map<string, RenderedState>} */
    this.shown = new Map();
    /** Whether the newest state was rendered without interpolation. */
    this.isHeld = false;
    this.isExtrapolating = true;
  }

  /**
   * Stores a received packet.
   * @param {string} name
   * @param {Record<string, any>} values
   * @param {number} now
   * @param {boolean} isAnswer whether the packet is a response. Unlike an update, it is not sent at
   *   the end of its tick
   * @param {StateProperties} [properties]
   */
  onPacket(name, values, now, isAnswer, { entered = [], isProvisional = false } = {}) {
    const { tick } = values;
    if (typeof tick === 'number') this.clock.onUpdate(tick, now, !isAnswer);
    if (typeof tick === 'number' && !isAnswer) this.newestTick = Math.max(this.newestTick, tick);
    const at = typeof tick === 'number' ? tick : this.clock.tickAt(now);
    const states = this.states.get(name) ?? [];
    const last = states.at(-1);
    const isReplacing = last?.isProvisional && at - last.at <= IDLE_PERIODS * this.clock.updateTicks;
    // An update in several datagrams has several packets with the same tick.
    const same = last?.at === at ? last : null;
    const before = isReplacing || same ? states.slice(0, -1) : states;
    const all = same ? [...same.entered ?? [], ...entered] : isReplacing ? [] : entered;
    this.states.set(name, [...before.slice(1 - MAX_STATES), { at, values, entered: all, isProvisional }]);
  }

  /** @param {string} name @returns {Record<string, any> | null} */
  newest(name) {
    return this.states.get(name)?.at(-1)?.values ?? null;
  }

  /**
   * Returns the values of a packet at the render tick, about two updates ago. Missing updates are
   * extrapolated. Without interpolation it returns the newest values.
   * @param {import('./codec.js').Packet} packet
   * @param {number} now
   * @param {InterpolationOptions} how
   * @returns {Record<string, any> | null}
   */
  interpolate({ name, fields }, now, how) {
    const states = this.states.get(name);
    if (!states) return null;
    this.clock.advance(now);
    const { interpolation = true, deadReckoning = true } = how.features ?? {};
    this.isHeld = !interpolation;
    this.isExtrapolating = interpolation && deadReckoning;
    if (!interpolation) return states[states.length - 1].values;
    const tick = this.clock.renderTick(now);
    const at = Math.max(0, states.findLastIndex((state) => state.at <= tick));
    const [from, to] = [states[at], states[at + 1]];
    const isGuess = !to && deadReckoning && this.#isExtrapolated(states, tick);
    const values = to ? this.#mix(fields, from, to, tick, how) : isGuess ? this.#extrapolate(fields, states, tick, how) : from.values;
    return deadReckoning ? this.#blendError(name, fields, values, isGuess ? from.at : null, now, how) : values;
  }

  /**
   * @param {import('./codec.js').Field[]} fields
   * @param {TimedState} from
   * @param {TimedState} to
   * @param {number} tick
   * @param {InterpolationOptions} how
   */
  #mix(fields, from, to, tick, how) {
    const period = this.clock.updateTicks;
    // A packet after an idle period contains a movement that started one period before it.
    const begin = to.at - from.at > IDLE_PERIODS * period ? to.at - period : from.at;
    return blendStates(fields, from.values, withoutEntered(fields, to.values, [to]), Math.max(0, (tick - begin) / (to.at - begin)), how);
  }

  /**
   * Maximum extrapolation in ticks. Without jitter there are no gaps, so a missing packet means
   * that nothing has changed.
   */
  get #maxTicks() {
    return Math.min(MAX_EXTRAPOLATION_MS, 2 * (this.clock.jitterMs + this.clock.updateMs)) / this.clock.tickMs;
  }

  /**
   * Whether the newest state is extrapolated to a tick. A state that follows a long gap is not
   * extrapolated.
   * @param {TimedState[]} states
   * @param {number} tick
   */
  #isExtrapolated(states, tick) {
    const [before, last] = states.slice(-2);
    if (!last || last.at - before.at > IDLE_PERIODS * this.clock.updateTicks) return false;
    return tick > last.at && tick - last.at < 2 * this.#maxTicks;
  }

  /**
   * Extrapolates the newest state.
   * @param {import('./codec.js').Field[]} fields
   * @param {TimedState[]} states
   * @param {number} tick
   * @param {InterpolationOptions} how
   */
  #extrapolate(fields, states, tick, how) {
    const last = states[states.length - 1];
    const since = last.at - VELOCITY_PERIODS * this.clock.updateTicks;
    const early = states.find((state) => state.at >= since && state.at < last.at) ?? states[states.length - 2];
    const ticks = Math.min(tick - last.at, this.#maxTicks);
    const span = last.at - early.at;
    const moving = withoutIdle(fields, early.values, states[states.length - 2].values, last.values);
    const start = withoutEntered(fields, moving, states.slice(states.indexOf(early) + 1));
    const values = lerpState(fields, last.values, start, last.values, ticks / span, how);
    for (const name of how.extrapolatePosition ? how.extrapolate ?? [] : []) {
      const list = fields.find((one) => one.name === name);
      if (list) this.#extrapolateWithController(list, [start, last.values, values].map((state) => state[name]), span, ticks, how);
    }
    return values;
  }

  /**
   * Extrapolates the entries of a list with the game's own controller, around obstacles.
   * @param {import('./codec.js').Field} list
   * @param {Record<string, any>[][]} groups earlier, newest and extrapolated entries; the
   *   extrapolated ones are written
   * @param {number} span ticks between the earlier and the newest entries
   * @param {number} ticks
   * @param {InterpolationOptions} how
   */
  #extrapolateWithController({ members }, [early, last, shown], span, ticks, { units, extrapolatePosition }) {
    const id = members[0].name;
    const px = units ? 1 : members.find(({ name }) => name === 'x')?.unit ?? 1;
    const [whole, part] = [Math.floor(ticks), ticks % 1];
    const position = (/** @type {Record<string, any>} */ { x, y }) => ({ x: x * px, y: y * px });
    last.forEach((one, at) => {
      const before = early.find((other) => other[id] === one[id]);
      if (!before || !extrapolatePosition || (before.x === one.x && before.y === one.y)) return;
      const [start, end] = [position(before), position(one)];
      const velocity = { x: (end.x - start.x) / span, y: (end.y - start.y) / span };
      const [from, to] = [extrapolatePosition(end, velocity, whole), extrapolatePosition(end, velocity, whole + 1)];
      if (from && to) Object.assign(shown[at], { x: (from.x + (to.x - from.x) * part) / px, y: (from.y + (to.y - from.y) * part) / px });
    });
  }

  /**
   * Blends from the extrapolated value to the received one.
   * @param {string} name
   * @param {import('./codec.js').Field[]} fields
   * @param {Record<string, any>} values
   * @param {number | null} base tick of the extrapolated state; null without extrapolation
   * @param {number} now
   * @param {InterpolationOptions} how
   */
  #blendError(name, fields, values, base, now, how) {
    const last = this.shown.get(name);
    let glide = last?.glide ?? null;
    if (last && last.base !== null && base !== last.base) {
      const { before } = last;
      const part = before && last.now > before.now ? (now - last.now) / (last.now - before.now) : 0;
      const to = before ? lerpState(fields, last.values, before.values, last.values, part, how) : last.values;
      const later = (this.states.get(name) ?? []).filter(({ at }) => at > /** @type {number} */ (last.base));
      glide = { now, from: values, to: withoutEntered(fields, withoutTeleports(fields, values, to, how.units), later) };
    }
    const left = glide ? Math.exp(-(now - glide.now) / BLEND_MS) : 0;
    if (left < 0.01) glide = null;
    const shown = glide ? lerpState(fields, values, glide.from, glide.to, left, how) : values;
    const before = last && last.now < now ? { now: last.now, values: last.values } : last?.before ?? null;
    this.shown.set(name, { now, values: shown, before, base, glide });
    return shown;
  }

  /**
   * Returns the render tick, rounded; null before `welcome`.
   * @param {number} now
   * @returns {number | null}
   */
  renderTick(now) {
    if (this.clock.originMs === null) return null;
    this.clock.advance(now);
    const newest = this.newestTick;
    const tick = this.isHeld ? newest : Math.min(this.clock.renderTick(now), newest + (this.isExtrapolating ? this.#maxTicks : 0));
    return Math.max(0, Math.round(tick));
  }

  /**
   * Returns the estimated number of ticks that the server has completed.
   * @param {number} now
   * @returns {number | null}
   */
  tick(now) {
    if (this.clock.originMs === null) return null;
    this.clock.advance(now);
    return Math.floor(this.clock.tickAt(now) + (this.clock.pingMs ?? 0) / 2 / this.clock.tickMs);
  }

  /**
   * Returns the tick for a command that is sent now; null before the first pong.
   * @param {number} now
   */
  commandTick(now) {
    const next = this.clock.commandTick(now);
    if (next === null) return null;
    this.lastTick = Math.max(this.lastTick, next);
    return this.lastTick;
  }
}

/**
 * Returns a state without some entries of its groups.
 * @param {import('./codec.js').Field[]} fields
 * @param {Record<string, any>} state
 * @param {Record<string, any>[]} others
 * @param {(members: import('./codec.js').Field[], group: Record<string, any>, others:
 *   (Record<string, any> | undefined)[]) => boolean} keeps whether to keep an entry, given its
 *   counterparts in the other states
 */
function filterGroups(fields, state, others, keeps) {
  const out = { ...state };
  for (const { name, shape, members } of fields) {
    if (shape !== 'groups' || ![state, ...others].every((one) => Array.isArray(one[name]))) continue;
    const id = members[0].name;
    const maps = others.map((one) => new Map(one[name].map((/** @type {Record<string, any>} */ group) => [group[id], group])));
    out[name] = state[name].filter((/** @type {Record<string, any>} */ group) => keeps(members, group, maps.map((map) => map.get(group[id]))));
  }
  return out;
}

/**
 * Returns the state `early` with only the entries that moved between the last two states.
 * @param {import('./codec.js').Field[]} fields
 * @param {Record<string, any>} early
 * @param {Record<string, any>} before
 * @param {Record<string, any>} last
 */
function withoutIdle(fields, early, before, last) {
  return filterGroups(fields, early, [before, last], (members, _, [then, now]) => members.some(({ smooth, name }) => smooth && then?.[name] !== now?.[name]));
}

/**
 * Returns a state without the entities that entered with one of the later states.
 * @param {import('./codec.js').Field[]} fields
 * @param {Record<string, any>} state
 * @param {TimedState[]} later
 */
function withoutEntered(fields, state, later) {
  const ids = new Set(later.flatMap(({ entered = [] }) => entered));
  return ids.size === 0 ? state : filterGroups(fields, state, [], (members, group) => !ids.has(group[members[0].name]));
}

/**
 * Returns the state `guess` without the entries that have teleported.
 * @param {import('./codec.js').Field[]} fields
 * @param {Record<string, any>} values
 * @param {Record<string, any>} guess
 * @param {boolean} units
 */
function withoutTeleports(fields, values, guess, units) {
  const isNear = (/** @type {import('./codec.js').Field} */ { smooth, turn, unit, name }, /** @type {any} */ one, /** @type {any} */ other) => (
    !smooth || turn > 0 || !other || Math.abs(one[name] - other[name]) * (units ? 1 : unit) < SNAP_PX);
  return filterGroups(fields, guess, [values], (members, group, [now]) => members.every((member) => isNear(member, group, now)));
}
