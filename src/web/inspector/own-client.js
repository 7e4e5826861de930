/**
 * The client of the game that contains the inspector.
 *
 * The game's page sends a resume key with its connection. A request with this key returns the
 * number of the client, or sends bytes on its connection. The inspector reads the key from the
 * parent page, which has the same origin. A separate inspector page has no such client.
 *
 * @module inspector/own-client
 */

import { parentGame } from './host-page.js';

const RESUME_KEY = /^[0-9a-f]{32}$/;

/** Client of the parent game. */
export class OwnClient {
  /**
   * @param {(wish: Record<string, unknown>) => void} request sends a request to the server
   * @param {() => import('./host-page.js').ParentGame | null} game
   */
  constructor(request, game = () => parentGame(window)) {
    this.request = request;
    this.game = game;
    /** Number of the game's client; null while it is unknown. @type {number | null} */
    this.id = null;
  }

  /** @returns {string | null} */
  get resumeKey() {
    const key = this.game()?.resumeKey;
    return typeof key === 'string' && RESUME_KEY.test(key) ? key : null;
  }

  /** Requests the number of the game's client, which changes with each reconnect. */
  requestOwnClient() {
    if (this.resumeKey !== null) this.request({ find_own: this.resumeKey });
  }

  /** Receives the number of the game's client. @param {number | null} id */
  onOwnClient(id) {
    this.id = id;
  }

  /**
   * Sends bytes on the connection of the game's client.
   * @param {string} bytes in hexadecimal
   * @returns {boolean} false without a resume key
   */
  inject(bytes) {
    if (this.resumeKey === null) return false;
    this.request({ inject: this.resumeKey, bytes });
    return true;
  }
}
