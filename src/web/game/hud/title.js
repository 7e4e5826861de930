/**
 * Title card in front of the moving world: the name, the skin and the button Play. It stores the
 * name and the skin for the next visit.
 *
 * @module game/hud/title
 */

import { drawBody } from '../draw/players.js';
import { bestScore } from './best-score.js';
import { byId } from './dom.js';
import { SKINS } from '../rules/palette.js';
import { NAME_CHARS, cut } from '../net/protocol.js';
import { captureFromQuery, isPrivate, roomList, roomOf, urlFromRoot } from '../../lib/address.js';
import { EDITION } from '../../wasm/edition.js';
import { ageMs } from '../../lib/interpolation.js';
import { local } from '../../lib/stored.js';

const STORAGE_KEY = 'tickwire.player';
/** Maximum number of other rooms on the card. */
const MAX_ROOMS = 3;
/** Minimum interval of the requests for the number of bots, ms. */
const COUNT_INTERVAL_MS = 3000;
const GUEST_NAMES = ['Wren', 'Alder', 'Juniper', 'Fenn', 'Sorrel', 'Moss', 'Hazel', 'Rook', 'Tansy', 'Birch'];

export class TitleCard {
  /** @param {(player: { name: string, skin: number }) => void} onPlay */
  constructor(onPlay) {
    this.onPlay = onPlay;
    this.card = byId('title');
    this.name = /** @type {HTMLInputElement} */ (byId('name'));
    this.preview = /** @type {HTMLCanvasElement} */ (byId('preview'));
    this.ctx = /** @type {CanvasRenderingContext2D} */ (this.preview.getContext('2d'));
    this.pointer = { x: 0, y: 0 };
    /** Reason why the game cannot be played; '' otherwise. */
    this.failed = '';
    const { name, skin } = remembered();
    this.skin = skin;
    this.name.value = name;
    this.name.placeholder = GUEST_NAMES[Math.floor(Math.random() * GUEST_NAMES.length)];
    this.makeSkins();
    /** Players of this room that are bots of the server, and the others. 0 bots if unknown. */
    this.crowd = { bots: 0, people: 0 };
    this.counted = { players: 0, atMs: -Infinity };
    this.nameRoom(roomOf(location.pathname));
    this.setLinks();
    const best = bestScore();
    byId('title-best').hidden = best === 0;
    byId('title-best').textContent = `Your best score: ${best.toLocaleString('en')}`;
    addEventListener('pointermove', (event) => { this.pointer = { x: event.clientX, y: event.clientY }; });
    byId('title-form').addEventListener('submit', (event) => {
      event.preventDefault();
      this.play();
    });
  }

  /** Creates a named radio button for each skin, for screen readers and keyboards. */
  makeSkins() {
    const skins = SKINS.map((skin, i) => {
      const label = document.createElement('label');
      const radio = document.createElement('input');
      radio.type = 'radio';
      radio.name = 'skin';
      radio.value = String(i);
      radio.checked = i === this.skin;
      radio.setAttribute('aria-label', skin.name);
      radio.addEventListener('change', () => { this.skin = i; });
      const swatch = document.createElement('span');
      swatch.style.background = skin.body;
      label.title = skin.name;
      label.append(radio, swatch);
      return label;
    });
    byId('skins').append(...skins);
  }

  /** Shows the name of the room, unless it is the default one. @param {string} room */
  nameRoom(room) {
    if (room === '') return;
    byId('title-room').hidden = false;
    // The random name of a private room is not shown.
    byId('title-room-kind').textContent = isPrivate(room) ? 'Private room' : 'Room';
    byId('title-room-name').textContent = isPrivate(room) ? '' : room;
    document.title = `tickwire · ${isPrivate(room) ? 'private room' : room}`;
  }

  /** Sets the links that depend on the edition, and lists the other rooms of the server. */
  async setLinks() {
    const link = (/** @type {string} */ id) => /** @type {HTMLAnchorElement} */ (byId(id));
    link('link-bytes').href = `${EDITION === 'tab' ? 'inspector.html' : 'wire'}${link('link-bytes').hash}`;
    link('link-tab').hidden = EDITION === 'tab';
    if (EDITION === 'tab' || captureFromQuery(location.search) !== null) return;
    link('link-tab').href = urlFromRoot(location.href, 'tab/');
    const own = roomOf(location.pathname);
    const others = (await roomList())?.rooms.filter(({ name }) => name !== own) ?? [];
    const rows = others.slice(0, MAX_ROOMS).map(({ name, game, path, players }) => {
      const room = document.createElement('a');
      room.href = urlFromRoot(location.href, path.slice(1));
      const title = document.createElement('b');
      title.textContent = name || 'Default room';
      room.append(title, ` ${name === game ? '' : `${game} · `}${players} playing`);
      const row = document.createElement('li');
      row.append(room);
      return row;
    });
    if (others.length > rows.length) {
      const all = document.createElement('a');
      all.href = urlFromRoot(location.href, 'rooms');
      all.textContent = `All ${others.length + 1} rooms`;
      const row = document.createElement('li');
      row.append(all);
      rows.push(row);
    }
    byId('title-rooms').append(...rows);
    byId('title-rooms').hidden = rows.length === 0;
  }

  /**
   * Counts the bots again after the number of players has changed.
   * @param {number} players
   * @param {number} nowMs
   */
  async countBots(players, nowMs) {
    if (players === this.counted.players || ageMs(nowMs, this.counted.atMs) < COUNT_INTERVAL_MS) return;
    this.counted = { players, atMs: nowMs };
    if (EDITION === 'tab' || captureFromQuery(location.search) !== null) return;
    const room = (await roomList(true))?.rooms.find(({ name }) => name === roomOf(location.pathname));
    this.crowd = { bots: room?.bots ?? 0, people: Math.max(0, (room?.players ?? 0) - (room?.bots ?? 0)) };
  }

  /** Chosen name and skin. */
  get player() {
    return { name: cut(this.name.value || this.name.placeholder, NAME_CHARS), skin: this.skin };
  }

  /** Shows the card again with the reason of a rejection. @param {string} why */
  showRejection(why) {
    this.fail(why);
    this.card.hidden = false;
    document.body.classList.remove('playing');
  }

  /** Shows an error. It replaces the number of players. @param {string} why */
  fail(why) {
    this.failed = why;
    const count = byId('title-count');
    count.classList.add('failed');
    // Without a canvas, no frame is drawn that would update the text.
    count.textContent = why;
  }

  /** Shows a note on the card, for example on a missing browser feature. @param {string} text */
  note(text) {
    const line = document.createElement('li');
    line.textContent = text;
    byId('title-notes').append(line);
    byId('title-notes').hidden = false;
  }

  play() {
    const { player } = this;
    local.setItem(STORAGE_KEY, JSON.stringify({ ...player, name: cut(this.name.value, NAME_CHARS) }));
    this.card.hidden = true;
    document.body.classList.add('playing');
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
    // Moves the keyboard focus from the inspector to the game.
    window.focus();
    this.onPlay(player);
  }

  /**
   * Redraws the card.
   * @param {import('../world/world.js').World} world
   * @param {boolean} live
   * @param {number} nowMs
   */
  draw(world, live, nowMs) {
    if (this.card.hidden) return;
    const { players } = world.leaderboard;
    const leader = world.cameraTarget?.name;
    this.countBots(players, nowMs);
    const text = this.failed !== '' ? this.failed : !live ? 'Connecting …' : players === 0 ? 'Nobody is here yet. Be the first.'
      : `${countText(players, this.crowd)}${leader ? ` · watching ${leader}` : ''}`;
    const line = byId('title-count');
    if (line.textContent !== text) line.textContent = text;
    this.drawPreview(nowMs);
  }

  /** Draws the chosen player, which looks at the mouse pointer. @param {number} nowMs */
  drawPreview(nowMs) {
    const { ctx, preview } = this;
    const ratio = Math.min(2, devicePixelRatio || 1);
    const size = Math.round(preview.clientWidth * ratio);
    if (size === 0) return;
    if (preview.width !== size) preview.width = preview.height = size;
    const box = preview.getBoundingClientRect();
    const x = this.pointer.x - box.left - box.width / 2;
    const y = this.pointer.y - box.top - box.height / 2;
    const heading = this.pointer.x === 0 && this.pointer.y === 0 ? 0.9 : Math.atan2(y, x);
    const scale = size / 112;
    ctx.setTransform(scale, 0, 0, scale, size / 2, size / 2);
    ctx.clearRect(-56, -56, 112, 112);
    ctx.fillStyle = 'rgb(40 36 60 / 0.16)';
    ctx.beginPath();
    ctx.ellipse(4, 7, 37, 35, 0, 0, 7);
    ctx.fill();
    drawBody(ctx, 0, 0, heading, this.skin, nowMs / 12, 0.35);
  }
}

/**
 * Describes how many play.
 * @param {number} players on the leaderboard
 * @param {{ bots: number, people: number }} crowd
 */
export function countText(players, { bots, people }) {
  if (bots === 0) return `${players} playing now`;
  if (people === 0) return `${players} bot${players === 1 ? '' : 's'} playing`;
  return `${people} playing, with ${bots} bot${bots === 1 ? '' : 's'}`;
}

/** @returns {{ name: string, skin: number }} */
function remembered() {
  try {
    const stored = JSON.parse(local.getItem(STORAGE_KEY) ?? '{}');
    const skin = Number.isInteger(stored.skin) && SKINS[stored.skin] ? stored.skin : Math.floor(Math.random() * SKINS.length);
    return { name: typeof stored.name === 'string' ? cut(stored.name, NAME_CHARS) : '', skin };
  } catch {
    return { name: '', skin: 0 };
  }
}
