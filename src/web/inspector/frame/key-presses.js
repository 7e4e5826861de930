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

/** Arguments of the protocol, which change with each command. */
const PROTOCOL_ARGUMENT = /^sequence$|(^|_)tick$/;
/** Minimum number of keys and buttons in a packet whose zeros mean that all are released. */
const MIN_KEYS = 3;

/**
 * Returns the state of keys and buttons in a packet: its arguments without sequence number, ticks
 * and angles, which the mouse changes. Empty for a packet that has no other argument.
 * @param {Explanation | Gone} explained explanation of the frame
 */
export function keysOf(explained) {
  const [frame] = explained.gone ? [] : explained.frames;
  const leaves = (frame ? findNode(frame.tree, 'arguments')?.children ?? [] : []).filter(({ name, children }) => name !== 'head' && children.length === 0);
  return leaves.filter(({ name, value }) => !PROTOCOL_ARGUMENT.test(name) && !value.endsWith('°')).map(({ raw }) => raw ?? null);
}

/** Stores the newest frame that an input has caused. Frames of a release do not count. */
export class KeyPresses {
  /** @param {(n: number) => Explanation | Gone} explain */
  constructor(explain) {
    this.explain = explain;
    /** @type {import('../list/frames.js').Entry | null} */
    this.newest = null;
    /** Keys and buttons of the newest command of each packet. @type {Map<string, string>} */
    this.keys = new Map();
  }

  /** Adds new frames. @param {import('../list/frames.js').Entry[]} entries new entries, in order */
  add(entries) {
    for (const entry of entries) if (isCommand(entry) && this.isPress(entry)) this.newest = entry;
  }

  /**
   * Whether a key or a button was pressed. A packet with keys and an angle is also sent for each
   * movement of the mouse, with the same keys as before.
   * @param {import('../list/frames.js').Entry} entry
   */
  isPress({ n, packet }) {
    const explained = this.explain(n);
    const keys = keysOf(explained);
    const [before, now] = [this.keys.get(packet ?? ''), JSON.stringify(keys)];
    if (keys.length > 0) this.keys.set(packet ?? '', now);
    if (keys.length < MIN_KEYS) return !isRelease(explained);
    return before !== now && keys.some((key) => key !== 0 && key !== false && key !== null);
  }

  clear() {
    this.newest = null;
    this.keys.clear();
  }
}
