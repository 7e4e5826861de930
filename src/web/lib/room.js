/**
 * The room of a page, by its address: `/r/NAME/` for a named room, otherwise the default room.
 *
 * @module lib/room
 */

const PATH = /\/r\/([a-z0-9-]{1,32})\/[^/]*$/;
/** Prefix of the names of private rooms. */
const PRIVATE = 'p-';
/** Number of random characters after the prefix. */
const RANDOM_CHARS = 24;
/** Alphabet of the random characters. It has 32, so that each encodes five random bits. */
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';

/**
 * Returns the room of a page.
 * @param {string} pathname of the page
 * @returns {string} name; '' for the default room
 */
export const roomOf = (pathname) => PATH.exec(pathname)?.[1] ?? '';

/** Whether a room is private and therefore not listed. @param {string} room */
export const isPrivate = (room) => room.startsWith(PRIVATE) && room.length >= PRIVATE.length + RANDOM_CHARS;

/** Returns a random name for a private room. */
export function newPrivateName() {
  const chars = Array.from(crypto.getRandomValues(new Uint8Array(RANDOM_CHARS)), (byte) => ALPHABET[byte % ALPHABET.length]);
  return PRIVATE + chars.join('');
}

/**
 * Returns an address below the server's root, from a page of this room.
 * @param {string} page URL of the page
 * @param {string} path
 */
export const urlFromRoot = (page, path) => new URL((roomOf(new URL(page).pathname) === '' ? './' : '../../') + path, page).href;

/**
 * Returns the capture in the address; '' to let the user choose one; null if the page plays no
 * capture.
 * @param {string} search
 */
export const captureFromQuery = (search) => new URLSearchParams(search).get('capture');
