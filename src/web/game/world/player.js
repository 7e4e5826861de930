/**
 * A player in view, as the page keeps it. Pure.
 *
 * @module game/world/player
 */

import { PositionHistory } from '../../lib/interpolation.js';
import { ErrorBlend } from '../../lib/dead-reckoning.js';

/**
 * @typedef {object} Player
 * @property {number} id
 * @property {string} name
 * @property {number} skin 0 to 9
 * @property {number} qx newest position as the wire has it, half pixels; the base of the next difference
 * @property {number} qy
 * @property {PositionHistory} track
 * @property {import('../../lib/interpolation.js').Sample} shown where it was drawn in the last frame
 * @property {ErrorBlend} glide what dead reckoning got wrong and is still shown
 * @property {number} walked px that it was seen to walk: drives the swing of its hands
 * @property {number} pace how fast it is seen to walk: 0 at rest, 1 at full speed
 * @property {number} way where it is seen to walk, radians
 * @property {{ text: string, untilMs: number } | null} bubble
 * @property {number} health 0 to `player_health` of the rules
 * @property {number} shownHealth the same as the bar shows it, which glides
 * @property {number} weapon what it was seen to hold last
 * @property {number | null} item what it holds in place of the weapon
 * @property {number | null} receivedItem the same as the server told it last: one's own hand is shown as it is predicted
 * @property {number} foodMs when food was in its hand last
 * @property {number} shotMs when it shot last
 * @property {{ atMs: number, hit: boolean, count: number }} swing the newest one heard of, and how many there were
 */

/**
 * Somebody who comes into view; where, is said by what is pushed onto its track.
 * @param {number} id @param {string} name @param {number} skin @param {number} health
 * @param {{ weapon: number, item: number | null }} hand
 * @returns {Player}
 */
export function newPlayer(id, name, skin, health, hand) {
  return { id, name, skin, qx: 0, qy: 0, track: new PositionHistory(), shown: { tick: 0, x: 0, y: 0, heading: 0 }, glide: new ErrorBlend(), walked: 0, pace: 0, way: 0,
    bubble: null, health, shownHealth: health, ...hand, receivedItem: hand.item, foodMs: -Infinity, shotMs: -Infinity,
    swing: { atMs: -Infinity, hit: false, count: 0 } };
}
