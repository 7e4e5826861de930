/**
 * What players hold. A tool is drawn along the heading from the hand that holds it; whoever calls has turned the canvas.
 *
 * @module draw-tools
 */

import { mix, outlineOf } from './palette.js';
import { Sprites } from './sprites.js';

/** Where the right hand holds a tool, px from the middle of the body, along the heading and to the right. */
export const GRIP = Object.freeze({ x: 25, y: 24 });
const OUTLINE = 5;

const HANDLE = '#b98a57';
const STONE = '#a3acb8';

/** Pictures by number of the rules. */
const TOOLS = Object.freeze([hammer]);
const sprites = new Sprites(16);
const cover = () => ({ left: GRIP.x - 24, top: GRIP.y - 28, width: 76, height: 56 });

/**
 * @param {CanvasRenderingContext2D} ctx whose origin is the middle of the body, whose x axis points ahead
 * @param {number} weapon
 * @param {number} scale device pixels for one unit
 */
export function drawTool(ctx, weapon, scale) {
  Sprites.show(ctx, sprites.get(String(weapon), scale, cover, TOOLS[weapon] ?? hammer), 0, 0);
}

/** A mallet of stone, bound to a stick. */
function hammer(ctx) {
  const { x, y } = GRIP;
  block(ctx, x - 17, y - 4.5, 52, 9, 4.5, HANDLE);
  block(ctx, x + 21, y - 20, 23, 40, 6, STONE);
  // Light on the side that looks to the stroke, and the strap.
  ctx.fillStyle = mix(STONE, '#ffffff', 0.45);
  ctx.beginPath();
  ctx.roundRect(x + 25, y - 16.5, 15, 7.5, 3);
  ctx.fill();
  ctx.fillStyle = mix(HANDLE, '#38324a', 0.25);
  ctx.fillRect(x + 23.5, y - 3.5, 18, 7);
}

function block(ctx, x, y, width, height, radius, fill) {
  ctx.beginPath();
  ctx.roundRect(x, y, width, height, radius);
  ctx.fillStyle = fill;
  ctx.strokeStyle = outlineOf(fill);
  ctx.lineWidth = OUTLINE;
  ctx.stroke();
  ctx.fill();
}
