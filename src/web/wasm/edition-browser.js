/**
 * In the tab edition this file is `wasm/edition.js`; see there.
 *
 * @module wasm/edition-browser
 */

/** @type {'server' | 'tab'} */
export const EDITION = 'tab';

/** The game of a server in this tab; '' for the default one. @type {string} */
export const GAME = '';

/** Bots in the world of a tab. */
export const BOTS = 20;
