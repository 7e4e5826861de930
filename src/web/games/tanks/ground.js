/**
 * The ground as stored pictures of square parts. A frame copies the parts in view; a part is drawn
 * once for a resolution. Marks of tracks and blasts lie on top, and fade.
 *
 * @module tanks/ground
 */

import { DEPOTS, SIDE, TILE, boxesOf, makeNoise } from './map.js';
import { EDGE, drawPart } from './scenery.js';
import { disc } from './shapes.js';

/** Side of a part, px of the world. */
const PART = 500;
/** Maximum number of stored pixels, about 80 MB. */
const MAX_PIXELS = 20e6;
/** Time per frame for drawing parts in view, and for one around the view, ms. */
const FRAME_MS = 10;
const AHEAD_MS = 2;
/** Maximum number of pixels of a part per px of the world. */
const MAX_RESOLUTION = 2;
/** Time in which a mark fades, ms. */
const TRACK_MS = 14_000;
const SCORCH_MS = 30_000;
/** Distance between two marks of a track, px. */
const TRACK_STEP = 7;
/** A tank that moves farther in a frame has respawned, px. */
const JUMP = 60;
const MAX_TRACKS = 4000;
/** Number of tones of fading tracks. */
const TONES = 6;

/** @typedef {import('./shapes.js').View} View */
/** @typedef {{ canvas: HTMLCanvasElement, usedAt: number }} Picture */

/**
 * Returns columns and rows of an area, nearest to the middle first.
 * @param {number} left @param {number} top @param {number} right @param {number} bottom
 */
function fromMiddle(left, top, right, bottom) {
  const places = [];
  for (let row = top; row <= bottom; row++) for (let column = left; column <= right; column++) places.push([column, row]);
  const far = (/** @type {number[]} */ [column, row]) => Math.hypot(column - (left + right) / 2, row - (top + bottom) / 2);
  return places.sort((one, other) => far(one) - far(other));
}

export class Ground {
  /** @param {import('./map.js').Walls} walls @param {number} seed */
  constructor(walls, seed) {
    this.land = { walls, boxes: boxesOf(walls), noise: makeNoise(seed), edge: EDGE };
    /** Pictures by resolution and place. @type {Map<string, Picture>} */
    this.parts = new Map();
    this.pixels = 0;
    this.frame = 0;
    this.small = this.drawSmall();
  }

  /**
   * Copies the parts in view to the canvas.
   * @param {CanvasRenderingContext2D} context
   * @param {View} view
   * @param {number} finest scale of the view after a zoom has ended
   */
  draw(context, view, finest) {
    const ratio = devicePixelRatio;
    this.frame += 1;
    // Steps of √2, so that a resized window seldom needs other pictures.
    const resolution = Math.min(MAX_RESOLUTION, 2 ** (Math.ceil(Math.log2(finest * ratio) * 2 - 0.2) / 2));
    context.fillStyle = '#324238';
    context.fillRect(0, 0, view.wide, view.high);
    const [left, top] = [Math.floor(-view.x(0) / view.scale / PART), Math.floor(-view.y(0) / view.scale / PART)];
    const [right, bottom] = [Math.floor((view.wide - view.x(0)) / view.scale / PART), Math.floor((view.high - view.y(0)) / view.scale / PART)];
    const begin = performance.now(), budget = this.parts.size === 0 ? 12 * FRAME_MS : FRAME_MS;
    const snap = (/** @type {number} */ at) => Math.round(at * ratio) / ratio;
    let isComplete = true;
    for (const [column, row] of fromMiddle(left, top, right, bottom)) {
      const picture = this.part(column, row, resolution, performance.now() < begin + budget);
      isComplete &&= picture !== null;
      if (!picture) continue;
      // Whole pixels of the screen, so that no seam is visible between two parts.
      const [x, y] = [snap(view.x(column * PART)), snap(view.y(row * PART))];
      context.drawImage(picture, x, y, snap(view.x((column + 1) * PART)) - x, snap(view.y((row + 1) * PART)) - y);
    }
    if (!isComplete) return;
    for (const [column, row] of fromMiddle(left - 1, top - 1, right + 1, bottom + 1)) this.part(column, row, resolution, performance.now() < begin + AHEAD_MS);
  }

  /**
   * Returns the picture of a part; null if it does not exist and may not be drawn now.
   * @param {number} column @param {number} row @param {number} resolution
   * @param {boolean} mayDraw
   */
  part(column, row, resolution, mayDraw) {
    const key = `${resolution} ${column} ${row}`;
    const known = this.parts.get(key);
    if (known) known.usedAt = this.frame;
    if (known || !mayDraw) return known?.canvas ?? null;
    const side = Math.ceil(PART * resolution);
    const canvas = Object.assign(document.createElement('canvas'), { width: side, height: side });
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d', { alpha: false }));
    context.scale(side / PART, side / PART);
    context.translate(-column * PART, -row * PART);
    drawPart(context, { x: column * PART, y: row * PART, wide: PART, high: PART }, this.land);
    this.parts.set(key, { canvas, usedAt: this.frame });
    this.pixels += side * side;
    this.forget();
    return canvas;
  }

  /** Removes the pictures that are unused for the longest time. */
  forget() {
    if (this.pixels <= MAX_PIXELS) return;
    for (const [key, { canvas, usedAt }] of [...this.parts].sort(([, one], [, other]) => one.usedAt - other.usedAt)) {
      if (this.pixels <= MAX_PIXELS || usedAt === this.frame) return;
      this.pixels -= canvas.width * canvas.height;
      canvas.width = 0;
      this.parts.delete(key);
    }
  }

  /** Draws walls and depots for the small map. */
  drawSmall() {
    const side = 300, one = side / SIDE;
    const canvas = Object.assign(document.createElement('canvas'), { width: side, height: side });
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    context.fillStyle = 'rgb(253 248 236 / 0.4)';
    for (const { x, y, wide, high } of [...this.land.edge, ...this.land.boxes]) context.fillRect(x * one, y * one, wide * one, high * one);
    context.fillStyle = '#8ed05c';
    for (const [column, row] of DEPOTS) context.fill(disc((column + 0.5) * TILE * one, (row + 0.5) * TILE * one, 6));
    return canvas;
  }
}

/** Marks of tracks and blasts. */
export class Marks {
  /** Oldest first. @type {{ x: number, y: number, way: number, at: number }[]} */
  tracks = [];
  /** @type {{ x: number, y: number, at: number }[]} */
  scorches = [];
  /** Place of the last mark of each player's tank. @type {Map<number, { x: number, y: number }>} */
  last = new Map();

  /**
   * Adds a mark for each tank that has moved.
   * @param {{ player: number, x: number, y: number, hull: number, health: number }[]} tanks
   * @param {number} now ms
   */
  follow(tanks, now) {
    for (const { player, x, y, hull, health } of tanks) {
      const last = this.last.get(player);
      const far = last ? Math.hypot(x - last.x, y - last.y) : Infinity;
      if (far < TRACK_STEP) continue;
      this.last.set(player, { x, y });
      if (far < JUMP && health > 0) this.tracks.push({ x, y, way: hull / 256 * 2 * Math.PI, at: now });
    }
    const begin = Math.max(this.tracks.length - MAX_TRACKS, this.tracks.findIndex(({ at }) => now - at < TRACK_MS));
    if (begin > 200 || this.tracks.length > MAX_TRACKS) this.tracks.splice(0, begin);
  }

  /** @param {number} x @param {number} y @param {number} at ms */
  scorch(x, y, at) {
    this.scorches = [...this.scorches.slice(-19), { x, y, at }];
  }

  /** @param {CanvasRenderingContext2D} context @param {View} view @param {number} now ms */
  draw(context, view, now) {
    context.save();
    context.translate(view.x(0), view.y(0));
    context.scale(view.scale, view.scale);
    const sees = (/** @type {{ x: number, y: number }} */ { x, y }) => view.x(x) > -40 && view.x(x) < view.wide + 40 && view.y(y) > -40 && view.y(y) < view.high + 40;
    const tones = Array.from({ length: TONES }, () => new Path2D());
    for (const mark of this.tracks) {
      const age = (now - mark.at) / TRACK_MS;
      if (age >= 1 || age < 0 || !sees(mark)) continue;
      const [right, down] = [-Math.sin(mark.way), Math.cos(mark.way)];
      const path = tones[Math.floor(age * TONES)];
      for (const [near, far] of [[-19.5, -11.5], [11.5, 19.5]]) {
        path.moveTo(mark.x + right * near, mark.y + down * near);
        path.lineTo(mark.x + right * far, mark.y + down * far);
      }
    }
    Object.assign(context, { lineWidth: 3.6, lineCap: 'butt' });
    for (const [tone, path] of tones.entries()) {
      context.strokeStyle = `rgb(70 56 40 / ${0.3 * (1 - tone / TONES)})`;
      context.stroke(path);
    }
    for (const { x, y, at } of this.scorches.filter(sees)) {
      const left = Math.max(0, 1 - (now - at) / SCORCH_MS);
      for (const [radius, strength] of [[36, 0.16], [27, 0.2], [15, 0.26]]) {
        context.fillStyle = `rgb(36 28 26 / ${strength * left})`;
        context.fill(disc(x, y, radius));
      }
      context.strokeStyle = `rgb(36 28 26 / ${0.22 * left})`;
      context.lineWidth = 5;
      context.beginPath();
      for (let ray = 0; ray < 9; ray++) {
        const way = ray * 0.7 + x;
        context.moveTo(x + Math.cos(way) * 24, y + Math.sin(way) * 24);
        context.lineTo(x + Math.cos(way) * (38 + 12 * Math.sin(ray * 5)), y + Math.sin(way) * (38 + 12 * Math.sin(ray * 5)));
      }
      context.stroke();
    }
    context.restore();
  }
}
