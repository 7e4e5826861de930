/**
 * Clan panel: creates a clan, requests to join one, and manages the clan of the local player. It
 * reads state and writes the page. Names are inserted as text, never as markup. Requests go to the
 * callbacks.
 *
 * @module game/hud/clan-panel
 */

import { isComposing } from '../../lib/held.js';
import { byId, onButton, setText } from './dom.js';
import { CLAN_CHARS, cut } from '../net/protocol.js';

const REDRAW_INTERVAL_MS = 120;

/**
 * @typedef {object} Wishes
 * @property {(name: string) => boolean} found
 * @property {() => boolean} leave
 * @property {(name: string) => boolean} ask
 * @property {(player: number, accept: boolean) => boolean} answer
 * @property {(player: number) => boolean} kick
 * @property {() => void} ping
 */

/**
 * A row of the panel: a name, a note, and its buttons.
 * @typedef {{ key: string, name: string, note: string, acts: { act: 'ask' | 'yes' | 'no' | 'kick',
 *   label: string, title: string }[], clan?: string, player?: number }} Row
 */

/**
 * Returns the content of the panel.
 * @param {import('../world/clans.js').Clans} clans
 * @param {number | null} ownId number of the local player; null without a player
 * @returns {{ title: string, leave: string, mayFound: boolean, members: Row[], asks: Row[], list:
 *   Row[] }}
 */
export function clanPanel(clans, ownId) {
  const { own } = clans;
  const plays = ownId !== null;
  /** @type {Row[]} */
  const list = own ? [] : clans.list.map(({ name, owner }) => ({
    key: `clan-${name}`, name: `[${name}]`, note: clans.requested === name ? 'asked' : '', clan: name, player: owner,
    acts: plays && clans.requested !== name ? [{ act: 'ask', label: 'Ask to join', title: `Ask to join ${name}` }] : [],
  }));
  if (!own) return { title: 'Clans', leave: '', mayFound: plays, members: [], asks: [], list };
  const owner = clans.all.get(own.id)?.owner;
  /** @type {Row[]} */
  const members = own.members.map(({ id, name }) => ({
    key: `member-${id}`, name, note: [id === ownId ? 'you' : '', id === owner ? 'owner' : ''].filter(Boolean).join(', '), player: id,
    acts: own.isOwner && plays && id !== ownId ? [{ act: 'kick', label: 'Kick', title: `Kick ${name} out of the clan` }] : [],
  }));
  /** @type {Row[]} */
  const asks = own.isOwner ? own.requests.map(({ id, name }) => ({
    key: `ask-${id}`, name, note: '', player: id,
    acts: plays ? [{ act: 'yes', label: 'Yes', title: `Let ${name} in` }, { act: 'no', label: 'No', title: `Do not let ${name} in` }] : [],
  })) : [];
  const title = `[${clans.all.get(own.id)?.name ?? ''}]`;
  return { title, leave: plays ? (own.isOwner ? 'Dissolve the clan' : 'Leave the clan') : '', mayFound: false, members, asks, list };
}

export class ClanPanel {
  /**
   * @param {import('../world/world.js').World} world
   * @param {Wishes} wishes
   * @param {(text: string) => void} notify
   */
  constructor(world, wishes, notify) {
    this.world = world;
    this.wishes = wishes;
    this.notify = notify;
    this.drawnAt = 0;
    this.drawnKey = '';
    /** Key hints are hidden on touch screens. */
    this.touch = matchMedia('(pointer: coarse)');
    /** Players whose join requests were announced. @type {Set<number>} */
    this.announced = new Set();
    this.name = /** @type {HTMLInputElement} */ (byId('clan-name'));
    this.name.maxLength = CLAN_CHARS;
    this.name.addEventListener('keydown', (event) => {
      event.stopPropagation();
      if (event.key === 'Escape' && !isComposing(event)) this.name.blur();
    });
    byId('clan-found').addEventListener('submit', (event) => {
      event.preventDefault();
      this.createClan();
    });
    onButton('clan-leave', () => this.wishes.leave());
    onButton('clan-ping', () => this.wishes.ping());
  }

  createClan() {
    const name = cut(this.name.value, CLAN_CHARS);
    if (name === '') return;
    if ([...this.world.clans.all.values()].some((clan) => clan.name === name)) this.notify(`There is already a clan named ${name}`);
    else if (this.wishes.found(name)) this.name.value = '';
    this.name.blur();
  }

  /** Redraws the panel. Called once per frame. @param {number} nowMs */
  draw(nowMs) {
    if (nowMs - this.drawnAt < REDRAW_INTERVAL_MS) return;
    this.drawnAt = nowMs;
    const { clans, ownId } = this.world;
    const key = `${clans.version}:${ownId}`;
    if (key === this.drawnKey) return;
    this.drawnKey = key;
    this.announceRequests(clans.own?.isOwner ? clans.own.requests : []);
    const { title, leave, mayFound, members, asks, list } = clanPanel(clans, ownId);
    setText('clan-title', title);
    byId('clan-found').hidden = !mayFound;
    this.fill('clan-asks', asks);
    this.fill('clan-members', members);
    this.fill('clan-list', list);
    byId('clan-asks-title').hidden = asks.length === 0;
    byId('clan-none').hidden = clans.own !== null || list.length > 0;
    byId('clan-own').hidden = leave === '';
    setText('clan-leave', leave);
  }

  /** Announces each new join request once. @param {import('../world/clans.js').Person[]} asks */
  announceRequests(asks) {
    const badge = byId('clan-badge');
    badge.hidden = asks.length === 0;
    badge.textContent = String(asks.length);
    for (const { id, name } of asks) if (!this.announced.has(id)) this.notify(`${name} asks to join your clan${this.touch.matches ? '' : ' (C)'}`);
    this.announced = new Set(asks.map(({ id }) => id));
  }

  /** Redraws a list. @param {string} id element id of the list @param {Row[]} rows */
  fill(id, rows) {
    byId(id).hidden = rows.length === 0;
    byId(id).replaceChildren(...rows.map((row) => this.row(row)));
  }

  /** @param {Row} row */
  row({ key, name, note, acts, clan, player }) {
    const line = document.createElement('li');
    line.dataset.row = key;
    const who = document.createElement('b');
    who.textContent = name;
    line.append(who);
    if (note) {
      const beside = document.createElement('span');
      beside.textContent = note;
      line.append(beside);
    }
    for (const { act, label, title } of acts) {
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = label;
      button.title = title;
      button.dataset.act = act;
      button.setAttribute('aria-label', title);
      button.addEventListener('click', () => this.act(act, clan ?? '', player ?? 0));
      line.append(button);
    }
    return line;
  }

  /** @param {Row['acts'][number]['act']} act @param {string} clan @param {number} player */
  act(act, clan, player) {
    const { wishes, world } = this;
    if (act === 'ask') {
      if (wishes.ask(clan)) world.clans.requestToJoin(clan);
    } else if (act === 'kick') wishes.kick(player);
    else wishes.answer(player, act === 'yes');
  }
}
