/**
 * Recently ended clients. The server stores their last frames while an inspector is connected.
 *
 * @module inspector/list/ended-clients
 */

import { ALL_CLIENTS } from '../explainer.js';

/** List of recently ended clients. */
export class EndedClients {
  constructor() {
    /** @type {import('./source-menu.js').Client[]} */
    this.clients = [];
    /**
     * Clients whose end was received. This page has all their frames.
     * @type {Set<number | null>}
     */
    this.complete = new Set();
  }

  /** Clears the list for a new server. */
  forget() {
    this.clients = [];
    this.complete.clear();
  }

  /** Records the end of a client. @param {number | null} client */
  received(client) {
    this.complete.add(client);
  }

  /**
   * Returns the request for the frames of a client. If this page has all frames of the client,
   * requests no client.
   * @param {number | null} client
   */
  request(client) {
    if (client === ALL_CLIENTS) return { select: 'all' };
    return { select: this.complete.has(client) ? null : client };
  }
}
