/**
 * Deterministic noise for decoration that every page draws alike, such as tufts and pebbles. The
 * game does not depend on it.
 *
 * @module game/rules/random
 */

/**
 * Hashes integers to a pseudo-random number.
 * @param {number} a
 * @param {number} [b]
 * @param {number} [c]
 * @returns {number} 0 to 1, exclusive
 */
export function hash(a, b = 0, c = 0) {
  let h = Math.imul(a | 0, 0x9e3779b1) ^ Math.imul((b | 0) + 0x7f4a7c15, 0x85ebca6b) ^ Math.imul((c | 0) + 0x165667b1, 0xc2b2ae35);
  h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d);
  h = Math.imul(h ^ (h >>> 12), 0x297a2d39);
  return ((h ^ (h >>> 15)) >>> 0) / 0x100000000;
}

/** Generator of numbers, 0 to 1, exclusive. @typedef {() => number} Random */

/**
 * Returns a generator of pseudo-random numbers.
 * @param {number} a
 * @param {number} [b]
 * @returns {Random}
 */
export function sequence(a, b = 0) {
  let i = 0;
  return () => hash(a, b, (i += 1));
}

/**
 * Returns one-dimensional value noise.
 * @param {number} x
 * @param {number} seed
 * @returns {number} -1 to 1
 */
export function noise(x, seed) {
  const cell = Math.floor(x);
  const part = x - cell;
  const ease = part * part * (3 - 2 * part);
  const from = hash(cell, seed, 1);
  const to = hash(cell + 1, seed, 1);
  return (from + (to - from) * ease) * 2 - 1;
}
