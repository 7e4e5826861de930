/**
 * `window.tickwire`: what the page knows, to be read from the console or by a test. Each read makes a fresh copy;
 * nothing that is done to it changes the page.
 *
 * @module game/debug-console
 */

/**
 * @param {{ world: import('./world/world.js').World, prediction: import('../lib/prediction.js').Prediction, lockstep: import('../lib/lockstep.js').Lockstep | null,
 *   watch: import('../playback/playback.js').Playback | null, connection: import('./net/connection.js').GameConnection, rates: import('./net/rates.js').TrafficRates,
 *   effects: import('./world/effects.js').Effects, sound: import('./sound.js').Sound, settings: import('./settings.js').Settings,
 *   input: import('./input.js').Input }} parts
 * @param {() => ReturnType<typeof import('./draw/structures.js').ghostOf>} ghost
 */
export function exposeDebugState({ world, prediction, lockstep, watch, connection, rates, effects, sound, settings, input }, ghost) {
  const own = () => (world.ownId === null ? undefined : world.players.get(world.ownId));
  const view = {
    /** What all connections of this page send in the query of their address, so that the inspector beside it can tell them from others. */
    get resumeKey() { return connection.resumeKey; },
    get id() { return world.ownId; },
    get tick() { return world.tick; },
    get epoch() { return world.epoch; },
    get seed() { return world.seed; },
    get state() { return connection.state; },
    get lives() { return connection.lives; },
    get watching() { return world.spectated; },
    get own() { return world.own && { ...world.own }; },
    /** What is predicted of oneself now, null without prediction; and how well. */
    get predicted() { return world.predicted && structuredClone(world.predicted); },
    get prediction() { return { isActive: prediction.isActive, ...prediction.features, ...prediction.figures }; },
    /** The world that this page runs; null in a page that follows as a stream. */
    get lockstep() {
      return lockstep && { isActive: lockstep.isActive, fallbackReason: lockstep.fallbackReason, ...lockstep.status(), counts: { ...lockstep.counts } };
    },
    /** The capture that this page watches; null in a game. */
    get watch() { return watch && watchOf(watch); },
    /** One's own health; null without a body. */
    get health() { return own()?.health ?? null; },
    get weapon() { return own()?.weapon ?? null; },
    /** What oneself holds: a weapon, and an item in its place or null. */
    get hand() { const player = own(); return player ? { weapon: player.weapon, item: player.item } : null; },
    /** One's own weapons and items, and how many of each group stand. */
    get kit() { return { ...structuredClone(world.built.kit), counts: Object.fromEntries(world.built.kit.counts) }; },
    get offers() { return structuredClone(world.built.offers); },
    /** What would be built now, where, and whether it can be; null with nothing to build in the hand. */
    get ghost() { return ghost(); },
    /** What players built and the page knows to stand. */
    get structures() { return [...world.built.structures.values()].map((one) => ({ ...one })); },
    get resources() { const { wood, food, stone, gold } = world.stats; return { wood, food, stone, gold }; },
    /** One's own figures as the server told them last. */
    get figures() { return { ...world.stats }; },
    /** How one died, null while one lives. */
    get dead() { return world.death && { ...world.death }; },
    get kills() { return world.kills.map((kill) => ({ ...kill })); },
    /** Pieces and numbers that fly at this moment. */
    get effects() { return effects.count(performance.now()); },
    get sound() { return { on: sound.on, open: sound.context !== null, played: sound.played, volume: sound.volume }; },
    get settings() { return { ...settings.values, auto: input.auto }; },
    /** What flies at this moment. */
    get shots() { return [...world.projectiles.flying.values()].map((shot) => ({ ...shot })); },
    /** Animals in view. */
    get animals() {
      return [...world.animalTracker.all.values()].map(({ id, kind, shown, health, strike }) => ({ id, kind, x: shown.x, y: shown.y, health, strikes: strike.count }));
    },
    /** All clans, one's own, and what the page knows of others: their clans, where mates are, places shown. */
    get clans() { return clansOf(world.clans); },
    get notice() { return world.notice && { ...world.notice }; },
    /** Players in view by id: newest position heard, position drawn. */
    get players() { return Object.fromEntries([...world.players.values()].map((player) => [player.id, playerOf(player)])); },
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

/** @param {import('../playback/playback.js').Playback} watch */
function watchOf(watch) {
  const { why, status, playing, speed, tick, seeking, followed, room, isWhole, marks, times } = watch;
  return { ...status, why, playing, speed, tick, seeking, followed, room, isWhole, marks: marks.length, times: { ...times },
    checksums: watch.checksums(), players: watch.players() };
}

/** @param {import('./world/player.js').Player} player */
function playerOf(player) {
  const { last } = player.track;
  return { name: player.name, skin: player.skin, x: last?.x ?? null, y: last?.y ?? null, heading: last?.heading ?? null,
    tick: last?.tick ?? null, shown: { ...player.shown }, bubble: player.bubble?.text ?? null, health: player.health,
    weapon: player.weapon, item: player.item, swings: player.swing.count };
}

/** @param {import('./world/clans.js').Clans} clans */
function clansOf(clans) {
  const { all, own, tags, requested } = clans;
  const now = performance.now();
  return structuredClone({ all: [...all.values()], own, asked: requested, tags: Object.fromEntries(tags), mates: clans.matesAt(now), pings: clans.pingsAt(now) });
}
