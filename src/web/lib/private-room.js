/**
 * Private rooms for the page of a game; re-exported by `tickwire.js`.
 *
 * @module lib/private-room
 */

import { EDITION } from '../wasm/edition.js';
import { urlFromRoot, isPrivate, newPrivateName, roomOf, captureFromQuery } from './room.js';

/**
 * Returns the address of a new private room of this page's game, for a link "Play with friends".
 * The first visitor creates the room.
 * @returns {Promise<string | null>} null if the server creates no rooms of this game, or if this
 *   page is already in a private room. In that case, the address of the page is the invitation
 */
export async function newPrivateRoomUrl() {
  const room = roomOf(location.pathname);
  const answer = isPrivate(room) || EDITION !== 'server' || captureFromQuery(location.search) !== null ? null : await fetch(urlFromRoot(location.href, 'rooms?format=json')).catch(() => null);
  const list = await answer?.json().catch(() => null);
  /** @param {string} name */
  const game = (name) => list.rooms.find((/** @type {{ name: string }} */ one) => one.name === name)?.game;
  return list?.on_demand === true && game(room) === game('') ? urlFromRoot(location.href, `r/${newPrivateName()}/`) : null;
}
