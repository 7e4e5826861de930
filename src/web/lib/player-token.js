/**
 * The player's token, for servers that require one. It comes with the page's link, as `#token=…` or
 * `?token=…`. The page stores it for the tab and removes it from the address bar, so that a copied
 * address does not contain it.
 *
 * @module lib/player-token
 */

const STORAGE_KEY = 'tickwire.token';
const FIELD = /([#?&])token=([^&#]*)(&|$)/;

/** Cached token; undefined before the first call. @type {string | null | undefined} */
let cachedToken;

/** Returns the token of this tab. @returns {string | null} null without a token */
export function playerToken() {
  if (cachedToken === undefined) {
    cachedToken = readFromUrl();
    // Reloads the page, because a link that changes only the fragment does not.
    globalThis.addEventListener?.('hashchange', () => { if (FIELD.test(location.hash)) location.reload(); });
  }
  return cachedToken;
}

/** Removes a token that the server rejected, so that the page can spectate. */
export function forgetToken() {
  cachedToken = null;
  try {
    sessionStorage.removeItem(STORAGE_KEY);
  } catch {
    // Storage is forbidden, so the token was not stored.
  }
}

/** Finds the token in a fragment or a query. @param {string} text @returns {string | null} */
export function findToken(text) {
  const value = FIELD.exec(text)?.[2];
  try {
    return value ? decodeURIComponent(value) : null;
  } catch {
    return value ?? null;
  }
}

/** Removes the token from a fragment or a query. @param {string} text */
export const withoutToken = (text) => text.replace(FIELD, (_, before, _token, behind) => (behind === '' ? '' : before));

/** @returns {string | null} */
function readFromUrl() {
  const { pathname = '', search = '', hash = '' } = globalThis.location ?? {};
  const given = findToken(hash) ?? findToken(search);
  try {
    if (given === null) return sessionStorage.getItem(STORAGE_KEY);
    sessionStorage.setItem(STORAGE_KEY, given);
    history.replaceState(history.state, '', pathname + withoutToken(search) + withoutToken(hash));
  } catch {
    // Without storage the token stays in the address for a reload.
  }
  return given;
}
