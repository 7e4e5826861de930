/**
 * The geometry of examples/fog.rs in floating point: walls, lines of sight, sweeps, paths. The unit is 1 px.
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

const NEIGHBORS = [[1, 0], [0, 1], [-1, 0], [0, -1], [1, 1], [-1, 1], [-1, -1], [1, -1]];

/**
 * Creates the search for paths of a circle on a grid of square cells, which marks the cells next to walls once.
 * @param {Rect[]} walls @param {number} width @param {number} height @param {number} radius @param {number} cell
 */
export function pathGrid(walls, width, height, radius, cell) {
  const columns = Math.floor(width / cell), rows = Math.floor(height / cell), half = Math.max(radius, cell / 2);
  const center = (/** @type {number} */ at) => ({ x: ((at % columns) + 0.5) * cell, y: (Math.floor(at / columns) + 0.5) * cell });
  const isFree = Array.from({ length: columns * rows }, (_, at) => {
    const { x, y } = center(at);
    return !walls.some((wall) => wall.left < x + half && x - half < wall.right && wall.top < y + half && y - half < wall.bottom);
  });
  const index = (/** @type {number} */ column, /** @type {number} */ row) =>
    column >= 0 && row >= 0 && column < columns && row < rows && isFree[row * columns + column] ? row * columns + column : -1;
  const freeCell = (/** @type {Point} */ { x, y }) => {
    const column = Math.floor(x / cell), row = Math.floor(y / cell), own = index(column, row);
    if (own >= 0) return own;
    const free = NEIGHBORS.map(([dx, dy]) => index(column + dx, row + dy)).filter((at) => at >= 0);
    const distance = (/** @type {number} */ at) => Math.hypot(center(at).x - x, center(at).y - y);
    return free.reduce((best, at) => (best < 0 || distance(at) < distance(best) ? at : best), -1);
  };

  /**
   * Returns the next point of a body on its way to another place; the place itself if there is no path of cells at
   * most `reach` columns and rows away.
   * @param {Point} from @param {Point} to @param {number} reach @returns {Point}
   */
  return function nextPoint(from, to, reach) {
    const start = freeCell(from), target = freeCell(to);
    if (start < 0 || target < 0 || start === target) return to;
    const [left, top] = [start % columns, Math.floor(start / columns)];
    // From the target, so that the step before the start is the next point.
    const costs = new Map([[target, 0]]);
    const rest = (/** @type {number} */ column, /** @type {number} */ row) => {
      const dx = Math.abs(column - left), dy = Math.abs(row - top);
      return Math.max(dx, dy) + (Math.SQRT2 - 1) * Math.min(dx, dy);
    };
    /** Sorted by their estimates, the least last. @type {{ at: number, estimate: number, before: number }[]} */
    const open = [{ at: target, estimate: 0, before: target }];
    const done = new Set();
    for (let next = open.pop(); next; next = open.pop()) {
      const { at, before } = next;
      if (at === start) return center(before);
      if (done.has(at)) continue;
      done.add(at);
      const [column, row] = [at % columns, Math.floor(at / columns)];
      for (const [dx, dy] of NEIGHBORS) {
        const [nextColumn, nextRow] = [column + dx, row + dy], to = index(nextColumn, nextRow);
        if (to < 0 || Math.abs(nextColumn - left) > reach || Math.abs(nextRow - top) > reach) continue;
        if (dx && dy && (index(nextColumn, row) < 0 || index(column, nextRow) < 0)) continue;
        const cost = (costs.get(at) ?? 0) + Math.hypot(dx, dy);
        if (cost >= (costs.get(to) ?? Infinity)) continue;
        costs.set(to, cost);
        const estimate = cost + rest(nextColumn, nextRow);
        let low = 0, high = open.length;
        while (low < high) {
          const middle = (low + high) >> 1;
          if (open[middle].estimate > estimate) low = middle + 1;
          else high = middle;
        }
        open.splice(low, 0, { at: to, estimate, before: at });
      }
    }
    return to;
  };
}
