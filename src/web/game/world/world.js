/**
 * State of the world in view: packets come in, state comes out. It stores the state that the server
 * has sent, and the prediction of the local player. The drawing files only read it.
 *
 * @module game/world/world
 */

import { AnimalTracker } from './animals.js';
import { Structures } from './structures.js';
import { Clans } from './clans.js';
import { RESOURCES, pushEvent, pushGains } from './events.js';
import { TickClock, ageMs } from '../../lib/interpolation.js';
import { wasPredicted, updatePositions, newPlayer, setProtection } from './player.js';
import { UNIT, forEachGroup } from '../net/protocol.js';
import { itemOf, rules } from '../rules/rules.js';
import { LanePoses, applyPoses } from './poses.js';
import { Projectiles } from './projectiles.js';

/** Duration of a speech bubble, ms. */
const BUBBLE_MS = 3000;
/** Maximum number of stored chat lines. */
const CHAT_LINES = 60;

/** Kinds of scenery by number. */
export const SCENERY_KINDS = Object.freeze(['tree', 'bush', 'rock', 'gold']);

/** Maximum time between holding food and a rise of health that counts as eating, ms. */
const FOOD_HEAL_MS = 60;
/** Packets within this time after an update belong to its tick, ms. */
const SAME_TURN_MS = 8;
/** Animals that leave view within this time after a respawn have not died, ms. */
const VIEW_CHANGE_MS = 400;
/** Maximum number of stored kill messages. */
const KILLS = 20;

/** Statistics before the first packet. */
const INITIAL_STATS = Object.freeze({ wood: 0, food: 0, stone: 0, gold: 0, kills: 0, xp: 0, xp_next: 0, age: 1, score: 0 });

/** @typedef {import('./player.js').Player} Player */

/** @typedef {typeof INITIAL_STATS} Stats */

/** @typedef {import('./events.js').WorldEvent} WorldEvent */
/** @typedef {import('./player.js').Death} Death */
/** @typedef {import('./player.js').Thing} Thing */
/** @typedef {import('./player.js').Own} Own */
/** @typedef {import('./player.js').Board} Board */

export class World {
  epoch = '';
  rulesHash = '';
  seed = 0;
  mapSize = 14400;
  tickHz = 30;
  updateHz = 30;
  clock = new TickClock(30, 30);
  /** Newest received tick. */
  tick = 0;
  /** Players in view, including the local player. @type {Map<number, Player>} */
  players = new Map();
  /**
   * Players that the newest update removed from view; `died` or `kill` may follow.
   * @type {Map<number, Player>}
   */
  gone = new Map();
  /** Known scenery. @type {Map<number, Thing>} */
  things = new Map();
  /** Structures, inventory and upgrade offers. */
  built = new Structures();
  projectiles = new Projectiles();
  /** Poses by datagram. */
  lane = new LanePoses();
  animalTracker = new AnimalTracker();
  clans = new Clans();
  /** Last notice of the operator. @type {{ text: string, atMs: number } | null} */
  notice = null;
  updatedAt = -Infinity;
  /** Time of the last predicted swing of the local player. */
  predictedSwingAt = -Infinity;
  movedAt = -Infinity;
  /** Version that rises when `things` grows or is cleared. */
  thingsVersion = 0;
  /** Number of the local player while it lives; otherwise null. @type {number | null} */
  ownId = null;
  /**
   * Number of the local player. Unlike `ownId`, it is kept from death to respawn.
   * @type {number | null}
   */
  bodyId = null;
  /** Newest exact record of the local player. @type {Own | null} */
  own = null;
  /** Spectated player. @type {number | null} */
  spectated = null;
  /** Top ten, rank of the local player from 1, and number of players. @type {Board} */
  leaderboard = { rows: [], rank: null, players: 0 };
  /** Chat lines. @type {import('./player.js').ChatLine[]} */
  chat = [];
  advancedAt = 0;
  /** Statistics of the local player. @type {Stats} */
  stats = INITIAL_STATS;
  /**
   * Highest age of this life. It is stored because the statistics are reset before the `died`
   * packet is received.
   */
  lifeAge = 1;
  /**
   * Death of the local player; null while it lives or before its first life.
   * @type {Death | null}
   */
  death = null;
  /** Kill feed. @type {import('./player.js').KillMessage[]} */
  kills = [];
  /** Pending events, oldest first. The effect player removes them. @type {WorldEvent[]} */
  events = [];
  /** Health of players that enter with the next update. @type {Map<number, number>} */
  earlyHealth = new Map();
  /**
   * Hands of players that enter with the next update.
   * @type {Map<number, { weapon: number, item: number | null }>}
   */
  earlyHands = new Map();
  /** Spawn protection of players that enter with the next update. @type {Map<number, boolean>} */
  earlyProtection = new Map();
  /** Newest swing that hit something, of any player. */
  hitWith = { weapon: 0, atMs: -Infinity };
  /**
   * Object near the local player that was hit last.
   * @type {{ x: number, y: number, atMs: number }}
   */
  struckAt = { x: 0, y: 0, atMs: -Infinity };
  /** Last error of the server. @type {{ rule: string, detail: string, atMs: number } | null} */
  error = null;

  /** @param {import('../../lib/prediction.js').Prediction | null} [prediction] */
  constructor(prediction = null) {
    this.prediction = prediction;
  }

  /**
   * Applies a packet.
   * @param {{ name: string, values: Record<string, any>, isDatagram?: boolean }} packet
   * @param {number} nowMs
   */
  apply({ name, values, isDatagram = false }, nowMs) {
    switch (name) {
      case 'welcome': return this.welcome(values, nowMs);
      case 'update': return isDatagram ? this.updateByDatagram(values, nowMs) : this.update(values, nowMs);
      case 'spawned': return this.spawned(values.player, nowMs);
      case 'objects': return this.objects(values.objects);
      case 'leaderboard': return this.board(values);
      case 'chat': return this.onChat(values.player, values.text, nowMs);
      case 'pong': return this.onTick(values.tick, nowMs, false);
      case 'error': this.error = { rule: values.rule, detail: values.detail, atMs: nowMs }; return;
      case 'spectating': this.spectated = values.player; return;
      case 'swings': return forEachGroup('swings', values.swings, (id, weapon, hit) => this.swung(id, weapon, Boolean(hit), nowMs));
      case 'object_hits': return forEachGroup('object_hits', values.object_hits, (id, direction) => this.struck(id, direction * UNIT.angle8, nowMs));
      case 'health': return forEachGroup('health', values.health, (id, health) => this.setHealth(id, health, nowMs));
      case 'stats': return this.setStats(/** @type {any} */ (values), nowMs);
      case 'died': return this.died(values.killer, values.name, nowMs);
      case 'kill': return this.killed(values, nowMs);
      case 'structures': return this.structures(values.structures, nowMs);
      case 'structure_ends': return this.built.setEndTicks(values.until);
      case 'structures_gone': return this.built.remove(values.objects).forEach((one) => this.pushEvent('gone', nowMs, one, { id: one.id, resource: one.item }));
      case 'inventory': return this.built.setInventory(values);
      case 'upgrade_offers': return this.built.setOffers(values);
      case 'held_items': return forEachGroup('held_items', values.held_items, (id, weapon, item) => this.setHand(id, weapon, item, nowMs));
      case 'spawn_protection': return forEachGroup('players', values.players, (id, state) => setProtection(this, id, Boolean(state)));
      case 'shots': return this.shoot(values.shots, nowMs);
      case 'shot_ends': return this.projectiles.end(values.ends);
      case 'animals': return this.animals(values.animals, nowMs);
      case 'animals_gone': return this.removeAnimals(values.animals, nowMs);
      case 'animal_attacks': return this.animalTracker.strike(values.animals, nowMs).forEach(({ id, shown }) => this.pushEvent('lunged', nowMs, shown, { id }));
      case 'clans': return this.clans.setAll(values.clans);
      case 'clan_changes': return this.clans.change(values.ended, values.founded);
      case 'clan': return this.clans.setOwn(values);
      case 'clan_mates': return this.clans.setMates(values.mates, nowMs);
      case 'map_ping': return this.onMapPing(values.player, values.x, values.y, nowMs);
      case 'notice': return this.onNotice(values.text, nowMs);
      case 'clan_tags': return this.clans.setTags(values.tags);
      default: return;
    }
  }

  /**
   * Resets the state for a new connection, but keeps the scenery of the same world.
   * @param {Record<string, any>} values @param {number} nowMs
   */
  welcome(values, nowMs) {
    const same = values.rules_hash === this.rulesHash && values.seed === this.seed && values.map_size_px === this.mapSize;
    if (!same) {
      this.things.clear();
      this.thingsVersion += 1;
    }
    this.epoch = values.epoch;
    this.rulesHash = values.rules_hash;
    this.seed = values.seed;
    this.mapSize = values.map_size_px;
    this.tickHz = values.tick_hz;
    this.updateHz = values.update_hz;
    this.clock = new TickClock(values.tick_hz, values.update_hz);
    this.tick = values.tick;
    this.players.clear();
    this.gone.clear();
    this.lane.clear();
    this.ownId = null;
    this.bodyId = null;
    this.own = null;
    this.spectated = null;
    this.stats = INITIAL_STATS;
    this.lifeAge = 1;
    this.events.length = 0;
    this.earlyHealth.clear();
    this.earlyHands.clear();
    this.earlyProtection.clear();
    for (const part of [this.built, this.projectiles, this.animalTracker, this.clans]) part.clear();
    this.onTick(values.tick, nowMs, false);
  }

  /** Handles a spawn of the local player. @param {number} id @param {number} nowMs */
  spawned(id, nowMs) {
    this.movedAt = nowMs;
    this.ownId = id;
    this.bodyId = id;
    this.spectated = null;
    this.death = null;
    this.lifeAge = 1;
  }

  /** @param {number} tick @param {number} nowMs @param {boolean} prompt */
  onTick(tick, nowMs, prompt) {
    this.tick = Math.max(this.tick, tick);
    this.clock.onUpdate(tick, nowMs, prompt);
  }

  /** @param {Record<string, any>} values @param {number} nowMs */
  update(values, nowMs) {
    const tick = values.tick;
    this.onTick(tick, nowMs, true);
    this.updatedAt = nowMs;
    this.gone.clear();
    const { ownId } = this;
    for (const id of values.leaves ?? []) this.leave(id);
    forEachGroup('enters', values.enters, (id, name, skin, x, y, heading) => {
      // A respawn removes the local player from view and adds it again, so its number is restored.
      if (id === ownId) this.ownId = ownId;
      this.enter(id, name, skin);
      this.addSample(id, tick, x, y, heading, true);
      const pose = this.lane.poseAfter(id, tick);
      if (pose) this.addSample(id, pose.tick, pose.x, pose.y, pose.heading, true);
    });
    if (this.lane.advance(tick)) applyPoses(this, tick, values, nowMs);
    this.earlyHealth.clear();
    this.earlyHands.clear();
    this.earlyProtection.clear();
  }

  /**
   * Applies the poses of an update by datagram. Players enter and leave in the stream.
   * @param {Record<string, any>} values @param {number} nowMs
   */
  updateByDatagram(values, nowMs) {
    const { tick } = values;
    if (!this.lane.advance(tick)) return;
    this.onTick(tick, nowMs, true);
    this.updatedAt = nowMs;
    forEachGroup('full', values.full, (id, x, y, heading) => this.lane.store(id, { tick, x, y, heading }));
    applyPoses(this, tick, values, nowMs);
  }

  /** @param {number} id @param {string} name @param {number} skin */
  enter(id, name, skin) {
    // The server sends health only if it is not full.
    const health = this.earlyHealth.get(id) ?? rules.player_health;
    const hand = this.earlyHands.get(id) ?? { weapon: 0, item: null };
    this.players.set(id, newPlayer(id, name, skin, health, hand, this.earlyProtection.get(id)));
  }

  /** @param {number} id */
  leave(id) {
    const player = this.players.get(id);
    if (player) this.gone.set(id, player);
    this.players.delete(id);
    this.clans.clearTag(id);
    if (id !== this.ownId) return;
    this.ownId = null;
    this.own = null;
  }

  /**
   * Adds a position sample of a player.
   * @param {number} id @param {number} tick @param {number} qx hpx @param {number} qy hpx
   * @param {number | null} heading angle8; null if unchanged @param {boolean} complete
   */
  addSample(id, tick, qx, qy, heading, complete) {
    const player = this.players.get(id);
    if (!player) return;
    player.qx = qx;
    player.qy = qy;
    const turned = heading === null ? player.track.last?.heading ?? 0 : heading * UNIT.angle8;
    player.track.push({ tick, x: qx * UNIT.hpx, y: qy * UNIT.hpx, heading: turned }, this.clock, complete);
    if (player.track.samples.length === 1) Object.assign(player.shown, player.track.last);
  }

  /** Adds an exact sample of the local player. @param {number} tick @param {boolean} moving */
  addOwnSample(tick, moving) {
    const player = this.ownId === null ? undefined : this.players.get(this.ownId);
    if (!player || !this.own) return;
    const { x, y, heading } = this.own;
    const first = player.track.samples.length === 0;
    player.track.push({ tick, x, y, heading }, this.clock, moving);
    if (first) Object.assign(player.shown, player.track.last);
  }

  /** @param {any[]} flat */
  objects(flat) {
    forEachGroup('objects', flat, (id, kind, x, y, scale) => this.things.set(id, { id, kind, x, y, scale }));
    this.thingsVersion += 1;
  }

  /** @param {Record<string, any>} values */
  board(values) {
    /** @type {Board['rows']} */
    const rows = [];
    forEachGroup('rows', values.rows, (player, name, score) => rows.push({ player, name, score }));
    this.leaderboard = { rows, rank: values.rank, players: values.players };
  }

  /** @param {number} id @param {string} text @param {number} nowMs */
  onChat(id, text, nowMs) {
    const player = this.players.get(id);
    if (player) player.bubble = { text, untilMs: nowMs + BUBBLE_MS };
    this.log(id, player?.name ?? `#${id}`, text, nowMs);
    this.pushEvent('chatted', nowMs, player?.shown, { id });
  }

  /**
   * Appends a world event.
   * @param {WorldEvent['kind']} kind @param {number} atMs
   * @param {{ x: number, y: number } | undefined} position @param {Partial<WorldEvent>} more
   */
  pushEvent(kind, atMs, position, more) {
    pushEvent(this.events, kind, atMs, position, more);
  }

  /** @param {number} id @param {number} weapon @param {boolean} hit @param {number} nowMs */
  swung(id, weapon, hit, nowMs) {
    const player = this.players.get(id);
    if (!player) return;
    if (hit) this.hitWith = { weapon, atMs: nowMs };
    player.swing.count += 1;
    if (id === this.ownId && wasPredicted(this, nowMs)) return;
    player.weapon = weapon;
    player.swing.atMs = nowMs;
    player.swing.hit = hit;
    this.pushEvent('swung', nowMs, player.shown, { id });
  }

  /** Predicted state of the local player; null without prediction. */
  get predicted() {
    return this.prediction?.features.prediction ? this.prediction.predicted : null;
  }

  /** @param {any[]} flat @param {number} nowMs */
  structures(flat, nowMs) {
    this.built.add(flat, nowMs);
    forEachGroup('structures', flat, (id, item, owner, x, y) => this.pushEvent('placed', nowMs, { x, y }, { id, resource: item }));
  }

  /** @param {any[]} flat @param {number} nowMs */
  shoot(flat, nowMs) {
    const { clock } = this;
    // A shot has the same render delay as its shooter.
    /** @param {number} shooter */
    const lateMs = (shooter) => (shooter === this.ownId ? clock.ownRenderDelayMs : clock.delayMs);
    for (const { shooter, kind, x, y, heading, bornMs } of this.projectiles.add(flat, nowMs, lateMs)) {
      const player = this.players.get(shooter);
      if (player) player.shotMs = bornMs;
      this.built.aimTurret(shooter, heading, bornMs);
      this.pushEvent('shot', bornMs, { x, y }, { id: shooter, direction: heading, resource: kind });
    }
  }

  /**
   * Applies records of animals. They belong to the tick of the update that was received just
   * before.
   * @param {any[]} flat @param {number} nowMs
   */
  animals(flat, nowMs) {
    const tick = nowMs - this.updatedAt < SAME_TURN_MS ? this.tick : this.clock.tickReceivedAt(nowMs);
    this.animalTracker.applyRecords(flat, tick, this.clock, ({ id, shown }, amount) => this.pushEvent('hurt', nowMs, shown, { id, amount }));
  }

  /** @param {number[]} ids @param {number} nowMs */
  removeAnimals(ids, nowMs) {
    const gone = this.animalTracker.remove(ids, nowMs);
    if (nowMs - this.movedAt < VIEW_CHANGE_MS) return;
    for (const { id, shown, health } of gone) this.pushEvent('vanished', nowMs, shown, { id, amount: health });
  }

  /** @param {number} player @param {number} x @param {number} y @param {number} nowMs */
  onMapPing(player, x, y, nowMs) {
    this.clans.ping(player, x, y, nowMs);
    this.pushEvent('pinged', nowMs, { x, y }, { id: player });
  }

  /** Shows a notice of the operator. @param {string} text @param {number} nowMs */
  onNotice(text, nowMs) {
    this.notice = { text, atMs: nowMs };
    this.log(null, 'Operator', text, nowMs);
    this.pushEvent('announced', nowMs, undefined, {});
  }

  /**
   * @param {number | null} player @param {string} name @param {string} text @param {number} nowMs
   */
  log(player, name, text, nowMs) {
    this.chat.push({ player, name, text, atMs: nowMs });
    if (this.chat.length > CHAT_LINES) this.chat.shift();
  }

  /** @param {number} id @param {number} weapon @param {number | null} item @param {number} nowMs */
  setHand(id, weapon, item, nowMs) {
    this.earlyHands.set(id, { weapon, item });
    const player = this.players.get(id);
    if (!player) return;
    if (itemOf(player.receivedItem)?.group === 'food') player.foodMs = nowMs;
    player.receivedItem = item;
    player.weapon = weapon;
    player.item = item;
  }

  /**
   * Handles a hit on an object or a structure.
   * @param {number} id @param {number} direction radians, away from the attacker
   * @param {number} nowMs
   */
  struck(id, direction, nowMs) {
    const thing = this.things.get(id);
    const structure = this.built.structures.get(id);
    if (structure) this.pushEvent('struck', nowMs, structure, { id, direction });
    if (!thing) return;
    this.pushEvent('struck', nowMs, thing, { id, direction });
    const own = this.ownId === null ? undefined : this.players.get(this.ownId)?.shown;
    if (own && Math.hypot(own.x - thing.x, own.y - thing.y) < thing.scale + 150) this.struckAt = { x: thing.x, y: thing.y, atMs: nowMs };
  }

  /** @param {number} id @param {number} health @param {number} nowMs */
  setHealth(id, health, nowMs) {
    const player = this.players.get(id);
    this.earlyHealth.set(id, health);
    if (!player || health === player.health) return;
    const amount = Math.abs(health - player.health);
    this.pushEvent(health < player.health ? 'hurt' : 'healed', nowMs, player.shown, { id, amount });
    const holdsFood = itemOf(player.receivedItem)?.group === 'food';
    if (health > player.health && (holdsFood || ageMs(nowMs, player.foodMs) < FOOD_HEAL_MS)) this.pushEvent('eaten', nowMs, player.shown, { id });
    player.health = health;
  }

  /** @param {Stats} stats @param {number} nowMs */
  setStats(stats, nowMs) {
    const before = this.stats;
    this.stats = { ...stats };
    const own = this.ownId === null ? undefined : this.players.get(this.ownId);
    if (!own) return;
    this.lifeAge = Math.max(this.lifeAge, stats.age);
    pushGains(this, before, own, nowMs);
  }

  /**
   * Handles the death of the local player, which then spectates.
   * @param {number | null} killer @param {string | null} name @param {number} nowMs
   */
  died(killer, name, nowMs) {
    const id = this.bodyId ?? -1;
    const own = this.players.get(id) ?? this.gone.get(id);
    const { x, y } = own?.shown ?? { x: NaN, y: NaN };
    const { kills, score } = this.stats;
    const beast = killer === null ? this.animalTracker.recentAttackerAt(x, y, nowMs) : '';
    this.death = { killer, name: name ?? '', beast, age: this.lifeAge, kills, score, x, y, atMs: nowMs };
    if (this.ownId !== null) this.leave(this.ownId);
    if (own) this.onDeath(own, nowMs);
    this.spectated ??= killer;
  }

  /** Handles a kill message. @param {Record<string, any>} values @param {number} nowMs */
  killed(values, nowMs) {
    this.kills.push({ killer: values.killer, killerName: values.killer_name ?? '', victim: values.victim,
      victimName: values.victim_name ?? '', atMs: nowMs });
    if (this.kills.length > KILLS) this.kills.shift();
    if (values.victim === this.bodyId) return;
    const victim = this.players.get(values.victim) ?? this.gone.get(values.victim);
    if (victim) this.onDeath(victim, nowMs);
  }

  /** Appends the events of a death. @param {Player} player @param {number} nowMs */
  onDeath({ id, skin, shown, health }, nowMs) {
    if (health > 0) this.pushEvent('hurt', nowMs, shown, { id, amount: health });
    this.pushEvent('fell', nowMs, shown, { id, amount: skin });
  }

  /** Local player, or the spectated one. @returns {Player | undefined} */
  get cameraTarget() {
    return this.players.get(this.ownId ?? this.spectated ?? -1);
  }

  /** Resources of the local player: wood, food, stone, gold. @returns {number[]} */
  get resources() {
    return RESOURCES.map((name) => this.stats[name]);
  }

  /** Moves everything to its rendered position. Called once per frame. @param {number} nowMs */
  advance(nowMs) {
    this.clock.advance(nowMs);
    updatePositions(this, nowMs);
    for (const { shooter, kind, x, y, heading, hit } of this.projectiles.advance(nowMs)) {
      this.pushEvent('landed', nowMs, { x, y }, { id: shooter, direction: heading, resource: kind, amount: hit ? 1 : 0 });
    }
  }
}
