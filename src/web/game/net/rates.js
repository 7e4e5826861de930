/**
 * Figures for the panel: how much came and went in the last second, how long frames take. Time is an argument.
 *
 * @module game/net/rates
 */

const FRAMES = 240;

export class TrafficRates {
  constructor() {
    /** A second's worth of each counter, by its name. @type {Record<string, number>} */
    this.perSecond = {};
    /** Time from one frame to the next, the last `FRAMES` of them, ms; oldest first. @type {number[]} */
    this.frameMs = [];
    /** @type {Record<string, number>} */
    this.before = {};
    this.since = 0;
    this.frameAt = 0;
  }

  /** Notes a frame. @param {number} nowMs @returns {number} ms since the last one, at most 250 */
  frame(nowMs) {
    const elapsed = this.frameAt === 0 ? 0 : nowMs - this.frameAt;
    this.frameAt = nowMs;
    this.frameMs.push(elapsed);
    if (this.frameMs.length > FRAMES) this.frameMs.shift();
    return Math.min(250, elapsed);
  }

  /** Looks at the counters; once a second the rates change. @param {Record<string, number>} counters @param {number} nowMs */
  count(counters, nowMs) {
    const elapsed = nowMs - this.since;
    if (elapsed < 1000) return;
    for (const [name, value] of Object.entries(counters)) {
      this.perSecond[name] = this.since === 0 ? 0 : ((value - (this.before[name] ?? 0)) * 1000) / elapsed;
      this.before[name] = value;
    }
    this.since = nowMs;
  }

  /** Frames a second over the last frames. */
  get framesPerSecond() {
    const sum = this.frameMs.reduce((total, ms) => total + ms, 0);
    return sum === 0 ? 0 : (this.frameMs.length * 1000) / sum;
  }
}
