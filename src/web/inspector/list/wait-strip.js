/**
 * Strip of waits below the strip of updates, with a bar for each update at the same place. The
 * height of a bar is the time for which a stream would have held the update. A lost update is a red
 * line. The strip is hidden if no update came by datagram.
 *
 * @module inspector/list/wait-strip
 */

import { WAIT_RULE } from './datagram-row.js';
import { milliseconds } from './duration.js';

/** Minimum wait of a bar with the full height, ms. */
const MIN_FULL_MS = 100;

/** @typedef {import('./update-strip.js').Update} Update */

/**
 * Describes the waits. @param {Update[]} updates
 * @returns {string} empty without updates by datagram
 */
export function describeWaits(updates) {
  const sent = updates.filter(([, , , , , wait]) => typeof wait === 'number');
  if (sent.length === 0) return '';
  const waits = sent.map(([, , , , , wait]) => wait ?? 0).filter((wait) => wait > 0);
  const lost = sent.filter(([, , , , , , isLost]) => isLost).length;
  const held = waits.length === 0 ? 'None held on a stream' : `${waits.length} held up to ${milliseconds(Math.max(...waits))} on a stream`;
  return `${held} · ${lost} of ${sent.length} lost`;
}

/**
 * Clears a canvas, and fits it to its size on the page.
 * @param {HTMLCanvasElement} canvas
 * @returns {{ pen: CanvasRenderingContext2D, width: number, height: number,
 *   color: (name: string) => string }} sizes in px; `color` reads a property of the style sheet
 */
export function clearedPen(canvas) {
  const [width, height, dots] = [canvas.clientWidth, canvas.clientHeight, devicePixelRatio];
  if (canvas.width !== Math.round(width * dots)) canvas.width = Math.round(width * dots);
  if (canvas.height !== Math.round(height * dots)) canvas.height = Math.round(height * dots);
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  const style = getComputedStyle(canvas);
  pen.setTransform(dots, 0, 0, dots, 0, 0);
  pen.clearRect(0, 0, width, height);
  return { pen, width, height, color: (name) => style.getPropertyValue(name).trim() };
}

export class WaitStrip {
  /**
   * @param {HTMLElement} box
   * @param {HTMLCanvasElement} canvas
   * @param {HTMLElement} words
   * @param {HTMLElement} rule
   * @param {(index: number) => void} onPick
   * @param {number} barPx
   */
  constructor(box, canvas, words, rule, onPick, barPx) {
    this.box = box;
    this.canvas = canvas;
    this.words = words;
    this.barPx = barPx;
    rule.textContent = WAIT_RULE;
    /** @type {Update[]} */
    this.updates = [];
    canvas.addEventListener('pointerdown', (event) => onPick(Math.floor(event.offsetX / barPx)));
    canvas.addEventListener('pointermove', (event) => this.point(Math.floor(event.offsetX / barPx)));
  }

  /** @param {number} index */
  point(index) {
    const [n, , , , , wait = null, isLost = false] = this.updates[index] ?? [];
    if (n === undefined || wait === null) this.canvas.title = '';
    else if (isLost) this.canvas.title = `Row ${n}: lost`;
    else this.canvas.title = `Row ${n}: ${wait > 0 ? `a stream would have held it for about ${milliseconds(wait)}` : 'a stream would not have held it'}`;
  }

  /** Shows the waits of the updates. @param {Update[]} updates @param {number} chosen */
  show(updates, chosen) {
    this.updates = updates;
    const words = describeWaits(updates);
    this.box.hidden = words === '';
    if (words === '') return;
    if (this.words.textContent !== words) this.words.textContent = words;
    this.canvas.setAttribute('aria-label', words);
    this.draw(chosen);
  }

  /** @param {number} chosen */
  draw(chosen) {
    const { canvas, updates } = this;
    const { pen, width, height, color } = clearedPen(canvas);
    const full = Math.max(MIN_FULL_MS, ...updates.map(([, , , , , wait]) => wait ?? 0));
    updates.forEach(([n, , , , , wait = null, isLost = false], index) => {
      if (wait === null) return;
      const high = isLost ? height : Math.max(1, Math.round(wait / full * height));
      pen.fillStyle = color(n === chosen ? '--amber' : isLost ? '--red' : wait > 0 ? '--key' : '--edge');
      pen.fillRect(index * this.barPx, height - high, this.barPx - 1, high);
    });
  }
}
