/**
 * Draws moving decoration: waves and foam on the river, sparkles on snow, falling flakes.
 * `prefers-reduced-motion` stops or hides this decoration.
 *
 * @module game/draw/weather
 */

import { WATER, biomeBorders, borderOffset, hash } from '../rules/palette.js';
import { LINES } from './terrain.js';

const WAVE_CELL = 150;
/** Speed at which the waves drift to the right, px/s. */
const CURRENT_PX_PER_S = 46;
const SPARKLE_CELL = 130;
const FLAKES = 46;

/**
 * Draws the river.
 * @param {CanvasRenderingContext2D} ctx in world coordinates
 * @param {import('./camera.js').Camera} camera
 * @param {number} mapSize px
 * @param {number} seconds time, s
 */
export function drawRiver(ctx, camera, mapSize, seconds) {
  const at = biomeBorders(mapSize);
  const view = camera.view;
  const left = Math.max(0, view.left);
  const right = Math.min(mapSize, view.right);
  if (view.bottom < at.riverStart || view.top > at.riverEnd || right <= left) return;
  ctx.save();
  ctx.beginPath();
  ctx.rect(0, at.riverStart - 40, mapSize, at.riverEnd - at.riverStart + 80);
  ctx.clip();
  ctx.lineCap = 'round';
  foam(ctx, left, right, seconds, at.riverStart, LINES.riverStart, 1);
  foam(ctx, left, right, seconds, at.riverEnd, LINES.riverEnd, -1);
  waves(ctx, left, right, at, seconds);
  ctx.restore();
}

/**
 * Draws two lines of foam at a bank.
 * @param {CanvasRenderingContext2D} ctx @param {number} left @param {number} right
 * @param {number} seconds @param {number} height @param {number} seed @param {number} side
 */
function foam(ctx, left, right, seconds, height, seed, side) {
  for (const [rest, alpha, width, pace] of [[9, 0.75, 5, 1.1], [26, 0.3, 4, 0.8]]) {
    ctx.strokeStyle = WATER.foam;
    ctx.globalAlpha = alpha;
    ctx.lineWidth = width;
    ctx.beginPath();
    for (let x = Math.floor(left / 20) * 20 - 20; x <= right + 20; x += 20) {
      const lap = Math.sin(x / 61 + seconds * pace) * 4 + Math.sin(x / 23 - seconds * pace * 1.7) * 2;
      ctx.lineTo(x, height + borderOffset(x, seed, 12) + side * (rest + lap));
    }
    ctx.stroke();
  }
  ctx.globalAlpha = 1;
}

/**
 * Draws short crests that drift, swell and fade.
 * @param {CanvasRenderingContext2D} ctx @param {number} left @param {number} right
 * @param {import('../rules/palette.js').Borders} at @param {number} seconds
 */
function waves(ctx, left, right, at, seconds) {
  const shift = seconds * CURRENT_PX_PER_S;
  const firstColumn = Math.floor((left - shift) / WAVE_CELL) - 1;
  const lastColumn = Math.ceil((right - shift) / WAVE_CELL);
  const rows = Math.floor((at.riverEnd - at.riverStart - 70) / 62);
  ctx.strokeStyle = WATER.wave;
  for (let column = firstColumn; column <= lastColumn; column++) {
    for (let row = 0; row < rows; row++) {
      const swell = Math.sin(seconds * 0.9 + hash(column, row, 3) * 40);
      if (swell <= 0.05) continue;
      const x = column * WAVE_CELL + shift + hash(column, row, 1) * WAVE_CELL;
      const y = at.riverStart + 48 + row * 62 + hash(column, row, 2) * 46;
      const half = 14 + 16 * hash(column, row, 4);
      ctx.globalAlpha = swell * 0.6;
      ctx.lineWidth = 4.5;
      ctx.beginPath();
      ctx.moveTo(x - half, y + 2);
      ctx.bezierCurveTo(x - half * 0.3, y - 8, x + half * 0.1, y + 7, x + half, y - 2);
      ctx.stroke();
    }
  }
  ctx.globalAlpha = 1;
}

/**
 * Draws blinking sparkles on visible snow.
 * @param {CanvasRenderingContext2D} ctx
 * @param {import('./camera.js').Camera} camera
 * @param {number} mapSize
 * @param {number} seconds
 */
export function drawSparkles(ctx, camera, mapSize, seconds) {
  const view = camera.view;
  const end = biomeBorders(mapSize).snowEnd - 60;
  if (view.top > end) return;
  const bottom = Math.min(end, view.bottom);
  ctx.fillStyle = '#ffffff';
  for (let row = Math.floor(Math.max(0, view.top) / SPARKLE_CELL); row * SPARKLE_CELL < bottom; row++) {
    const from = Math.floor(Math.max(0, view.left) / SPARKLE_CELL);
    for (let column = from; column * SPARKLE_CELL < Math.min(mapSize, view.right); column++) {
      const glow = Math.sin(seconds * 1.3 + hash(column, row, 21) * 60);
      if (glow < 0.55) continue;
      const size = (glow - 0.5) * (9 + 9 * hash(column, row, 22));
      star(ctx, (column + hash(column, row, 23)) * SPARKLE_CELL, (row + hash(column, row, 24)) * SPARKLE_CELL, size);
    }
  }
}

/**
 * Traces a four-pointed star.
 * @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y @param {number} size
 */
function star(ctx, x, y, size) {
  const waist = size * 0.2;
  ctx.beginPath();
  for (let i = 0; i < 8; i++) {
    const radius = i % 2 ? waist : size;
    const angle = (i * Math.PI) / 4;
    ctx.lineTo(x + radius * Math.cos(angle), y + radius * Math.sin(angle));
  }
  ctx.fill();
}

/**
 * Draws flakes over the window while the camera is in snow. They fade in over the first 500 px
 * beyond the border.
 * @param {CanvasRenderingContext2D} ctx in world coordinates
 * @param {import('./camera.js').Camera} camera
 * @param {number} mapSize
 * @param {number} seconds
 */
export function drawFlakes(ctx, camera, mapSize, seconds) {
  const depth = Math.min(1, (biomeBorders(mapSize).snowEnd - camera.y) / 500);
  if (depth <= 0) return;
  const { left, top, right, bottom } = camera.view;
  const width = right - left + 80;
  const height = bottom - top + 80;
  ctx.fillStyle = '#ffffff';
  for (let i = 0; i < FLAKES; i++) {
    const near = 0.5 + hash(i, 1, 31);
    const x = hash(i, 2, 31) * width + Math.sin(seconds * 0.6 + i) * 34 + seconds * 22 * near;
    const y = hash(i, 3, 31) * height + seconds * 62 * near;
    ctx.globalAlpha = 0.75 * depth * Math.min(1, near);
    ctx.beginPath();
    ctx.arc(left - 40 + wrap(x - left, width), top - 40 + wrap(y - top, height), 2.4 + 2.6 * near, 0, 7);
    ctx.fill();
  }
  ctx.globalAlpha = 1;
}

/** @param {number} value @param {number} size */
function wrap(value, size) {
  return ((value % size) + size) % size;
}
