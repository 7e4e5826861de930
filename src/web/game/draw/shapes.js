/**
 * Shapes with an outline of their own darkest tone: what pictures of tools, arms and animals are made of.
 *
 * @module game/draw/shapes
 */

import { mix, outlineOf } from '../rules/palette.js';

const OUTLINE = 5;

/** Fills the traced shape and draws its outline. @param {CanvasRenderingContext2D} ctx @param {string} fill */
export function paint(ctx, fill, width = OUTLINE) {
  ctx.fillStyle = fill;
  ctx.strokeStyle = outlineOf(fill);
  ctx.lineWidth = width;
  ctx.stroke();
  ctx.fill();
}

/** A box with round corners. */
export function block(ctx, x, y, width, height, radius, fill, line = OUTLINE) {
  ctx.beginPath();
  ctx.roundRect(x, y, width, height, radius);
  paint(ctx, fill, line);
}

export function polygon(ctx, points, fill, line = OUTLINE) {
  ctx.beginPath();
  for (const [x, y] of points) ctx.lineTo(x, y);
  ctx.closePath();
  paint(ctx, fill, line);
}

/** An ellipse along the axes. */
export function oval(ctx, x, y, radiusX, radiusY, fill, line = OUTLINE) {
  ctx.beginPath();
  ctx.ellipse(x, y, radiusX, radiusY, 0, 0, 7);
  paint(ctx, fill, line);
}

/** The same without an outline: a mark on something. */
export function spot(ctx, x, y, radiusX, radiusY, fill, turn = 0) {
  ctx.fillStyle = fill;
  ctx.beginPath();
  ctx.ellipse(x, y, radiusX, radiusY, turn, 0, 7);
  ctx.fill();
}

/** A mark with round ends. */
export function stripe(ctx, x, y, width, height, fill) {
  ctx.fillStyle = fill;
  ctx.beginPath();
  ctx.roundRect(x, y, width, height, Math.min(width, height) / 2);
  ctx.fill();
}

/** A bent line with an outline. @param {number[]} way from x, y over x, y to x, y */
export function bow(ctx, [x, y, overX, overY, toX, toY], width, fill, line = OUTLINE) {
  ctx.lineCap = 'round';
  for (const [wide, colour] of [[width + line, outlineOf(fill)], [width, fill]]) {
    ctx.strokeStyle = colour;
    ctx.lineWidth = wide;
    ctx.beginPath();
    ctx.moveTo(x, y);
    ctx.quadraticCurveTo(overX, overY, toX, toY);
    ctx.stroke();
  }
}

/** @param {string} fill */
export const bright = (fill, part = 0.5) => mix(fill, '#ffffff', part);
