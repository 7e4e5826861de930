/**
 * The room of a page: chosen by the address, by the options of `connect`, or by the server.
 *
 * ```text
 *  ?room=any ─► upgrade at play?room=any ─► welcome ─► rooms?epoch=… ─► name ─► address /r/NAME/
 * ```
 *
 * A room that the server has chosen stays the room of the page: after `welcome` the page finds its
 * name and changes its address, so that a reload and a copied address lead to the same room.
 *
 * @module lib/room-choice
 */

import { ANY, captureFromQuery, conditionsText, isRoomName, roomOf, urlFromRoot, wrongConditions, wrongRoom } from './address.js';

/** Number of requests for the name of the room, and the delay between them, ms. */
const FIND_ATTEMPTS = 3;
const FIND_RETRY_MS = 1000;

/** Folder of the pages of a room, from the server's root. @param {string} name */
const folderOf = (name) => (name === '' ? '' : `r/${name}/`);

/**
 * Whether a page is the page of a room on the server of this endpoint.
 * @param {string} page
 * @param {string} endpoint
 */
const isOwnPage = (page, endpoint) => /\/(index\.html)?$/.test(new URL(page).pathname) && urlFromRoot(page, '') === urlFromRoot(endpoint, '');

export class RoomChoice {
  /**
   * Conditions for a room of the server's choice, as in the address; null for a named room.
   * @type {string | null}
   */
  #conditions = null;
  /** Whether the room differs from the one of the endpoint. */
  #isGiven = false;
  #endpoint;
  #page;

  /**
   * @param {{ room?: string, where?: Record<string, string | number | boolean> }} options
   * @param {string} endpoint URL with the scheme http
   * @param {string} [page] URL of the page; '' outside a browser
   * @throws {RangeError} naming the option that breaks a rule
   */
  constructor({ room, where = {} }, endpoint, page = globalThis.location?.href ?? '') {
    this.#endpoint = endpoint;
    this.#page = page;
    /**
     * Name; '' for the default room, null until the server has chosen a room.
     * @type {string | null}
     */
    this.name = roomOf(new URL(endpoint).pathname);
    const conditions = conditionsText(where);
    const wrong = room === undefined && conditions !== '' ? `where: needs room: '${ANY}'` : wrongRoom(room) || wrongConditions(conditions);
    if (wrong !== '') throw new RangeError(wrong);
    if (page === '' || captureFromQuery(new URL(page).search) !== null) this.#choose(room, conditions);
    else this.#chooseFor(new URL(page), room, conditions);
  }

  /**
   * The address precedes the option, so that a link leads to its room.
   * @param {URL} page
   * @param {string | undefined} room
   * @param {string} conditions
   */
  #chooseFor(page, room, conditions) {
    const query = page.searchParams;
    const [asked, where] = [query.get('room'), query.get('where') ?? ''];
    const ofPath = isOwnPage(page.href, this.#endpoint) ? roomOf(page.pathname) : '';
    // The game's page shows what is wrong in its address.
    if (asked !== null && wrongRoom(asked) === '' && wrongConditions(where) === '') this.#choose(asked, where);
    else if (room === ANY && ofPath !== '') this.#choose(ofPath, '');
    else this.#choose(room, conditions);
  }

  /** @param {string | undefined} room @param {string} conditions */
  #choose(room, conditions) {
    if (room === ANY) [this.name, this.#conditions] = [null, conditions];
    else if (room !== undefined) [this.name, this.#isGiven] = [room, true];
  }

  /** Adds the room to the URL of the endpoint. @param {URL} url @returns {URL} */
  urlOf(url) {
    if (this.name === null) return this.#anyOf(url);
    return this.#isGiven ? new URL(urlFromRoot(url.href, folderOf(this.name) + url.pathname.split('/').pop()) + url.search) : url;
  }

  /** @param {URL} url */
  #anyOf(url) {
    url.searchParams.set('room', ANY);
    if (this.#conditions) url.searchParams.set('where', this.#conditions);
    return url;
  }

  /** Address of the page in this room, for a link, without secrets. @returns {string} */
  get link() {
    const url = new URL(this.#page === '' ? urlFromRoot(this.#endpoint, '') : globalThis.location?.href ?? this.#page);
    url.hash = '';
    for (const field of ['room', 'where', 'token']) if (url.searchParams.has(field)) url.searchParams.delete(field);
    const { name } = this;
    if (name === null) return this.#anyOf(url).href;
    if (isOwnPage(url.href, this.#endpoint)) return urlFromRoot(this.#endpoint, folderOf(name)) + url.search;
    if (name !== '') url.searchParams.set('room', name);
    return url.href;
  }

  /**
   * Finds the name of the room that the server has chosen, and changes the address of the page.
   * @param {string | undefined} epoch of `welcome`
   * @param {() => boolean} isCurrent whether the connection still exists
   * @returns {Promise<string | null>} the name; null if it was not found
   */
  async find(epoch, isCurrent) {
    for (let attempt = 0; attempt < FIND_ATTEMPTS && epoch !== undefined; attempt += 1) {
      if (attempt > 0) await new Promise((resolve) => { setTimeout(resolve, FIND_RETRY_MS); });
      const answer = await fetch(`${urlFromRoot(this.#endpoint, 'rooms')}?format=json&epoch=${epoch}`, { cache: 'no-store' }).catch(() => null);
      const name = (await answer?.json().catch(() => null))?.rooms?.[0]?.name;
      if (!isCurrent()) return null;
      if (name === '' || isRoomName(name)) {
        [this.name, this.#isGiven] = [name, true];
        this.#changeAddress();
        return name;
      }
    }
    console.warn('tickwire: the name of the room is unknown, so a reload may lead to another room');
    return null;
  }

  #changeAddress() {
    if (this.#page === '' || !globalThis.history) return;
    const { hash } = location;
    try {
      history.replaceState(history.state, '', this.link + hash);
    } catch {
      // The page is in a frame without an address of its own.
    }
  }
}
