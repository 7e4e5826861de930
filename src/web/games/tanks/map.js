/**
 * The map of tanks: the server's walls from the seed, and noise for its picture. All distances are
 * in px of the world.
 *
 * @module tanks/map
 */

export const TILES = 60;
export const TILE = 50;
/** Side of the map, px. */
export const SIDE = TILES * TILE;
/** Units of `turn16` in a turn. */
export const TURN = 65536;
/** Tiles in the middle of the depots. */
export const DEPOTS = [[30, 30], [14, 14], [45, 14], [14, 45], [45, 45]];
export const DEPOT_REACH = 75;

/** @typedef {boolean[][]} Walls walls by row and column; true is a wall */
/** @typedef {{ x: number, y: number, wide: number, high: number }} Box px */
/** @typedef {(x: number, y: number, salt?: number) => number} Noise */

/** Generates the server's map of a seed. @param {number} seed @returns {Walls} */
export function makeMap(seed) {
  const walls = Array.from({ length: TILES }, () => Array(TILES).fill(false));
  const mask = (1n << 64n) - 1n;
  let state = BigInt(seed) << 32n | 1n;
  const next = () => {
    state = state + 0x9e3779b97f4a7c15n & mask;
    let mixed = state;
    mixed = (mixed ^ mixed >> 30n) * 0xbf58476d1ce4e5b9n & mask;
    mixed = (mixed ^ mixed >> 27n) * 0x94d049bb133111ebn & mask;
    return mixed ^ mixed >> 31n;
  };
  const between = (/** @type {number} */ low, /** @type {number} */ high) => low + Number((next() >> 32n) * BigInt(high - low + 1) >> 32n);
  next();
  for (let wall = 0; wall < 700; wall++) {
    const length = between(2, 8), flat = between(0, 1) === 0;
    const [wide, high] = flat ? [length, 1] : [1, length];
    const left = between(2, TILES - 2 - wide), top = between(2, TILES - 2 - high);
    let free = !DEPOTS.some(([x, y]) => x + 1 >= left - 1 && x - 1 <= left + wide && y + 1 >= top - 1 && y - 1 <= top + high);
    for (let y = top - 1; y <= top + high; y++) for (let x = left - 1; x <= left + wide; x++) free &&= !walls[y][x];
    for (let y = top; free && y < top + high; y++) walls[y].fill(true, left, left + wide);
  }
  for (let at = 0; at < TILES; at++) walls[0][at] = walls[TILES - 1][at] = walls[at][0] = walls[at][TILES - 1] = true;
  return walls;
}

/** Returns the walls inside the edge as boxes. @param {Walls} walls @returns {Box[]} */
export function boxesOf(walls) {
  const boxes = [];
  for (let row = 1; row < TILES - 1; row++) {
    for (let column = 1; column < TILES - 1; column++) {
      if (!walls[row][column] || walls[row - 1][column] && row > 1 || walls[row][column - 1] && column > 1) continue;
      let [wide, high] = [1, 1];
      while (walls[row][column + wide] && column + wide < TILES - 1) wide += 1;
      while (walls[row + high]?.[column] && row + high < TILES - 1) high += 1;
      boxes.push({ x: column * TILE, y: row * TILE, wide: wide * TILE, high: high * TILE });
    }
  }
  return boxes;
}

/**
 * Returns a noise function of a seed: 0 to 1 for integer coordinates, the same in every page.
 * @param {number} seed
 * @returns {Noise}
 */
export function makeNoise(seed) {
  return (x, y, salt = 0) => {
    let mixed = Math.imul(x, 0x27d4eb2d) ^ Math.imul(y, 0x165667b1) ^ Math.imul(salt + 1, 0x9e3779b1) ^ seed;
    mixed = Math.imul(mixed ^ mixed >>> 15, 0x85ebca6b);
    mixed = Math.imul(mixed ^ mixed >>> 13, 0xc2b2ae35);
    return ((mixed ^ mixed >>> 16) >>> 0) / 2 ** 32;
  };
}

/**
 * Returns smooth noise, 0 to 1.
 * @param {Noise} noise
 * @param {number} x px
 * @param {number} y px
 * @param {number} cell distance between two random values, px
 * @param {number} salt
 */
export function smoothNoise(noise, x, y, cell, salt) {
  const [column, row] = [Math.floor(x / cell), Math.floor(y / cell)];
  let [partX, partY] = [x / cell - column, y / cell - row];
  partX *= partX * (3 - 2 * partX);
  partY *= partY * (3 - 2 * partY);
  const top = noise(column, row, salt) * (1 - partX) + noise(column + 1, row, salt) * partX;
  const bottom = noise(column, row + 1, salt) * (1 - partX) + noise(column + 1, row + 1, salt) * partX;
  return top * (1 - partY) + bottom * partY;
}
