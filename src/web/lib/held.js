/**
 * Keys and pointers that a player holds down. A browser does not report every release: macOS drops
 * the `keyup` of a key that is released while Cmd is down, and a page receives no events while it
 * is hidden or without focus, or during a context menu or a drag. Both classes release everything
 * in these cases, so that a released key moves no player.
 *
 * ```js
 * import { HeldKeys, HeldPointers, connect } from './tickwire.js';
 *
 * const WAYS = { ArrowUp: 1, ArrowRight: 2, ArrowDown: 3, ArrowLeft: 4 };
 * const held = new HeldKeys(Object.keys(WAYS), () => go(WAYS[held.newest] ?? 0));
 * new HeldPointers(canvas, { pressed: lead, moved: lead, released: () => go(0) });
 * ```
 *
 * @module lib/held
 */

const MAC_COMMAND = ['Meta', 'OS'];
/**
 * Elements that handle keys to edit text or to change their value. A check box handles only the
 * space bar.
 */
const TYPING = 'input:not([type=checkbox]), textarea, select, [contenteditable]';
/** Elements that the space bar and Enter activate. */
const PRESSABLE = 'button, a[href], summary, input[type=checkbox]';

/**
 * Returns the position of a key, as in `event.code`. Screen keyboards, remote desktops and input
 * methods send keys without a code: then the result is the position of that letter, digit or space
 * on a US keyboard, or the name of the key.
 * @param {{ code: string, key: string }} event
 */
export function codeOf({ code, key }) {
  if (code !== '' && code !== 'Unidentified') return code;
  if (/^[a-z]$/i.test(key)) return `Key${key.toUpperCase()}`;
  if (/^[0-9]$/.test(key)) return `Digit${key}`;
  return key === ' ' ? 'Space' : key;
}

/**
 * Whether an element handles keys itself, to edit text or to change its value.
 * @param {EventTarget | null} target
 */
export function isTyping(target) {
  return matches(target, TYPING);
}

/**
 * Whether an input method uses the key to compose text: Escape ends the composition, Enter accepts
 * it, arrows choose a candidate. Safari reports the last key after the composition, with the key
 * code 229.
 * @param {KeyboardEvent} event
 */
export function isComposing({ isComposing, keyCode }) {
  return isComposing || keyCode === 229;
}

/** Whether a key activates the focused element. @param {KeyboardEvent} event */
export function isPressing(event) {
  return ['Space', 'Enter'].includes(codeOf(event)) && matches(event.target, PRESSABLE);
}

/** @param {EventTarget | null} target @param {string} selector */
function matches(target, selector) {
  const { closest } = /** @type {any} */ (target ?? {});
  return closest ? closest.call(target, selector) !== null : false;
}

/**
 * Calls a function when the page may miss the release of keys and pointers.
 * @param {() => void} away
 */
function onAway(away) {
  window.addEventListener('blur', away);
  window.addEventListener('pagehide', away);
  document.addEventListener('visibilitychange', () => { if (document.hidden) away(); });
  // A menu or a drag receives all events until it ends, unless a handler prevents it.
  for (const name of ['contextmenu', 'dragstart']) window.addEventListener(name, (event) => { if (!event.defaultPrevented) away(); });
}

/**
 * Keys of a list that are held down. Keys in a text field and shortcuts with Ctrl, Alt or Cmd are
 * ignored.
 */
export class HeldKeys {
  /** Codes of the keys that are down, in the order of the presses. @type {Set<string>} */
  #down = new Set();
  #codes;
  #changed;

  /**
   * @param {Iterable<string>} codes of the keys, as in `event.code`: `KeyW`, `ArrowUp`, `Space`
   * @param {(code: string | null, isDown: boolean) => void} [changed] called after each change; the
   *   code is null when all are released
   */
  constructor(codes, changed = () => {}) {
    this.#codes = new Set(codes);
    this.#changed = changed;
    window.addEventListener('keydown', (event) => this.#keyDown(event));
    window.addEventListener('keyup', (event) => this.#keyUp(event));
    onAway(() => this.releaseAll());
  }

  /**
   * The most recently pressed key that is still down; null if no key is down.
   * @returns {string | null}
   */
  get newest() {
    return [...this.#down].at(-1) ?? null;
  }

  /** @param {string} code */
  has(code) {
    return this.#down.has(code);
  }

  /** Iterates over the codes of the keys that are down. */
  [Symbol.iterator]() {
    return this.#down[Symbol.iterator]();
  }

  /** Presses a key, for a button on the screen. @param {string} code */
  press(code) {
    if (this.#down.has(code)) return;
    this.#down.add(code);
    this.#changed(code, true);
  }

  /** @param {string} code */
  release(code) {
    if (this.#down.delete(code)) this.#changed(code, false);
  }

  releaseAll() {
    if (this.#down.size === 0) return;
    this.#down.clear();
    this.#changed(null, false);
  }

  /** @param {KeyboardEvent} event */
  #keyDown(event) {
    if (MAC_COMMAND.includes(event.key)) return this.releaseAll();
    const code = codeOf(event);
    if (!this.#codes.has(code) || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || isPressing(event)) return;
    event.preventDefault();
    this.press(code);
  }

  /** @param {KeyboardEvent} event */
  #keyUp(event) {
    if (MAC_COMMAND.includes(event.key)) this.releaseAll();
    else this.release(codeOf(event));
  }
}

/**
 * The pointers that were pressed on an element: fingers, pens, and the mouse with its main button.
 * The element receives their events until the release, also outside of it, and shows no context
 * menu.
 */
export class HeldPointers {
  /** @type {Set<number>} */
  #down = new Set();
  #element;
  #on;

  /**
   * @param {HTMLElement} element
   * @param {{ pressed?: (event: PointerEvent) => void, moved?: (event: PointerEvent) => void,
   *   released?: (pointer: number) => void }} on `released` is called once for each pointer, with
   *   its `pointerId`
   */
  constructor(element, on) {
    this.#element = element;
    this.#on = on;
    element.addEventListener('pointerdown', (event) => { if (event.pointerType !== 'mouse' || event.button === 0) this.#press(event); });
    element.addEventListener('pointermove', (event) => this.#move(event));
    // The window also receives the release of a pointer that the browser does not capture.
    for (const name of ['pointerup', 'pointercancel']) window.addEventListener(name, (event) => this.release(/** @type {PointerEvent} */ (event).pointerId));
    element.addEventListener('lostpointercapture', (event) => this.release(event.pointerId));
    element.addEventListener('contextmenu', (event) => event.preventDefault());
    onAway(() => this.releaseAll());
  }

  /** @param {number} pointer its `pointerId` */
  has(pointer) {
    return this.#down.has(pointer);
  }

  /** @param {number} pointer its `pointerId` */
  release(pointer) {
    if (this.#down.delete(pointer)) this.#on.released?.(pointer);
  }

  releaseAll() {
    for (const pointer of [...this.#down]) this.release(pointer);
  }

  /** @param {PointerEvent} event */
  #press(event) {
    const { pointerId } = event;
    if (this.#down.has(pointerId)) return;
    this.#down.add(pointerId);
    try {
      this.#element.setPointerCapture(pointerId);
    } catch {
      // The pointer is already up; its `pointerup` follows.
    }
    this.#on.pressed?.(event);
  }

  /**
   * While another button is down, the browser reports a press of the main button as a move.
   * @param {PointerEvent} event
   */
  #move(event) {
    const { pointerId, pointerType, button, buttons } = event;
    if (pointerType === 'mouse' && button === 0 && buttons & 1) this.#press(event);
    else if (pointerType === 'mouse' && (buttons & 1) === 0) this.release(pointerId);
    else if (this.#down.has(pointerId)) this.#on.moved?.(event);
  }
}
