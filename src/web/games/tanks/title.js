/**
 * Title card of tanks: the name, the colour of the own tank in this page, and links. It stores both
 * for the next visit.
 *
 * @module tanks/title
 */

import { local } from '../../lib/stored.js';
import { newPrivateRoomUrl } from '../../lib/address.js';
import { Crowd, addColours, countText, guestName, listRooms, setInspectorLink, showNotice } from '../../lib/title.js';
import { COLOURS, drawBody } from './tank.js';

const NAME_KEY = 'tanks-name';
const COLOUR_KEY = 'tanks-colour';
/** Scale of the tank on the card: px per px of the world, at 84 px. */
const PREVIEW_SCALE = 1.3;

/** @param {string} id */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

export class TitleCard {
  /** @param {(name: string) => void} onPlay */
  constructor(onPlay) {
    this.card = byId('join');
    this.name = /** @type {HTMLInputElement} */ (byId('name'));
    this.preview = /** @type {HTMLCanvasElement} */ (byId('preview'));
    this.crowd = new Crowd();
    this.pointer = { x: 0, y: 0 };
    const colour = Number(local.getItem(COLOUR_KEY) ?? 0);
    /** Number of the own colour. Other players see a colour that follows from the player. */
    this.colour = COLOURS[colour] ? colour : 0;
    this.name.value = local.getItem(NAME_KEY) ?? '';
    this.name.placeholder = guestName();
    addColours(byId('colours'), COLOURS, this.colour, (chosen) => {
      this.colour = chosen;
      local.setItem(COLOUR_KEY, String(chosen));
    });
    setInspectorLink(/** @type {HTMLAnchorElement} */ (byId('link-bytes')));
    listRooms(byId('title-rooms'));
    showNotice(byId('title-notice'), byId('title-best'));
    newPrivateRoomUrl().then((address) => {
      byId('friends').hidden = address === null;
      /** @type {HTMLAnchorElement} */ (byId('friends')).href = address ?? '';
    });
    byId('address').textContent = location.href.replace(/[?#].*/, '');
    addEventListener('pointermove', ({ clientX: x, clientY: y }) => { this.pointer = { x, y }; });
    this.card.addEventListener('submit', (event) => {
      event.preventDefault();
      local.setItem(NAME_KEY, this.name.value);
      this.name.blur();
      onPlay(this.name.value.trim() || this.name.placeholder);
    });
  }

  /** @param {string} text */
  showStatus(text) {
    if (byId('count').textContent !== text) byId('count').textContent = text;
  }

  /**
   * Shows the number of players and the watched one.
   * @param {number} players
   * @param {string} watched '' for the whole map
   * @param {number} now ms
   */
  draw(players, watched, now) {
    this.crowd.count(players, now);
    this.showStatus(players === 0 ? 'The field is empty. Be the first.' : `${countText(players, this.crowd)}${watched ? ` · watching ${watched}` : ''}`);
    this.drawPreview(now);
  }

  /** Draws the own tank, which aims at the mouse pointer. @param {number} now ms */
  drawPreview(now) {
    const { preview } = this, context = /** @type {CanvasRenderingContext2D} */ (preview.getContext('2d'));
    const size = Math.round(preview.clientWidth * Math.min(2, devicePixelRatio || 1));
    if (size === 0) return;
    if (preview.width !== size) preview.width = preview.height = size;
    const area = preview.getBoundingClientRect();
    const isAimed = this.pointer.x !== 0 || this.pointer.y !== 0;
    const aim = isAimed ? Math.atan2(this.pointer.y - area.top - area.height / 2, this.pointer.x - area.left - area.width / 2) : Math.sin(now / 1400) * 0.7 - 0.4;
    const scale = size / 84 * PREVIEW_SCALE;
    context.setTransform(scale, 0, 0, scale, size / 2, size / 2);
    context.clearRect(-size, -size, 2 * size, 2 * size);
    context.fillStyle = 'rgb(40 36 60 / 0.16)';
    context.beginPath();
    context.arc(3, 5, 22, 0, 7);
    context.fill();
    drawBody(context, -0.6, aim, COLOURS[this.colour].body, { tread: now / 60 });
  }
}
