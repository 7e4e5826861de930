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
import { isPrivate, roomOf } from '../../lib/address.js';
import { local } from '../../lib/stored.js';
import { Crowd, addColours, countText, guestName, listRooms, setInspectorLink, setTabLink, showNotice } from '../../lib/title.js';

const STORAGE_KEY = 'tickwire.player';

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
    this.name.placeholder = guestName();
    addColours(byId('skins'), SKINS, this.skin, (skin) => { this.skin = skin; });
    this.crowd = new Crowd();
    this.nameRoom(roomOf(location.pathname));
    setInspectorLink(/** @type {HTMLAnchorElement} */ (byId('link-bytes')));
    setTabLink(/** @type {HTMLAnchorElement} */ (byId('link-tab')));
    listRooms(byId('title-rooms'));
    const best = bestScore();
    byId('title-best').hidden = best === 0;
    byId('title-best').textContent = best === 0 ? '' : `Your best score: ${best.toLocaleString('en')}`;
    showNotice(byId('title-notice'), byId('title-best'));
    addEventListener('pointermove', (event) => { this.pointer = { x: event.clientX, y: event.clientY }; });
    byId('title-form').addEventListener('submit', (event) => {
      event.preventDefault();
      this.play();
    });
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
    this.crowd.count(players, nowMs);
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
