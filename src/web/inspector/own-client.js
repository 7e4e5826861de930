/**
 * The client of the game that contains the inspector.
 *
 * The game's page sends a resume key with its connection. With the key one may ask for the client
 * and send bytes in its name. The inspector reads the key from the parent page of the same origin;
 * a separate inspector page has no own client.
 *
 * @module inspector/own-client
 */

import { parentGame } from './host-page.js';

const RESUME_KEY = /^[0-9a-f]{32}$/;

/** Client of the parent game. */
export class OwnClient {
  /**
   * @param {(wish: Record<string, unknown>) => void} request sends a request to the server
   * @param {() => any} game
   */
  constructor(request, game = () => parentGame(window)) {
    this.request = request;
    this.game = game;
    /** Number of the own client; null while it is unknown. @type {number | null} */
    this.id = null;
  }

  /** @returns {string | null} */
  get resumeKey() {
    const key = this.game()?.resumeKey;
    return typeof key === 'string' && RESUME_KEY.test(key) ? key : null;
  }

  /** Requests the number of the own client, which changes after each reconnect. */
  requestOwnClient() {
    if (this.resumeKey !== null) this.request({ find_own: this.resumeKey });
  }

  /** Receives the number of the own client. @param {number | null} id */
  onOwnClient(id) {
    this.id = id;
  }

  /**
   * Sends bytes as the own client.
   * @param {string} bytes in hexadecimal
   * @returns {boolean} false without a resume key
   */
  inject(bytes) {
    if (this.resumeKey === null) return false;
    this.request({ inject: this.resumeKey, bytes });
    return true;
  }
}
