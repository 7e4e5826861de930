/**
 * Colours, biome borders, and deterministic noise for decoration that every page draws alike, such
 * as tufts and pebbles. The game does not depend on the noise. In all pictures, light comes from
 * the top left, and an outline is a dark tone of its object, never black.
 *
 * @module game/rules/palette
 */

/** Default colour of outlines and text. */
export const INK = '#38324a';
/** Colour of clan mates on the map and in labels. */
export const CLAN_MATE_COLOR = '#9be8f0';

export const SNOW = { base: '#e8eef4', light: '#f5f8fb', dark: '#d6e1eb', mark: '#b9cad9' };
export const GRASS = { base: '#8fb468', light: '#9bc074', dark: '#83a85d', mark: '#6c9450' };
export const SAND = { base: '#e6cf98', light: '#efdcac', dark: '#dcc387', mark: '#c2a566' };
export const BANK = { base: '#d3c08c', wet: '#b9a877' };
export const WATER = { base: '#5caed0', deep: '#4799bf', wave: '#9fd6e8', foam: '#e6f6f8' };
export const OUTSIDE = { base: '#262b3d', mark: '#323950', edge: '#4a3f55' };

/** Skins differ in lightness and hue, so that they are distinguishable without colour vision. */
export const SKINS = Object.freeze([
  { name: 'chestnut', body: '#bf8f54' },
  { name: 'cream', body: '#f2d9b1' },
  { name: 'umber', body: '#7d5a3c' },
  { name: 'rose', body: '#f0b3b8' },
  { name: 'brick', body: '#c95a4a' },
  { name: 'amber', body: '#f0b429' },
  { name: 'moss', body: '#5f7f3a' },
  { name: 'teal', body: '#2f9c95' },
  { name: 'sky', body: '#7db4e6' },
  { name: 'violet', body: '#8a6fc4' },
]);

/**
 * Lower border of the snow, as a fraction of the map size. The borders equal the ones of the
 * server.
 */
const SNOW_END = 2400 / 14400;
/** Middle of the river, as a fraction of the map size. */
const RIVER_MIDDLE = 7200 / 14400;
/** Half the width of the river, as a fraction of the map size. */
const RIVER_HALF = 362 / 14400;
/** Upper border of the desert, as a fraction of the map size. */
const DESERT_START = 12000 / 14400;

/** @typedef {'snow' | 'grass' | 'river' | 'desert'} Biome */
/** @typedef {ReturnType<typeof biomeBorders>} Borders */

/** Returns the y coordinates of the biome borders, px. @param {number} mapSize px */
export function biomeBorders(mapSize) {
  return {
    snowEnd: SNOW_END * mapSize,
    riverStart: (RIVER_MIDDLE - RIVER_HALF) * mapSize,
    riverEnd: (RIVER_MIDDLE + RIVER_HALF) * mapSize,
    desertStart: DESERT_START * mapSize,
  };
}

/**
 * Returns the biome at a y coordinate.
 * @param {number} y px
 * @param {number} mapSize px
 * @returns {Biome}
 */
export function biomeAt(y, mapSize) {
  const at = biomeBorders(mapSize);
  if (y <= at.snowEnd) return 'snow';
  if (y >= at.riverStart && y <= at.riverEnd) return 'river';
  return y >= at.desertStart ? 'desert' : 'grass';
}

/**
 * Returns the vertical offset of a drawn border at `x`, px. It makes the border uneven.
 * @param {number} x px
 * @param {number} seed
 * @param {number} reach maximum offset, px
 */
export function borderOffset(x, seed, reach) {
  return (noise(x / 260, seed) + 0.45 * noise(x / 83, seed + 7)) * reach;
}

/**
 * Mixes two colours.
 * @param {string} from `#rrggbb`
 * @param {string} to `#rrggbb`
 * @param {number} part 0 to 1
 */
export function mix(from, to, part) {
  const a = parseInt(from.slice(1), 16);
  const b = parseInt(to.slice(1), 16);
  /** @param {number} shift */
  const channel = (shift) => Math.round(((a >> shift) & 255) * (1 - part) + ((b >> shift) & 255) * part);
  return `#${((channel(16) << 16) | (channel(8) << 8) | channel(0)).toString(16).padStart(6, '0')}`;
}

/** Returns the outline colour of a fill. @param {string} fill */
export function outlineOf(fill) {
  return mix(fill, INK, 0.68);
}

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
