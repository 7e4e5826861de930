/**
 * What a game's packets said lately, and how things were between two of them. Pure: time is an
 * argument in milliseconds.
 *
 * @module states
 */

import { blend } from './codec.js';
import { Clock } from './interpolation.js';

/** States that are kept of each packet: a second at 60 Hz. */
const KEPT = 64;
/** A state that comes after more update periods than this was preceded by a rest. */
const REST_PERIODS = 4;
/** Rates of a server whose `welcome` has none. */
const DEFAULT_HZ = 30;

export class States {
  /** @param {Record<string, any>} welcome */
  constructor({ tick_hz: tickHz, update_hz: updateHz }) {
    const clockHz = tickHz || DEFAULT_HZ;
    this.clock = new Clock(clockHz, updateHz || clockHz);
    /**
     * Values and their ticks, oldest first, by packet.
     * @type {Map<string, { at: number, values: Record<string, any> }[]>}
     */
    this.kept = new Map();
    /** Newest tick that a command was meant for: commands never overtake each other. */
    this.lastTick = 0;
  }

  /**
   * Takes note of a packet.
   * @param {string} name @param {Record<string, any>} values @param {number} now
   * @param {boolean} isAnswer whether the client caused it: it did not come right after its tick
   */
  heard(name, values, now, isAnswer) {
    const { tick } = values;
    if (typeof tick === 'number') this.clock.heard(tick, now, !isAnswer);
    const at = typeof tick === 'number' ? tick : this.clock.tickAt(now);
    this.kept.set(name, [...(this.kept.get(name) ?? []).slice(1 - KEPT), { at, values }]);
  }

  /** @param {string} name @returns {Record<string, any> | null} */
  newest(name) {
    return this.kept.get(name)?.at(-1)?.values ?? null;
  }

  /**
   * Values of a packet at the moment that is shown now, about two updates ago.
   * @param {import('./codec.js').Packet} packet @param {number} now @param {{ units: boolean, also?: string[] }} how
   * @returns {Record<string, any> | null}
   */
  between({ name, fields }, now, how) {
    const states = this.kept.get(name);
    if (!states) return null;
    this.clock.advance(now);
    const shown = this.clock.othersTick(now);
    const at = Math.max(0, states.findLastIndex((state) => state.at <= shown));
    const [from, to] = [states[at], states[at + 1]];
    if (!to) return from.values;
    const period = this.clock.updateTicks;
    // A packet that comes after a rest tells of a movement that began just before it.
    const begin = to.at - from.at > REST_PERIODS * period ? to.at - period : from.at;
    const part = Math.max(0, (shown - begin) / (to.at - begin));
    return blend(fields, from.values, to.values, part, how);
  }

  /** The tick that is shown now, rounded; null while that cannot be known. @param {number} now @returns {number | null} */
  seen(now) {
    if (this.clock.originMs === null) return null;
    this.clock.advance(now);
    return Math.max(0, Math.round(this.clock.othersTick(now)));
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
