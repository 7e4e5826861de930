/**
 * History of the connection for the panel: round trips, gaps between updates, prediction lead and
 * corrections. No clock is read here: time is an argument.
 *
 * @module lib/net-history
 */

import { ageMs } from './interpolation.js';

/** Length of the history, ms. */
export const HISTORY_MS = 30_000;
/** Interval between two samples of the prediction lead, ms. */
const LEAD_EVERY_MS = 250;
/** Possible maxima of the scale, ms. A longer time is drawn at the last maximum. */
const SCALE_STEPS_MS = [50, 100, 250, 500, 1000];
/** Minimum gap that an idle world causes, ms. Such gaps do not extend the scale. */
const IDLE_GAP_MS = 500;

/** @typedef {{ atMs: number, ms: number }} Sample end and duration of a measurement */

export class NetHistory {
  constructor() {
    /** @type {Sample[]} oldest first */
    this.roundTrips = [];
    /** @type {Sample[]} oldest first */
    this.gaps = [];
    /** Prediction lead of the local player. @type {Sample[]} oldest first */
    this.leads = [];
    /** Corrections of the local player. Here `ms` contains px. @type {Sample[]} oldest first */
    this.corrections = [];
    /** Time of the newest update on this connection, ms. @type {number | null} */
    this.updatedMs = null;
    this.corrected = 0;
  }

  /** Adds the round trip of a pong. @param {number} ms round trip @param {number} nowMs */
  addRoundTrip(ms, nowMs) {
    add(this.roundTrips, { atMs: nowMs, ms });
  }

  /** Adds the gap before an update that arrives now. @param {number} nowMs */
  addUpdateGap(nowMs) {
    if (this.updatedMs !== null) add(this.gaps, { atMs: nowMs, ms: nowMs - this.updatedMs });
    this.updatedMs = nowMs;
  }

  /**
   * Adds the prediction lead and the newest correction. Called once per frame.
   * @param {{ leadMs: number, corrected: number, lastErrorPx: number, maxErrorPx?: number }}
   *   figures `maxErrorPx`: largest correction since the last call
   * @param {number} nowMs
   */
  addCorrection({ leadMs, corrected, lastErrorPx, maxErrorPx = lastErrorPx }, nowMs) {
    if (nowMs - (this.leads.at(-1)?.atMs ?? -Infinity) > LEAD_EVERY_MS) add(this.leads, { atMs: nowMs, ms: leadMs });
    if (corrected > this.corrected) add(this.corrections, { atMs: nowMs, ms: maxErrorPx });
    this.corrected = corrected;
  }

  /** Starts a new connection, so that the outage is not a gap. */
  begin() {
    this.updatedMs = null;
  }

  /**
   * Returns the longest gap of the history, ms; null without a gap.
   * @param {number} nowMs
   * @returns {number | null}
   */
  longestGapMs(nowMs) {
    const recent = this.gaps.filter((gap) => ageMs(nowMs, gap.atMs) <= HISTORY_MS);
    return recent.length === 0 ? null : Math.max(...recent.map((gap) => gap.ms));
  }

  /** Maximum of a scale that fits all samples except idle gaps, ms. */
  get scaleMaxMs() {
    const gaps = this.gaps.filter(({ ms }) => ms < IDLE_GAP_MS);
    const maxMs = Math.max(0, ...[...this.roundTrips, ...this.leads, ...gaps].map(({ ms }) => ms));
    return SCALE_STEPS_MS.find((top) => top >= maxMs) ?? SCALE_STEPS_MS[SCALE_STEPS_MS.length - 1];
  }
}

/**
 * Adds a sample, and removes the samples that are older than `HISTORY_MS`.
 * @param {Sample[]} samples
 * @param {Sample} sample
 */
function add(samples, sample) {
  samples.push(sample);
  while (samples[0].atMs < sample.atMs - HISTORY_MS) samples.shift();
}
