/**
 * The player's token, for servers where only its holders play. It comes with the page's link, as `#token=…` or `?token=…`; it is kept for the tab, and
 * taken out of the address bar, so that nobody copies it from there with the address of the game.
 *
 * @module lib/player-token
 */

const KEY = 'tickwire.token';
const FIELD = /([#?&])token=([^&#]*)(&|$)/;

/** Undefined until the page first asks. @type {string | null | undefined} */
let own;

/** @returns {string | null} the token of this tab */
export function ownToken() {
  if (own === undefined) {
    own = take();
    // A link with another token, opened in this tab, does not load the page again by itself.
    globalThis.addEventListener?.('hashchange', () => { if (FIELD.test(location.hash)) location.reload(); });
  }
  return own;
}

/** Forgets a token that the server does not know, so that the page can look on. */
export function forgetToken() {
  own = null;
  try {
    sessionStorage.removeItem(KEY);
  } catch {
    // It was not kept.
  }
}

/** The token in a fragment or a query. @param {string} text @returns {string | null} */
export function tokenIn(text) {
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
function take() {
  const { pathname = '', search = '', hash = '' } = globalThis.location ?? {};
  const given = tokenIn(hash) ?? tokenIn(search);
  try {
    if (given === null) return sessionStorage.getItem(KEY);
    sessionStorage.setItem(KEY, given);
    history.replaceState(history.state, '', pathname + withoutToken(search) + withoutToken(hash));
  } catch {
    // Without storage it stays in the address, for a reload.
  }
  return given;
}
