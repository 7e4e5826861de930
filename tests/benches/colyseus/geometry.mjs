/**
 * The geometry of examples/fog.rs in floating point: walls, lines of sight, sweeps. The unit is 1 px.
 *
 * @module geometry
 */

/** @typedef {{ x: number, y: number }} Point */
/** @typedef {{ left: number, top: number, right: number, bottom: number }} Rect */

/** @param {number} x @param {number} y @param {number} half @returns {Rect} the square around a center */
export const around = (x, y, half) => ({ left: x - half, top: y - half, right: x + half, bottom: y + half });

/**
 * Returns where a segment meets a rectangle first, as a fraction of its length; -1 if they do not meet.
 * @param {Rect} rect @param {number} x @param {number} y @param {number} toX @param {number} toY
 */
export function entry({ left, top, right, bottom }, x, y, toX, toY) {
  const dx = toX - x, dy = toY - y;
  let first = 0, last = 1;
  if (dx === 0) {
    if (x < left || x > right) return -1;
  } else {
    const a = (left - x) / dx, b = (right - x) / dx;
    first = Math.max(first, Math.min(a, b));
    last = Math.min(last, Math.max(a, b));
  }
  if (dy === 0) {
    if (y < top || y > bottom) return -1;
  } else {
    const a = (top - y) / dy, b = (bottom - y) / dy;
    first = Math.max(first, Math.min(a, b));
    last = Math.min(last, Math.max(a, b));
  }
  return first <= last ? first : -1;
}

/** @param {Rect[]} walls @param {Point} from @param {Point} to */
export function hasLineOfSight(walls, from, to) {
  for (const wall of walls) if (entry(wall, from.x, from.y, to.x, to.y) >= 0) return false;
  return true;
}

/** Returns the center at which a circle no longer overlaps the rectangle. @param {Rect} rect @param {Point} at @param {number} radius @returns {Point} */
export function pushOut({ left, top, right, bottom }, at, radius) {
  const { x, y } = at;
  const nearX = Math.min(Math.max(x, left), right), nearY = Math.min(Math.max(y, top), bottom);
  if (nearX === x && nearY === y) {
    const nearest = Math.min(x - left, right - x, y - top, bottom - y);
    if (nearest === x - left) return { x: left - radius, y };
    if (nearest === right - x) return { x: right + radius, y };
    return nearest === y - top ? { x, y: top - radius } : { x, y: bottom + radius };
  }
  const distance = Math.hypot(x - nearX, y - nearY);
  if (distance >= radius) return at;
  return { x: nearX + ((x - nearX) * radius) / distance, y: nearY + ((y - nearY) * radius) / distance };
}
