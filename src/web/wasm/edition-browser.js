/**
 * Replaces `wasm/edition.js` in the browser edition.
 *
 * @module wasm/edition-browser
 */

/** @type {'server' | 'tab'} */
export const EDITION = 'tab';

/** Game of the server in this tab; '' for the default one. @type {string} */
export const GAME = '';

/** Number of bots in the world of this tab. */
export const BOTS = 20;
