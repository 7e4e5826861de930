/**
 * Keys, mouse and touch become wishes: a direction to walk, a heading to look at, whether to strike. Nothing is sent
 * from here, and nothing moves while somebody types. On touch the left thumb walks and the right one strikes; pulling it
 * turns the blow. By keys alone, and by the left thumb alone, the heading is that of the walk, until the mouse moves.
 *
 * @module game/input
 */

import { HeldKeys, HeldPointers, codeOf, isPressing, isTyping } from '../lib/held.js';

/** Keys by where they are, not by what is printed on them: WASD works on every layout. */
const WALK = Object.freeze({
  KeyW: [0, -1], ArrowUp: [0, -1],
  KeyS: [0, 1], ArrowDown: [0, 1],
  KeyA: [-1, 0], ArrowLeft: [-1, 0],
  KeyD: [1, 0], ArrowRight: [1, 0],
});

/** A thumb that has moved less than this from where it was put down means nothing, CSS px. */
const STICK_DEAD_ZONE = 14;
/** How far the drawn thumb follows the real one, CSS px. */
const STICK_REACH = 46;
/** A thumb's direction is rounded to 32 parts of a turn, so that it is not sent at each tremble. */
const STICK_PARTS = 32;
/** An aim is finer than a walk. */
const AIM_PARTS = 256;

const ATTACK_KEY = 'Space';

/** A thumb on the glass. */
class TouchStick {
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
    this.pull = distance < STICK_DEAD_ZONE ? null : Math.round(Math.atan2(y, x) / part) * part;
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
   * @param {() => boolean} plays whether there is a body: before that, the mouse aims at nothing
   */
  constructor(canvas, sticks, actions, changed, plays) {
    this.canvas = canvas;
    this.walkThumb = new TouchStick(sticks.walk);
    this.strikeThumb = new TouchStick(sticks.strike);
    this.changed = changed;
    this.actions = actions;
    this.plays = plays;
    /** Where the player looks, radians; null before the first walk or aim. @type {number | null} */
    this.heading = null;
    /** Whether the mouse has aimed: from then on, keys that walk do not turn. */
    this.isAimed = false;
    /** The last place of the mouse in the window, CSS px. @type {{ x: number, y: number } | null} */
    this.mouse = null;
    /** The mouse while its main button is held, which strikes. @type {number | null} */
    this.button = null;
    /** Whether one strikes on without a button held. */
    this.auto = false;
    /** How often a button, a key or a thumb was pressed to strike. */
    this.presses = 0;
    this.keys = new HeldKeys([...Object.keys(WALK), ATTACK_KEY], (code, isDown) => this.keysChanged(code, isDown));
    new HeldPointers(canvas, {
      pressed: (event) => this.pressed(event),
      moved: (event) => this.moved(event),
      released: (pointer) => this.released(pointer),
    });
    addEventListener('keydown', (event) => this.keyDown(event));
    addEventListener('pointermove', (event) => { if (event.pointerType === 'mouse') this.look(event); });
    canvas.addEventListener('pointerdown', (event) => {
      if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
      // Otherwise the browser would make a mouse of the thumb.
      if (event.pointerType !== 'mouse') event.preventDefault();
    });
  }

  /** Direction that is wanted now, radians; null stands still. */
  get direction() {
    return this.walkThumb.pull ?? this.keyDirection;
  }

  /** Direction of the keys that are held, radians; null without one. */
  get keyDirection() {
    let x = 0;
    let y = 0;
    for (const code of this.keys) {
      // Two keys for the same way are one wish.
      x += WALK[code]?.[0] ?? 0;
      y += WALK[code]?.[1] ?? 0;
    }
    return x === 0 && y === 0 ? null : Math.atan2(Math.sign(y), Math.sign(x));
  }

  /** Whether to strike now, and again and again. */
  get isAttacking() {
    return this.auto || this.button !== null || this.keys.has(ATTACK_KEY) || this.strikeThumb.pointer !== null;
  }

  /** @param {string | null} code @param {boolean} isDown */
  keysChanged(code, isDown) {
    if (code === ATTACK_KEY && isDown) this.presses += 1;
    if (!this.isAimed) this.heading = this.keyDirection ?? this.heading;
    this.changed();
  }

  /** @param {KeyboardEvent} event */
  keyDown(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || isTyping(event.target) || isPressing(event)) return;
    const code = codeOf(event);
    const action = (event.shiftKey ? this.actions[`Shift+${code}`] : undefined) ?? this.actions[code] ?? this.actions[event.key];
    if (!action) return;
    action();
    event.preventDefault();
  }

  /** @param {PointerEvent} event */
  pressed(event) {
    if (event.pointerType === 'mouse') {
      this.look(event);
      this.button = event.pointerId;
      this.presses += 1;
    } else {
      const left = event.clientX < this.canvas.clientWidth / 2;
      const order = left ? [this.walkThumb, this.strikeThumb] : [this.strikeThumb, this.walkThumb];
      const thumb = order.find((one) => one.pointer === null);
      thumb?.put(event);
      if (thumb === this.strikeThumb) this.presses += 1;
    }
    this.changed();
  }

  /** @param {PointerEvent} event */
  moved(event) {
    const { walkThumb, strikeThumb } = this;
    if (walkThumb.pointer === event.pointerId) walkThumb.move(event, STICK_PARTS);
    else if (strikeThumb.pointer === event.pointerId) strikeThumb.move(event, AIM_PARTS);
    else return;
    // Who strikes looks where the blow goes; who only walks looks ahead.
    const ahead = strikeThumb.pull ?? (strikeThumb.pointer === null ? walkThumb.pull : null);
    if (ahead !== null) this.heading = ahead;
    this.changed();
  }

  /** Aims at the mouse. A browser may repeat the last place of a mouse that lies still, after the page has changed. @param {PointerEvent} event */
  look({ type, clientX: x, clientY: y }) {
    const isStill = this.mouse?.x === x && this.mouse?.y === y;
    this.mouse = { x, y };
    if (!this.plays() || (isStill && type === 'pointermove')) return;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    this.heading = Math.atan2(y - height / 2, x - width / 2);
    this.isAimed = true;
  }

  /** @param {number} pointer */
  released(pointer) {
    const thumb = [this.walkThumb, this.strikeThumb].find((one) => one.pointer === pointer);
    thumb?.lift();
    if (this.button === pointer) this.button = null;
    this.changed();
  }
}
