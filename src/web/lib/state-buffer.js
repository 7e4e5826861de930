/**
 * What a game's packets said lately, and how things were between two of them. Pure: time is an
 * argument in milliseconds.
 *
 * @module lib/state-buffer
 */

import { blendStates, lerpState } from './codec.js';
import { TickClock } from './interpolation.js';
import { BLEND_MS, SNAP_PX, MAX_EXTRAPOLATION_MS } from './dead-reckoning.js';

/** States that are kept of each packet: a second at 60 Hz. */
const MAX_STATES = 64;
/** A state that comes after more update periods than this was preceded by a rest. */
const IDLE_PERIODS = 4;
/** Rates of a server whose `welcome` has none. */
const DEFAULT_HZ = 30;
/** A velocity is that of so many update periods: a place on the wire is rounded. */
const VELOCITY_PERIODS = 4;

/**
 * @typedef {object} InterpolationOptions
 * @property {boolean} units places in px
 * @property {string[]} [fields] names of further numbers that move evenly
 * @property {string[]} [extrapolate] names of group lists with `x` and `y` that `extrapolatePosition` runs on
 * @property {{ interpolation: boolean, deadReckoning: boolean }} [features] by default neither is off
 * @property {import('./dead-reckoning.js').ExtrapolatePosition} [extrapolatePosition]
 */

/** A state and its tick. @typedef {{ at: number, values: Record<string, any> }} TimedState */
/** What was shown of a packet, and what is shown of the error of a guess. @typedef {{ now: number, values: Record<string, any>, before: { now: number, values: Record<string, any> } | null,
 *   base: number | null, glide: { now: number, from: Record<string, any>, to: Record<string, any> } | null }} RenderedState */

export class StateBuffer {
  /** @param {Record<string, any>} welcome */
  constructor({ tick_hz: tickHz, update_hz: updateHz }) {
    const clockHz = tickHz || DEFAULT_HZ;
    this.clock = new TickClock(clockHz, updateHz || clockHz);
    /**
     * Values and their ticks, oldest first, by packet.
     * @type {Map<string, { at: number, values: Record<string, any> }[]>}
     */
    this.states = new Map();
    /** Newest tick that a command was meant for: commands never overtake each other. */
    this.lastTick = 0;
    /** Newest tick that the server has told of by itself. */
    this.newestTick = 0;
    /** What `between` has shown last, by packet. @type {Map<string, RenderedState>} */
    this.shown = new Map();
    /** Whether it has shown the newest state, and whether it runs states on. */
    this.isHeld = false;
    this.isExtrapolating = true;
  }

  /**
   * Takes note of a packet.
   * @param {string} name @param {Record<string, any>} values @param {number} now
   * @param {boolean} isAnswer whether the client caused it: it did not come right after its tick
   */
  onPacket(name, values, now, isAnswer) {
    const { tick } = values;
    if (typeof tick === 'number') this.clock.onUpdate(tick, now, !isAnswer);
    if (typeof tick === 'number' && !isAnswer) this.newestTick = Math.max(this.newestTick, tick);
    const at = typeof tick === 'number' ? tick : this.clock.tickAt(now);
    this.states.set(name, [...(this.states.get(name) ?? []).slice(1 - MAX_STATES), { at, values }]);
  }

  /** @param {string} name @returns {Record<string, any> | null} */
  newest(name) {
    return this.states.get(name)?.at(-1)?.values ?? null;
  }

  /**
   * Values of a packet at the moment that is shown now, about two updates ago; run on where there is no news, or as they came without interpolation.
   * @param {import('./codec.js').Packet} packet @param {number} now @param {InterpolationOptions} how
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

  /** @param {import('./codec.js').Field[]} fields @param {TimedState} from @param {TimedState} to @param {number} tick @param {InterpolationOptions} how */
  #mix(fields, from, to, tick, how) {
    const period = this.clock.updateTicks;
    // A packet that comes after a rest tells of a movement that began just before it.
    const begin = to.at - from.at > IDLE_PERIODS * period ? to.at - period : from.at;
    return blendStates(fields, from.values, to.values, Math.max(0, (tick - begin) / (to.at - begin)), how);
  }

  /**
   * Ticks for which a state is run on. On a calm line there are no gaps: no news means that nothing has changed.
   */
  get #maxTicks() {
    return Math.min(MAX_EXTRAPOLATION_MS, 2 * (this.clock.jitterMs + this.clock.updateMs)) / this.clock.tickMs;
  }

  /** Whether the newest state is run on to a tick: after a rest nothing moves, and after a longer silence the newest state holds. @param {TimedState[]} states @param {number} tick */
  #isExtrapolated(states, tick) {
    const [before, last] = states.slice(-2);
    if (!last || last.at - before.at > IDLE_PERIODS * this.clock.updateTicks) return false;
    return tick > last.at && tick - last.at < 2 * this.#maxTicks;
  }

  /** The newest state, run on. @param {import('./codec.js').Field[]} fields @param {TimedState[]} states @param {number} tick @param {InterpolationOptions} how */
  #extrapolate(fields, states, tick, how) {
    const last = states[states.length - 1];
    const since = last.at - VELOCITY_PERIODS * this.clock.updateTicks;
    const early = states.find((state) => state.at >= since && state.at < last.at) ?? states[states.length - 2];
    const ticks = Math.min(tick - last.at, this.#maxTicks);
    const span = last.at - early.at;
    const start = withoutIdle(fields, early.values, states[states.length - 2].values, last.values);
    const values = lerpState(fields, last.values, start, last.values, ticks / span, how);
    for (const name of how.extrapolatePosition ? how.extrapolate ?? [] : []) {
      const list = fields.find((one) => one.name === name);
      if (list) this.#extrapolateWithController(list, [start, last.values, values].map((state) => state[name]), span, ticks, how);
    }
    return values;
  }

  /**
   * Runs those that move on by the game's own controller, around what stands in their way.
   * @param {import('./codec.js').Field} list @param {Record<string, any>[][]} groups as they were early, are now, and are then shown
   * @param {number} span ticks between the first two @param {number} ticks @param {InterpolationOptions} how
   */
  #extrapolateWithController({ members }, [early, last, shown], span, ticks, { units, extrapolatePosition }) {
    const id = members[0].name;
    const px = units ? 1 : members.find(({ name }) => name === 'x')?.unit ?? 1;
    const [whole, part] = [Math.floor(ticks), ticks % 1];
    const place = (/** @type {Record<string, any>} */ { x, y }) => ({ x: x * px, y: y * px });
    last.forEach((one, at) => {
      const before = early.find((other) => other[id] === one[id]);
      if (!before || !extrapolatePosition || (before.x === one.x && before.y === one.y)) return;
      const [start, end] = [place(before), place(one)];
      const velocity = { x: (end.x - start.x) / span, y: (end.y - start.y) / span };
      const [from, to] = [extrapolatePosition(end, velocity, whole), extrapolatePosition(end, velocity, whole + 1)];
      if (from && to) Object.assign(shown[at], { x: (from.x + (to.x - from.x) * part) / px, y: (from.y + (to.y - from.y) * part) / px });
    });
  }

  /**
   * Where there is news after a guess, what is shown glides from the guess to it.
   * @param {string} name @param {import('./codec.js').Field[]} fields @param {Record<string, any>} values
   * @param {number | null} base tick of the state from which they are run on; null if they are not @param {number} now @param {InterpolationOptions} how
   */
  #blendError(name, fields, values, base, now, how) {
    const last = this.shown.get(name);
    let glide = last?.glide ?? null;
    if (last && last.base !== null && base !== last.base) {
      const { before } = last;
      const part = before && last.now > before.now ? (now - last.now) / (last.now - before.now) : 0;
      const to = before ? lerpState(fields, last.values, before.values, last.values, part, how) : last.values;
      glide = { now, from: values, to: withoutTeleports(fields, values, to, how.units) };
    }
    const left = glide ? Math.exp(-(now - glide.now) / BLEND_MS) : 0;
    if (left < 0.01) glide = null;
    const shown = glide ? lerpState(fields, values, glide.from, glide.to, left, how) : values;
    const before = last && last.now < now ? { now: last.now, values: last.values } : last?.before ?? null;
    this.shown.set(name, { now, values: shown, before, base, glide });
    return shown;
  }

  /** The tick that is shown now, rounded; null while that cannot be known. @param {number} now @returns {number | null} */
  renderTick(now) {
    if (this.clock.originMs === null) return null;
    this.clock.advance(now);
    const newest = this.newestTick;
    const tick = this.isHeld ? newest : Math.min(this.clock.renderTick(now), newest + (this.isExtrapolating ? this.#maxTicks : 0));
    return Math.max(0, Math.round(tick));
  }

  /** Ticks that the server has completed by now, about. @param {number} now @returns {number | null} */
  tick(now) {
    if (this.clock.originMs === null) return null;
    this.clock.advance(now);
    return Math.floor(this.clock.tickAt(now) + (this.clock.pingMs ?? 0) / 2 / this.clock.tickMs);
  }

  /** The tick that a command sent now is in time for; null while that cannot be known. @param {number} now */
  commandTick(now) {
    const next = this.clock.commandTick(now);
    if (next === null) return null;
    this.lastTick = Math.max(this.lastTick, next);
    return this.lastTick;
  }
}

/**
 * A state without some entries of groups.
 * @param {import('./codec.js').Field[]} fields @param {Record<string, any>} state @param {Record<string, any>[]} others
 * @param {(members: import('./codec.js').Field[], group: Record<string, any>, others: (Record<string, any> | undefined)[]) => boolean} keeps is given the entry,
 *   and those that belong to it in the other states
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

/** An early state without those who stand by now: they have not moved between the last two states.
 * @param {import('./codec.js').Field[]} fields @param {Record<string, any>} early @param {Record<string, any>} before @param {Record<string, any>} last */
function withoutIdle(fields, early, before, last) {
  return filterGroups(fields, early, [before, last], (members, _, [then, now]) => members.some(({ smooth, name }) => smooth && then?.[name] !== now?.[name]));
}

/** What was guessed, without those who are elsewhere altogether: they have not walked there.
 * @param {import('./codec.js').Field[]} fields @param {Record<string, any>} values @param {Record<string, any>} guess @param {boolean} units */
function withoutTeleports(fields, values, guess, units) {
  const isNear = (/** @type {import('./codec.js').Field} */ { smooth, turn, unit, name }, /** @type {any} */ one, /** @type {any} */ other) => (
    !smooth || turn > 0 || !other || Math.abs(one[name] - other[name]) * (units ? 1 : unit) < SNAP_PX);
  return filterGroups(fields, guess, [values], (members, group, [now]) => members.every((member) => isNear(member, group, now)));
}
