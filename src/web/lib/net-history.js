/**
 * What the connection panel draws: round trips and gaps between updates of the last seconds. Pure: time is an argument.
 *
 * @module lib/net-history
 */

import { ageMs } from './age.js';

/** How far back the panel looks. */
export const HISTORY_MS = 30_000;
/** Time between two leads that are drawn. */
const LEAD_EVERY_MS = 250;
/** Tops of the scale; a longer time is drawn as high as the last one. */
const SCALE_STEPS_MS = [50, 100, 250, 500, 1000];
/** A gap this long is one in which nothing changed rather than one that the line made: the scale need not show all of it. */
const IDLE_GAP_MS = 500;

/** @typedef {{ atMs: number, ms: number }} Sample when it ended, and how long it took */

export class NetHistory {
  constructor() {
    /** @type {Sample[]} oldest first */
    this.roundTrips = [];
    /** @type {Sample[]} oldest first */
    this.gaps = [];
    /** How far one's own player was ahead. @type {Sample[]} oldest first */
    this.leads = [];
    /** Corrections of one's own player: `ms` are px. @type {Sample[]} oldest first */
    this.corrections = [];
    /** When the newest update of this connection came. @type {number | null} */
    this.updatedMs = null;
    this.corrected = 0;
  }

  /** A pong came. @param {number} ms of its round trip @param {number} nowMs */
  addRoundTrip(ms, nowMs) {
    add(this.roundTrips, { atMs: nowMs, ms });
  }

  /** An update came. @param {number} nowMs */
  addUpdateGap(nowMs) {
    if (this.updatedMs !== null) add(this.gaps, { atMs: nowMs, ms: nowMs - this.updatedMs });
    this.updatedMs = nowMs;
  }

  /**
   * What prediction did since the last call; called once a frame.
   * @param {{ leadMs: number, corrected: number, lastErrorPx: number, maxErrorPx?: number }} figures `maxErrorPx`: the greatest correction since the last call
   * @param {number} nowMs
   */
  addCorrection({ leadMs, corrected, lastErrorPx, maxErrorPx = lastErrorPx }, nowMs) {
    if (nowMs - (this.leads.at(-1)?.atMs ?? -Infinity) > LEAD_EVERY_MS) add(this.leads, { atMs: nowMs, ms: leadMs });
    if (corrected > this.corrected) add(this.corrections, { atMs: nowMs, ms: maxErrorPx });
    this.corrected = corrected;
  }

  /** A new connection: the time without one is no gap between updates. */
  begin() {
    this.updatedMs = null;
  }

  /** The longest gap of the span, ms; null without one. @param {number} nowMs @returns {number | null} */
  longestGapMs(nowMs) {
    const recent = this.gaps.filter((gap) => ageMs(nowMs, gap.atMs) <= HISTORY_MS);
    return recent.length === 0 ? null : Math.max(...recent.map((gap) => gap.ms));
  }

  /** The top of a scale that shows all round trips and all gaps but the quiet ones, ms. */
  get scaleMaxMs() {
    const gaps = this.gaps.filter(({ ms }) => ms < IDLE_GAP_MS);
    const most = Math.max(0, ...[...this.roundTrips, ...this.leads, ...gaps].map(({ ms }) => ms));
    return SCALE_STEPS_MS.find((top) => top >= most) ?? SCALE_STEPS_MS[SCALE_STEPS_MS.length - 1];
  }
}

/** Adds a sample and forgets those that are too old. @param {Sample[]} samples @param {Sample} sample */
function add(samples, sample) {
  samples.push(sample);
  while (samples[0].atMs < sample.atMs - HISTORY_MS) samples.shift();
}
