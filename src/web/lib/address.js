/**
 * Reads the address of a page: the settings, such as `?netem=wifi&mode=lockstep`, the room
 * (`/r/NAME/`, otherwise the default room), and the player's token.
 *
 * Some servers require a token. The page's link contains it, as `#token=…` or `?token=…`. The page
 * stores the token for the tab and removes it from the address bar, so that a copied address does
 * not contain it.
 *
 * @module lib/address
 */

import { EDITION } from '../wasm/edition.js';

/** Query parameters of the game's page. The inspector's page also has `embedded` and `capture`. */
export const SETTINGS = ['capture', 'inspector', 'mode', 'netem', 'room', 'second', 'token', 'where'];
/** Modes in which a page receives the world. */
export const MODES = ['stream', 'lockstep'];

/**
 * Returns a sentence if the mode is unknown, otherwise ''.
 * @param {string | null | undefined} mode
 */
export function wrongMode(mode) {
  return mode === null || mode === undefined || mode === '' || MODES.includes(mode) ? '' : `mode=${mode}: must be ${MODES.join(' or ')}. This page follows as a stream.`;
}

/** Value of `room` for a room of the server's choice. */
export const ANY = 'any';
const ROOM_NAME = /^[a-z0-9-]{1,32}$/;
/** Conditions: `state:lobby,map:3`. */
const CONDITION = '[a-z0-9_]{1,16}:[^,]{1,32}';
const CONDITIONS = new RegExp(`^(${CONDITION}(,${CONDITION}){0,7})?$`, 'u');

/** Whether a room may have this name. @param {unknown} name */
export const isRoomName = (name) => typeof name === 'string' && ROOM_NAME.test(name);

/**
 * Returns a sentence if no room may have this name, otherwise ''.
 * @param {string | undefined} room a name, '' for the default room, or `any`
 */
export function wrongRoom(room) {
  return room === undefined || room === '' || isRoomName(room) ? '' : `room=${room}: must be ${ANY}, or a name of 1 to 32 characters of a-z, 0-9 and -.`;
}

/** Returns a sentence if the conditions cannot be read, otherwise ''. @param {string} conditions */
export function wrongConditions(conditions) {
  return CONDITIONS.test(conditions) ? '' : `where=${conditions}: must be at most 8 of name:value, with a comma between two of them, as in state:lobby,map:3.`;
}

/**
 * Returns conditions as in the address.
 * @param {Record<string, string | number | boolean>} where
 */
export const conditionsText = (where) => Object.entries(where).map(([name, value]) => `${name}:${value}`).join(',');

/**
 * Checks the settings in the address of the game's page.
 * @param {string} search
 * @param {'server' | 'tab'} edition
 * @returns {{ wrong: string[], unknown: string[] }} `wrong`: sentences; `unknown`: names of unknown
 *   settings
 */
export function wrongIn(search, edition) {
  const given = new URLSearchParams(search);
  const isWatching = given.has('capture');
  const wrong = [wrongMode(given.get('mode'))];
  if (!isWatching) wrong.push(...wrongChoice(given));
  if (given.has('second') && edition !== 'tab') wrong.push('second: only the tab edition, at tab/, shows two clients.');
  for (const name of ['mode', 'netem'].filter((one) => isWatching && given.has(one))) wrong.push(`${name}: has no effect on a capture.`);
  return { wrong: wrong.filter((text) => text !== ''), unknown: [...given.keys()].filter((name) => !SETTINGS.includes(name)) };
}

/** Checks the choice of a room. @param {URLSearchParams} given */
function wrongChoice(given) {
  const [room, where] = [given.get('room') ?? undefined, given.get('where')];
  const lacksAny = where !== null && room !== ANY;
  return [wrongRoom(room), lacksAny ? `where: needs room=${ANY}.` : wrongConditions(where ?? '')];
}

const STORAGE_KEY = 'tickwire.token';
const FIELD = /([#?&])token=([^&#]*)(&|$)/;

/** Cached token; undefined before the first call. @type {string | null | undefined} */
let cachedToken;

/** Returns the token of this tab. @returns {string | null} null without a token */
export function playerToken() {
  if (cachedToken === undefined) {
    cachedToken = readFromUrl();
    // Reloads the page for a token in a new fragment, because a browser does not reload a page for
    // a fragment.
    globalThis.addEventListener?.('hashchange', () => { if (FIELD.test(location.hash)) location.reload(); });
  }
  return cachedToken;
}

/** Removes a token that the server rejected, so that the page can spectate. */
export function forgetToken() {
  cachedToken = null;
  try {
    sessionStorage.removeItem(STORAGE_KEY);
  } catch {
    // Storage is forbidden, so the token was not stored.
  }
}

/** Finds the token in a fragment or a query. @param {string} text @returns {string | null} */
export function findToken(text) {
  const value = FIELD.exec(text)?.[2];
  try {
    return value ? decodeURIComponent(value) : null;
  } catch {
    return value ?? null;
  }
}

/** Removes the token from a fragment or a query. @param {string} text */
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
    // Without storage the token stays in the address for a reload.
  }
  return given;
}

const PATH = /\/r\/([a-z0-9-]{1,32})\/[^/]*$/;
/** Prefix of the names of private rooms. */
const PRIVATE = 'p-';
/** Number of random characters after the prefix. */
const RANDOM_CHARS = 24;
/** The 32 characters of the random part. Each character encodes five random bits. */
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

/**
 * @typedef {{ on_demand: boolean, notice: string | null, rooms: { name: string, game: string,
 *   path: string, players: number, bots: number,
 *   best_of_day: { name: string, score: number } | null }[] }} RoomList
 */

/** @type {Promise<RoomList | null> | undefined} */
let fetchedRooms;

/** @returns {Promise<RoomList | null>} null without a response */
const fetchRooms = () => fetch(urlFromRoot(location.href, 'rooms?format=json')).then((answer) => answer.json()).catch(() => null);

/**
 * Returns the public rooms of the server, and whether it creates rooms. Fetches the list once,
 * unless the caller needs a new one.
 * @param {boolean} [isNew]
 * @returns {Promise<RoomList | null>} null without a response
 */
export function roomList(isNew = false) {
  if (isNew || !fetchedRooms) fetchedRooms = fetchRooms();
  return fetchedRooms;
}

/**
 * Returns the address of a new private room of this page's game, for a link "Play with friends".
 * The first visitor creates the room.
 * @returns {Promise<string | null>} null if the server creates no rooms of this game, or if this
 *   page is already in a private room. In that case, the address of the page is the invitation
 */
export async function newPrivateRoomUrl() {
  const room = roomOf(location.pathname);
  const list = isPrivate(room) || EDITION !== 'server' || captureFromQuery(location.search) !== null ? null : await fetchRooms();
  /** @param {string} name */
  const game = (name) => list?.rooms.find((one) => one.name === name)?.game;
  return list?.on_demand === true && game(room) === game('') ? urlFromRoot(location.href, `r/${newPrivateName()}/`) : null;
}
