/**
 * The player's token, for servers where only its holders play. It comes with the page's link, as `#token=…` or `?token=…`; it is kept for the tab, and
 * taken out of the address bar, so that nobody copies it from there with the address of the game.
 *
 * @module lib/player-token
 */

const STORAGE_KEY = 'tickwire.token';
const FIELD = /([#?&])token=([^&#]*)(&|$)/;

/** Undefined until the page first asks. @type {string | null | undefined} */
let cachedToken;

/** @returns {string | null} the token of this tab */
export function playerToken() {
  if (cachedToken === undefined) {
    cachedToken = readFromUrl();
    // A link with another token, opened in this tab, does not load the page again by itself.
    globalThis.addEventListener?.('hashchange', () => { if (FIELD.test(location.hash)) location.reload(); });
  }
  return cachedToken;
}

/** Forgets a token that the server does not know, so that the page can look on. */
export function forgetToken() {
  cachedToken = null;
  try {
    sessionStorage.removeItem(STORAGE_KEY);
  } catch {
    // It was not kept.
  }
}

/** The token in a fragment or a query. @param {string} text @returns {string | null} */
export function findToken(text) {
  const value = FIELD.exec(text)?.[2];
  try {
    return value ? decodeURIComponent(value) : null;
  } catch {
    return value ?? null;
  }
}

/** A fragment or a query without its token. @param {string} text */
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
    // Without storage it stays in the address, for a reload.
  }
  return given;
}
