/**
 * The clients that ended last. The server keeps their last frames while a watcher is connected.
 *
 * @module inspector/list/ended-clients
 */

/** See the module. */
export class EndedClients {
  constructor() {
    this.forget();
  }

  /** Another server keeps other clients. */
  forget() {
    /** @type {import('./source-menu.js').Client[]} */
    this.clients = [];
    /** Clients whose end was received: their frames are in the inspector. @type {Set<number | null>} */
    this.complete = new Set();
  }

  /** @param {number | null} client whose end was received */
  received(client) {
    this.complete.add(client);
  }

  /** What to ask the server for a client's frames; nothing of a client whose frames are all there. @param {number | null} client */
  request(client) {
    return { watch: this.complete.has(client) ? null : client };
  }
}
