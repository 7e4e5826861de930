/**
 * Whether this page was left while it played, a moment ago, as by a reload: then it goes on playing without a question. The server keeps the player
 * meanwhile.
 *
 * @module coming-back
 */

import { EDITION } from './edition.js';

const KEY = 'tickwire.played';
/** A page that was left longer ago begins with its card, ms. */
const MOMENT_MS = 30_000;

/**
 * Notes at the end of the page whether it plays.
 *
 * @param {() => boolean} isPlaying
 */
export function noteLeaving(isPlaying) {
  addEventListener('pagehide', () => {
    try {
      if (isPlaying()) sessionStorage.setItem(KEY, JSON.stringify({ path: location.pathname, at: Date.now() }));
      else sessionStorage.removeItem(KEY);
    } catch {
      // Without storage the page begins with its card.
    }
  });
}

/** Whether the same page of this tab played a moment ago. It counts once. @returns {boolean} */
export function isComingBack() {
  try {
    const { path, at } = JSON.parse(sessionStorage.getItem(KEY) ?? '{}');
    sessionStorage.removeItem(KEY);
    // In a tab the server begins anew with the page.
    return EDITION === 'server' && path === location.pathname && Date.now() - at < MOMENT_MS;
  } catch {
    return false;
  }
}
