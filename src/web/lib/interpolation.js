/**
 * Smooth motion out of thirty updates a second. A `Clock` learns how server ticks map to the page's own time and how
 * late updates come; a `Track` remembers where a player was at which tick and says where it was in between. Pure: time
 * is an argument in milliseconds, nothing here looks at a clock.
 *
 * @module lib/interpolation
 */

/** Samples that a track keeps: at 30 a second, a little over a second. */
const TRACK_SAMPLES = 40;
/** Updates that the clock looks back on: at 30 a second, about four seconds. */
const CLOCK_SAMPLES = 128;
/** Updates that a command's tick is reckoned from: half a second, so that a server that lost a tick is noticed soon. */
const RECENT_SAMPLES = 16;
/** No one is shown later than this behind the newest update, however bad the line. */
const MAX_DELAY_MS = 400;
/** Without an update for this long, pongs keep the clock. */
const PONG_CLOCK_DELAY_MS = 3000;
/** A clock that is off by more than this jumps; one that is off by less glides. */
const SNAP_MS = 250;
/** Longest part of a second by which shown time may run faster or slower than real time while it glides. */
const SLEW_RATE = 0.08;
/** A state that is repeated after a silence longer than this was not walked to: the player was out of view. */
const MAX_WALK_GAP_MS = 500;

/** Time in which a shown health bar makes up most of a change. */
export const BAR_MS = 110;

const TURN = 2 * Math.PI;

/** @param {number} from radians @param {number} to radians @param {number} part 0 to 1 */
export function lerpAngle(from, to, part) {
  let turn = (to - from) % TURN;
  if (turn > Math.PI) turn -= TURN;
  else if (turn < -Math.PI) turn += TURN;
  return from + turn * part;
}

/** Maps server ticks to the page's time. */
export class TickClock {
  /** @param {number} tickHz ticks a second @param {number} updateHz updates a second to this client */
  constructor(tickHz, updateHz) {
    this.tickMs = 1000 / tickHz;
    this.updateMs = 1000 / updateHz;
    /** Ticks from one update to the next. */
    this.updateTicks = Math.max(1, Math.round(tickHz / updateHz));
    /** Local time at which tick 0 would have been heard by the fastest of the last updates; null before the first. */
    this.originMs = /** @type {number | null} */ (null);
    /** The same over the last half second. */
    this.recentOriginMs = 0;
    /** How late updates come against the fastest of the last ones: all but the latest twentieth, which are the page's own hiccups. */
    this.jitterMs = 0;
    /** Round trip of the last ping, null before the first. */
    this.pingMs = /** @type {number | null} */ (null);
    /** How far behind the newest update other players are shown. */
    this.delayMs = 2.5 * this.updateMs;
    /** Origins that the last updates spoke for, oldest first. @type {number[]} */
    this.recent = [];
    this.updatedAt = 0;
    this.renderOriginMs = 0;
    this.advancedAt = 0;
  }

  /**
   * Takes note that `tick` was heard of at `nowMs`.
   * @param {number} tick @param {number} nowMs
   * @param {boolean} prompt true for an update, which is sent as its tick ends. A pong may come up to a tick later, so
   *   it only counts while there are no updates.
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

  /** Delay that the last seconds call for: two updates on a calm line, more on a restless one. */
  targetDelayMs() {
    return Math.min(MAX_DELAY_MS, Math.max(2 * this.updateMs, this.updateMs + 1.25 * this.jitterMs) + 0.25 * this.updateMs);
  }

  /** Moves shown time on; call once a frame. @param {number} nowMs */
  advance(nowMs) {
    if (this.originMs === null) return;
    const glide = Math.max(0, nowMs - this.advancedAt) * SLEW_RATE;
    this.advancedAt = nowMs;
    this.renderOriginMs = moveTowards(this.renderOriginMs, this.originMs, glide);
    this.delayMs = moveTowards(this.delayMs, this.targetDelayMs(), glide);
  }

  /** Tick, with its fraction, that the fastest update would bring now. @param {number} nowMs */
  tickAt(nowMs) {
    return this.originMs === null ? 0 : (nowMs - this.renderOriginMs) / this.tickMs;
  }

  /** Tick at which others are shown. @param {number} nowMs */
  renderTick(nowMs) {
    return this.tickAt(nowMs) - this.delayMs / this.tickMs;
  }

  /** How far behind the newest update one's own player is shown: an update less, since each update is exact for it. */
  get ownRenderDelayMs() {
    return Math.max(this.updateMs, this.delayMs - this.updateMs);
  }

  /** Tick at which one's own player is shown. @param {number} nowMs */
  ownTick(nowMs) {
    return this.tickAt(nowMs) - this.ownRenderDelayMs / this.tickMs;
  }

  /** Tick of what is heard at this moment and does not say it. @param {number} nowMs */
  tickReceivedAt(nowMs) {
    return this.originMs === null ? 0 : Math.floor((nowMs - this.originMs) / this.tickMs);
  }

  /**
   * The tick that a packet sent now is in time for: the number of ticks that the server will have completed when it
   * arrives. Null while that cannot be known.
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

/** Where one player was, at which tick. */
export class PositionHistory {
  constructor() {
    /** @type {Sample[]} in tick order, at most `TRACK_SAMPLES` */
    this.samples = [];
  }

  /** The newest sample. @returns {Sample | undefined} */
  get last() {
    return this.samples[this.samples.length - 1];
  }

  /**
   * Adds the state at `tick`. Who is not named by an update stands still, so the last state is held until the update
   * before this one; without that, a step after a rest would be drawn as a long slow glide.
   *
   * @param {Sample} sample
   * @param {TickClock} clock
   * @param {boolean} complete true for a full record, which may cover updates that were missed
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

  /** Forgets what was, for a player that appears anew. */
  clear() {
    this.samples.length = 0;
  }

  /**
   * State at a tick with a fraction: between two samples in proportion, before the first and after the last as they are.
   *
   * @param {number} tick
   * @param {Sample} out written and returned, so that a frame makes no garbage
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
 * Moves what has a track to where it is at a tick, and notes how it walks.
 * @param {{ track: PositionHistory, shown: Sample, glide: import('./dead-reckoning.js').ErrorBlend, walked: number, pace: number, way: number }} body
 * @param {number} tick @param {number} elapsedMs since the last frame @param {number} fullPace px a ms that is a full walk
 * @param {{ x: number, y: number } | null} [place] where it is, if that is known better than by its track
 * @param {boolean} [glides] whether such a place is a guess, from which it glides to what is heard
 */
export function step(body, tick, elapsedMs, fullPace, place = null, glides = false) {
  if (body.track.samples.length === 0) return;
  const { x, y } = body.shown;
  body.track.at(tick, body.shown);
  if (place) {
    body.shown.x = place.x;
    body.shown.y = place.y;
  }
  if (glides) body.glide.apply(body.shown, { x, y }, place && body.track.samples[body.track.samples.length - 1].tick, elapsedMs);
  const far = Math.min(60, Math.hypot(body.shown.x - x, body.shown.y - y));
  body.walked += far;
  if (far > 0.3) body.way = Math.atan2(body.shown.y - y, body.shown.x - x);
  body.pace += (Math.min(1, far / elapsedMs / fullPace) - body.pace) * Math.min(1, elapsedMs / 90);
}
