/**
 * The frames that come from a key or a press: what somebody who plays looks for among all others.
 *
 * @module wire-press
 */

import { find } from './wire-edit.js';

/** Packets of a client that no key causes: pings come by themselves, and aims whenever the mouse moves. */
const BY_ITSELF = new Set(['ping', 'aim', 'hello']);

/** Whether a key or a press may have caused a frame. @param {import('./wire-frames.js').Entry} entry */
export const isCommand = (entry) => entry.from === 'client' && entry.packet !== null && !BY_ITSELF.has(entry.packet);

/** Whether a packet only ends what an earlier one began: a key or a button let go. @param {any} explained as the explainer tells it */
export function isRelease(explained) {
  const frame = explained.frames?.[0];
  if (!frame) return false;
  const [direction, state] = ['direction', 'state'].map((name) => find(frame.tree, name));
  return (frame.packet === 'move' && direction !== undefined && typeof direction.raw !== 'number')
    || (frame.packet === 'attack' && (state?.raw === 0 || state?.raw === false));
}

/** The newest frame of a press; a key that is let go does not count, unless nothing else is kept. */
export class Presses {
  /** @param {(n: number) => any} explain */
  constructor(explain) {
    this.explain = explain;
    this.newest = 0;
    /** @type {import('./wire-frames.js').Entry | null} */
    this.press = null;
  }

  /** @param {import('./wire-frames.js').Entry[]} entries all that are kept, in their order */
  of(entries) {
    if (this.press && (entries[0]?.n ?? Infinity) > this.press.n) this.press = null;
    for (let at = entries.length - 1; at >= 0 && entries[at].n > this.newest; at -= 1) {
      if (!isCommand(entries[at]) || isRelease(this.explain(entries[at].n))) continue;
      this.press = entries[at];
      break;
    }
    this.newest = entries.at(-1)?.n ?? 0;
    return this.press;
  }
}
