/**
 * Turns world events into effects and sounds: debris, numbers, shaking, flashes. A hit is shown
 * when the drawn arm reaches the target. That moment is later than the packet.
 *
 * @module game/effect-player
 */

import { ageMs } from '../lib/interpolation.js';
import { RESOURCES } from './world/events.js';
import { SKINS, biomeAt, mix } from './rules/palette.js';
import { itemOf, rules, speciesOf, weaponOf } from './rules/rules.js';
import { impactMs, swingMs } from './world/player.js';

/** Colours of the debris of an object, by its kind. Leaves and stones also depend on the biome. */
const DEBRIS_COLORS = Object.freeze({
  leaves: { grass: ['#4f8f4a', '#69aa58', '#8cc470', '#a9794a'], river: ['#4f8f4a', '#69aa58', '#8cc470', '#a9794a'],
    snow: ['#4c7f77', '#dfeaf0', '#ffffff', '#8a6a4c'], desert: ['#7d9a3e', '#9bb34d', '#bccb6d', '#a9794a'] },
  bush: ['#5c9c5a', '#8cc878', '#b8365e', '#d4587f'],
  stone: { grass: ['#9aa0a8', '#b8bec6', '#7d838c'], river: ['#9aa0a8', '#b8bec6', '#7d838c'],
    snow: ['#aab6c4', '#e8eef4', '#8c98a8'], desert: ['#b89b78', '#d3bb9a', '#987c5c'] },
  gold: ['#dba93a', '#f4cf63', '#fff4c4'],
});
const FOAM = Object.freeze(['#e6f6f8', '#bfe6ee']);
const DUST = Object.freeze({ snow: ['#ffffff', '#f0f5fa'], river: FOAM, grass: ['#cdbd90', '#bcb280'], desert: ['#f3e2b4', '#e0c68c'] });
const SPARKS = ['#fff6d8', '#ffd85e', '#ff9d5c'];
const HITS = Object.freeze(['wood', 'bush', 'stone', 'gold']);
/** Item numbers of the wooden structures. All other structures are of stone. */
const WOODEN = Object.freeze([3, 6, 7, 10, 11, 15]);
/** Colours of the debris of wooden structures. */
const SPLINTERS = Object.freeze(['#b98a57', '#d6ab74', '#8a5f38']);

/** Packets within this time belong to the same update, ms. */
const SAME_TURN_MS = 20;
/** Events that are shown at once, without waiting for the drawn arm. */
const IMMEDIATE_EVENTS = Object.freeze(['swung', 'chatted', 'spawned', 'placed', 'gone', 'eaten', 'healed', 'shot', 'landed', 'lunged', 'pinged', 'announced']);
/** Sounds of projectiles, by kind. @type {Readonly<Record<number, string>>} */
const SHOTS = Object.freeze({ 0: 'bow', 1: 'bolt', 2: 'bolt', 3: 'bolt', 5: 'musket' });

/** Distance between two puffs of dust of a walking player, px. */
const STEP_PX = 46;
/** Minimum health gain of other players for which a number is shown. */
const MIN_DRAWN_HEALING = 5;
/**
 * Maximum age of an event that is shown, ms. Older ones were received while the page was hidden.
 */
const MAX_EVENT_AGE_MS = 500;
/** Maximum distance between the centre of the view and an audible sound, px. */
const MAX_AUDIBLE_PX = 1100;

/** Distances of a number from the centre of a player, px, so that it does not cover the name. */
const [ASIDE_PX, ABOVE_NAME_PX] = [66, 100];

export class EffectPlayer {
  /**
   * @param {import('./world/world.js').World} world
   * @param {import('./draw/camera.js').Camera} camera
   * @param {import('./world/effects.js').Effects} effects
   * @param {{ play: (name: string, pan: number, gain: number) => void }} sound
   */
  constructor(world, camera, effects, sound) {
    this.world = world;
    this.camera = camera;
    this.effects = effects;
    this.sound = sound;
    /** Whether debris and shaking are off, for reduced motion. */
    this.calm = false;
    this.audible = true;
    /**
     * Time of the press that started the last swing of the local player, ms. The swing is shown
     * before the server acknowledges it.
     */
    this.pressedMs = -Infinity;
    /** @type {{ event: import('./world/events.js').WorldEvent, dueMs: number }[]} */
    this.waiting = [];
    /**
     * Number of steps that each player had made at the last frame.
     * @type {WeakMap<import('./world/world.js').Player, number>}
     */
    this.steps = new WeakMap();
    /** Time and strength (0 to 1) of the last hit on the local player. */
    this.pain = { atMs: -Infinity, part: 0 };
  }

  /** Starts a swing of the local player, if its arm is at rest. @param {number} nowMs */
  press(nowMs) {
    const own = this.own;
    if (!own || !weaponOf(own.weapon).is_melee || ageMs(nowMs, Math.max(own.swing.atMs, this.pressedMs)) < swingMs(own.weapon)) return;
    this.pressedMs = nowMs;
    this.playAt('swing', own.shown.x, own.shown.y);
  }

  /** @returns {import('./world/world.js').Player | undefined} */
  get own() {
    return this.world.ownId === null ? undefined : this.world.players.get(this.world.ownId);
  }

  /** Shows the due events. Called once per frame. @param {number} nowMs */
  draw(nowMs) {
    const { events } = this.world;
    for (const event of events) {
      // Events that were received while the page was hidden are skipped.
      if (ageMs(nowMs, event.atMs) < MAX_EVENT_AGE_MS) this.waiting.push({ event, dueMs: event.atMs + this.lateMs(event) });
    }
    events.length = 0;
    if (this.waiting.length > 0) {
      const due = this.waiting.filter((one) => one.dueMs <= nowMs);
      this.waiting = this.waiting.filter((one) => one.dueMs > nowMs);
      for (const { event } of due) this.show(event, nowMs);
    }
    if (!this.calm) this.dust(nowMs);
  }

  /** @param {import('./world/events.js').WorldEvent} event */
  lateMs({ kind, atMs }) {
    const { hitWith } = this.world;
    return IMMEDIATE_EVENTS.includes(kind) ? 0 : impactMs(Math.abs(atMs - hitWith.atMs) < SAME_TURN_MS ? hitWith.weapon : 0);
  }

  /** @param {import('./world/events.js').WorldEvent} event @param {number} nowMs */
  show(event, nowMs) {
    const { kind, x, y, id, amount } = event;
    switch (kind) {
      case 'swung': return this.swung(event);
      case 'struck': return this.struck(event, nowMs);
      case 'hurt': return this.hurt(event, nowMs);
      case 'healed': return this.healed(event, nowMs);
      case 'eaten': return this.playAt('eat', x, y);
      case 'placed': return this.placed(event, nowMs);
      case 'gone': return this.crumble(event, nowMs);
      case 'gained': return this.effects.number(x + ASIDE_PX, y, `+${amount}`, RESOURCES[event.resource], nowMs);
      case 'scored': return this.effects.number(x, y - ABOVE_NAME_PX, `+${amount}`, 'score', nowMs);
      case 'aged': return this.onLevelUp(event, nowMs);
      case 'fell': return this.onDeath(event, nowMs);
      case 'shot': return this.shot(event, nowMs);
      case 'landed': return this.onProjectileEnd(event, nowMs);
      case 'lunged': return this.playAt('growl', x, y);
      case 'vanished': return this.onAnimalGone(event, nowMs);
      case 'pinged': return this.playAt('ping', NaN, NaN);
      case 'announced': return this.playAt('bell', NaN, NaN);
      case 'chatted': return id === this.world.ownId ? undefined : this.playAt('chat', x, y);
      default: return undefined;
    }
  }

  /**
   * Shows a gain of health. A small gain of another player is not shown, because a crowd would be
   * full of numbers.
   * @param {import('./world/events.js').WorldEvent} event @param {number} nowMs
   */
  healed({ id, x, y, amount }, nowMs) {
    if (id === this.world.ownId || amount >= MIN_DRAWN_HEALING) this.effects.number(x, y - ABOVE_NAME_PX, `+${amount}`, 'heal', nowMs);
  }

  /** @param {import('./world/events.js').WorldEvent} event */
  swung({ id, x, y, atMs }) {
    const answered = id === this.world.ownId && atMs - this.pressedMs < swingMs(this.own?.weapon ?? 0) * 0.8;
    if (!answered) this.playAt('swing', x, y);
  }

  /** @param {import('./world/events.js').WorldEvent} event @param {number} nowMs */
  struck({ id, x, y, direction }, nowMs) {
    const thing = this.world.things.get(id);
    const structure = this.world.built.structures.get(id);
    if (structure) this.struckBuilt(structure, direction, nowMs);
    if (!thing) return;
    this.playAt(HITS[thing.kind] ?? 'wood', x, y);
    if (this.calm) return;
    const { effects } = this;
    const biome = biomeAt(y, this.world.mapSize);
    const rim = thing.scale * (thing.kind < 2 ? 0.62 : 0.92);
    const atX = x - rim * Math.cos(direction);
    const atY = y - rim * Math.sin(direction);
    const back = direction + Math.PI;
    effects.shake(id, direction, nowMs);
    if (thing.kind < 2) {
      const colours = thing.kind === 1 ? DEBRIS_COLORS.bush : DEBRIS_COLORS.leaves[biome];
      effects.burst('leaf', colours, 9, atX, atY, back, 1.25, 0.42, 10, 760, nowMs);
    } else {
      const colours = thing.kind === 3 ? DEBRIS_COLORS.gold : DEBRIS_COLORS.stone[biome];
      effects.burst('chip', colours, 8, atX, atY, back, 1.05, 0.5, 9, 620, nowMs);
      effects.burst('spark', SPARKS, 4, atX, atY, back, 0.9, 0.8, 9, 260, nowMs);
    }
    effects.ring(atX, atY, 26, '#ffffff', nowMs);
  }

  /**
   * @param {import('./world/structures.js').Structure} structure
   * @param {number} direction
   * @param {number} nowMs
   */
  struckBuilt({ id, item, x, y }, direction, nowMs) {
    const wooden = WOODEN.includes(item);
    this.playAt(wooden ? 'wood' : 'stone', x, y);
    if (this.calm) return;
    const rim = (itemOf(item)?.radius_px ?? 40) * 0.9;
    const atX = x - rim * Math.cos(direction);
    const atY = y - rim * Math.sin(direction);
    this.effects.shake(id, direction, nowMs);
    this.effects.burst('chip', wooden ? SPLINTERS : DEBRIS_COLORS.stone.grass, 7, atX, atY, direction + Math.PI, 1.1, 0.46, 9, 600, nowMs);
    this.effects.ring(atX, atY, 24, '#ffffff', nowMs);
  }

  /**
   * Shows that the local player has placed a structure.
   * @param {import('./world/events.js').WorldEvent} event
   * @param {number} nowMs
   */
  placed({ id, x, y, resource: item }, nowMs) {
    const own = this.own?.shown;
    const structure = this.world.built.structures.get(id);
    if (!own || structure?.owner !== this.world.ownId || Math.hypot(own.x - x, own.y - y) > 160) return;
    this.playAt('place', x, y);
    if (this.calm) return;
    const scale = itemOf(item)?.radius_px ?? 40;
    this.effects.burst('dust', ['#ffffff', '#efe3c6'], 10, x, y, 0, Math.PI, scale / 260, 17, 520, nowMs);
  }

  /**
   * Shows the debris of a destroyed structure.
   * @param {import('./world/events.js').WorldEvent} event
   * @param {number} nowMs
   */
  crumble({ x, y, resource: item }, nowMs) {
    this.playAt('crumble', x, y);
    if (this.calm || !this.camera.sees(x, y, 100)) return;
    const scale = itemOf(item)?.radius_px ?? 40;
    const colours = WOODEN.includes(item) ? SPLINTERS : DEBRIS_COLORS.stone.grass;
    this.effects.burst('dust', ['#efe3c6', '#d9cba6', '#ffffff'], 16, x, y, 0, Math.PI, scale / 190, 26, 950, nowMs);
    this.effects.burst('chip', colours, 14, x, y, 0, Math.PI, 0.5, 13, 820, nowMs);
    this.effects.ring(x, y, scale * 1.5, '#ffffff', nowMs);
  }

  /** @param {import('./world/events.js').WorldEvent} event @param {number} nowMs */
  hurt({ id, x, y, amount }, nowMs) {
    const { effects } = this;
    const body = this.world.players.get(id) ?? this.world.animalTracker.all.get(id);
    const at = body?.shown ?? { x, y };
    effects.number(at.x, at.y - ABOVE_NAME_PX, `−${amount}`, 'damage', nowMs);
    effects.flash(id, nowMs);
    this.playAt('hurt', at.x, at.y);
    if (id === this.world.ownId) this.pain = { atMs: nowMs, part: Math.min(1, 0.35 + (amount / rules.player_health) * 1.4) };
    if (this.calm) return;
    const direction = this.hitDirection(id, at);
    const rimX = at.x - 26 * Math.cos(direction);
    const rimY = at.y - 26 * Math.sin(direction);
    effects.burst('spark', SPARKS, 8, rimX, rimY, direction + Math.PI, 1.3, 0.8, 13, 300, nowMs);
    effects.burst('dust', ['#ffffff', '#f6ead2'], 4, rimX, rimY, direction, 0.8, 0.2, 15, 420, nowMs);
    effects.ring(rimX, rimY, 40, '#ffffff', nowMs);
  }

  /**
   * Estimates the direction of the hit that hurt a player: away from the nearest player that has
   * recently hit something. Packets do not contain the direction, and an estimate suffices for
   * sparks.
   * @param {number} id
   * @param {{ x: number, y: number }} at
   */
  hitDirection(id, at) {
    let near = Infinity;
    let direction = -Math.PI / 2;
    const newest = Math.max(...[...this.world.players.values()].map((player) => player.swing.atMs));
    for (const other of this.world.players.values()) {
      if (other.id === id || !other.swing.hit || newest - other.swing.atMs > 250) continue;
      const far = Math.hypot(other.shown.x - at.x, other.shown.y - at.y);
      if (far >= near) continue;
      near = far;
      direction = Math.atan2(at.y - other.shown.y, at.x - other.shown.x);
    }
    return direction;
  }

  /** @param {import('./world/events.js').WorldEvent} event @param {number} nowMs */
  onDeath({ x, y, amount: skin }, nowMs) {
    this.playAt('death', x, y);
    if (this.calm) return;
    const { body } = SKINS[skin] ?? SKINS[0];
    this.effects.burst('dust', ['#ffffff', mix(body, '#ffffff', 0.5), mix(body, '#ffffff', 0.75)], 16, x, y, 0, Math.PI, 0.36, 27, 900, nowMs);
    this.effects.burst('chip', [body, mix(body, '#ffffff', 0.3)], 10, x, y, 0, Math.PI, 0.6, 11, 800, nowMs);
    this.effects.ring(x, y, 96, '#ffffff', nowMs);
  }

  /**
   * Plays the sound of a shot of a player or a turret.
   * @param {import('./world/events.js').WorldEvent} event
   * @param {number} nowMs
   */
  shot({ x, y, direction, resource: kind }, nowMs) {
    this.playAt(SHOTS[kind] ?? 'bow', x, y);
    if (this.calm || kind !== 5) return;
    const [atX, atY] = [x + 30 * Math.cos(direction), y + 30 * Math.sin(direction)];
    this.effects.burst('spark', SPARKS, 7, atX, atY, direction, 0.4, 0.9, 14, 200, nowMs);
    this.effects.burst('dust', ['#ffffff', '#e3dccb'], 6, atX, atY, direction, 0.6, 0.22, 17, 620, nowMs);
  }

  /**
   * Shows the end of a projectile: an impact, or a drop.
   * @param {import('./world/events.js').WorldEvent} event
   * @param {number} nowMs
   */
  onProjectileEnd({ x, y, direction, amount: hit }, nowMs) {
    if (hit) this.playAt('thud', x, y);
    if (this.calm || !this.camera.sees(x, y, 60)) return;
    const { effects } = this;
    if (hit) {
      effects.burst('spark', SPARKS, 6, x, y, direction + Math.PI, 1.1, 0.7, 10, 260, nowMs);
      effects.burst('chip', SPLINTERS, 4, x, y, direction + Math.PI, 1.2, 0.36, 7, 480, nowMs);
      effects.ring(x, y, 30, '#ffffff', nowMs);
    } else effects.burst('dust', DUST[biomeAt(y, this.world.mapSize)] ?? FOAM, 4, x, y, direction, 1.2, 0.12, 12, 480, nowMs);
  }

  /**
   * Shows the death of an animal in view.
   * @param {import('./world/events.js').WorldEvent} event
   * @param {number} nowMs
   */
  onAnimalGone({ id, x, y, amount: health }, nowMs) {
    if (!this.camera.sees(x, y, 0)) return;
    this.playAt('beast', x, y);
    if (health > 0) this.effects.number(x, y - 60, `−${health}`, 'damage', nowMs);
    if (this.calm) return;
    const kind = this.world.animalTracker.fading.find((animal) => animal.id === id)?.kind ?? 0;
    const { radius_px: radius } = speciesOf(kind);
    this.effects.burst('dust', ['#ffffff', '#efe3c6', '#f6ead2'], 20, x, y, 0, Math.PI, radius / 170, 30, 950, nowMs);
    this.effects.ring(x, y, radius * 1.6, '#ffffff', nowMs);
  }

  /** @param {import('./world/events.js').WorldEvent} event @param {number} nowMs */
  onLevelUp({ x, y, amount }, nowMs) {
    const at = this.own?.shown ?? { x, y };
    this.playAt('age', at.x, at.y);
    this.effects.number(at.x, at.y - ABOVE_NAME_PX, `Age ${amount}`, 'age', nowMs);
    if (this.calm) return;
    this.effects.ring(at.x, at.y, 110, '#ffd85e', nowMs);
    this.effects.burst('spark', ['#fff6d8', '#ffd85e'], 18, at.x, at.y, 0, Math.PI, 0.62, 13, 620, nowMs);
  }

  /**
   * Adds an effect for each step of each walking player: dust on land, a footprint in snow, foam in
   * the river.
   * @param {number} nowMs
   */
  dust(nowMs) {
    for (const player of this.world.players.values()) {
      const steps = Math.floor(player.walked / STEP_PX);
      const before = this.steps.get(player) ?? steps;
      this.steps.set(player, steps);
      if (steps === before) continue;
      const { way, shown: { x, y } } = player;
      const biome = biomeAt(y, this.world.mapSize);
      if (player.pace < 0.3 || !this.camera.sees(x, y, 60)) continue;
      const side = steps % 2 ? 15 : -15;
      const [atX, atY] = [x - 20 * Math.cos(way) - side * Math.sin(way), y - 20 * Math.sin(way) + side * Math.cos(way)];
      if (biome === 'snow') this.effects.addFootprint(atX, atY, way, nowMs);
      if (biome === 'river') this.effects.burst('dust', FOAM, 3, x, y, 0, 0.5, 0.16, 12, 1300, nowMs);
      else this.effects.burst('dust', DUST[biome], 2, atX, atY, way + Math.PI, 0.7, 0.07, 13, 620, nowMs);
    }
  }

  /**
   * Plays a sound with the volume and panning of its position. NaN stands for the centre of the
   * view.
   * @param {string} name
   * @param {number} x
   * @param {number} y
   */
  playAt(name, x, y) {
    if (!this.audible) return;
    const dx = Number.isNaN(x) ? 0 : x - this.camera.x;
    const dy = Number.isNaN(y) ? 0 : y - this.camera.y;
    const gain = 1 - Math.hypot(dx, dy) / MAX_AUDIBLE_PX;
    if (gain > 0.05) this.sound.play(name, Math.max(-0.8, Math.min(0.8, dx / 800)), gain * gain);
  }
}
