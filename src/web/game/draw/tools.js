/**
 * Draws held tools. The x axis points along the heading; the caller sets the origin. The edge of a
 * blade faces left, in the direction of the stroke.
 *
 * @module game/draw/tools
 */

import { ARMS } from './arms.js';
import { block, bright, paint, polygon, stripe } from './shapes.js';
import { mix, outlineOf } from '../rules/palette.js';
import { Sprites } from './sprites.js';

/** Position of the right hand, px forward and to the right of the centre of the body. */
export const GRIP = Object.freeze({ x: 25, y: 24 });

const HANDLE = '#b98a57';
const LEATHER = '#8a5f38';
const STONE = '#a3acb8';
const STEEL = '#d3dae3';
const GOLD = '#e2b13c';

/**
 * A tool, drawn with the hand at the origin.
 * @typedef {{ draw: (ctx: CanvasRenderingContext2D, loaded: boolean) => void, back: number, ahead:
 *   number, wide: number }} Tool extents behind the hand, in front of it and to each side, px
 */

/** Tools by weapon number in the rules. @type {Readonly<Record<number, Tool>>} */
const TOOLS = Object.freeze({
  0: { draw: hammer, back: 17, ahead: 44, wide: 20 },
  1: { draw: handAxe, back: 17, ahead: 46, wide: 27 },
  2: { draw: greatAxe, back: 22, ahead: 54, wide: 30 },
  3: { draw: shortSword, back: 16, ahead: 62, wide: 14 },
  4: { draw: katana, back: 24, ahead: 74, wide: 12 },
  5: { draw: polearm, back: 44, ahead: 92, wide: 15 },
  6: { draw: bat, back: 14, ahead: 64, wide: 11 },
  7: { draw: dagger, back: 13, ahead: 38, wide: 11 },
  8: { draw: stick, back: 18, ahead: 54, wide: 18 },
  10: { draw: greatHammer, back: 20, ahead: 56, wide: 29 },
  14: { draw: grabby, back: 26, ahead: 72, wide: 24 },
});
const sprites = new Sprites(24);

/** @param {number} weapon @returns {Tool} */
const toolOf = (weapon) => ARMS[weapon] ?? TOOLS[weapon] ?? TOOLS[0];

/** Half the side of the square of a separate weapon icon, units. */
const ICON_REACH = 44;

/**
 * Draws a tool.
 * @param {CanvasRenderingContext2D} ctx origin at the centre of the body, x axis forward
 * @param {number} weapon
 * @param {number} scale device px for each unit
 */
export function drawTool(ctx, weapon, scale) {
  const { draw, back, ahead, wide } = toolOf(weapon);
  const cover = () => ({ left: -back - 6, top: -wide - 6, width: back + ahead + 12, height: 2 * wide + 12 });
  Sprites.show(ctx, sprites.get(String(weapon), scale, cover, (to) => draw(to, false)), GRIP.x, GRIP.y);
}

/**
 * Draws a two-handed weapon in front of the body.
 * @param {CanvasRenderingContext2D} ctx as for `drawTool`
 * @param {number} weapon key of `ARMS`
 * @param {boolean} loaded whether it is loaded
 * @param {number} scale device px for each unit
 */
export function drawArm(ctx, weapon, loaded, scale) {
  const { draw, back, ahead, wide } = ARMS[weapon];
  const cover = () => ({ left: -back - 6, top: -wide - 6, width: back + ahead + 12, height: 2 * wide + 12 });
  Sprites.show(ctx, sprites.get(`${weapon}:${loaded}`, scale, cover, (to) => draw(to, loaded)), 0, 0);
}

/**
 * Draws a weapon in a square around the origin, from the lower left to the upper right.
 * @param {CanvasRenderingContext2D} ctx
 * @param {number} weapon
 * @param {number} size side of the square
 */
export function drawToolIcon(ctx, weapon, size) {
  const { draw, back, ahead, wide } = toolOf(weapon);
  const icon = ARMS[weapon]?.icon;
  ctx.save();
  ctx.lineJoin = ctx.lineCap = 'round';
  if (icon) {
    ctx.scale(size / 2 / ICON_REACH, size / 2 / ICON_REACH);
    icon(ctx);
    ctx.restore();
    return;
  }
  const fit = (size * 1.16) / Math.max(back + ahead + 6, wide * 1.6);
  ctx.rotate(-Math.PI / 4);
  ctx.scale(fit, fit);
  ctx.translate((back - ahead) / 2, 0);
  draw(ctx, true);
  ctx.restore();
}

/** Draws a stone mallet. @param {CanvasRenderingContext2D} ctx */
function hammer(ctx) {
  block(ctx, -17, -4.5, 52, 9, 4.5, HANDLE);
  block(ctx, 21, -20, 23, 40, 6, STONE);
  // Draws light on the striking side, and the strap.
  stripe(ctx, 25, -16.5, 15, 7.5, bright(STONE, 0.45));
  ctx.fillStyle = mix(HANDLE, '#38324a', 0.25);
  ctx.fillRect(23.5, -3.5, 18, 7);
}

/** @param {CanvasRenderingContext2D} ctx */
function handAxe(ctx) {
  block(ctx, -17, -4.5, 62, 9, 4.5, HANDLE);
  blade(ctx, -1, 24, 22, STONE);
  stripe(ctx, 26, -3.5, 15, 7, LEATHER);
}

/** @param {CanvasRenderingContext2D} ctx */
function greatAxe(ctx) {
  block(ctx, -22, -5, 76, 10, 5, LEATHER);
  blade(ctx, -1, 28, 27, STEEL);
  blade(ctx, 1, 28, 27, STEEL);
  stripe(ctx, 30, -5, 19, 10, GOLD);
}

/**
 * Draws an axe blade on one side of the handle.
 * @param {-1 | 1} side
 * @param {number} x start
 * @param {number} far distance of the edge from the handle, px
 * @param {CanvasRenderingContext2D} ctx @param {string} fill
 */
function blade(ctx, side, x, far, fill) {
  ctx.beginPath();
  ctx.moveTo(x + 3, 0);
  ctx.quadraticCurveTo(x + 2, side * far * 0.55, x - 6, side * far);
  ctx.quadraticCurveTo(x + 11, side * (far + 7), x + 28, side * far);
  ctx.quadraticCurveTo(x + 19, side * far * 0.55, x + 18, 0);
  ctx.closePath();
  paint(ctx, fill);
  ctx.strokeStyle = bright(fill, 0.65);
  ctx.lineWidth = 3.5;
  ctx.beginPath();
  ctx.moveTo(x, side * (far - 2.5));
  ctx.quadraticCurveTo(x + 11, side * (far + 2), x + 22, side * (far - 2.5));
  ctx.stroke();
}

/** @param {CanvasRenderingContext2D} ctx */
function shortSword(ctx) {
  polygon(ctx, [[12, -6.5], [51, -6.5], [62, 0], [51, 6.5], [12, 6.5]], STEEL);
  stripe(ctx, 15, -4.5, 37, 4, bright(STEEL, 0.75));
  block(ctx, -14, -4, 26, 8, 4, LEATHER);
  block(ctx, 9, -14, 7, 28, 3.5, GOLD);
}

/** Draws a long curved blade. @param {CanvasRenderingContext2D} ctx */
function katana(ctx) {
  ctx.beginPath();
  ctx.moveTo(14, -5);
  ctx.quadraticCurveTo(46, -9, 74, 4);
  ctx.quadraticCurveTo(44, 5, 14, 5);
  ctx.closePath();
  paint(ctx, '#dfe6ee');
  ctx.strokeStyle = '#ffffff';
  ctx.lineWidth = 2.5;
  ctx.beginPath();
  ctx.moveTo(17, -2.5);
  ctx.quadraticCurveTo(45, -5.5, 66, 2.5);
  ctx.stroke();
  block(ctx, -24, -4.5, 36, 9, 4, '#51455f');
  ctx.fillStyle = '#d9a6a6';
  for (const x of [-17, -8, 1]) ctx.fillRect(x, -3, 4, 6);
  block(ctx, 10, -10, 6, 20, 3, GOLD);
}

/** @param {CanvasRenderingContext2D} ctx */
function polearm(ctx) {
  block(ctx, -44, -4, 106, 8, 4, HANDLE);
  polygon(ctx, [[60, -8], [74, -14], [92, 0], [74, 14], [60, 8]], STEEL);
  polygon(ctx, [[66, -2], [76, -6], [84, 0], [72, 2]], bright(STEEL, 0.7));
  block(ctx, 54, -7, 9, 14, 3, '#c95a4a');
}

/** @param {CanvasRenderingContext2D} ctx */
function bat(ctx) {
  ctx.beginPath();
  ctx.moveTo(-12, -4);
  ctx.lineTo(22, -6);
  ctx.quadraticCurveTo(44, -11, 57, -10);
  ctx.arc(55, 0, 10, -1.4, 1.4);
  ctx.quadraticCurveTo(44, 11, 22, 6);
  ctx.lineTo(-12, 4);
  ctx.closePath();
  paint(ctx, '#c99560');
  stripe(ctx, 26, -6, 30, 4.5, bright('#c99560', 0.45));
  block(ctx, -14, -6, 6, 12, 3, LEATHER);
  ctx.fillStyle = '#c95a4a';
  for (const x of [-5, 2]) ctx.fillRect(x, -4, 4, 8);
}

/** @param {CanvasRenderingContext2D} ctx */
function dagger(ctx) {
  polygon(ctx, [[9, -6], [29, -4.5], [38, 0], [29, 4.5], [9, 6]], STEEL);
  stripe(ctx, 11, -4, 19, 3.5, bright(STEEL, 0.75));
  block(ctx, -12, -4, 20, 8, 4, '#51455f');
  block(ctx, 6, -10, 6, 20, 3, '#77808d');
}

/** Draws a branch with a twig and a leaf. @param {CanvasRenderingContext2D} ctx */
function stick(ctx) {
  ctx.lineCap = 'round';
  const branch = [[-16, 1, 14, -2, 52, 1], [22, -1, 30, -6, 36, -13]];
  for (const [width, colour] of /** @type {const} */ ([[12, outlineOf(HANDLE)], [6.5, HANDLE]])) {
    ctx.strokeStyle = colour;
    ctx.lineWidth = width;
    for (const [x, y, overX, overY, toX, toY] of branch) {
      ctx.beginPath();
      ctx.moveTo(x, y);
      ctx.quadraticCurveTo(overX, overY, toX, toY);
      ctx.stroke();
    }
  }
  ctx.beginPath();
  ctx.ellipse(42, -12, 8, 4.5, -0.5, 0, 7);
  paint(ctx, '#7fb860', 3.5);
}

/** @param {CanvasRenderingContext2D} ctx */
function greatHammer(ctx) {
  block(ctx, -20, -5.5, 66, 11, 5, LEATHER);
  block(ctx, 22, -28, 34, 56, 7, '#8791a0');
  stripe(ctx, 27, -24, 24, 8, bright('#8791a0', 0.45));
  for (const y of [-15, 9]) stripe(ctx, 23, y, 32, 6, GOLD);
}

/** Draws a claw at the end of a rod. @param {CanvasRenderingContext2D} ctx */
function grabby(ctx) {
  block(ctx, -26, -4.5, 68, 9, 4, '#77808d');
  for (const side of [-1, 1]) {
    ctx.beginPath();
    ctx.moveTo(38, side * 3);
    ctx.quadraticCurveTo(42, side * 25, 60, side * 22);
    ctx.lineTo(72, side * 9);
    ctx.quadraticCurveTo(59, side * 13, 52, side * 3);
    ctx.closePath();
    paint(ctx, GOLD);
  }
  ctx.beginPath();
  ctx.arc(42, 0, 9, 0, 7);
  paint(ctx, '#c95a4a');
}
