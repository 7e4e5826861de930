/**
 * Parts of the title card of any game: a guest's name, a row of colours, the number of players, and
 * links.
 *
 * @module lib/title
 */

import { EDITION } from '../wasm/edition.js';
import { captureFromQuery, roomList, roomOf, urlFromRoot } from './address.js';
import { ageMs } from './interpolation.js';

/** Minimum interval of the requests for the number of bots, ms. */
const COUNT_INTERVAL_MS = 3000;
/** Maximum number of other rooms on the card. */
const MAX_ROOMS = 3;
const GUEST_NAMES = ['Wren', 'Alder', 'Juniper', 'Fenn', 'Sorrel', 'Moss', 'Hazel', 'Rook', 'Tansy', 'Birch'];

/** Returns a random name for a player without one. */
export const guestName = () => GUEST_NAMES[Math.floor(Math.random() * GUEST_NAMES.length)];

/**
 * Adds a named radio button for each colour, for screen readers and keyboards.
 * @param {HTMLElement} row
 * @param {readonly { name: string, body: string }[]} colours
 * @param {number} chosen
 * @param {(chosen: number) => void} onChoice
 */
export function addColours(row, colours, chosen, onChoice) {
  row.append(...colours.map((colour, at) => {
    const label = document.createElement('label');
    const radio = document.createElement('input');
    radio.type = 'radio';
    radio.name = 'skin';
    radio.value = String(at);
    radio.checked = at === chosen;
    radio.setAttribute('aria-label', colour.name);
    radio.addEventListener('change', () => onChoice(at));
    const swatch = document.createElement('span');
    swatch.style.background = colour.body;
    label.title = colour.name;
    label.append(radio, swatch);
    return label;
  }));
}

/** Whether a server with rooms exists: neither a browser edition nor a capture. */
const hasRooms = () => EDITION !== 'tab' && captureFromQuery(location.search) === null;

/** Players of the room: bots of the server, and people. */
export class Crowd {
  bots = 0;
  people = 0;
  counted = { players: 0, atMs: -Infinity };

  /**
   * Counts the bots again after the number of players has changed.
   * @param {number} players
   * @param {number} nowMs
   */
  async count(players, nowMs) {
    if (players === this.counted.players || ageMs(nowMs, this.counted.atMs) < COUNT_INTERVAL_MS) return;
    this.counted = { players, atMs: nowMs };
    if (!hasRooms()) return;
    const room = (await roomList(true))?.rooms.find(({ name }) => name === roomOf(location.pathname));
    this.bots = room?.bots ?? 0;
    this.people = Math.max(0, (room?.players ?? 0) - this.bots);
  }
}

/**
 * Describes how many play.
 * @param {number} players
 * @param {{ bots: number, people: number }} crowd
 */
export function countText(players, { bots, people }) {
  if (bots === 0) return `${players} playing now`;
  if (people === 0) return `${players} bot${players === 1 ? '' : 's'} playing`;
  return `${people} playing, with ${bots} bot${bots === 1 ? '' : 's'}`;
}

/**
 * Shows the operator's notice, and adds the best player of the day to the line of the best score.
 * @param {HTMLElement} notice
 * @param {HTMLElement} best
 */
export async function showNotice(notice, best) {
  const list = hasRooms() ? await roomList() : null;
  notice.textContent = list?.notice ?? '';
  notice.hidden = notice.textContent === '';
  // A private room is not in the list.
  const room = list?.rooms.find(({ name }) => name === roomOf(location.pathname)) ?? list?.rooms[0];
  if (!room?.best_of_day) return;
  const { name, score } = room.best_of_day;
  best.append(`${best.textContent === '' ? 'Best' : ' · best'} today: ${name}, ${score.toLocaleString('en')}`);
  best.hidden = false;
}

/** Sets a link to a frame in the inspector. @param {HTMLAnchorElement} link */
export function setInspectorLink(link) {
  link.href = `${EDITION === 'tab' ? 'inspector.html' : 'wire'}${link.hash}`;
}

/** Sets a link to the browser edition. @param {HTMLAnchorElement} link */
export function setTabLink(link) {
  link.hidden = EDITION === 'tab';
  if (hasRooms()) link.href = urlFromRoot(location.href, 'tab/');
}

/** Lists the other rooms of the server. @param {HTMLElement} list */
export async function listRooms(list) {
  if (!hasRooms()) return;
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
  list.append(...rows);
  list.hidden = rows.length === 0;
}
