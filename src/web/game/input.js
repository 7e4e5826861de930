/**
 * Converts keys, mouse and touch to a walking direction, a heading, and whether to attack. It sends
 * nothing, and ignores keys in text fields. On touch screens the left stick walks and the right
 * stick attacks in its direction. Without the right stick, the left stick also sets the heading.
 * The walking keys set the heading until the mouse has aimed.
 *
 * @module game/input
 */

import { HeldKeys, HeldPointers, codeOf, isPressing, isTyping } from '../lib/held.js';

/**
 * Walking directions by key position, so that WASD works on every layout.
 * @type {Readonly<Record<string, readonly [x: number, y: number]>>}
 */
const WALK = Object.freeze({
  KeyW: [0, -1], ArrowUp: [0, -1],
  KeyS: [0, 1], ArrowDown: [0, 1],
  KeyA: [-1, 0], ArrowLeft: [-1, 0],
  KeyD: [1, 0], ArrowRight: [1, 0],
});

/** Dead zone of a touch stick, CSS px. */
const STICK_DEAD_ZONE = 14;
/** Maximum distance of the drawn stick from its centre, CSS px. */
const STICK_REACH = 46;
/**
 * Number of directions of the walking stick. The rounding prevents packets from a trembling thumb.
 */
const STICK_PARTS = 32;
/** Number of directions of the attack stick. */
const AIM_PARTS = 256;

const ATTACK_KEY = 'Space';

/** A stick on a touch screen. */
class TouchStick {
  /** @param {HTMLElement} stick element at the position of the thumb */
  constructor(stick) {
    this.stick = stick;
    /** Pointer id of the touch; null if the stick is not touched. @type {number | null} */
    this.pointer = null;
    this.x = 0;
    this.y = 0;
    /** Direction, radians; null in the dead zone. @type {number | null} */
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

  /** @param {PointerEvent} event @param {number} parts number of directions, for rounding */
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

  /** @param {number} x @param {number} y CSS px from the centre of the stick */
  draw(x, y) {
    const knob = /** @type {HTMLElement} */ (this.stick.firstElementChild);
    knob.style.translate = `${x}px ${y}px`;
  }
}

export class Input {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {{ walk: HTMLElement, strike: HTMLElement }} sticks elements of the touch sticks
   * @param {Record<string, () => void>} actions by key code, by `Shift+` and a key code, or by the
   *   character of the key
   * @param {() => void} changed called at each change of the input, because a hidden page draws no
   *   frames in which the input could be sent
   * @param {() => boolean} plays whether the local player is alive. If not, the mouse does not aim
   */
  constructor(canvas, sticks, actions, changed, plays) {
    this.canvas = canvas;
    this.walkThumb = new TouchStick(sticks.walk);
    this.strikeThumb = new TouchStick(sticks.strike);
    this.changed = changed;
    this.actions = actions;
    this.plays = plays;
    /** Heading, radians; null before the first walk or aim. @type {number | null} */
    this.heading = null;
    /** Whether the mouse has aimed. From then on walking keys do not turn the player. */
    this.isAimed = false;
    /** Last position of the mouse in the window, CSS px. @type {{ x: number, y: number } | null} */
    this.mouse = null;
    /** Pointer id of the mouse while its button is held; null otherwise. @type {number | null} */
    this.button = null;
    /** Whether automatic attacks are on. */
    this.auto = false;
    /** Number of attack presses. */
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
      // Prevents the mouse events that a browser derives from touch.
      if (event.pointerType !== 'mouse') event.preventDefault();
    });
  }

  /** Walking direction, radians; null to stand still. */
  get direction() {
    return this.walkThumb.pull ?? this.keyDirection;
  }

  /** Direction of the held keys, radians; null if they have none. */
  get keyDirection() {
    let x = 0;
    let y = 0;
    for (const code of this.keys) {
      // Two keys of the same direction count once.
      x += WALK[code]?.[0] ?? 0;
      y += WALK[code]?.[1] ?? 0;
    }
    return x === 0 && y === 0 ? null : Math.atan2(Math.sign(y), Math.sign(x));
  }

  /** Whether the player attacks continuously. */
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
    // The attack stick sets the heading; otherwise the walking direction does.
    const ahead = strikeThumb.pull ?? (strikeThumb.pointer === null ? walkThumb.pull : null);
    if (ahead !== null) this.heading = ahead;
    this.changed();
  }

  /**
   * Aims at the mouse. Events with an unchanged position are ignored, because browsers send them
   * after a layout change.
   * @param {PointerEvent} event
   */
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
