/**
 * Clans: all clans, the clan of the local player and its members, the tags of players in view, and
 * the positions of clan mates. Packets come in, state comes out.
 *
 * @module game/world/clans
 */

import { ageMs } from '../../lib/interpolation.js';
import { forEachGroup } from '../net/protocol.js';

/** Duration of a map ping, ms. */
export const PING_MS = 2200;
/** Maximum age of a clan mate's position, ms. The server sends positions once per second. */
const MATES_MS = 3000;
/** Maximum number of visible map pings. */
const PINGS = 8;

/** @typedef {{ id: number, name: string, owner: number }} Clan `owner`: player number */
/** @typedef {{ id: number, name: string }} Person */
/**
 * `id` of the clan; `requests`: join requests.
 * @typedef {{ id: number, isOwner: boolean, members: Person[], requests: Person[] }} Membership
 */

export class Clans {
  constructor() {
    /** Version that rises with each change that the panel shows. */
    this.version = 0;
    /** @type {Map<number, Clan>} */
    this.all = new Map();
    /** Clan of each player in view. @type {Map<number, number>} */
    this.tags = new Map();
    /** @type {Map<number, { x: number, y: number, atMs: number }>} */
    this.mates = new Map();
    /** Own clan. @type {Membership | null} */
    this.own = null;
    /** Map pings of the clan. @type {{ player: number, x: number, y: number, atMs: number }[]} */
    this.pings = [];
    /**
     * Name of the clan that the local player has requested to join. The server does not send it.
     * @type {string | null}
     */
    this.requested = null;
    this.clear();
  }

  /** Clears everything for a new connection. */
  clear() {
    this.all.clear();
    this.tags.clear();
    this.mates.clear();
    this.own = null;
    this.pings = [];
    this.requested = null;
    this.version += 1;
  }

  /** Sets all clans. @param {any[]} flat groups of `clans` */
  setAll(flat) {
    this.all.clear();
    forEachGroup('clans', flat, (id, name, owner) => this.all.set(id, { id, name, owner }));
    this.changed();
  }

  /**
   * Applies dissolved and new clans.
   * @param {number[] | null} ended ids; removed first, because a new clan may reuse a name
   * @param {any[] | null} founded
   */
  change(ended, founded) {
    for (const id of ended ?? []) this.all.delete(id);
    forEachGroup('founded', founded, (id, name, owner) => this.all.set(id, { id, name, owner }));
    this.changed();
  }

  /** Handles a change of the clans. If the requested clan no longer exists, cancels the request. */
  changed() {
    if (![...this.all.values()].some((clan) => clan.name === this.requested)) this.requested = null;
    this.version += 1;
  }

  /** Sets the clan of the local player. @param {Record<string, any>} values values of `clan` */
  setOwn({ clan, owner, members, requests }) {
    /** @param {string} list @param {any[] | null} flat */
    const people = (list, flat) => {
      /** @type {Person[]} */
      const all = [];
      forEachGroup(list, flat, (id, name) => all.push({ id, name: name || `guest ${id}` }));
      return all;
    };
    this.own = clan === null ? null : { id: clan, isOwner: Boolean(owner), members: people('members', members), requests: people('requests', requests) };
    if (this.own) this.requested = null;
    else this.mates.clear();
    this.version += 1;
  }

  /** Sets the tags of players. @param {any[]} flat clans of players in view, nil for none */
  setTags(flat) {
    forEachGroup('tags', flat, (player, clan) => {
      if (clan === null) this.tags.delete(player);
      else this.tags.set(player, clan);
    });
  }

  /** @param {any[]} flat @param {number} nowMs */
  setMates(flat, nowMs) {
    this.mates.clear();
    forEachGroup('mates', flat, (player, x, y) => this.mates.set(player, { x, y, atMs: nowMs }));
  }

  /**
   * Adds a map ping.
   * @param {number} player
   * @param {number} x
   * @param {number} y
   * @param {number} nowMs
   */
  ping(player, x, y, nowMs) {
    this.pings = this.pings.filter((one) => one.player !== player && ageMs(nowMs, one.atMs) < PING_MS).slice(1 - PINGS);
    this.pings.push({ player, x, y, atMs: nowMs });
  }

  /** Records a join request of the local player. @param {string} name */
  requestToJoin(name) {
    this.requested = name;
    this.version += 1;
  }

  /**
   * Removes the tag of a player that left view. The server sends the tag again when the player
   * enters view.
   * @param {number} player
   */
  clearTag(player) {
    this.tags.delete(player);
  }

  /**
   * Returns the name of a player's clan; '' for none.
   * @param {number} player
   * @param {number | null} ownId
   */
  tagOf(player, ownId) {
    const clan = player === ownId ? this.own?.id : this.tags.get(player);
    return clan === undefined ? '' : this.all.get(clan)?.name ?? '';
  }

  /**
   * Whether another player belongs to the clan of the local player.
   * @param {number} player
   * @param {number | null} ownId
   */
  isMate(player, ownId) {
    if (this.own === null || player === ownId) return false;
    return this.tags.get(player) === this.own.id || this.own.members.some((one) => one.id === player);
  }

  /** Clans sorted by name. The clan of the local player comes first. @returns {Clan[]} */
  get list() {
    const own = this.own?.id;
    return [...this.all.values()].sort((a, b) => Number(b.id === own) - Number(a.id === own) || a.name.localeCompare(b.name));
  }

  /** Returns the recent positions of clan mates. @param {number} nowMs */
  matesAt(nowMs) {
    return [...this.mates].filter(([, { atMs }]) => ageMs(nowMs, atMs) < MATES_MS).map(([player, { x, y }]) => ({ player, x, y }));
  }

  /**
   * Returns the visible map pings, with the elapsed fraction of their duration.
   * @param {number} nowMs
   */
  pingsAt(nowMs) {
    return this.pings.map((one) => ({ ...one, part: ageMs(nowMs, one.atMs) / PING_MS })).filter(({ part }) => part < 1);
  }
}
