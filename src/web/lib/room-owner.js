/**
 * The process of a cluster that has the room of a page.
 *
 * ```text
 *  page ─ rooms/NAME ─► its own server ─► URL of the owner ─► WebSocket to the owner
 *                                         └─ none, or unreachable ─► WebSocket to its own server,
 *                                                                    which relays it
 * ```
 *
 * Every server of a cluster accepts clients of every room, so a page needs no answer: without one,
 * or after a failed connection to the owner, it connects to its own server.
 *
 * @module lib/room-owner
 */

import { urlFromRoot } from './address.js';

/** Duration after which the page does not wait for the answer, ms. */
const ANSWER_MS = 1000;
/** Duration for which an owner is not used after a failed connection, ms. */
const FAILED_MS = 60_000;

export class RoomOwner {
  /** URL of the owner to which the last attempt connects; '' for the page's own server. */
  url = '';
  /** Whether the server belongs to no cluster, so that it is not asked again. */
  #isAlone = false;
  /** URL of an owner that the browser does not reach, and the time of the failure, ms. */
  #failed = { url: '', atMs: 0 };

  /**
   * Finds the owner of a room.
   * @param {string} endpoint URL of the endpoint of the page's own server, with the scheme http
   * @param {string | null} name of the room; '' for the default room, which each server has
   * @param {boolean} isSecure whether the page is loaded by https, and may connect to no other
   *   scheme
   * @returns {Promise<string>} URL without a path; '' for the page's own server
   */
  async find(endpoint, name, isSecure) {
    this.url = '';
    if (this.#isAlone || !name) return '';
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    const late = new Promise((resolve) => { timer = setTimeout(() => resolve(null), ANSWER_MS); });
    const answer = await Promise.race([this.#request(endpoint, name), late]);
    clearTimeout(timer);
    if (answer?.cluster === false) this.#isAlone = true;
    if (typeof answer?.url === 'string' && this.#isUsable(answer.url, isSecure)) this.url = answer.url;
    return this.url;
  }

  /**
   * @param {string} endpoint
   * @param {string} name
   * @returns {Promise<any>} null without an answer
   */
  async #request(endpoint, name) {
    const answer = await fetch(urlFromRoot(endpoint, `rooms/${name}`), { cache: 'no-store' }).catch(() => null);
    // A server without this page belongs to no cluster.
    if (answer?.status === 404) return { cluster: false };
    return answer?.json().catch(() => null) ?? null;
  }

  /** @param {string} url @param {boolean} isSecure */
  #isUsable(url, isSecure) {
    if (!/^https?:\/\/[^/]+$/.test(url) || (isSecure && !url.startsWith('https:'))) return false;
    return url !== this.#failed.url || performance.now() - this.#failed.atMs > FAILED_MS;
  }

  /** Records that the last attempt has not reached the owner. */
  onFailed() {
    if (this.url !== '') this.#failed = { url: this.url, atMs: performance.now() };
  }
}

/**
 * Moves the URL of an endpoint to the owner of its room.
 * @param {URL} url `…/r/NAME/play?…`, with any folder before `r`
 * @param {string} owner URL without a path; '' for no change
 */
export function atOwner(url, owner) {
  const path = /\/r\/[a-z0-9-]{1,32}\/[^/]*$/.exec(url.pathname)?.[0];
  return owner === '' || path === undefined ? url : new URL(path + url.search, owner);
}
