/**
 * Edition of the pages. The pages of `server` connect to the server that sent them; in `tab`, the
 * browser edition, the server runs in a worker of the page. The browser edition replaces this file
 * by `wasm/edition-browser.js`; scripts/browser-edition.sh writes a variant for another game. All
 * other files are the same.
 *
 * @module wasm/edition
 */

/** @type {'server' | 'tab'} */
export const EDITION = 'server';

/** Game of the server in this tab; '' for the default one. @type {string} */
export const GAME = '';

/** Number of bots in the world of this tab. */
export const BOTS = 20;
