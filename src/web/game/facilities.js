/**
 * Features that a browser may lack or forbid.
 *
 * @module game/facilities
 */

import { local, session } from '../lib/stored.js';

/** Class of audio contexts; null without Web Audio. @type {(new () => AudioContext) | null} */
export const Audio = globalThis.AudioContext ?? /** @type {any} */ (globalThis).webkitAudioContext ?? null;

/** Returns the missing features, as sentences for the player. @returns {string[]} */
export function missing() {
  /** @type {[has: boolean, text: string][]} */
  const rows = [
    [Audio !== null, 'There is no sound: this browser has no Web Audio.'],
    [typeof WebAssembly === 'object', 'Your keys act when the server answers, without prediction, and frames are not explained: this browser has no WebAssembly, or has switched it off.'],
    [local.isKept && session.isKept, 'Your name and settings are forgotten, and a reload begins with a new player: this browser forbids this page to store anything.'],
  ];
  return rows.filter(([has]) => !has).map(([, text]) => text);
}
