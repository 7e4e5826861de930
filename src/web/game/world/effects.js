/**
 * Short effects: flying debris and numbers, rings, footprints, shaking and flashes. Each kind has a
 * pool of fixed size, in which a new effect replaces the oldest one. An effect stores its start;
 * its state follows from the time. Time and randomness are arguments.
 *
 * @module game/world/effects
 */

import { ageMs } from '../../lib/interpolation.js';

const PARTICLES = 288;
const NUMBERS = 40;
const RINGS = 16;
const PRINTS = 180;
/**
 * Maximum number of shaking objects, and of flashing players and animals. A further entry replaces
 * the oldest.
 */
const MAX_FLASHING = 64;

export const SHAKE_MS = 340;
/** Amplitude of shaking, px. */
const SHAKE_PX = 11;
export const FLASH_MS = 220;
export const NUMBER_MS = 950;
export const RING_MS = 520;
/** Duration of a footprint in snow, ms. */
export const PRINT_MS = 4200;
/** Fraction of the speed that debris loses per ms. */
const DRAG = 0.006;

/**
 * @typedef {object} Particle
 * @property {'leaf' | 'chip' | 'spark' | 'dust'} shape
 * @property {string} colour `#rrggbb`
 * @property {number} x start, px
 * @property {number} y
 * @property {number} vx initial velocity, px/ms
 * @property {number} vy
 * @property {number} size px
 * @property {number} turn initial angle, radians
 * @property {number} spin angular velocity, radians/ms
 * @property {number} bornMs
 * @property {number} lifeMs
 */

/**
 * @typedef {{ text: string, style: string, x: number, y: number, bornMs: number }} Figure a rising
 *   number
 */

/** A pool: a ring of objects that are overwritten. @template T */
class Pool {
  /** @param {number} size @param {() => T} make */
  constructor(size, make) {
    this.all = Array.from({ length: size }, make);
    this.next = 0;
  }

  /** Returns the oldest object for reuse. @returns {T} */
  take() {
    const one = this.all[this.next];
    this.next = (this.next + 1) % this.all.length;
    return one;
  }
}

export class Effects {
  /** @param {() => number} random returns 0 to 1 */
  constructor(random = Math.random) {
    this.random = random;
    this.particles = new Pool(PARTICLES, () => /** @type {Particle} */ ({ shape: 'dust', colour: '#ffffff', x: 0, y: 0, vx: 0,
      vy: 0, size: 1, turn: 0, spin: 0, bornMs: -Infinity, lifeMs: 1 }));
    this.numbers = new Pool(NUMBERS, () => /** @type {Figure} */ ({ text: '', style: '', x: 0, y: 0, bornMs: -Infinity }));
    this.rings = new Pool(RINGS, () => ({ x: 0, y: 0, colour: '#ffffff', radius: 0, bornMs: -Infinity }));
    this.prints = new Pool(PRINTS, () => ({ x: 0, y: 0, way: 0, bornMs: -Infinity }));
    /** Shaking objects by id. @type {Map<number, { direction: number, bornMs: number }>} */
    this.shaking = new Map();
    /** Start of the flash of each player and animal, ms. @type {Map<number, number>} */
    this.flashing = new Map();
  }

  /** Returns a random number in a range. @param {number} low @param {number} high */
  between(low, high) {
    return low + (high - low) * this.random();
  }

  /**
   * Adds debris that flies from a point.
   * @param {Particle['shape']} shape
   * @param {readonly string[]} colours
   * @param {number} count
   * @param {number} x
   * @param {number} y
   * @param {number} direction radians
   * @param {number} spread radians to each side
   * @param {number} speed maximum, px/ms
   * @param {number} size maximum, px
   * @param {number} lifeMs maximum, ms
   * @param {number} nowMs
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

  /**
   * @param {number} x
   * @param {number} y
   * @param {string} text
   * @param {string} style
   * @param {number} nowMs
   */
  number(x, y, text, style, nowMs) {
    const one = this.numbers.take();
    Object.assign(one, { text, style, bornMs: nowMs, x: x + this.between(-12, 12), y: y + this.between(-5, 5) });
  }

  /**
   * Adds a ring.
   * @param {number} x
   * @param {number} y
   * @param {number} radius final radius, px
   * @param {string} colour
   * @param {number} nowMs
   */
  ring(x, y, radius, colour, nowMs) {
    Object.assign(this.rings.take(), { x, y, radius, colour, bornMs: nowMs });
  }

  /**
   * Adds a footprint.
   * @param {number} x
   * @param {number} y
   * @param {number} way radians
   * @param {number} nowMs
   */
  addFootprint(x, y, way, nowMs) {
    Object.assign(this.prints.take(), { x, y, way, bornMs: nowMs });
  }

  /**
   * Shakes an object.
   * @param {number} id
   * @param {number} direction radians
   * @param {number} nowMs
   */
  shake(id, direction, nowMs) {
    remember(this.shaking, id, { direction, bornMs: nowMs });
  }

  /** Flashes a player or an animal. @param {number} id @param {number} nowMs */
  flash(id, nowMs) {
    remember(this.flashing, id, nowMs);
  }

  /**
   * Returns the offset of a shaking object, px: a damped oscillation in the direction of the hit.
   * @param {number} id
   * @param {number} nowMs
   * @param {{ x: number, y: number }} out written and returned
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

  /**
   * Returns the strength of the flash of a player or an animal, 0 to 1.
   * @param {number} id
   * @param {number} nowMs
   */
  flashOf(id, nowMs) {
    return Math.max(0, 1 - ageMs(nowMs, this.flashing.get(id) ?? -Infinity) / FLASH_MS);
  }

  /** Counts the running effects. @param {number} nowMs */
  count(nowMs) {
    const particles = this.particles.all.filter((one) => ageMs(nowMs, one.bornMs) < one.lifeMs).length;
    const numbers = this.numbers.all.filter((one) => ageMs(nowMs, one.bornMs) < NUMBER_MS).length;
    return { particles, numbers };
  }
}

/**
 * Returns the position of a piece of debris, px.
 * @param {Particle} particle
 * @param {number} nowMs
 * @param {{ x: number, y: number }} out written and returned
 */
export function positionOf(particle, nowMs, out) {
  const way = (1 - Math.exp(-DRAG * ageMs(nowMs, particle.bornMs))) / DRAG;
  out.x = particle.x + particle.vx * way;
  out.y = particle.y + particle.vy * way;
  return out;
}

/**
 * Sets an entry at the end of a map, and limits the size of the map.
 * @template Value
 * @param {Map<number, Value>} map @param {number} key @param {Value} value
 */
function remember(map, key, value) {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MAX_FLASHING) map.delete(oldest);
}
