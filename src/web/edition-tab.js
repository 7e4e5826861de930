/**
 * In the tab edition this file is `edition.js`; see there.
 *
 * @module edition
 */

/** @type {'server' | 'tab'} */
export const EDITION = 'tab';
