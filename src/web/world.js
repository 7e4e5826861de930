/**
 * What the page knows of the world: packets come in, state comes out. It holds only what the server has said; nothing
 * is guessed. The drawing files read it and never write it.
 *
 * @module world
 */

import { Clock, Track } from './interpolation.js';
import { UNIT, eachGroup } from './protocol.js';

/** Time that a chat line hovers over its player. */
const BUBBLE_MS = 3000;
/** Chat lines that are kept. */
const CHAT_LINES = 60;

/** Speed at which hands swing fully, px a ms. The rules let nobody walk faster than 0.328. */
const FULL_PACE = 0.3;

/** Kinds of scenery by number. */
export const KINDS = Object.freeze(['tree', 'bush', 'rock', 'gold']);

/**
 * @typedef {object} Player
 * @property {number} id
 * @property {string} name
 * @property {number} skin 0 to 9
 * @property {number} qx newest position as the wire has it, half pixels; the base of the next difference
 * @property {number} qy
 * @property {Track} track
 * @property {import('./interpolation.js').Sample} shown where it was drawn in the last frame
 * @property {number} walked px that it was seen to walk: drives the swing of its hands
 * @property {number} pace how fast it is seen to walk: 0 at rest, 1 at full speed
 * @property {{ text: string, untilMs: number } | null} bubble
 */

/** @typedef {{ id: number, kind: number, x: number, y: number, scale: number }} Thing scenery, px */

/** @typedef {{ sequence: number, marginTicks: number, x: number, y: number, vx: number, vy: number, heading: number, direction: number | null }} Own */

/** @typedef {{ rows: { player: number, name: string, score: number }[], place: number | null, players: number }} Board */

export class World {
  constructor() {
    this.epoch = '';
    this.codeHash = '';
    this.seed = 0;
    this.mapSize = 14400;
    this.tickHz = 30;
    this.updateHz = 30;
    this.clock = new Clock(30, 30);
    /** Newest tick heard of. */
    this.tick = 0;
    /** @type {Map<number, Player>} players in view, oneself included */
    this.players = new Map();
    /** @type {Map<number, Thing>} scenery seen so far */
    this.things = new Map();
    /** Rises whenever `things` has grown or begun anew. */
    this.thingsVersion = 0;
    /** One's own player; null for a watcher. @type {number | null} */
    this.ownId = null;
    /** Newest exact record of one's own player. @type {Own | null} */
    this.own = null;
    /** Whom a watcher follows. @type {number | null} */
    this.watched = null;
    /** The ten best, one's own place from 1, players in all. @type {Board} */
    this.leaderboard = { rows: [], place: null, players: 0 };
    /** @type {{ player: number, name: string, text: string, atMs: number }[]} */
    this.chat = [];
    this.advancedAt = 0;
    /** What the server complained about last. @type {{ rule: string, detail: string, atMs: number } | null} */
    this.error = null;
  }

  /** Applies a packet. @param {{ name: string, values: Record<string, any> }} packet @param {number} nowMs */
  apply({ name, values }, nowMs) {
    switch (name) {
      case 'welcome': return this.welcome(values, nowMs);
      case 'update': return this.update(values, nowMs);
      case 'spawned': this.ownId = values.player; this.watched = null; return;
      case 'objects': return this.objects(values.objects);
      case 'leaderboard': return this.board(values);
      case 'chat': return this.say(values.player, values.text, nowMs);
      case 'pong': return this.hear(values.tick, nowMs, false);
      case 'error': this.error = { rule: values.rule, detail: values.detail, atMs: nowMs }; return;
      case 'watching': this.watched = values.player; return;
      default: return;
    }
  }

  /** A new connection knows nobody yet. Scenery of the same world stays, so that the ground does not blink. */
  welcome(values, nowMs) {
    const same = values.code_hash === this.codeHash && values.seed === this.seed && values.map_size_px === this.mapSize;
    if (!same) {
      this.things.clear();
      this.thingsVersion += 1;
    }
    this.epoch = values.epoch;
    this.codeHash = values.code_hash;
    this.seed = values.seed;
    this.mapSize = values.map_size_px;
    this.tickHz = values.tick_hz;
    this.updateHz = values.update_hz;
    this.clock = new Clock(values.tick_hz, values.update_hz);
    this.tick = values.tick;
    this.players.clear();
    this.ownId = null;
    this.own = null;
    this.watched = null;
    this.hear(values.tick, nowMs, false);
  }

  /** @param {number} tick @param {number} nowMs @param {boolean} prompt */
  hear(tick, nowMs, prompt) {
    this.tick = Math.max(this.tick, tick);
    this.clock.heard(tick, nowMs, prompt);
  }

  update(values, nowMs) {
    const tick = values.tick;
    this.hear(tick, nowMs, true);
    for (const id of values.leaves ?? []) this.leave(id);
    eachGroup('enters', values.enters, (id, name, skin, x, y, heading) => {
      this.enter(id, name, skin);
      this.place(id, tick, x, y, heading, true);
    });
    eachGroup('full', values.full, (id, x, y, heading) => this.place(id, tick, x, y, heading, true));
    // One player may have moved and turned: both lists make one sample.
    const headings = new Map();
    eachGroup('turned', values.turned, (id, heading) => headings.set(id, heading));
    eachGroup('moved', values.moved, (id, dx, dy) => {
      const player = this.players.get(id);
      if (player) this.place(id, tick, player.qx + dx, player.qy + dy, headings.get(id) ?? null, false);
      headings.delete(id);
    });
    for (const [id, heading] of headings) {
      const player = this.players.get(id);
      if (player) this.place(id, tick, player.qx, player.qy, heading, false);
    }
    eachGroup('own', values.own, (sequence, marginTicks, x, y, vx, vy, heading, direction) => {
      const moving = this.own !== null && (this.own.vx !== 0 || this.own.vy !== 0);
      this.own = { sequence, marginTicks, x: x * UNIT.fixed, y: y * UNIT.fixed, vx: vx * UNIT.fixed, vy: vy * UNIT.fixed,
        heading: heading * UNIT.angle16, direction };
      this.placeOwn(tick, moving);
    });
  }

  /** @param {number} id @param {string} name @param {number} skin */
  enter(id, name, skin) {
    this.players.set(id, { id, name, skin, qx: 0, qy: 0, track: new Track(), shown: { tick: 0, x: 0, y: 0, heading: 0 },
      walked: 0, pace: 0, bubble: null });
  }

  /** @param {number} id */
  leave(id) {
    this.players.delete(id);
    if (id !== this.ownId) return;
    this.ownId = null;
    this.own = null;
  }

  /**
   * @param {number} id @param {number} tick @param {number} qx hpx @param {number} qy hpx
   * @param {number | null} heading angle8; null when it has not changed @param {boolean} complete
   */
  place(id, tick, qx, qy, heading, complete) {
    const player = this.players.get(id);
    if (!player) return;
    player.qx = qx;
    player.qy = qy;
    const turned = heading === null ? player.track.last?.heading ?? 0 : heading * UNIT.angle8;
    player.track.push({ tick, x: qx * UNIT.hpx, y: qy * UNIT.hpx, heading: turned }, this.clock, complete);
    if (player.track.samples.length === 1) Object.assign(player.shown, player.track.last);
  }

  /** @param {number} tick @param {boolean} moving whether it was on its way in the last record */
  placeOwn(tick, moving) {
    const player = this.ownId === null ? undefined : this.players.get(this.ownId);
    if (!player || !this.own) return;
    const { x, y, heading } = this.own;
    const first = player.track.samples.length === 0;
    player.track.push({ tick, x, y, heading }, this.clock, moving);
    if (first) Object.assign(player.shown, player.track.last);
  }

  /** @param {any[]} flat */
  objects(flat) {
    eachGroup('objects', flat, (id, kind, x, y, scale) => this.things.set(id, { id, kind, x, y, scale }));
    this.thingsVersion += 1;
  }

  board(values) {
    /** @type {Board['rows']} */
    const rows = [];
    eachGroup('rows', values.rows, (player, name, score) => rows.push({ player, name, score }));
    this.leaderboard = { rows, place: values.place, players: values.players };
  }

  /** @param {number} id @param {string} text @param {number} nowMs */
  say(id, text, nowMs) {
    const player = this.players.get(id);
    if (player) player.bubble = { text, untilMs: nowMs + BUBBLE_MS };
    this.chat.push({ player: id, name: player?.name ?? `#${id}`, text, atMs: nowMs });
    if (this.chat.length > CHAT_LINES) this.chat.shift();
  }

  /** The player that the camera follows: oneself, or whom the watcher follows. @returns {Player | undefined} */
  get focus() {
    return this.players.get(this.ownId ?? this.watched ?? -1);
  }

  /** Moves everyone to where they are shown at this moment; call once a frame. @param {number} nowMs */
  advance(nowMs) {
    this.clock.advance(nowMs);
    const others = this.clock.othersTick(nowMs);
    const own = this.clock.ownTick(nowMs);
    const elapsed = Math.max(1, nowMs - this.advancedAt);
    this.advancedAt = nowMs;
    for (const player of this.players.values()) {
      if (player.track.samples.length === 0) continue;
      const { x, y } = player.shown;
      player.track.at(player.id === this.ownId ? own : others, player.shown);
      const step = Math.min(60, Math.hypot(player.shown.x - x, player.shown.y - y));
      player.walked += step;
      player.pace += (Math.min(1, step / elapsed / FULL_PACE) - player.pace) * Math.min(1, elapsed / 90);
      if (player.bubble && player.bubble.untilMs < nowMs) player.bubble = null;
    }
  }
}
