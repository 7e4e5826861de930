/**
 * Two sticks on a touch screen: one for each thumb, wherever it touches its half of an element.
 *
 * ```js
 * import { ThumbSticks } from './tickwire.js';
 *
 * const sticks = new ThumbSticks(canvas, () => steer());
 * // In `steer`: the left thumb walks, the right thumb aims and fires.
 * const walking = sticks.angle('left'), aiming = sticks.angle('right');
 * // In each frame:
 * sticks.draw(canvas.getContext('2d'));
 * ```
 *
 * @module lib/thumb-sticks
 */

import { HeldPointers } from './held.js';

/** Distance within which a thumb counts as at rest, px. */
const REST_PX = 12;
/** Radius of the circle in which the knob is drawn, px. */
const REACH_PX = 40;
/** Radius of the knob, px. */
const KNOB_PX = 19;

/** @typedef {'left' | 'right'} Side */
/**
 * @typedef {{ id: number, x: number, y: number, dx: number, dy: number }} Stick `x`, `y`: where the
 *   thumb was put down, px; `dx`, `dy`: how far it is from there, px
 */

export class ThumbSticks {
  /** @type {Record<Side, Stick | null>} */
  #sticks = { left: null, right: null };
  #isMouseDown = false;

  /**
   * @param {HTMLElement} element
   * @param {() => void} [changed] called after a press or a release
   * @param {() => number} [middle] x coordinate at which the right half begins, px
   */
  constructor(element, changed = () => {}, middle = () => innerWidth / 2) {
    new HeldPointers(element, {
      pressed: ({ pointerType, pointerId: id, clientX: x, clientY: y }) => {
        if (pointerType === 'mouse') this.#isMouseDown = true;
        else this.#sticks[x < middle() ? 'left' : 'right'] ??= { id, x, y, dx: 0, dy: 0 };
        changed();
      },
      moved: ({ pointerId, clientX, clientY }) => {
        const stick = this.#sticks[this.#sideOf(pointerId) ?? 'left'];
        if (stick?.id === pointerId) [stick.dx, stick.dy] = [clientX - stick.x, clientY - stick.y];
      },
      released: (pointer) => {
        const side = this.#sideOf(pointer);
        if (side) this.#sticks[side] = null;
        else this.#isMouseDown = false;
        changed();
      },
    });
  }

  /** Whether the main button of the mouse is down. */
  get isMouseDown() {
    return this.#isMouseDown;
  }

  /**
   * Returns the direction of a stick in radians, 0 to the right; null at rest.
   * @param {Side} side
   */
  angle(side) {
    const { dx, dy } = this.#sticks[side] ?? { dx: 0, dy: 0 };
    return Math.hypot(dx, dy) > REST_PX ? Math.atan2(dy, dx) : null;
  }

  /**
   * Draws the sticks that are touched.
   * @param {CanvasRenderingContext2D} context in CSS px of the window
   */
  draw(context) {
    for (const stick of Object.values(this.#sticks)) {
      if (!stick) continue;
      const far = Math.max(1, Math.hypot(stick.dx, stick.dy) / REACH_PX);
      for (const [x, y, radius, style] of /** @type {[number, number, number, string][]} */ ([
        [stick.x, stick.y, REACH_PX + 6, 'rgb(36 32 52 / 0.35)'],
        [stick.x + stick.dx / far, stick.y + stick.dy / far, KNOB_PX, 'rgb(255 255 255 / 0.6)'],
      ])) {
        context.fillStyle = style;
        context.beginPath();
        context.arc(x, y, radius, 0, 2 * Math.PI);
        context.fill();
      }
    }
  }

  /** @param {number} pointer @returns {Side | undefined} */
  #sideOf(pointer) {
    return /** @type {Side[]} */ (['left', 'right']).find((side) => this.#sticks[side]?.id === pointer);
  }
}
