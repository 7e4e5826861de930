/**
 * Traffic and frame rates for the connection panel. No clock is read here: time is an argument.
 *
 * @module game/net/rates
 */

const FRAMES = 240;

export class TrafficRates {
  constructor() {
    /** Rate of each counter per second, by name. @type {Record<string, number>} */
    this.perSecond = {};
    /** Durations of the last `FRAMES` frames, ms; oldest first. @type {number[]} */
    this.frameMs = [];
    /** @type {Record<string, number>} */
    this.before = {};
    this.since = 0;
    this.frameAt = 0;
  }

  /**
   * Records a frame.
   * @param {number} nowMs
   * @returns {number} time since the last frame, ms, at most 250
   */
  frame(nowMs) {
    const elapsed = this.frameAt === 0 ? 0 : nowMs - this.frameAt;
    this.frameAt = nowMs;
    this.frameMs.push(elapsed);
    if (this.frameMs.length > FRAMES) this.frameMs.shift();
    return Math.min(250, elapsed);
  }

  /**
   * Reads the counters. The rates change once per second.
   * @param {Record<string, number>} counters
   * @param {number} nowMs
   */
  count(counters, nowMs) {
    const elapsed = nowMs - this.since;
    if (elapsed < 1000) return;
    for (const [name, value] of Object.entries(counters)) {
      this.perSecond[name] = this.since === 0 ? 0 : ((value - (this.before[name] ?? 0)) * 1000) / elapsed;
      this.before[name] = value;
    }
    this.since = nowMs;
  }

  /** Frame rate over the recorded frames, Hz. */
  get framesPerSecond() {
    const sum = this.frameMs.reduce((total, ms) => total + ms, 0);
    return sum === 0 ? 0 : (this.frameMs.length * 1000) / sum;
  }
}
