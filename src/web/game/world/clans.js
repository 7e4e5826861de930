/**
 * The clans: all of them, one's own and who is in it, who in view belongs to which, where the others of one's own are.
 * Packets come in, state comes out; nothing is guessed.
 *
 * @module game/world/clans
 */

import { ageMs } from '../../lib/age.js';
import { forEachGroup } from '../net/protocol.js';

/** Time that a place that was shown stays on the map. */
export const PING_MS = 2200;
/** Mates come once a second; a place older than this is no longer shown. */
const MATES_MS = 3000;
/** Places that are shown at once. */
const PINGS = 8;

/** @typedef {{ id: number, name: string, owner: number }} Clan `owner` the player */
/** @typedef {{ id: number, name: string }} Person */
/** @typedef {{ id: number, isOwner: boolean, members: Person[], asks: Person[] }} Membership `id` the clan */

export class Clans {
  constructor() {
    /** Rises with each change that the panel shows. */
    this.version = 0;
    /** @type {Map<number, Clan>} */
    this.all = new Map();
    /** @type {Map<number, number>} clan by player in view */
    this.tags = new Map();
    /** @type {Map<number, { x: number, y: number, atMs: number }>} */
    this.mates = new Map();
    this.clear();
  }

  /** A new connection is told everything anew. */
  clear() {
    this.all.clear();
    this.tags.clear();
    this.mates.clear();
    /** One's own clan. @type {Membership | null} */
    this.own = null;
    /** Places that the clan was shown. @type {{ player: number, x: number, y: number, atMs: number }[]} */
    this.pings = [];
    /** Whom one has asked, by name: the server does not say. @type {string | null} */
    this.requested = null;
    this.version += 1;
  }

  /** @param {any[]} flat every clan */
  setAll(flat) {
    this.all.clear();
    forEachGroup('clans', flat, (id, name, owner) => this.all.set(id, { id, name, owner }));
    this.changed();
  }

  /** @param {number[] | null} ended ids; first, since a name may come again @param {any[] | null} founded */
  change(ended, founded) {
    for (const id of ended ?? []) this.all.delete(id);
    forEachGroup('founded', founded, (id, name, owner) => this.all.set(id, { id, name, owner }));
    this.changed();
  }

  /** A clan that has ended is asked no more. */
  changed() {
    if (![...this.all.values()].some((clan) => clan.name === this.requested)) this.requested = null;
    this.version += 1;
  }

  /** @param {Record<string, any>} values of `clan` */
  setOwn({ clan, owner, members, asks }) {
    const people = (list, flat) => {
      /** @type {Person[]} */
      const all = [];
      forEachGroup(list, flat, (id, name) => all.push({ id, name: name || `guest ${id}` }));
      return all;
    };
    this.own = clan === null ? null : { id: clan, isOwner: Boolean(owner), members: people('members', members), asks: people('asks', asks) };
    if (this.own) this.requested = null;
    else this.mates.clear();
    this.version += 1;
  }

  /** @param {any[]} flat clans of players in view, nil for none */
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

  /** Somebody shows a place. @param {number} player @param {number} x @param {number} y @param {number} nowMs */
  ping(player, x, y, nowMs) {
    this.pings = this.pings.filter((one) => one.player !== player && ageMs(nowMs, one.atMs) < PING_MS).slice(1 - PINGS);
    this.pings.push({ player, x, y, atMs: nowMs });
  }

  /** One asks to join. @param {string} name */
  requestToJoin(name) {
    this.requested = name;
    this.version += 1;
  }

  /** Somebody is out of view: what one wears is told anew with the next enter. @param {number} player */
  clearTag(player) {
    this.tags.delete(player);
  }

  /** Name of a player's clan; empty for none. @param {number} player @param {number | null} ownId */
  tagOf(player, ownId) {
    const clan = player === ownId ? this.own?.id : this.tags.get(player);
    return clan === undefined ? '' : this.all.get(clan)?.name ?? '';
  }

  /** Whether somebody else belongs to one's own clan. @param {number} player @param {number | null} ownId */
  isMate(player, ownId) {
    if (this.own === null || player === ownId) return false;
    return this.tags.get(player) === this.own.id || this.own.members.some((one) => one.id === player);
  }

  /** Clans to ask, by name; one's own first. @returns {Clan[]} */
  get list() {
    const own = this.own?.id;
    return [...this.all.values()].sort((a, b) => Number(b.id === own) - Number(a.id === own) || a.name.localeCompare(b.name));
  }

  /** Places of mates that are not too old. @param {number} nowMs */
  matesAt(nowMs) {
    return [...this.mates].filter(([, { atMs }]) => ageMs(nowMs, atMs) < MATES_MS).map(([player, { x, y }]) => ({ player, x, y }));
  }

  /** Places that are shown at this moment, with the part of their time that is over. @param {number} nowMs */
  pingsAt(nowMs) {
    return this.pings.map((one) => ({ ...one, part: ageMs(nowMs, one.atMs) / PING_MS })).filter(({ part }) => part < 1);
  }
}
