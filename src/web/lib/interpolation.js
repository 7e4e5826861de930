/**
 * Smooth motion from thirty updates a second. A `TickClock` maps server ticks to the page's time
 * and measures jitter. A `PositionHistory` stores the positions of a player by tick and
 * interpolates between them. Dead reckoning extrapolates remote players while no update arrives:
 * the movement code of the game itself computes their positions, and after the next update, the
 * rendered position blends to the received one. No clock is read here: time is an argument in ms.
 *
 * @module lib/interpolation
 */

/** Number of samples of a position history: at 30 updates a second, a little over a second. */
const TRACK_SAMPLES = 40;
/** Number of updates over which the clock measures: at 30 a second, about four seconds. */
const CLOCK_SAMPLES = 128;
/**
 * Number of recent updates that determine the tick of a command: about half a second. The short
 * time lets the clock notice a skipped tick soon.
 */
const RECENT_SAMPLES = 16;
/** Maximum delay of remote players after the newest update, ms. */
const MAX_DELAY_MS = 400;
/** Time without an update after which pongs set the clock, ms. */
const PONG_CLOCK_DELAY_MS = 3000;
/** A larger clock error is corrected at once instead of by slewing, ms. */
const SNAP_MS = 250;
/**
 * Maximum fraction by which the render time runs faster or slower than real time while it slews.
 */
const SLEW_RATE = 0.08;
/**
 * Maximum gap between samples that is rendered as walking, ms. In a longer gap the player was out
 * of view.
 */
const MAX_WALK_GAP_MS = 500;

/** Time constant with which a health bar follows a change, ms. */
export const BAR_MS = 110;

const TURN = 2 * Math.PI;

/**
 * Interpolates between two angles by the shorter turn. Returns radians.
 * @param {number} from radians
 * @param {number} to radians
 * @param {number} part 0 to 1 @returns {number}
 */
export function lerpAngle(from, to, part) {
  let turn = (to - from) % TURN;
  if (turn > Math.PI) turn -= TURN;
  else if (turn < -Math.PI) turn += TURN;
  return from + turn * part;
}

/** Maps server ticks to the page's time. */
export class TickClock {
  /**
   * @param {number} tickHz ticks a second
   * @param {number} updateHz updates a second to this client
   */
  constructor(tickHz, updateHz) {
    this.tickMs = 1000 / tickHz;
    this.updateMs = 1000 / updateHz;
    /** Ticks from one update to the next. */
    this.updateTicks = Math.max(1, Math.round(tickHz / updateHz));
    /**
     * Local time of tick 0, by the fastest of the recent updates, ms; null before the first one.
     */
    this.originMs = /** @type {number | null} */ (null);
    /** Local time of tick 0, by the fastest update of the last half second, ms. */
    this.recentOriginMs = 0;
    /**
     * Lateness of updates relative to the fastest update, ms. The 5 % of the updates with the
     * greatest lateness are excluded, because the page itself has delayed them.
     */
    this.jitterMs = 0;
    /** Round trip of the last ping, ms; null before the first. */
    this.pingMs = /** @type {number | null} */ (null);
    /** Delay of remote players after the newest update, ms. */
    this.delayMs = 2.5 * this.updateMs;
    /**
     * Estimates of the local time of tick 0, one per recent update, oldest first, ms.
     * @type {number[]}
     */
    this.recent = [];
    this.updatedAt = 0;
    this.renderOriginMs = 0;
    this.advancedAt = 0;
  }

  /**
   * Records that `tick` was received at `nowMs`.
   * @param {number} tick
   * @param {number} nowMs
   * @param {boolean} prompt true for an update, which is sent when its tick ends. A pong may be up
   *   to a tick late, so it counts only while there are no updates.
   */
  onUpdate(tick, nowMs, prompt) {
    const first = this.originMs === null;
    if (!prompt && !first && nowMs - this.updatedAt < PONG_CLOCK_DELAY_MS) return;
    if (prompt) this.updatedAt = nowMs;
    this.recent.push(nowMs - tick * this.tickMs);
    if (this.recent.length > CLOCK_SAMPLES) this.recent.shift();
    this.recentOriginMs = Math.min(...this.recent.slice(-RECENT_SAMPLES));
    const sorted = [...this.recent].sort((a, b) => a - b);
    this.originMs = sorted[0];
    this.jitterMs = sorted[Math.floor((sorted.length - 1) * 0.95)] - sorted[0];
    if (first) {
      this.renderOriginMs = this.originMs;
      this.advancedAt = nowMs;
    }
  }

  /**
   * Returns the delay for the measured jitter, ms: 2.25 update intervals without jitter, more with
   * jitter.
   */
  targetDelayMs() {
    return Math.min(MAX_DELAY_MS, Math.max(2 * this.updateMs, this.updateMs + 1.25 * this.jitterMs) + 0.25 * this.updateMs);
  }

  /** Advances the render time. Called once per frame. @param {number} nowMs */
  advance(nowMs) {
    if (this.originMs === null) return;
    const stepMs = Math.max(0, nowMs - this.advancedAt) * SLEW_RATE;
    this.advancedAt = nowMs;
    this.renderOriginMs = moveTowards(this.renderOriginMs, this.originMs, stepMs);
    this.delayMs = moveTowards(this.delayMs, this.targetDelayMs(), stepMs);
  }

  /**
   * Returns the fractional tick of the server at a time, by the clock of the fastest update.
   * @param {number} nowMs
   */
  tickAt(nowMs) {
    return this.originMs === null ? 0 : (nowMs - this.renderOriginMs) / this.tickMs;
  }

  /** Returns the fractional tick at which remote players are rendered. @param {number} nowMs */
  renderTick(nowMs) {
    return this.tickAt(nowMs) - this.delayMs / this.tickMs;
  }

  /**
   * Delay of the local player after the newest update, ms. It is one update interval shorter than
   * `delayMs`, because each update contains the local player.
   */
  get ownRenderDelayMs() {
    return Math.max(this.updateMs, this.delayMs - this.updateMs);
  }

  /** Returns the fractional tick at which the local player is rendered. @param {number} nowMs */
  ownTick(nowMs) {
    return this.tickAt(nowMs) - this.ownRenderDelayMs / this.tickMs;
  }

  /** Returns the tick of a packet that arrives now and contains no tick. @param {number} nowMs */
  tickReceivedAt(nowMs) {
    return this.originMs === null ? 0 : Math.floor((nowMs - this.originMs) / this.tickMs);
  }

  /**
   * Returns the tick for a command that is sent now: the number of completed ticks when it arrives;
   * null before the first pong.
   * @param {number} nowMs
   */
  commandTick(nowMs) {
    if (this.originMs === null || this.pingMs === null) return null;
    return Math.floor((nowMs - this.recentOriginMs + this.pingMs) / this.tickMs);
  }
}

/** @param {number} from @param {number} to @param {number} step */
function moveTowards(from, to, step) {
  const way = to - from;
  if (Math.abs(way) > SNAP_MS || Math.abs(way) <= step) return to;
  return from + Math.sign(way) * step;
}

/**
 * @typedef {object} Sample
 * @property {number} tick
 * @property {number} x px
 * @property {number} y px
 * @property {number} heading radians
 */

/** Positions of one player by tick. */
export class PositionHistory {
  constructor() {
    /** Samples in tick order, at most `TRACK_SAMPLES`. @type {Sample[]} */
    this.samples = [];
  }

  /** Newest sample. @returns {Sample | undefined} */
  get last() {
    return this.samples[this.samples.length - 1];
  }

  /**
   * Adds the state at `tick`. A player that an update does not contain stands still, so the last
   * state is repeated for the update before this one. Otherwise a step after a rest would be
   * rendered as a long slow movement.
   * @param {Sample} sample
   * @param {TickClock} clock
   * @param {boolean} complete true for a full record, which may follow missed updates
   */
  push(sample, clock, complete = false) {
    const last = this.last;
    if (last && sample.tick <= last.tick) this.samples = this.samples.filter((old) => old.tick < sample.tick);
    const held = sample.tick - clock.updateTicks;
    if (last && last.tick < held) {
      const silentMs = (sample.tick - last.tick) * clock.tickMs;
      if (!complete || silentMs > MAX_WALK_GAP_MS) this.samples.push({ ...last, tick: held });
    }
    this.samples.push(sample);
    if (this.samples.length > TRACK_SAMPLES) this.samples.splice(0, this.samples.length - TRACK_SAMPLES);
  }

  /** Removes all samples, for example after a respawn. */
  clear() {
    this.samples.length = 0;
  }

  /**
   * Interpolates the state at a fractional tick. Before the first and after the last sample the
   * state is constant.
   * @param {number} tick
   * @param {Sample} out written and returned, so that a frame allocates nothing
   */
  at(tick, out) {
    const samples = this.samples;
    let i = samples.length - 1;
    while (i > 0 && samples[i].tick > tick) i--;
    const from = samples[i];
    const to = samples[i + 1];
    const part = to && tick > from.tick ? (tick - from.tick) / (to.tick - from.tick) : 0;
    out.tick = tick;
    out.x = from.x + (part && (to.x - from.x) * part);
    out.y = from.y + (part && (to.y - from.y) * part);
    out.heading = part ? lerpAngle(from.heading, to.heading, part) : from.heading;
    return out;
  }
}

/**
 * Moves a player or an animal to its position at a tick, and updates its walking animation.
 * @param {{ track: PositionHistory, shown: Sample, errorBlend:
 *   ErrorBlend, walked: number, pace: number, way: number }} body
 * @param {number} tick
 * @param {number} elapsedMs since the last frame
 * @param {number} fullPace full walking speed, px/ms
 * @param {{ x: number, y: number } | null} [position] predicted or extrapolated position, which
 *   replaces the interpolated one
 * @param {boolean} [isExtrapolated] whether `position` is extrapolated, so that its error blends
 */
export function step(body, tick, elapsedMs, fullPace, position = null, isExtrapolated = false) {
  if (body.track.samples.length === 0) return;
  const { x, y } = body.shown;
  body.track.at(tick, body.shown);
  if (position) {
    body.shown.x = position.x;
    body.shown.y = position.y;
  }
  if (isExtrapolated) body.errorBlend.apply(body.shown, { x, y }, position && body.track.samples[body.track.samples.length - 1].tick, elapsedMs);
  const far = Math.min(60, Math.hypot(body.shown.x - x, body.shown.y - y));
  body.walked += far;
  if (far > 0.3) body.way = Math.atan2(body.shown.y - y, body.shown.x - x);
  body.pace += (Math.min(1, far / elapsedMs / fullPace) - body.pace) * Math.min(1, elapsedMs / 90);
}

/** Longest extrapolation, ms. After this time a player stands still. */
export const MAX_EXTRAPOLATION_MS = 500;
/** Time constant with which an extrapolation error decays, ms. */
export const BLEND_MS = 80;
/** A larger error is dropped at once instead of blended, px. */
export const SNAP_PX = 400;

/** @typedef {{ x: number, y: number }} Place */
/**
 * Extrapolates a position, as `Prediction.extrapolate` does.
 * @typedef {(from: Place, velocity: Place, ticks: number) => Place | null} ExtrapolatePosition
 */

/**
 * Returns the extrapolated position at a tick after the newest sample; null without velocity or
 * samples.
 * @param {import('./interpolation.js').PositionHistory} track
 * @param {number} tick render tick
 * @param {number} newestTick tick of the newest update; a player that the update does not contain
 *   stands still
 * @param {import('./interpolation.js').TickClock} clock
 * @param {ExtrapolatePosition} extrapolatePosition
 * @returns {Place | null}
 */
export function extrapolate(track, tick, newestTick, clock, extrapolatePosition) {
  const [before, last] = track.samples.slice(-2);
  if (!last || tick <= last.tick || last.tick < newestTick - clock.updateTicks || last.tick - before.tick > 3 * clock.updateTicks) return null;
  const span = last.tick - before.tick;
  const velocity = { x: (last.x - before.x) / span, y: (last.y - before.y) / span };
  if (velocity.x === 0 && velocity.y === 0) return null;
  const ticks = Math.min(tick - last.tick, MAX_EXTRAPOLATION_MS / clock.tickMs);
  const whole = Math.floor(ticks);
  const [from, to] = [extrapolatePosition(last, velocity, whole), extrapolatePosition(last, velocity, whole + 1)];
  if (!from || !to) return null;
  const part = ticks - whole;
  return { x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part };
}

/** Offset that remains of an extrapolation error. */
export class ErrorBlend {
  constructor() {
    this.x = 0;
    this.y = 0;
    /**
     * Tick of the sample from which the last frame extrapolated; null if it did not extrapolate.
     * @type {number | null}
     */
    this.base = null;
    /** Velocity of the rendered position in the last frame, px/ms. */
    this.pace = { x: 0, y: 0 };
  }

  /**
   * Adds the remaining error to a rendered position. A new sample after an extrapolation sets the
   * error.
   * @param {Place} shown actual position, becomes the rendered one
   * @param {Place} before position rendered in the last frame
   * @param {number | null} base tick of the extrapolated sample; null without extrapolation
   * @param {number} elapsedMs
   */
  apply(shown, before, base, elapsedMs) {
    if (this.base !== null && base !== this.base) {
      this.x = before.x + this.pace.x * elapsedMs - shown.x;
      this.y = before.y + this.pace.y * elapsedMs - shown.y;
      if (Math.hypot(this.x, this.y) > SNAP_PX) this.x = this.y = 0;
    }
    this.base = base;
    const left = Math.exp(-elapsedMs / BLEND_MS);
    this.x *= left;
    this.y *= left;
    shown.x += this.x;
    shown.y += this.y;
    const [far, away] = [shown.x - before.x, shown.y - before.y];
    // A teleport has no velocity.
    const perMs = Math.hypot(far, away) > SNAP_PX ? 0 : 1 / Math.max(1, elapsedMs);
    this.pace = { x: far * perMs, y: away * perMs };
  }
}

/**
 * Returns the time since `atMs` in ms, at least 0. A frame's timestamp may be older than packets
 * that arrived before its callback ran, so a plain difference could be negative, and circles would
 * get a negative radius.
 * @param {number} nowMs
 * @param {number} atMs Infinity if it never happens
 */
export const ageMs = (nowMs, atMs) => Math.max(0, nowMs - atMs);

/** Whether `atMs` has been reached. @param {number} nowMs @param {number} atMs */
export const hasStarted = (nowMs, atMs) => nowMs >= atMs;
