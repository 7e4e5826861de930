/**
 * Which edition of the pages this is: `server`, whose pages talk to the server that sent them, or `tab`, whose server runs in a worker of the page.
 * The tab edition has `wasm/edition-browser.js` in place of this file; all other files are the same. That of another game has one made by scripts/browser-edition.sh.
 *
 * @module wasm/edition
 */

/** @type {'server' | 'tab'} */
export const EDITION = 'server';

/** The game of a server in this tab; '' for the default one. @type {string} */
export const GAME = '';

/** Bots in the world of a tab. */
export const BOTS = 20;
