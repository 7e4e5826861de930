/**
 * Which edition of the pages this is: `server`, whose pages talk to the server that sent them, or `tab`, whose server runs in a worker of the page.
 * The tab edition has `edition-tab.js` in place of this file; all other files are the same.
 *
 * @module edition
 */

/** @type {'server' | 'tab'} */
export const EDITION = 'server';
