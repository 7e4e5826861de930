/**
 * The room of a page, by its address: a room's page is at `/r/NAME/`, that of the default room is not.
 *
 * @module lib/room
 */

const PATH = /\/r\/([a-z0-9-]{1,32})\/[^/]*$/;
/** How the names of private rooms begin, and how many random characters follow. */
const PRIVATE = 'p-';
const RANDOM_CHARS = 24;
/** 32 characters, each of which stands for five random bits. */
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';

/** @param {string} pathname of the page @returns {string} the room's name, empty for the default room */
export const roomOf = (pathname) => PATH.exec(pathname)?.[1] ?? '';

/** Whether no list shows a room of this name. @param {string} room */
export const isPrivate = (room) => room.startsWith(PRIVATE) && room.length >= PRIVATE.length + RANDOM_CHARS;

/** A name that nobody guesses. */
export function newPrivateName() {
  const chars = Array.from(crypto.getRandomValues(new Uint8Array(RANDOM_CHARS)), (byte) => ALPHABET[byte % ALPHABET.length]);
  return PRIVATE + chars.join('');
}

/** An address below the server's root, as seen from a page of this room. @param {string} page its URL @param {string} path */
export const urlFromRoot = (page, path) => new URL((roomOf(new URL(page).pathname) === '' ? './' : '../../') + path, page).href;

/** The capture that the address asks for: '' for one that is to be chosen, null for none. @param {string} search */
export const captureFromQuery = (search) => new URLSearchParams(search).get('watch');
