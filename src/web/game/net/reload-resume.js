/**
 * Resumes the player after a reload of the page. The server keeps the seat meanwhile.
 *
 * @module game/net/reload-resume
 */

import { EDITION } from '../../wasm/edition.js';

const STORAGE_KEY = 'tickwire.played';
/** Maximum time between unload and load for a resume, ms. */
const RESUME_WINDOW_MS = 30_000;

/**
 * Player of a page: its number, and its newest received tick.
 * @typedef {{ id: number, tick: number }} Had
 */

/**
 * Saves the player of the page when it unloads.
 * @param {() => Had | null} player returns the player of this page; null if it has no player
 */
export function savePlayerOnUnload(player) {
  addEventListener('pagehide', () => {
    try {
      const had = player();
      if (had) sessionStorage.setItem(STORAGE_KEY, JSON.stringify({ path: location.pathname, at: Date.now(), had }));
      else sessionStorage.removeItem(STORAGE_KEY);
    } catch {
      // Without storage the page starts with the title card.
    }
  });
}

/**
 * Returns the player that this tab had before the reload; null if it had no player. A second call
 * returns null.
 * @returns {Had | null}
 */
export function playerBeforeReload() {
  try {
    const { path, at, had } = JSON.parse(sessionStorage.getItem(STORAGE_KEY) ?? '{}');
    sessionStorage.removeItem(STORAGE_KEY);
    // In the browser edition the server restarts with the page.
    return EDITION === 'server' && path === location.pathname && Date.now() - at < RESUME_WINDOW_MS ? had ?? null : null;
  } catch {
    return null;
  }
}

/** Rule with which the server reports that the player no longer exists. */
export const PLAYER_LEFT = 'player_left';

/**
 * Returns why a resumed page gets a new player.
 * @param {Had} before earlier player
 * @param {number} welcomeTick tick of the new `welcome`
 */
export function newPlayerReason(before, welcomeTick) {
  return welcomeTick < before.tick ? 'The server has begun a new world: you begin anew.'
    : 'Your player has left the world meanwhile: you begin anew.';
}
