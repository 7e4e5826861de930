/**
 * Private rooms for a game's page: `tickwire.js` passes this on.
 *
 * @module lib/private-room
 */

import { EDITION } from '../wasm/edition.js';
import { urlFromRoot, isPrivate, newPrivateName, roomOf, captureFromQuery } from './room.js';

/**
 * The address of a new private room of this page's game, for a link "Play with friends": the first who
 * opens it makes the room.
 *
 * @returns {Promise<string | null>} `null` if the server makes no rooms or makes them of another game, or
 *   if this page is that of a private room: then its own address is the invitation
 */
export async function newPrivateRoomUrl() {
  const room = roomOf(location.pathname);
  const answer = isPrivate(room) || EDITION !== 'server' || captureFromQuery(location.search) !== null ? null : await fetch(urlFromRoot(location.href, 'rooms?format=json')).catch(() => null);
  const list = await answer?.json().catch(() => null);
  /** @param {string} name */
  const game = (name) => list.rooms.find((/** @type {{ name: string }} */ one) => one.name === name)?.game;
  return list?.on_demand === true && game(room) === game('') ? urlFromRoot(location.href, `r/${newPrivateName()}/`) : null;
}
