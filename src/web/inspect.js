/**
 * `window.tickwire`: what the page knows, to be read from the console or by a test. Each read makes a fresh copy;
 * nothing that is done to it changes the page.
 *
 * @module inspect
 */

/**
 * @param {import('./world.js').World} world
 * @param {import('./connection.js').Connection} connection
 * @param {import('./rates.js').Rates} rates
 */
export function expose(world, connection, rates) {
  const view = {
    get id() { return world.ownId; },
    get tick() { return world.tick; },
    get epoch() { return world.epoch; },
    get seed() { return world.seed; },
    get state() { return connection.state; },
    get lives() { return connection.lives; },
    get watching() { return world.watched; },
    get own() { return world.own && { ...world.own }; },
    /** Players in view by id: newest position heard, position drawn. */
    get players() {
      return Object.fromEntries([...world.players.values()].map((player) => [player.id, {
        name: player.name,
        skin: player.skin,
        x: player.track.last?.x ?? null,
        y: player.track.last?.y ?? null,
        heading: player.track.last?.heading ?? null,
        tick: player.track.last?.tick ?? null,
        shown: { ...player.shown },
        bubble: player.bubble?.text ?? null,
      }]));
    },
    get objects() { return [...world.things.values()].map((thing) => ({ ...thing })); },
    get leaderboard() { return structuredClone(world.leaderboard); },
    get chat() { return world.chat.map((line) => ({ ...line })); },
    get error() { return world.error && { ...world.error }; },
    get stats() {
      return { ...connection.stats, perSecond: { ...rates.perSecond }, pingMs: connection.pingMs,
        delayMs: world.clock.delayMs, jitterMs: world.clock.jitterMs, framesPerSecond: rates.framesPerSecond };
    },
    get frameMs() { return [...rates.frameMs]; },
  };
  Object.defineProperty(window, 'tickwire', { value: Object.freeze(view) });
}
