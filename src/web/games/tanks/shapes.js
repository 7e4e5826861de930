/**
 * Paths and outlines for the pictures of tanks.
 *
 * @module tanks/shapes
 */

export const INK = '#38324a';
export const SHADE = 'rgb(40 36 60 / 0.2)';

/**
 * The part of the world in view: `x` and `y` return the position of a place in the canvas.
 * @typedef {{ scale: number, x: (x: number) => number, y: (y: number) => number, wide: number,
 *   high: number }} View
 */

/**
 * @param {number} left @param {number} top @param {number} wide @param {number} high
 * @param {number} radius
 */
export function box(left, top, wide, high, radius) {
  const path = new Path2D();
  path.roundRect(left, top, wide, high, radius);
  return path;
}

/** @param {number} x @param {number} y @param {number} radius */
export function disc(x, y, radius) {
  const path = new Path2D();
  path.arc(x, y, radius, 0, 2 * Math.PI);
  return path;
}

/**
 * Draws a filled path with an outline.
 * @param {CanvasRenderingContext2D} context
 * @param {Path2D} path
 * @param {string} fill
 * @param {number} [width] of the outline, px
 */
export function ink(context, path, fill, width = 3) {
  Object.assign(context, { fillStyle: fill, strokeStyle: INK, lineWidth: width, lineJoin: 'round' });
  context.fill(path);
  context.stroke(path);
}
