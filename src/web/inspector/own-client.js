/**
 * The connection that is one's own: that of the game beside which the inspector is shown.
 *
 * The game's page makes a proof and sends it with its connection; whoever knows the proof may ask which client that is, and send bytes in its
 * name. The inspector reads the proof from the page around it, which must be of the same origin. Alone, no connection is one's own.
 *
 * @module inspector/own-client
 */

import { parentGame } from './host-page.js';

const RESUME_KEY = /^[0-9a-f]{32}$/;

/** See the module. */
export class OwnClient {
  /** @param {(wish: Record<string, unknown>) => void} request to the server @param {() => any} game */
  constructor(request, game = () => parentGame(window)) {
    this.request = request;
    this.game = game;
    /** The number of one's own client; null while it is not known. @type {number | null} */
    this.id = null;
  }

  /** @returns {string | null} */
  get resumeKey() {
    const key = this.game()?.resumeKey;
    return typeof key === 'string' && RESUME_KEY.test(key) ? key : null;
  }

  /** Asks which client is one's own: it is another one after each reconnection. */
  requestOwnClient() {
    if (this.resumeKey !== null) this.request({ own: this.resumeKey });
  }

  /** @param {number | null} id as the server answers */
  onOwnClient(id) {
    this.id = id;
  }

  /** Sends bytes in the name of one's own client. @param {string} bytes in hexadecimal @returns {boolean} whether they could be sent */
  inject(bytes) {
    if (this.resumeKey === null) return false;
    this.request({ inject: this.resumeKey, bytes });
    return true;
  }
}
