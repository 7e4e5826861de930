/**
 * Finds the frames that an input of the player has caused: a key, a mouse button or a touch.
 *
 * @module inspector/frame/key-presses
 */

import { findNode } from './edit.js';

/** @typedef {import('../explainer.js').Explanation} Explanation */
/** @typedef {import('../explainer.js').Gone} Gone */

/**
 * Client packets that do not count as input: `ping` and `hello` are automatic, and mouse movements
 * send `aim` often.
 */
const AUTOMATIC_PACKETS = new Set(['ping', 'aim', 'hello']);

/**
 * Whether an input of the player may have caused a frame.
 * @param {import('../list/frames.js').Entry} entry
 */
export const isCommand = (entry) => entry.from === 'client' && entry.packet !== null && !AUTOMATIC_PACKETS.has(entry.packet);

/**
 * Whether a packet only reports a released key or button.
 * @param {Explanation | Gone} explained explanation of the frame
 */
export function isRelease(explained) {
  const frame = explained.gone ? undefined : explained.frames[0];
  if (!frame) return false;
  const [direction, state] = ['direction', 'state'].map((name) => findNode(frame.tree, name));
  return (frame.packet === 'move' && direction !== undefined && typeof direction.raw !== 'number')
    || (frame.packet === 'attack' && (state?.raw === 0 || state?.raw === false));
}

/** Stores the newest frame that an input has caused. Frames of a release do not count. */
export class KeyPresses {
  /** @param {(n: number) => Explanation | Gone} explain */
  constructor(explain) {
    this.explain = explain;
    /** @type {import('../list/frames.js').Entry | null} */
    this.newest = null;
  }

  /** Adds new frames. @param {import('../list/frames.js').Entry[]} entries new entries, in order */
  add(entries) {
    this.newest = entries.findLast((entry) => isCommand(entry) && !isRelease(this.explain(entry.n))) ?? this.newest;
  }

  clear() {
    this.newest = null;
  }
}
