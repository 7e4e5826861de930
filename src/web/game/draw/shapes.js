/**
 * Shapes for pictures of tools, weapons and animals. The outline is a dark tone of the fill colour.
 *
 * @module game/draw/shapes
 */

import { mix, outlineOf } from '../rules/palette.js';

/** @typedef {readonly [x: number, y: number]} Point in px */

const OUTLINE = 5;

/**
 * Fills and outlines the current path.
 * @param {CanvasRenderingContext2D} ctx
 * @param {string} fill
 */
export function paint(ctx, fill, width = OUTLINE) {
  ctx.fillStyle = fill;
  ctx.strokeStyle = outlineOf(fill);
  ctx.lineWidth = width;
  ctx.stroke();
  ctx.fill();
}

/**
 * Draws a rounded box.
 * @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y @param {number} width
 * @param {number} height @param {number} radius @param {string} fill
 */
export function block(ctx, x, y, width, height, radius, fill, line = OUTLINE) {
  ctx.beginPath();
  ctx.roundRect(x, y, width, height, radius);
  paint(ctx, fill, line);
}

/**
 * Draws an outlined polygon.
 * @param {CanvasRenderingContext2D} ctx @param {readonly Point[]} points @param {string} fill
 */
export function polygon(ctx, points, fill, line = OUTLINE) {
  ctx.beginPath();
  for (const [x, y] of points) ctx.lineTo(x, y);
  ctx.closePath();
  paint(ctx, fill, line);
}

/**
 * Draws an axis-aligned ellipse.
 * @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y @param {number} radiusX
 * @param {number} radiusY @param {string} fill
 */
export function oval(ctx, x, y, radiusX, radiusY, fill, line = OUTLINE) {
  ctx.beginPath();
  ctx.ellipse(x, y, radiusX, radiusY, 0, 0, 7);
  paint(ctx, fill, line);
}

/**
 * Draws an ellipse without an outline.
 * @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y @param {number} radiusX
 * @param {number} radiusY @param {string} fill
 */
export function spot(ctx, x, y, radiusX, radiusY, fill, turn = 0) {
  ctx.fillStyle = fill;
  ctx.beginPath();
  ctx.ellipse(x, y, radiusX, radiusY, turn, 0, 7);
  ctx.fill();
}

/**
 * Draws a line with round ends.
 * @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y @param {number} width
 * @param {number} height @param {string} fill
 */
export function stripe(ctx, x, y, width, height, fill) {
  ctx.fillStyle = fill;
  ctx.beginPath();
  ctx.roundRect(x, y, width, height, Math.min(width, height) / 2);
  ctx.fill();
}

/**
 * Draws an outlined curve.
 * @param {CanvasRenderingContext2D} ctx
 * @param {number[]} points start, control point and end: x, y each
 * @param {number} width
 * @param {string} fill
 */
export function bow(ctx, points, width, fill, line = OUTLINE) {
  const [x, y, overX, overY, toX, toY] = points;
  ctx.lineCap = 'round';
  for (const isOutline of [true, false]) {
    ctx.strokeStyle = isOutline ? outlineOf(fill) : fill;
    ctx.lineWidth = isOutline ? width + line : width;
    ctx.beginPath();
    ctx.moveTo(x, y);
    ctx.quadraticCurveTo(overX, overY, toX, toY);
    ctx.stroke();
  }
}

/** Returns a lighter tone of a colour. @param {string} fill */
export const bright = (fill, part = 0.5) => mix(fill, '#ffffff', part);
