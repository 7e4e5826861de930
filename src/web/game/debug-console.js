/**
 * `window.tickwire`: the state of the page, for the console and for tests. Each read returns a
 * fresh copy; changing it does not affect the page.
 *
 * @module game/debug-console
 */

/**
 * Defines `window.tickwire`.
 * @param {{ world: import('./world/world.js').World, prediction:
 *   import('../lib/prediction.js').Prediction, lockstep: import('../lib/lockstep.js').Lockstep |
 *   null, playback: import('../playback/playback.js').Playback | null, connection:
 *   import('./net/connection.js').GameConnection, rates: import('./net/rates.js').TrafficRates,
 *   effects: import('./world/effects.js').Effects, sound: import('./sound.js').Sound, settings:
 *   import('./settings.js').Settings, input: import('./input.js').Input }} parts
 * @param {() => ReturnType<typeof import('./draw/structures.js').ghostOf>} ghost
 */
export function exposeDebugState({ world, prediction, lockstep, playback, connection, rates, effects, sound, settings, input }, ghost) {
  const own = () => (world.ownId === null ? undefined : world.players.get(world.ownId));
  const view = {
    /** Resume key of this page's connection. The inspector uses it to find the client. */
    get resumeKey() { return connection.resumeKey; },
    get id() { return world.ownId; },
    get tick() { return world.tick; },
    get epoch() { return world.epoch; },
    get seed() { return world.seed; },
    get state() { return connection.state; },
    /** Status of the lane for datagrams; null without lanes. */
    get lane() { return connection.transport.laneStatus; },
    get lives() { return connection.lives; },
    get spectated() { return world.spectated; },
    get own() { return world.own && { ...world.own }; },
    /** Predicted state of the local player; null without prediction. */
    get predicted() { return world.predicted && structuredClone(world.predicted); },
    get prediction() { return { isActive: prediction.isActive, ...prediction.features, ...prediction.figures }; },
    /** Status of the world in this page; null without lockstep. */
    get lockstep() {
      return lockstep && { isActive: lockstep.isActive, fallbackReason: lockstep.fallbackReason, ...lockstep.status(), counts: { ...lockstep.counts } };
    },
    /** Status of the playback; null in a game. */
    get watch() { return playback && playbackState(playback); },
    /** Health of the local player; null while it is not alive. */
    get health() { return own()?.health ?? null; },
    get weapon() { return own()?.weapon ?? null; },
    /** Weapon of the local player, and the item in its hand. */
    get hand() { const player = own(); return player ? { weapon: player.weapon, item: player.item } : null; },
    /** Weapons and items of the local player, and the number of its structures in each group. */
    get inventory() { return { ...structuredClone(world.built.inventory), counts: Object.fromEntries(world.built.inventory.counts) }; },
    get offers() { return structuredClone(world.built.offers); },
    /** Structure that a press would place, its position and validity; null without one. */
    get ghost() { return ghost(); },
    /** Known structures. */
    get structures() { return [...world.built.structures.values()].map((one) => ({ ...one })); },
    get resources() { const { wood, food, stone, gold } = world.stats; return { wood, food, stone, gold }; },
    /** Newest statistics of the local player. */
    get figures() { return { ...world.stats }; },
    /** Death of the local player; null while it lives. */
    get dead() { return world.death && { ...world.death }; },
    get kills() { return world.kills.map((kill) => ({ ...kill })); },
    /** Number of running effects. */
    get effects() { return effects.count(performance.now()); },
    get sound() { return { on: sound.on, open: sound.context !== null, played: sound.played, volume: sound.volume }; },
    get settings() { return { ...settings.values, auto: input.auto }; },
    /** Flying projectiles. */
    get shots() { return [...world.projectiles.flying.values()].map((shot) => ({ ...shot })); },
    get animals() {
      return [...world.animalTracker.all.values()].map(({ id, kind, shown, health, strike }) => ({ id, kind, x: shown.x, y: shown.y, health, strikes: strike.count }));
    },
    /** All clans, the clan of the local player, tags of players, clan mates and map pings. */
    get clans() { return clansOf(world.clans); },
    get notice() { return world.notice && { ...world.notice }; },
    /** Players in view by number: the newest received position and the rendered one. */
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

/** @param {import('../playback/playback.js').Playback} playback */
function playbackState(playback) {
  const { why, status, playing, speed, tick, seeking, followed, room, isWhole, marks, times } = playback;
  return { ...status, why, playing, speed, tick, seeking, followed, room, isWhole, marks: marks.length, times: { ...times },
    checksums: playback.checksums(), players: playback.players() };
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
