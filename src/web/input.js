/**
 * Keys, mouse and touch become wishes: a direction to walk, a heading to look at, whether to strike. Nothing is sent
 * from here, and nothing moves while somebody types. On touch the left thumb walks and the right one strikes; pulling it
 * turns the blow.
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
/** An aim is finer than a walk. */
const AIM_PARTS = 256;

const STRIKE = 'Space';

/** A thumb on the glass. */
class Thumb {
  /** @param {HTMLElement} stick shown where the thumb is */
  constructor(stick) {
    this.stick = stick;
    /** @type {number | null} the pointer that it is */
    this.pointer = null;
    this.x = 0;
    this.y = 0;
    /** Where it pulls, radians; null while it rests. @type {number | null} */
    this.pull = null;
  }

  /** @param {PointerEvent} event */
  put(event) {
    this.pointer = event.pointerId;
    this.x = event.clientX;
    this.y = event.clientY;
    this.pull = null;
    this.stick.hidden = false;
    this.stick.style.translate = `${this.x}px ${this.y}px`;
    this.draw(0, 0);
  }

  /** @param {PointerEvent} event @param {number} parts of a turn that it is rounded to */
  move(event, parts) {
    const x = event.clientX - this.x;
    const y = event.clientY - this.y;
    const distance = Math.hypot(x, y);
    const part = (2 * Math.PI) / parts;
    this.pull = distance < STICK_REST ? null : Math.round(Math.atan2(y, x) / part) * part;
    const reach = Math.min(1, STICK_REACH / Math.max(1, distance));
    this.draw(x * reach, y * reach);
  }

  lift() {
    this.pointer = null;
    this.pull = null;
    this.stick.hidden = true;
  }

  /** @param {number} x @param {number} y CSS px from the stick's middle */
  draw(x, y) {
    const knob = /** @type {HTMLElement} */ (this.stick.firstElementChild);
    knob.style.translate = `${x}px ${y}px`;
  }
}

export class Input {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {{ walk: HTMLElement, strike: HTMLElement }} sticks shown where thumbs are
   * @param {Record<string, () => void>} actions by key code, with `Shift+` before it where that
   *   makes a difference, or by what the key types, for keys that do one thing
   * @param {() => void} changed called at once when something else is wanted: a hidden page draws no frame that could
   *   tell the server to stop
   */
  constructor(canvas, sticks, actions, changed) {
    this.canvas = canvas;
    this.walkThumb = new Thumb(sticks.walk);
    this.strikeThumb = new Thumb(sticks.strike);
    this.changed = changed;
    this.actions = actions;
    /** @type {Set<string>} codes of the walking keys that are held */
    this.held = new Set();
    /** Where the mouse points, radians; null until it has moved. @type {number | null} */
    this.heading = null;
    /** Whether the mouse button, or the key, that strikes is held. */
    this.button = false;
    this.key = false;
    /** Whether one strikes on without a button held. */
    this.auto = false;
    /** How often a button, a key or a thumb was pressed to strike. */
    this.presses = 0;
    addEventListener('keydown', (event) => this.keyDown(event));
    addEventListener('keyup', (event) => this.keyUp(event));
    addEventListener('blur', () => this.release());
    document.addEventListener('visibilitychange', () => { if (document.hidden) this.release(); });
    canvas.addEventListener('pointerdown', (event) => this.pointerDown(event));
    addEventListener('pointermove', (event) => this.pointerMove(event));
    addEventListener('pointerup', (event) => this.pointerUp(event));
    addEventListener('pointercancel', (event) => this.pointerUp(event));
    canvas.addEventListener('contextmenu', (event) => event.preventDefault());
  }

  /** Direction that is wanted now, radians; null stands still. */
  get direction() {
    if (this.walkThumb.pull !== null) return this.walkThumb.pull;
    let x = 0;
    let y = 0;
    for (const code of this.held) {
      // Two keys for the same way are one wish.
      x += WALK[code][0];
      y += WALK[code][1];
    }
    return x === 0 && y === 0 ? null : Math.atan2(Math.sign(y), Math.sign(x));
  }

  /** Whether to strike now, and again and again. */
  get striking() {
    return this.auto || this.button || this.key || this.strikeThumb.pointer !== null;
  }

  /** @param {KeyboardEvent} event */
  keyDown(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const onButton = event.target instanceof HTMLButtonElement;
    const action = (event.shiftKey ? this.actions[`Shift+${event.code}`] : undefined) ?? this.actions[event.code] ?? this.actions[event.key];
    if (event.code in WALK) {
      this.held.add(event.code);
      this.changed();
    } else if (event.code === STRIKE && !onButton) {
      this.key = true;
      if (!event.repeat) this.presses += 1;
      this.changed();
    } else if (action && !event.repeat && !onButton) action();
    else return;
    event.preventDefault();
  }

  /** @param {KeyboardEvent} event */
  keyUp(event) {
    if (event.code === STRIKE) this.key = false;
    else if (!this.held.delete(event.code)) return;
    this.changed();
  }

  /** Lets go of everything: the window will not see the keys come up. */
  release() {
    this.held.clear();
    this.button = this.key = false;
    this.walkThumb.lift();
    this.strikeThumb.lift();
    this.changed();
  }

  /** @param {PointerEvent} event */
  pointerDown(event) {
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
    const mouse = event.pointerType === 'mouse';
    if (mouse && event.button !== 0) return;
    // The pointer stays ours until it comes up, wherever that is.
    this.canvas.setPointerCapture(event.pointerId);
    if (mouse) {
      this.look(event);
      this.button = true;
      this.presses += 1;
    } else {
      event.preventDefault();
      const left = event.clientX < this.canvas.clientWidth / 2;
      const order = left ? [this.walkThumb, this.strikeThumb] : [this.strikeThumb, this.walkThumb];
      const thumb = order.find((one) => one.pointer === null);
      thumb?.put(event);
      if (thumb === this.strikeThumb) this.presses += 1;
    }
    this.changed();
  }

  /** @param {PointerEvent} event */
  pointerMove(event) {
    if (event.pointerType === 'mouse') {
      this.look(event);
      // With a second button held, the first one coming up is only seen here.
      if (this.button && (event.buttons & 1) === 0) {
        this.button = false;
        this.changed();
      }
      return;
    }
    const { walkThumb, strikeThumb } = this;
    if (walkThumb.pointer === event.pointerId) walkThumb.move(event, STICK_PARTS);
    else if (strikeThumb.pointer === event.pointerId) strikeThumb.move(event, AIM_PARTS);
    else return;
    // Who strikes looks where the blow goes; who only walks looks ahead.
    const ahead = strikeThumb.pull ?? (strikeThumb.pointer === null ? walkThumb.pull : null);
    if (ahead !== null) this.heading = ahead;
    this.changed();
  }

  /** @param {PointerEvent} event */
  look(event) {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    this.heading = Math.atan2(event.clientY - height / 2, event.clientX - width / 2);
  }

  /** @param {PointerEvent} event */
  pointerUp(event) {
    if (event.pointerType === 'mouse') this.button = false;
    for (const thumb of [this.walkThumb, this.strikeThumb]) if (thumb.pointer === event.pointerId) thumb.lift();
    this.changed();
  }
}

/** Whether a key is meant for this element: as text, or to move a slider. @param {EventTarget | null} target */
function isTyping(target) {
  return (target instanceof HTMLInputElement && target.type !== 'checkbox') || target instanceof HTMLTextAreaElement;
}
