/**
 * Keys, mouse and touch become wishes: a direction to walk, a heading to look at. Nothing is sent from here, and
 * nothing moves while somebody types.
 *
 * @module input
 */

/** Keys by where they are, not by what is printed on them: WASD works on every layout. */
const WALK = Object.freeze({
  KeyW: [0, -1], ArrowUp: [0, -1],
  KeyS: [0, 1], ArrowDown: [0, 1],
  KeyA: [-1, 0], ArrowLeft: [-1, 0],
  KeyD: [1, 0], ArrowRight: [1, 0],
});

/** A thumb that has moved less than this from where it was put down means nothing, CSS px. */
const STICK_REST = 14;
/** How far the drawn thumb follows the real one, CSS px. */
const STICK_REACH = 46;
/** A thumb's direction is rounded to 32 parts of a turn, so that it is not sent at each tremble. */
const STICK_PARTS = 32;

export class Input {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {HTMLElement} stick shown where a thumb steers
   * @param {Record<string, () => void>} actions by key code, for keys that do one thing
   * @param {() => void} changed called at once when another direction is wanted: a hidden page draws no frame that could
   *   tell the server to stop
   */
  constructor(canvas, stick, actions, changed) {
    this.stick = stick;
    this.changed = changed;
    this.actions = actions;
    /** @type {Set<string>} codes of the walking keys that are held */
    this.held = new Set();
    /** Where the mouse points, radians; null until it has moved. @type {number | null} */
    this.heading = null;
    /** Where a thumb steers, radians. @type {number | null} */
    this.thumb = null;
    /** @type {{ id: number, x: number, y: number } | null} */
    this.touch = null;
    addEventListener('keydown', (event) => this.keyDown(event));
    addEventListener('keyup', (event) => { if (this.held.delete(event.code)) this.changed(); });
    addEventListener('blur', () => this.release());
    document.addEventListener('visibilitychange', () => { if (document.hidden) this.release(); });
    canvas.addEventListener('pointerdown', (event) => this.pointerDown(event, canvas));
    addEventListener('pointermove', (event) => this.pointerMove(event));
    addEventListener('pointerup', (event) => this.pointerUp(event));
    addEventListener('pointercancel', (event) => this.pointerUp(event));
    canvas.addEventListener('contextmenu', (event) => event.preventDefault());
  }

  /** Direction that is wanted now, radians; null stands still. */
  get direction() {
    if (this.thumb !== null) return this.thumb;
    let x = 0;
    let y = 0;
    for (const code of this.held) {
      // Two keys for the same way are one wish.
      x += WALK[code][0];
      y += WALK[code][1];
    }
    return x === 0 && y === 0 ? null : Math.atan2(Math.sign(y), Math.sign(x));
  }

  /** @param {KeyboardEvent} event */
  keyDown(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (event.code in WALK) {
      this.held.add(event.code);
      this.changed();
      event.preventDefault();
    } else if (!event.repeat && event.code in this.actions && !(event.target instanceof HTMLButtonElement)) {
      this.actions[event.code]();
      event.preventDefault();
    }
  }

  /** Lets go of everything: the window will not see the keys come up. */
  release() {
    this.held.clear();
    this.endTouch();
  }

  /** @param {PointerEvent} event @param {HTMLCanvasElement} canvas */
  pointerDown(event, canvas) {
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
    if (event.pointerType === 'mouse') return;
    event.preventDefault();
    if (this.touch) return;
    canvas.setPointerCapture(event.pointerId);
    this.touch = { id: event.pointerId, x: event.clientX, y: event.clientY };
    this.stick.hidden = false;
    this.stick.style.translate = `${event.clientX}px ${event.clientY}px`;
    this.drawThumb(0, 0);
  }

  /** @param {PointerEvent} event */
  pointerMove(event) {
    if (event.pointerType === 'mouse') {
      this.heading = Math.atan2(event.clientY - innerHeight / 2, event.clientX - innerWidth / 2);
      return;
    }
    if (this.touch?.id !== event.pointerId) return;
    const x = event.clientX - this.touch.x;
    const y = event.clientY - this.touch.y;
    const distance = Math.hypot(x, y);
    const part = (2 * Math.PI) / STICK_PARTS;
    this.thumb = distance < STICK_REST ? null : Math.round(Math.atan2(y, x) / part) * part;
    if (this.thumb !== null) this.heading = this.thumb;
    this.changed();
    const reach = Math.min(1, STICK_REACH / Math.max(1, distance));
    this.drawThumb(x * reach, y * reach);
  }

  /** @param {PointerEvent} event */
  pointerUp(event) {
    if (this.touch?.id === event.pointerId) this.endTouch();
  }

  endTouch() {
    this.touch = null;
    this.thumb = null;
    this.stick.hidden = true;
    this.changed();
  }

  /** @param {number} x @param {number} y CSS px from the stick's middle */
  drawThumb(x, y) {
    const thumb = /** @type {HTMLElement} */ (this.stick.firstElementChild);
    thumb.style.translate = `${x}px ${y}px`;
  }
}

/** Whether a key meant for this element is text. @param {EventTarget | null} target */
function isTyping(target) {
  return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;
}
