/**
 * Whether this page was left while it played, a moment ago, as by a reload: then it goes on playing without a question. The server keeps the player
 * meanwhile.
 *
 * @module game/net/reload-resume
 */

import { EDITION } from '../../wasm/edition.js';

const STORAGE_KEY = 'tickwire.played';
/** A page that was left longer ago begins with its card, ms. */
const RESUME_WINDOW_MS = 30_000;

/**
 * A player that this page had: its number, and the newest tick in which it was told of it.
 *
 * @typedef {{ id: number, tick: number }} Had
 */

/**
 * Notes at the end of the page which player it has.
 *
 * @param {() => Had | null} player null unless it plays
 */
export function savePlayerOnUnload(player) {
  addEventListener('pagehide', () => {
    try {
      const had = player();
      if (had) sessionStorage.setItem(STORAGE_KEY, JSON.stringify({ path: location.pathname, at: Date.now(), had }));
      else sessionStorage.removeItem(STORAGE_KEY);
    } catch {
      // Without storage the page begins with its card.
    }
  });
}

/** The player with which the same page of this tab played a moment ago. It counts once. @returns {Had | null} */
export function playerBeforeReload() {
  try {
    const { path, at, had } = JSON.parse(sessionStorage.getItem(STORAGE_KEY) ?? '{}');
    sessionStorage.removeItem(STORAGE_KEY);
    // In a tab the server begins anew with the page.
    return EDITION === 'server' && path === location.pathname && Date.now() - at < RESUME_WINDOW_MS ? had ?? null : null;
  } catch {
    return null;
  }
}

/** The rule by which the server says that the player of a page that comes back is gone. */
export const PLAYER_GONE = 'player_gone';

/**
 * Why a page that has lost its connection does not go on with the player that it had.
 *
 * @param {Had} before the player
 * @param {number} welcomeTick the tick in which the server welcomed it now
 */
export function newPlayerReason(before, welcomeTick) {
  return welcomeTick < before.tick ? 'The server has begun a new world: you begin anew.'
    : 'Your player has left the world meanwhile: you begin anew.';
}
