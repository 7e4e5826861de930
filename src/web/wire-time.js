/**
 * The strip of updates: a bar for each, as high as the gap before it. Gaps that are larger than normal stand out; a press chooses the frame.
 *
 * @module wire-time
 */

import { milliseconds } from './wire-list.js';

/** Width of a bar with the space beside it. */
const BAR_PX = 4;
/** A gap is large from this many normal ones on. */
const LARGE = 1.6;
/** So many normal gaps fill the height; what is larger is cut, and red anyway. */
const HIGHEST = 3;

/** @typedef {{ normal_ms?: number | null, updates?: [number, number, number | null, number][] }} Told */

/** What the strip says in words. @param {Told} told */
export function inWords({ normal_ms, updates = [] }) {
  const gaps = updates.map(([, , gap]) => gap).filter((gap) => gap !== null);
  if (normal_ms === null || normal_ms === undefined || gaps.length < 2) return 'Too few updates';
  const jitter = gaps.reduce((sum, gap) => sum + Math.abs(gap - normal_ms), 0) / gaps.length;
  const large = gaps.filter((gap) => gap > LARGE * normal_ms).length;
  const words = [`Update every ${milliseconds(normal_ms)}`, `jitter ${milliseconds(jitter)}`, `longest gap ${milliseconds(Math.max(...gaps))}`];
  if (large > 0) words.push(`${large} large gap${large === 1 ? '' : 's'}`);
  return words.join(' · ');
}

/** How high a bar is, from 0 to 1, and whether its gap is large. @param {number | null} gap @param {number} normal */
export function barOf(gap, normal) {
  if (gap === null || normal === 0) return { height: 0.1, isLarge: false };
  return { height: Math.min(1, Math.max(0.06, gap / normal / HIGHEST)), isLarge: gap > LARGE * normal };
}

export class Strip {
  /** @param {HTMLCanvasElement} canvas @param {HTMLElement} words @param {(n: number) => void} onPick */
  constructor(canvas, words, onPick) {
    this.canvas = canvas;
    this.words = words;
    this.onPick = onPick;
    /** @type {Told} */
    this.told = {};
    this.chosen = 0;
    canvas.addEventListener('pointerdown', (event) => this.pick(Math.floor(event.offsetX / BAR_PX)));
    canvas.addEventListener('pointermove', (event) => this.point(Math.floor(event.offsetX / BAR_PX)));
    canvas.addEventListener('keydown', (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      const updates = this.told.updates ?? [];
      const place = updates.findIndex(([n]) => n >= this.chosen);
      const from = place < 0 ? updates.length : updates[place][0] === this.chosen || step < 0 ? place : place - 1;
      this.pick(Math.min(Math.max(from + step, 0), updates.length - 1));
    });
  }

  /** Bars that there is room for. */
  get room() {
    return Math.max(1, Math.floor(this.canvas.clientWidth / BAR_PX));
  }

  /** @param {number} place */
  pick(place) {
    const update = this.told.updates?.[place];
    if (update) this.onPick(update[0]);
  }

  /** @param {number} place */
  point(place) {
    const [n, , gap, bytes] = this.told.updates?.[place] ?? [];
    this.canvas.title = n === undefined ? '' : `Frame ${n}: ${gap === null ? 'after a gap in the list' : `${milliseconds(gap)} after the one before`}, ${bytes} bytes`;
  }

  /** @param {Told} told @param {number} chosen number of the chosen frame */
  show(told, chosen) {
    Object.assign(this, { told, chosen });
    const words = inWords(told);
    if (this.words.textContent !== words) this.words.textContent = words;
    this.canvas.setAttribute('aria-label', `${words}. Arrow keys go through the updates.`);
    this.draw();
  }

  draw() {
    const { canvas } = this;
    const [width, height, dots] = [canvas.clientWidth, canvas.clientHeight, devicePixelRatio];
    if (canvas.width !== Math.round(width * dots)) canvas.width = Math.round(width * dots);
    if (canvas.height !== Math.round(height * dots)) canvas.height = Math.round(height * dots);
    const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    const style = getComputedStyle(canvas);
    const color = (name) => style.getPropertyValue(name).trim();
    pen.setTransform(dots, 0, 0, dots, 0, 0);
    pen.clearRect(0, 0, width, height);
    const normal = this.told.normal_ms ?? 0;
    pen.fillStyle = color('--edge');
    pen.fillRect(0, Math.round(height * (1 - 1 / HIGHEST)), width, 1);
    (this.told.updates ?? []).forEach(([n, , gap], place) => {
      const { height: part, isLarge } = barOf(gap, normal);
      const high = Math.max(2, Math.round(part * height));
      pen.fillStyle = color(n === this.chosen ? '--amber' : isLarge ? '--red' : gap === null ? '--edge' : '--length');
      pen.fillRect(place * BAR_PX, height - high, BAR_PX - 1, high);
    });
  }
}
