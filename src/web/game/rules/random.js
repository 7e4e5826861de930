/**
 * Chance that is the same each time: a number in, a number out. It places tufts and pebbles, which every page should
 * show alike, and nothing that the game depends on.
 *
 * @module game/rules/random
 */

/** @param {number} a @param {number} [b] @param {number} [c] whole numbers @returns {number} 0 to 1, without 1 */
export function hash(a, b = 0, c = 0) {
  let h = Math.imul(a | 0, 0x9e3779b1) ^ Math.imul((b | 0) + 0x7f4a7c15, 0x85ebca6b) ^ Math.imul((c | 0) + 0x165667b1, 0xc2b2ae35);
  h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d);
  h = Math.imul(h ^ (h >>> 12), 0x297a2d39);
  return ((h ^ (h >>> 15)) >>> 0) / 0x100000000;
}

/** A row of such numbers. @param {number} a @param {number} [b] @returns {() => number} */
export function sequence(a, b = 0) {
  let i = 0;
  return () => hash(a, b, (i += 1));
}

/** A smooth line through random heights at whole numbers. @param {number} x @param {number} seed @returns {number} -1 to 1 */
export function noise(x, seed) {
  const cell = Math.floor(x);
  const part = x - cell;
  const ease = part * part * (3 - 2 * part);
  const from = hash(cell, seed, 1);
  const to = hash(cell + 1, seed, 1);
  return (from + (to - from) * ease) * 2 - 1;
}
