/**
 * Address of a question: the lesson and the seed in the fragment, `#lesson=3&seed=7`.
 *
 * @module quiz/address
 */

/** Number of the last lesson. */
export const LESSONS = 14;
/** Largest seed plus 1: seeds have 32 bits. */
const SEEDS = 2 ** 32;

/** @typedef {{ lesson: number, seed: number }} Place */

/**
 * Parses a number of a fragment.
 * @param {string | null} text
 * @param {number} low
 * @param {number} high
 */
function numberIn(text, low, high) {
  const number = /^\d+$/.test(text ?? '') ? Number(text) : Number.NaN;
  return number >= low && number <= high ? number : null;
}

/**
 * Parses a fragment. A missing or invalid part is replaced.
 * @param {string} fragment with or without `#`
 * @param {() => number} random returns a random number from 0 to 1
 * @returns {Place}
 */
export function placeOf(fragment, random = Math.random) {
  const fields = new URLSearchParams(fragment.replace(/^#/, ''));
  const lesson = numberIn(fields.get('lesson'), 1, LESSONS) ?? 1;
  // A random seed is short, so that it can be read aloud.
  const seed = numberIn(fields.get('seed'), 0, SEEDS - 1) ?? Math.floor(random() * 1000);
  return { lesson, seed };
}

/** Formats a fragment. @param {Place} place */
export const fragmentOf = ({ lesson, seed }) => `#lesson=${lesson}&seed=${seed}`;

/** Returns the next question of the lesson. @param {Place} place @returns {Place} */
export const nextPlace = ({ lesson, seed }) => ({ lesson, seed: (seed + 1) % SEEDS });
