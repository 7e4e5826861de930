/**
 * Draws a part of the map once: soil, plants, depots and walls. `ground.js` stores the pictures.
 *
 * @module tanks/scenery
 */

import { DEPOTS, DEPOT_REACH, SIDE, TILE, TILES, smoothNoise } from './map.js';
import { INK, box, disc, ink } from './shapes.js';

/** Distances between two samples of the soil, px: in a detailed picture, and in a coarse one. */
const SAMPLE = 5;
const COARSE_SAMPLE = 12.5;
/** Pixels per px of the world from which a picture is detailed. */
const DETAILED = 0.45;
/** Height of the front of a wall, px. */
const FRONT = 14;
/** Length of a stone in a wall, px. */
const STONE = 25;
/** Colours of the soil: red, green and blue. */
const GRASS = [143, 180, 104];
const LUSH = [120, 160, 88];
const DRY = [172, 182, 112];
const EARTH = [181, 155, 112];
const FOREST = [50, 66, 56];

/** @typedef {import('./map.js').Box} Box */
/** @typedef {import('./map.js').Noise} Noise */
/**
 * @typedef {{ walls: import('./map.js').Walls, boxes: Box[], noise: Noise, edge: Box[] }} Land
 */

/** Walls of the edge. @type {Box[]} */
export const EDGE = [
  { x: 0, y: 0, wide: SIDE, high: TILE },
  { x: 0, y: TILE, wide: TILE, high: SIDE - 2 * TILE },
  { x: SIDE - TILE, y: TILE, wide: TILE, high: SIDE - 2 * TILE },
  { x: 0, y: SIDE - TILE, wide: SIDE, high: TILE },
];

/** @param {number} low @param {number} high @param {number} value */
const step = (low, high, value) => {
  const part = Math.min(1, Math.max(0, (value - low) / (high - low)));
  return part * part * (3 - 2 * part);
};

/** @param {number[]} one @param {number[]} other @param {number} part of the other */
const mix = (one, other, part) => one.map((value, at) => value + (other[at] - value) * part);

/** @param {Box} one @param {Box} other @param {number} slack */
const isNear = (one, other, slack) => one.x - slack < other.x + other.wide && other.x - slack < one.x + one.wide
  && one.y - slack < other.y + other.high && other.y - slack < one.y + one.high;

/**
 * Draws a part of the map.
 * @param {CanvasRenderingContext2D} context in px of the world
 * @param {Box} part
 * @param {Land} land
 */
export function drawPart(context, part, land) {
  drawSoil(context, part, land);
  const tiles = { left: Math.floor(part.x / TILE) - 1, right: Math.ceil((part.x + part.wide) / TILE), top: Math.floor(part.y / TILE) - 1, bottom: Math.ceil((part.y + part.high) / TILE) };
  for (let row = Math.max(1, tiles.top); row <= Math.min(TILES - 2, tiles.bottom); row++) {
    for (let column = Math.max(1, tiles.left); column <= Math.min(TILES - 2, tiles.right); column++) {
      if (!land.walls[row][column]) drawPlant(context, column, row, land.noise);
    }
  }
  for (const [column, row] of DEPOTS) {
    const [x, y] = [(column + 0.5) * TILE, (row + 0.5) * TILE];
    if (isNear(part, { x, y, wide: 0, high: 0 }, DEPOT_REACH + 30)) drawDepot(context, x, y, land.noise);
  }
  const near = [...land.edge, ...land.boxes].filter((one) => isNear(part, one, 40));
  for (const wall of near) drawShadow(context, wall);
  context.fillStyle = INK;
  for (const wall of near) context.fill(box(wall.x - 3.5, wall.y - 3.5, wall.wide + 7, wall.high + 7, 5));
  for (const wall of near) drawWall(context, wall, land);
  if (part.x < 0 || part.y < 0 || part.x + part.wide > SIDE || part.y + part.high > SIDE) drawForest(context, part, land.noise);
}

/** Draws the soil from samples, which the canvas smooths. @type {typeof drawPart} */
function drawSoil(context, part, land) {
  context.fillStyle = `rgb(${FOREST.join(' ')})`;
  context.fillRect(part.x, part.y, part.wide, part.high);
  if (part.x >= SIDE || part.y >= SIDE || part.x + part.wide <= 0 || part.y + part.high <= 0) return;
  const sample = context.getTransform().a < DETAILED ? COARSE_SAMPLE : SAMPLE;
  const [columns, rows] = [part.wide / sample + 2, part.high / sample + 2];
  const small = Object.assign(document.createElement('canvas'), { width: columns, height: rows });
  const picture = /** @type {CanvasRenderingContext2D} */ (small.getContext('2d'));
  const image = picture.createImageData(columns, rows);
  for (let at = 0, row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++, at += 4) {
      const colour = soilAt(part.x + (column - 0.5) * sample, part.y + (row - 0.5) * sample, land);
      [image.data[at], image.data[at + 1], image.data[at + 2], image.data[at + 3]] = [...colour, 255];
    }
  }
  picture.putImageData(image, 0, 0);
  context.imageSmoothingEnabled = true;
  context.drawImage(small, part.x - sample, part.y - sample, columns * sample, rows * sample);
}

/** @param {number} x @param {number} y @param {Land} land */
function soilAt(x, y, { walls, noise }) {
  const grain = (noise(Math.round(x), Math.round(y), 9) - 0.5) * 7;
  if (x < 0 || y < 0 || x > SIDE || y > SIDE) return FOREST.map((value) => value + grain);
  const wide = smoothNoise(noise, x, y, 460, 1) * 0.65 + smoothNoise(noise, x, y, 130, 2) * 0.35;
  const ragged = smoothNoise(noise, x, y, 46, 3) * 0.6 + smoothNoise(noise, x, y, 19, 4) * 0.4;
  let earth = smoothNoise(noise, x, y, 330, 5) * 0.72 + ragged * 0.28;
  for (const [column, row] of DEPOTS) earth += 0.35 * step(190, 70, Math.hypot(x - (column + 0.5) * TILE, y - (row + 0.5) * TILE));
  // Soil next to a wall is worn.
  const wall = wallDistance(walls, x, y);
  earth += 0.16 * step(46, 4, wall);
  const grass = mix(mix(LUSH, GRASS, step(0.3, 0.42, wide + (ragged - 0.5) * 0.12)), DRY, step(0.58, 0.68, wide + (ragged - 0.5) * 0.14));
  const rim = step(0.655, 0.67, earth) * step(0.7, 0.685, earth);
  const colour = mix(grass, EARTH, step(0.66, 0.68, earth) * 0.86);
  return colour.map((value) => value * (1 - 0.07 * rim) + grain - 7 * step(26, 0, wall));
}

/**
 * Returns the distance from a place to the next wall, at most 50 px.
 * @param {import('./map.js').Walls} walls
 * @param {number} x
 * @param {number} y
 */
function wallDistance(walls, x, y) {
  const [column, row] = [Math.floor(x / TILE), Math.floor(y / TILE)];
  let distance = TILE;
  for (let down = row - 1; down <= row + 1; down++) {
    for (let across = column - 1; across <= column + 1; across++) {
      if (!walls[down]?.[across]) continue;
      const right = Math.max(across * TILE - x, 0, x - (across + 1) * TILE);
      const below = Math.max(down * TILE - y, 0, y - (down + 1) * TILE);
      distance = Math.min(distance, Math.hypot(right, below));
    }
  }
  return distance;
}

/**
 * Draws what grows or lies on a tile: tufts, flowers, stones, or nothing.
 * @param {CanvasRenderingContext2D} context @param {number} column @param {number} row
 * @param {Noise} noise
 */
function drawPlant(context, column, row, noise) {
  const kind = noise(column, row, 20);
  const [x, y] = [column * TILE + 9 + 32 * noise(column, row, 21), row * TILE + 12 + 28 * noise(column, row, 22)];
  if (kind < 0.2) return drawTuft(context, x, y, 0.85 + 0.4 * noise(column, row, 23));
  if (kind < 0.245) {
    const petal = noise(column, row, 24) < 0.5 ? '#f7ecc0' : '#f0cf7a';
    for (let flower = 0; flower < 4; flower++) {
      const [left, top] = [x + 16 * (noise(column, row, 30 + flower) - 0.5), y + 14 * (noise(column, row, 40 + flower) - 0.5)];
      context.fillStyle = petal;
      for (let leaf = 0; leaf < 4; leaf++) context.fill(disc(left + 1.9 * Math.cos(leaf * 1.57), top + 1.9 * Math.sin(leaf * 1.57), 1.5));
      context.fillStyle = '#c9772f';
      context.fill(disc(left, top, 1.1));
    }
    return undefined;
  }
  if (kind > 0.945) {
    for (let stone = 0; stone < 3; stone++) {
      const radius = 2.2 + 4.6 * noise(column, row, 50 + stone);
      drawStone(context, x + 15 * (noise(column, row, 60 + stone) - 0.5), y + 12 * (noise(column, row, 70 + stone) - 0.5), radius);
    }
  }
  return undefined;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} x
 * @param {number} y
 * @param {number} size
 */
function drawTuft(context, x, y, size) {
  context.fillStyle = 'rgb(60 90 50 / 0.16)';
  context.fill(disc(x, y - 1, 7 * size));
  Object.assign(context, { strokeStyle: '#6a9150', lineWidth: 2.3, lineCap: 'round' });
  context.beginPath();
  for (const bend of [-6, -2.5, 2, 6]) {
    context.moveTo(x + bend / 2, y);
    context.quadraticCurveTo(x + bend / 2, y - 5 * size, x + bend * size, y - (10 - Math.abs(bend) / 2) * size);
  }
  context.stroke();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} x
 * @param {number} y
 * @param {number} radius
 */
function drawStone(context, x, y, radius) {
  context.fillStyle = 'rgb(40 36 60 / 0.22)';
  context.fill(disc(x + 1.5, y + 2, radius));
  ink(context, disc(x, y, radius), '#a49d97', 1.6);
  context.fillStyle = 'rgb(255 255 255 / 0.35)';
  context.fill(disc(x - radius * 0.3, y - radius * 0.35, radius * 0.42));
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} x
 * @param {number} y
 * @param {Noise} noise
 */
function drawDepot(context, x, y, noise) {
  context.fillStyle = 'rgb(206 199 178 / 0.9)';
  context.fill(disc(x, y, DEPOT_REACH));
  context.fillStyle = 'rgb(120 110 100 / 0.13)';
  for (let spot = 0; spot < 16; spot++) {
    const [way, far] = [noise(x, y, spot) * 6.3, Math.sqrt(noise(x, y, spot + 50)) * (DEPOT_REACH - 14)];
    context.fill(disc(x + Math.cos(way) * far, y + Math.sin(way) * far, 4 + 8 * noise(x, y, spot + 90)));
  }
  Object.assign(context, { strokeStyle: 'rgb(56 50 74 / 0.35)', lineWidth: 2.5 });
  context.stroke(disc(x, y, DEPOT_REACH + 2));
  Object.assign(context, { strokeStyle: '#fdf8ec', lineWidth: 4.5, lineCap: 'butt' });
  context.setLineDash([15, 12]);
  context.stroke(disc(x, y, DEPOT_REACH - 5));
  context.setLineDash([]);
  context.fillStyle = 'rgb(40 36 60 / 0.22)';
  context.fill(box(x - 19, y - 16, 46, 46, 10));
  ink(context, box(x - 23, y - 23, 46, 46, 10), '#fdf8ec', 4);
  context.fillStyle = '#d8574a';
  context.fill(box(x - 14, y - 4.5, 28, 9, 3));
  context.fill(box(x - 4.5, y - 14, 9, 28, 3));
}

/** @param {CanvasRenderingContext2D} context @param {Box} wall */
function drawShadow(context, { x, y, wide, high }) {
  context.fillStyle = 'rgb(40 36 60 / 0.1)';
  context.fill(box(x - 9, y - 7, wide + 18, high + 18, 12));
  context.fillStyle = 'rgb(40 36 60 / 0.24)';
  context.beginPath();
  context.moveTo(x, y + high);
  context.lineTo(x + 14, y + high + 16);
  context.lineTo(x + wide + 14, y + high + 16);
  context.lineTo(x + wide + 14, y + 14);
  context.lineTo(x + wide, y);
  context.fill();
}

/** @param {CanvasRenderingContext2D} context @param {Box} wall @param {Land} land */
function drawWall(context, { x, y, wide, high }, { noise }) {
  const [flat, tone] = [wide >= high, noise(x, y, 100)];
  // The walls at the left and the right edge continue into the wall below.
  const front = high > SIDE / 2 ? 0 : FRONT, top = high - front;
  const base = mix([172, 163, 152], [186, 172, 150], tone);
  const rgb = (/** @type {number[]} */ colour) => `rgb(${colour.map(Math.round).join(' ')})`;
  context.fillStyle = rgb(mix(base, [56, 50, 74], 0.46));
  context.fillRect(x, y + top, wide, front);
  context.fillStyle = rgb(base);
  context.fillRect(x, y, wide, top);
  // Each stone has a tone of its own; the seams of neighbouring rows are offset.
  const across = flat ? top / 2 : wide / 2;
  for (let course = 0; course < 2; course++) {
    for (let at = course ? -STONE / 2 : 0, stone = 0; at < (flat ? wide : top); at += STONE, stone++) {
      const [begin, end] = [Math.max(0, at), Math.min(flat ? wide : top, at + STONE)];
      const shade = noise(x + stone, y + course, 101);
      context.fillStyle = shade < 0.5 ? `rgb(70 60 70 / ${0.16 * (0.5 - shade)})` : `rgb(255 250 235 / ${0.34 * (shade - 0.5)})`;
      const [left, up, right, down] = flat ? [begin, course * across, end - begin, across] : [course * across, begin, across, end - begin];
      context.fillRect(x + left, y + up, right, down);
      context.strokeStyle = 'rgb(70 60 70 / 0.24)';
      context.lineWidth = 1.4;
      context.strokeRect(x + left, y + up, right, down);
    }
  }
  context.fillStyle = 'rgb(255 252 240 / 0.42)';
  context.fillRect(x, y, wide, 3);
  context.fillRect(x, y, 2.5, top);
  context.fillStyle = 'rgb(56 50 74 / 0.18)';
  context.fillRect(x + wide - 3, y + 3, 3, top - 3);
  context.fillStyle = 'rgb(56 50 74 / 0.5)';
  if (front > 0) for (let at = STONE / 2; at < wide; at += STONE) context.fillRect(x + at, y + top, 1.5, front);
  context.fillStyle = 'rgb(56 50 74 / 0.4)';
  context.fillRect(x, y + top - 1, wide, front > 0 ? 2 : 0);
  drawWear(context, { x, y, wide, high: top }, noise);
}

/**
 * Draws moss and cracks on a wall.
 * @param {CanvasRenderingContext2D} context
 * @param {Box} wall
 * @param {Noise} noise
 */
function drawWear(context, { x, y, wide, high }, noise) {
  const count = Math.max(1, Math.round(Math.max(wide, high) / 110));
  context.save();
  context.beginPath();
  context.rect(x, y, wide, high);
  context.clip();
  for (let spot = 0; spot < count; spot++) {
    const [left, top] = [x + wide * noise(x + spot, y, 110), y + high * noise(x + spot, y, 111)];
    if (noise(x + spot, y, 112) < 0.45) {
      context.fillStyle = 'rgb(112 150 76 / 0.62)';
      for (let leaf = 0; leaf < 5; leaf++) context.fill(disc(left + 13 * (noise(x + spot, y + leaf, 113) - 0.5), top + 10 * (noise(x + spot, y + leaf, 114) - 0.5), 2.5 + 3.5 * noise(x + spot, y + leaf, 115)));
      continue;
    }
    Object.assign(context, { strokeStyle: 'rgb(56 50 74 / 0.5)', lineWidth: 1.5, lineCap: 'round' });
    context.beginPath();
    context.moveTo(left, top);
    for (let bend = 1; bend < 4; bend++) context.lineTo(left + bend * 5 * (noise(x + spot, y, 116) - 0.3), top + bend * 6 + 5 * (noise(x + spot, y + bend, 117) - 0.5));
    context.stroke();
  }
  context.restore();
}

/**
 * Draws the trees around the map.
 * @param {CanvasRenderingContext2D} context
 * @param {Box} part
 * @param {Noise} noise
 */
function drawForest(context, part, noise) {
  const gap = 58;
  const [left, top] = [Math.floor(part.x / gap) - 1, Math.floor(part.y / gap) - 1];
  for (let row = top; row <= (part.y + part.high) / gap + 1; row++) {
    for (let column = left; column <= (part.x + part.wide) / gap + 1; column++) {
      const radius = 30 + 14 * noise(column, row, 120);
      const [x, y] = [(column + 0.5 * (row & 1) + 0.5 * noise(column, row, 121)) * gap, (row + 0.4 * noise(column, row, 122)) * gap];
      if (x > -radius - 8 && y > -radius - 8 && x < SIDE + radius + 8 && y < SIDE + radius + 8) continue;
      context.fillStyle = 'rgb(24 30 32 / 0.45)';
      context.fill(disc(x + 6, y + 9, radius));
      const tone = noise(column, row, 123);
      ink(context, disc(x, y, radius), tone < 0.4 ? '#41604a' : tone < 0.75 ? '#4b6b4c' : '#587750', 3);
      context.fillStyle = 'rgb(255 255 220 / 0.09)';
      context.fill(disc(x - radius * 0.2, y - radius * 0.24, radius * 0.66));
      context.fill(disc(x - radius * 0.3, y - radius * 0.34, radius * 0.32));
    }
  }
}
