/**
 * Handlers of a page's packets and events, by name.
 *
 * @module lib/handlers
 */

/** Names that are not packets. */
const EVENTS = ['open', 'close', 'error'];

export class Handlers {
  /** @type {Map<string, Set<(event: any) => void>>} */
  #handlers = new Map();
  /** @type {import('./codec.js').Dialect | null} */
  #dialect = null;

  /**
   * Adds a handler.
   * @param {string} name
   * @param {(event: any) => void} handler
   * @returns {() => void} removes the handler
   */
  add(name, handler) {
    const handlers = this.#handlers.get(name) ?? new Set();
    this.#handlers.set(name, handlers.add(handler));
    this.#check(name);
    return () => { handlers.delete(handler); };
  }

  /** Checks the names of all handlers. @param {import('./codec.js').Dialect | null} dialect */
  check(dialect) {
    this.#dialect = dialect;
    for (const name of this.#handlers.keys()) this.#check(name);
  }

  /** Warns about a name that is neither a packet nor an event. @param {string} name */
  #check(name) {
    if (!this.#dialect || EVENTS.includes(name) || this.#dialect.clientPackets.has(name)) return;
    console.warn(`game.on: the dialect ${this.#dialect.name} has no packet ${name} to the client`);
  }

  /** Calls the handlers of a name. @param {string} name @param {any} event */
  emit(name, event) {
    for (const handler of this.#handlers.get(name) ?? []) {
      try {
        handler(event);
      } catch (error) {
        // Reports the error as an uncaught error, so that the other handlers still run.
        queueMicrotask(() => { throw error; });
      }
    }
  }
}
