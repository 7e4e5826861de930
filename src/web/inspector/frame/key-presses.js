/**
 * The frames that come from a key or a press: what somebody who plays looks for among all others.
 *
 * @module inspector/frame/key-presses
 */

import { findNode } from './edit.js';

/** Packets of a client that no key causes: pings come by themselves, and aims whenever the mouse moves. */
const AUTOMATIC_PACKETS = new Set(['ping', 'aim', 'hello']);

/** Whether a key or a press may have caused a frame. @param {import('../list/frames.js').Entry} entry */
export const isCommand = (entry) => entry.from === 'client' && entry.packet !== null && !AUTOMATIC_PACKETS.has(entry.packet);

/** Whether a packet only ends what an earlier one began: a key or a button let go. @param {any} explained as the explainer tells it */
export function isRelease(explained) {
  const frame = explained.frames?.[0];
  if (!frame) return false;
  const [direction, state] = ['direction', 'state'].map((name) => findNode(frame.tree, name));
  return (frame.packet === 'move' && direction !== undefined && typeof direction.raw !== 'number')
    || (frame.packet === 'attack' && (state?.raw === 0 || state?.raw === false));
}

/** The newest frame of a press; a key that is let go does not count. */
export class KeyPresses {
  /** @param {(n: number) => any} explain */
  constructor(explain) {
    this.explain = explain;
    /** @type {import('../list/frames.js').Entry | null} */
    this.newest = null;
  }

  /** @param {import('../list/frames.js').Entry[]} entries that are new, in their order */
  add(entries) {
    this.newest = entries.findLast((entry) => isCommand(entry) && !isRelease(this.explain(entry.n))) ?? this.newest;
  }

  clear() {
    this.newest = null;
  }
}
