/**
 * The key by which the server knows this page again, also after a reload: to give it back its player, and to tell it at `/wire`
 * which client is its own. It is a secret of this tab.
 *
 * @module own-key
 */

const KEY = 'tickwire.key';

/** Where there is no storage, as in Node: one for each run. @type {string | undefined} */
let runKey;

/** A key that no other page has: 32 hex digits. */
export const freshKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');

let isTaken = false;

/** The key for a connection: of several at once, as of two players on one screen, only one has that of the tab. */
export function takeKey() {
  if (isTaken) return freshKey();
  isTaken = true;
  return ownKey();
}

/** Gives the tab's key back. @param {string} key */
export function giveKeyBack(key) {
  if (key === ownKey()) isTaken = false;
}

/** @returns {string} the key of the tab: 32 hex digits */
export function ownKey() {
  try {
    const key = sessionStorage.getItem(KEY) ?? freshKey();
    sessionStorage.setItem(KEY, key);
    return key;
  } catch {
    runKey ??= freshKey();
    return runKey;
  }
}
