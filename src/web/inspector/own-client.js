/**
 * The connection that is one's own: that of the game beside which the inspector is shown.
 *
 * The game's page makes a proof and sends it with its connection; whoever knows the proof may ask which client that is, and send bytes in its
 * name. The inspector reads the proof from the page around it, which must be of the same origin. Alone, no connection is one's own.
 *
 * @module inspector/own-client
 */

import { gameAround } from './host-page.js';

const PROOF = /^[0-9a-f]{32}$/;

/** See the module. */
export class Own {
  /** @param {(wish: Record<string, unknown>) => void} say to the server @param {() => any} game */
  constructor(say, game = () => gameAround(window)) {
    this.say = say;
    this.game = game;
    /** The number of one's own client; null while it is not known. @type {number | null} */
    this.id = null;
  }

  /** @returns {string | null} */
  get proof() {
    const proof = this.game()?.proof;
    return typeof proof === 'string' && PROOF.test(proof) ? proof : null;
  }

  /** Asks which client is one's own: it is another one after each reconnection. */
  ask() {
    if (this.proof !== null) this.say({ own: this.proof });
  }

  /** @param {number | null} id as the server answers */
  heard(id) {
    this.id = id;
  }

  /** Sends bytes in the name of one's own client. @param {string} bytes in hexadecimal @returns {boolean} whether they could be sent */
  inject(bytes) {
    if (this.proof === null) return false;
    this.say({ inject: this.proof, bytes });
    return true;
  }
}
