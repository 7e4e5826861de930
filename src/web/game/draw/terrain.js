/**
 * Draws the ground: snow, grass, the river with its banks, desert, and the map edge. Static parts
 * are painted once in square chunks; game/draw/weather.js draws moving water and snow.
 *
 * @module game/draw/terrain
 */

import { BANK, GRASS, OUTSIDE, SAND, SNOW, WATER, biomeBorders, borderOffset, hash, sequence } from '../rules/palette.js';
import { Sprites } from './sprites.js';

/** Side of a chunk, px. */
const CHUNK = 480;
/** Overlap of chunks, px, so that no seam is visible. */
const OVERLAP = 2;
/**
 * Side of a cell with one group of decoration, px. A chunk also paints the adjacent cells, because
 * their decoration may reach into it.
 */
const CELL = 120;
/** Number of grid cells along each side of the map. */
const GRID_LINES = 100;
/** Width of the river banks, px. */
export const BANK_WIDTH = 34;

/** Seeds of the uneven borders between biomes. */
export const LINES = Object.freeze({ snow: 11, riverStart: 23, riverEnd: 37, desert: 53 });

/**
 * Maximum scale of the ground, device px for each px of the world. A sharper chunk would take 4 MB
 * without a visible effect.
 */
const MAX_SCALE = 1.5;

/** @typedef {import('../rules/palette.js').Biome} Biome */
/** @typedef {import('../rules/palette.js').Borders} Borders */
/** @typedef {import('../rules/palette.js').Random} Random */
/** @typedef {{ x: number, y: number, width: number, height: number }} Box in px */
/**
 * Rows and columns of chunks, all inclusive.
 * @typedef {{ left: number, top: number, right: number, bottom: number }} Span
 */
/** @typedef {(height: number, seed: number, reach: number, fill: string) => void} FillBelow */

const chunks = new Sprites(64);

/**
 * Draws the visible ground.
 * @param {CanvasRenderingContext2D} ctx
 * @param {import('./camera.js').Camera} camera
 * @param {number} mapSize px
 */
export function drawTerrain(ctx, camera, mapSize) {
  const { left, top, right, bottom } = camera.view;
  if (left < 0 || top < 0 || right > mapSize || bottom > mapSize) drawOutside(ctx, camera);
  const last = Math.ceil(mapSize / CHUNK) - 1;
  /** @param {number} value */
  const clamp = (value) => Math.max(0, Math.min(last, Math.floor(value / CHUNK)));
  if (right < 0 || bottom < 0 || left > mapSize || top > mapSize) return;
  const scale = Math.min(MAX_SCALE, camera.scale);
  const span = { left: clamp(left), top: clamp(top), right: clamp(right), bottom: clamp(bottom) };
  for (let row = span.top; row <= span.bottom; row++) {
    for (let column = span.left; column <= span.right; column++) {
      Sprites.show(ctx, chunk(column, row, scale, mapSize), column * CHUNK, row * CHUNK);
    }
  }
  paintAhead(span, last, scale, mapSize);
  drawEdge(ctx, camera, mapSize);
}

/** @param {number} column @param {number} row @param {number} mapSize */
const keyOf = (column, row, mapSize) => `${mapSize}:${column}:${row}`;

/**
 * Returns the picture of a chunk.
 * @param {number} column @param {number} row @param {number} scale @param {number} mapSize
 */
function chunk(column, row, scale, mapSize) {
  const x = column * CHUNK;
  const y = row * CHUNK;
  /** @param {number} from */
  const side = (from) => Math.min(CHUNK, mapSize - from) + OVERLAP;
  const cover = () => ({ left: 0, top: 0, width: side(x), height: side(y) });
  return chunks.get(keyOf(column, row, mapSize), scale, cover, (ctx) => {
    ctx.translate(-x, -y);
    paint(ctx, x, y, mapSize);
  });
}

/**
 * Paints one chunk per frame just outside the window, so that no frame has to paint a whole row.
 * @param {Span} span @param {number} last @param {number} scale @param {number} mapSize
 */
function paintAhead(span, last, scale, mapSize) {
  for (let row = Math.max(0, span.top - 1); row <= Math.min(last, span.bottom + 1); row++) {
    for (let column = Math.max(0, span.left - 1); column <= Math.min(last, span.right + 1); column++) {
      if (chunks.has(keyOf(column, row, mapSize), scale)) continue;
      chunk(column, row, scale, mapSize);
      return;
    }
  }
}

/**
 * Paints the static parts of a chunk.
 * @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y @param {number} mapSize
 */
function paint(ctx, x, y, mapSize) {
  const at = biomeBorders(mapSize);
  const box = { x: x - CELL, y: y - CELL, width: CHUNK + 2 * CELL, height: CHUNK + 2 * CELL };
  ctx.fillStyle = SNOW.base;
  ctx.fillRect(box.x, box.y, box.width, box.height);
  /** @type {FillBelow} */
  const below = (height, seed, reach, fill) => fillBelow(ctx, box, height, seed, reach, fill);
  below(at.snowEnd - 26, LINES.snow, 44, SNOW.dark);
  below(at.snowEnd - 6, LINES.snow, 44, '#b9cbaa');
  below(at.snowEnd + 14, LINES.snow, 44, GRASS.base);
  below(at.desertStart - 22, LINES.desert, 44, '#bac47f');
  below(at.desertStart, LINES.desert, 44, SAND.base);
  decorate(ctx, box, at);
  riverBed(ctx, box, at, below);
  grid(ctx, x, y, mapSize);
}

/**
 * Fills from an uneven border down to the end of the box.
 * @param {CanvasRenderingContext2D} ctx @param {Box} box @param {number} height
 * @param {number} seed @param {number} reach @param {string} fill
 */
function fillBelow(ctx, box, height, seed, reach, fill) {
  if (height - 2 * reach > box.y + box.height) return;
  ctx.fillStyle = fill;
  ctx.beginPath();
  ctx.moveTo(box.x, box.y + box.height);
  for (let x = box.x; x <= box.x + box.width; x += 12) ctx.lineTo(x, Math.max(box.y, height + borderOffset(x, seed, reach)));
  ctx.lineTo(box.x + box.width, box.y + box.height);
  ctx.fill();
}

/**
 * Paints the river on the grass: bank, wet bank, water, darker middle.
 * @param {CanvasRenderingContext2D} ctx @param {Box} box @param {Borders} at
 * @param {FillBelow} below
 */
function riverBed(ctx, box, at, below) {
  const reach = 12;
  if (at.riverStart - 80 > box.y + box.height || at.riverEnd + 80 < box.y) return;
  ctx.save();
  ctx.beginPath();
  ctx.moveTo(box.x, box.y - 1);
  ctx.lineTo(box.x + box.width, box.y - 1);
  for (let x = box.x + box.width; x >= box.x; x -= 12) {
    ctx.lineTo(x, at.riverEnd + BANK_WIDTH + borderOffset(x, LINES.riverEnd, reach));
  }
  ctx.clip();
  /** @param {number} inset @param {string} fill */
  const between = (inset, fill) => below(at.riverStart + inset, LINES.riverStart, reach, fill);
  between(-BANK_WIDTH, GRASS.mark);
  between(-BANK_WIDTH + 5, BANK.base);
  between(-9, BANK.wet);
  between(0, WATER.base);
  between(90, '#53a5c9');
  between(190, WATER.deep);
  ctx.restore();
  stripe(ctx, box, at.riverEnd - 190, at.riverEnd, reach, '#53a5c9');
  stripe(ctx, box, at.riverEnd - 90, at.riverEnd, reach, WATER.base);
  stripe(ctx, box, at.riverEnd, at.riverEnd + BANK_WIDTH, reach, BANK.wet);
  stripe(ctx, box, at.riverEnd + 9, at.riverEnd + BANK_WIDTH, reach, BANK.base);
  stripe(ctx, box, at.riverEnd + BANK_WIDTH - 5, at.riverEnd + BANK_WIDTH, reach, GRASS.mark);
}

/**
 * Paints a band along the lower bank.
 * @param {CanvasRenderingContext2D} ctx @param {Box} box @param {number} from @param {number} to
 * @param {number} reach @param {string} fill
 */
function stripe(ctx, box, from, to, reach, fill) {
  ctx.fillStyle = fill;
  ctx.beginPath();
  for (let x = box.x; x <= box.x + box.width; x += 12) ctx.lineTo(x, from + borderOffset(x, LINES.riverEnd, reach));
  for (let x = box.x + box.width; x >= box.x; x -= 12) ctx.lineTo(x, to + borderOffset(x, LINES.riverEnd, reach));
  ctx.fill();
}

/**
 * Paints the patches of all cells, then the marks. The decoration of a cell depends only on its
 * position.
 * @param {CanvasRenderingContext2D} ctx @param {Box} box @param {Borders} at
 */
function decorate(ctx, box, at) {
  const cells = [];
  for (let row = Math.floor(box.y / CELL); row * CELL < box.y + box.height; row++) {
    for (let column = Math.floor(box.x / CELL); column * CELL < box.x + box.width; column++) cells.push({ column, row });
  }
  for (const pass of [patch, mark]) {
    for (const { column, row } of cells) {
      const random = sequence(column, row);
      const x = (column + 0.15 + 0.7 * random()) * CELL;
      const y = (row + 0.15 + 0.7 * random()) * CELL;
      if (y > at.riverStart - 70 && y < at.riverEnd + 70) continue;
      if (y < at.snowEnd - 80) pass(ctx, x, y, random, 'snow');
      else if (y > at.desertStart + 80) pass(ctx, x, y, random, 'desert');
      else if (y > at.snowEnd + 90 && y < at.desertStart - 90) pass(ctx, x, y, random, 'grass');
    }
  }
}

/**
 * Paints soft patches of another tone.
 * @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y @param {Random} random
 * @param {Exclude<Biome, 'river'>} biome
 */
function patch(ctx, x, y, random, biome) {
  const tones = { snow: SNOW, grass: GRASS, desert: SAND }[biome];
  if (random() < 0.62) return;
  ctx.fillStyle = random() < 0.5 ? tones.light : tones.dark;
  ctx.globalAlpha = 0.5;
  const turn = random() * 2;
  const size = 34 + 44 * random();
  ctx.beginPath();
  for (let i = 0; i <= 48; i++) {
    const angle = (i / 48) * 2 * Math.PI;
    const radius = size * (1 + 0.22 * Math.sin(3 * angle + turn) + 0.14 * Math.sin(5 * angle + 3 * turn));
    ctx.lineTo(x + 1.5 * radius * Math.cos(angle), y + 0.8 * radius * Math.sin(angle));
  }
  ctx.fill();
  ctx.globalAlpha = 1;
}

/**
 * Paints small marks.
 * @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y @param {Random} random
 * @param {Exclude<Biome, 'river'>} biome
 */
function mark(ctx, x, y, random, biome) {
  const kind = random();
  if (biome === 'snow') {
    if (kind < 0.2) drift(ctx, x, y, random);
    else if (kind < 0.26) pebble(ctx, x, y, random, '#b4bfcc');
  } else if (biome === 'desert') {
    if (kind < 0.5) dune(ctx, x, y, random);
    else if (kind < 0.62) pebble(ctx, x, y, random, SAND.mark);
  } else if (kind < 0.42) tuft(ctx, x, y, random);
  else if (kind < 0.52) flowers(ctx, x, y, random);
  else if (kind < 0.56) pebble(ctx, x, y, random, '#8b9488');
}

/**
 * Paints three to five blades of grass.
 * @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y @param {Random} random
 */
function tuft(ctx, x, y, random) {
  ctx.strokeStyle = GRASS.mark;
  ctx.lineWidth = 4;
  const blades = 3 + Math.floor(random() * 3);
  for (let i = 0; i < blades; i++) {
    const lean = (i - (blades - 1) / 2) * 7;
    const height = 13 + 8 * random() - Math.abs(lean) * 0.3;
    ctx.beginPath();
    ctx.moveTo(x + lean * 0.6, y);
    ctx.quadraticCurveTo(x + lean * 0.7, y - height * 0.6, x + lean * 1.5, y - height);
    ctx.stroke();
  }
}

const PETALS = ['#fdf6e3', '#f7d774', '#f2c4cf', '#d8d2f0'];

/**
 * Paints two to four flowers.
 * @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y @param {Random} random
 */
function flowers(ctx, x, y, random) {
  const colour = PETALS[Math.floor(random() * PETALS.length)];
  const count = 2 + Math.floor(random() * 3);
  for (let i = 0; i < count; i++) {
    const fx = x + (random() - 0.5) * 54;
    const fy = y + (random() - 0.5) * 40;
    ctx.fillStyle = GRASS.mark;
    ctx.beginPath();
    ctx.ellipse(fx + 1, fy + 3, 8, 6, 0, 0, 7);
    ctx.fill();
    ctx.fillStyle = colour;
    for (let petal = 0; petal < 5; petal++) {
      const angle = (petal / 5) * 2 * Math.PI + i;
      ctx.beginPath();
      ctx.arc(fx + 4 * Math.cos(angle), fy + 4 * Math.sin(angle), 3.1, 0, 7);
      ctx.fill();
    }
    ctx.fillStyle = '#e0a93c';
    ctx.beginPath();
    ctx.arc(fx, fy, 2.5, 0, 7);
    ctx.fill();
  }
}

/**
 * Paints up to three pebbles with a lit side.
 * @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y @param {Random} random
 * @param {string} colour
 */
function pebble(ctx, x, y, random, colour) {
  for (let i = 0; i <= random() * 2.4; i++) {
    const px = x + (random() - 0.5) * 50;
    const py = y + (random() - 0.5) * 34;
    const radius = 4 + 5 * random();
    ctx.fillStyle = 'rgb(56 50 74 / 0.16)';
    ctx.beginPath();
    ctx.ellipse(px + 2, py + 3, radius * 1.2, radius * 0.9, 0, 0, 7);
    ctx.fill();
    ctx.fillStyle = colour;
    ctx.beginPath();
    ctx.ellipse(px, py, radius * 1.15, radius * 0.85, 0, 0, 7);
    ctx.fill();
    ctx.fillStyle = 'rgb(255 255 255 / 0.35)';
    ctx.beginPath();
    ctx.ellipse(px - radius * 0.3, py - radius * 0.28, radius * 0.5, radius * 0.3, -0.4, 0, 7);
    ctx.fill();
  }
}

/**
 * Paints a snow drift: light crest, blue shade.
 * @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y @param {Random} random
 */
function drift(ctx, x, y, random) {
  const width = 26 + 30 * random();
  ctx.lineWidth = 5;
  for (const [dy, colour] of /** @type {const} */ ([[5, SNOW.mark], [0, '#ffffff']])) {
    ctx.strokeStyle = colour;
    ctx.globalAlpha = 0.7;
    ctx.beginPath();
    ctx.moveTo(x - width, y + dy + 5);
    ctx.quadraticCurveTo(x - width * 0.2, y + dy - 11, x + width, y + dy + 3);
    ctx.stroke();
  }
  ctx.globalAlpha = 1;
}

/**
 * Paints wind ripples.
 * @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y @param {Random} random
 */
function dune(ctx, x, y, random) {
  const width = 34 + 26 * random();
  const rows = 1 + Math.floor(random() * 3);
  ctx.lineWidth = 4;
  for (let row = 0; row < rows; row++) {
    const at = y + row * 15;
    const half = width * (1 - row * 0.22);
    for (const [dy, colour] of /** @type {const} */ ([[3.5, SAND.light], [0, SAND.mark]])) {
      ctx.strokeStyle = colour;
      ctx.globalAlpha = 0.6;
      ctx.beginPath();
      ctx.moveTo(x - half, at + dy);
      ctx.bezierCurveTo(x - half * 0.3, at + dy - 13, x + half * 0.25, at + dy + 8, x + half, at + dy - 4);
      ctx.stroke();
    }
  }
  ctx.globalAlpha = 1;
}

/**
 * Draws faint grid lines for judging distances.
 * @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y @param {number} mapSize
 */
function grid(ctx, x, y, mapSize) {
  const step = mapSize / GRID_LINES;
  ctx.strokeStyle = 'rgb(56 50 74 / 0.055)';
  ctx.lineWidth = 3;
  ctx.beginPath();
  for (let line = Math.ceil(x / step) * step; line < x + CHUNK + OVERLAP; line += step) {
    ctx.moveTo(line, y);
    ctx.lineTo(line, y + CHUNK + OVERLAP);
  }
  for (let line = Math.ceil(y / step) * step; line < y + CHUNK + OVERLAP; line += step) {
    ctx.moveTo(x, line);
    ctx.lineTo(x + CHUNK + OVERLAP, line);
  }
  ctx.stroke();
}

/**
 * Draws the area beyond the map with faint marks, which show movement.
 * @param {CanvasRenderingContext2D} ctx @param {import('./camera.js').Camera} camera
 */
function drawOutside(ctx, camera) {
  const { left, top, right, bottom } = camera.view;
  ctx.fillStyle = OUTSIDE.base;
  ctx.fillRect(left, top, right - left, bottom - top);
  ctx.fillStyle = OUTSIDE.mark;
  const step = 72;
  for (let row = Math.floor(top / step); row * step < bottom; row++) {
    for (let column = Math.floor(left / step); column * step < right; column++) {
      const size = 3 + 4 * hash(column, row, 5);
      ctx.fillRect(column * step + (row & 1) * 36 - size / 2, row * step - size / 2, size, size);
    }
  }
}

/**
 * Draws the map edge: a dark line and a shade inside.
 * @param {CanvasRenderingContext2D} ctx @param {import('./camera.js').Camera} camera
 * @param {number} mapSize
 */
function drawEdge(ctx, camera, mapSize) {
  const { left, top, right, bottom } = camera.view;
  const shade = 90;
  const sides = [
    { isVisible: left < shade, from: [0, 0], to: [shade, 0], box: [0, 0, shade, mapSize] },
    { isVisible: top < shade, from: [0, 0], to: [0, shade], box: [0, 0, mapSize, shade] },
    { isVisible: right > mapSize - shade, from: [mapSize, 0], to: [mapSize - shade, 0], box: [mapSize - shade, 0, shade, mapSize] },
    { isVisible: bottom > mapSize - shade, from: [0, mapSize], to: [0, mapSize - shade], box: [0, mapSize - shade, mapSize, shade] },
  ];
  for (const { isVisible, from, to, box } of sides) {
    if (!isVisible) continue;
    const gradient = ctx.createLinearGradient(from[0], from[1], to[0], to[1]);
    gradient.addColorStop(0, 'rgb(38 43 61 / 0.42)');
    gradient.addColorStop(1, 'rgb(38 43 61 / 0)');
    ctx.fillStyle = gradient;
    ctx.fillRect(box[0], box[1], box[2], box[3]);
  }
  if (!sides.some((side) => side.isVisible)) return;
  ctx.strokeStyle = OUTSIDE.edge;
  ctx.lineWidth = 14;
  ctx.strokeRect(0, 0, mapSize, mapSize);
}
