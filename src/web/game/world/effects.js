/**
 * What flies, shakes and flashes for a moment. Every kind has a pool of fixed size, in which a new one takes the place
 * of the oldest; each remembers when and where it began, and where it is now follows from the time. Pure: time and
 * chance are arguments.
 *
 * @module game/world/effects
 */

import { ageMs } from '../../lib/age.js';

const PARTICLES = 288;
const NUMBERS = 40;
const RINGS = 16;
const PRINTS = 180;
/** Things and players that shake or flash at once; beyond, the oldest one stops. */
const MAX_FLASHING = 64;

export const SHAKE_MS = 340;
/** How far a struck thing goes, px. */
const SHAKE_PX = 11;
export const FLASH_MS = 220;
export const NUMBER_MS = 950;
export const RING_MS = 520;
/** Time that a footprint stays in the snow. */
export const PRINT_MS = 4200;
/** Part of its speed that a flying piece loses each ms. */
const DRAG = 0.006;

/**
 * @typedef {object} Particle
 * @property {'leaf' | 'chip' | 'spark' | 'dust'} shape
 * @property {string} colour `#rrggbb`
 * @property {number} x where it began, px
 * @property {number} y
 * @property {number} vx px a ms at first
 * @property {number} vy
 * @property {number} size px
 * @property {number} turn radians at first
 * @property {number} spin radians a ms
 * @property {number} bornMs
 * @property {number} lifeMs
 */

/** @typedef {{ text: string, style: string, x: number, y: number, bornMs: number }} Figure a number that flies up */

/** A pool: a ring of things that are written over. @template T */
class Pool {
  /** @param {number} size @param {() => T} make */
  constructor(size, make) {
    this.all = Array.from({ length: size }, make);
    this.next = 0;
  }

  /** The one that has been there longest. @returns {T} */
  take() {
    const one = this.all[this.next];
    this.next = (this.next + 1) % this.all.length;
    return one;
  }
}

export class Effects {
  /** @param {() => number} random 0 to 1 */
  constructor(random = Math.random) {
    this.random = random;
    this.particles = new Pool(PARTICLES, () => /** @type {Particle} */ ({ shape: 'dust', colour: '#ffffff', x: 0, y: 0, vx: 0,
      vy: 0, size: 1, turn: 0, spin: 0, bornMs: -Infinity, lifeMs: 1 }));
    this.numbers = new Pool(NUMBERS, () => /** @type {Figure} */ ({ text: '', style: '', x: 0, y: 0, bornMs: -Infinity }));
    this.rings = new Pool(RINGS, () => ({ x: 0, y: 0, colour: '#ffffff', radius: 0, bornMs: -Infinity }));
    this.prints = new Pool(PRINTS, () => ({ x: 0, y: 0, way: 0, bornMs: -Infinity }));
    /** @type {Map<number, { direction: number, bornMs: number }>} things that shake, by id */
    this.shaking = new Map();
    /** @type {Map<number, number>} when players were hurt, by id */
    this.flashing = new Map();
  }

  /** Between two numbers. @param {number} low @param {number} high */
  between(low, high) {
    return low + (high - low) * this.random();
  }

  /**
   * Pieces that fly from a point.
   * @param {Particle['shape']} shape @param {readonly string[]} colours @param {number} count
   * @param {number} x @param {number} y
   * @param {number} direction radians @param {number} spread radians to each side @param {number} speed px a ms at most
   * @param {number} size px at most @param {number} lifeMs at most @param {number} nowMs
   */
  burst(shape, colours, count, x, y, direction, spread, speed, size, lifeMs, nowMs) {
    for (let i = 0; i < count; i++) {
      const one = this.particles.take();
      const angle = direction + this.between(-spread, spread);
      const pace = speed * this.between(0.35, 1);
      one.shape = shape;
      one.colour = colours[Math.floor(this.random() * colours.length)];
      one.x = x;
      one.y = y;
      one.vx = pace * Math.cos(angle);
      one.vy = pace * Math.sin(angle);
      one.size = size * this.between(0.6, 1);
      one.turn = this.between(0, 6.3);
      one.spin = this.between(-0.012, 0.012);
      one.bornMs = nowMs;
      one.lifeMs = lifeMs * this.between(0.65, 1);
    }
  }

  /** @param {number} x @param {number} y @param {string} text @param {string} style @param {number} nowMs */
  number(x, y, text, style, nowMs) {
    const one = this.numbers.take();
    Object.assign(one, { text, style, bornMs: nowMs, x: x + this.between(-12, 12), y: y + this.between(-5, 5) });
  }

  /** @param {number} x @param {number} y @param {number} radius px at its end @param {string} colour @param {number} nowMs */
  ring(x, y, radius, colour, nowMs) {
    Object.assign(this.rings.take(), { x, y, radius, colour, bornMs: nowMs });
  }

  /** A footprint. @param {number} x @param {number} y @param {number} way radians @param {number} nowMs */
  addFootprint(x, y, way, nowMs) {
    Object.assign(this.prints.take(), { x, y, way, bornMs: nowMs });
  }

  /** Lets a thing shake. @param {number} id @param {number} direction radians @param {number} nowMs */
  shake(id, direction, nowMs) {
    remember(this.shaking, id, { direction, bornMs: nowMs });
  }

  /** Lets a player flash. @param {number} id @param {number} nowMs */
  flash(id, nowMs) {
    remember(this.flashing, id, nowMs);
  }

  /**
   * How far a thing is from its place: off with the blow, back, and past it, ever less.
   * @param {number} id @param {number} nowMs @param {{ x: number, y: number }} out written and returned
   */
  offset(id, nowMs, out) {
    const shake = this.shaking.get(id);
    const part = shake ? ageMs(nowMs, shake.bornMs) / SHAKE_MS : 1;
    out.x = out.y = 0;
    if (!shake || part >= 1) return out;
    const far = SHAKE_PX * Math.sin(part * 3 * Math.PI) * (1 - part) ** 1.6;
    out.x = far * Math.cos(shake.direction);
    out.y = far * Math.sin(shake.direction);
    return out;
  }

  /** How strongly a player flashes, 0 to 1. @param {number} id @param {number} nowMs */
  flashOf(id, nowMs) {
    return Math.max(0, 1 - ageMs(nowMs, this.flashing.get(id) ?? -Infinity) / FLASH_MS);
  }

  /** Pieces and numbers that live at this moment. @param {number} nowMs */
  count(nowMs) {
    const alive = (list, life) => list.filter((one) => ageMs(nowMs, one.bornMs) < (life ?? one.lifeMs)).length;
    return { particles: alive(this.particles.all), numbers: alive(this.numbers.all, NUMBER_MS) };
  }
}

/**
 * Where a piece is.
 * @param {Particle} particle @param {number} nowMs @param {{ x: number, y: number }} out written and returned
 */
export function positionOf(particle, nowMs, out) {
  const way = (1 - Math.exp(-DRAG * ageMs(nowMs, particle.bornMs))) / DRAG;
  out.x = particle.x + particle.vx * way;
  out.y = particle.y + particle.vy * way;
  return out;
}

/** Puts an entry at the end of a map and keeps the map small. */
function remember(map, key, value) {
  map.delete(key);
  map.set(key, value);
  if (map.size > MAX_FLASHING) map.delete(map.keys().next().value);
}
