/**
 * Draws projectiles: a shadow, a trail if the projectile is fast, and a picture.
 *
 * @module game/draw/shots
 */

import { shotPicture } from './arms.js';
import { Sprites } from './sprites.js';

/** Time of flight that the trail covers, ms. */
const TRAIL_MS = 46;
/** Offset of the shadow, px. It suggests a height above the ground. */
const HEIGHT = Object.freeze({ x: 9, y: 16 });
const SHADOW = 'rgb(40 36 60 / 0.22)';

const sprites = new Sprites(12);

/**
 * Draws the projectiles in view.
 * @param {CanvasRenderingContext2D} ctx
 * @param {import('./camera.js').Camera} camera
 * @param {Iterable<import('../world/projectiles.js').Shot>} shots
 */
export function drawShots(ctx, camera, shots) {
  for (const shot of shots) {
    if (shot.way < 0 || !camera.sees(shot.x, shot.y, 140)) continue;
    const { kind, x, y, heading, pace, way } = shot;
    const { length } = shotPicture(kind);
    ctx.save();
    ctx.translate(x, y);
    ctx.save();
    ctx.translate(HEIGHT.x, HEIGHT.y);
    ctx.rotate(heading);
    ctx.fillStyle = SHADOW;
    ctx.fillRect(-length, -2, length, 4);
    ctx.restore();
    ctx.rotate(heading);
    trail(ctx, length, Math.min(way, pace * TRAIL_MS));
    Sprites.show(ctx, sprite(kind, camera.scale), 0, 0);
    ctx.restore();
  }
}

/**
 * Draws a thin white trail.
 * @param {CanvasRenderingContext2D} ctx @param {number} length @param {number} far
 */
function trail(ctx, length, far) {
  if (far < 12) return;
  const fade = ctx.createLinearGradient(-length * 0.6 - far, 0, -length * 0.6, 0);
  fade.addColorStop(0, 'rgb(255 255 255 / 0)');
  fade.addColorStop(1, 'rgb(255 255 255 / 0.62)');
  ctx.fillStyle = fade;
  ctx.beginPath();
  ctx.moveTo(-length * 0.6 - far, 0);
  ctx.lineTo(-length * 0.6, -4);
  ctx.lineTo(-length * 0.6, 4);
  ctx.fill();
}

/** @param {number} kind @param {number} scale */
function sprite(kind, scale) {
  const { length, draw } = shotPicture(kind);
  const cover = () => ({ left: -length - 10, top: -14, width: length + 18, height: 28 });
  return sprites.get(String(kind), scale, cover, (ctx) => draw(ctx, length));
}
