/**
 * State of a player in view.
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
 * @property {number} qx newest position, half pixels; base of the next delta
 * @property {number} qy
 * @property {PositionHistory} track
 * @property {import('../../lib/interpolation.js').Sample} shown rendered state of the last frame
 * @property {ErrorBlend} errorBlend remaining extrapolation error
 * @property {number} walked walked distance, px; drives the hands
 * @property {number} pace rendered speed: 0 at rest, 1 at full speed
 * @property {number} way rendered walking direction, radians
 * @property {{ text: string, untilMs: number } | null} bubble
 * @property {number} health 0 to `player_health` of the rules
 * @property {number} shownHealth health that the bar shows; it approaches `health` smoothly
 * @property {number} weapon weapon in its hand, or its last one while it holds an item
 * @property {number | null} item item in its hand instead of the weapon
 * @property {number | null} receivedItem item of the last packet; `item` of the local player is
 *   predicted
 * @property {number} foodMs time at which it last held food
 * @property {number} shotMs time of its last shot
 * @property {{ atMs: number, hit: boolean, count: number }} swing newest swing, and the number of
 *   swings
 */

/**
 * @typedef {{ by: number | null, name: string, beast: string, age: number, kills: number, score:
 *   number, x: number, y: number, atMs: number }} Death
 */

/**
 * An object of the scenery. Positions and radius are in px.
 * @typedef {{ id: number, kind: number, x: number, y: number, scale: number }} Thing
 */

/**
 * @typedef {{ sequence: number, marginTicks: number, x: number, y: number, vx: number, vy: number,
 *   heading: number, direction: number | null }} Own
 */

/**
 * @typedef {{ rows: { player: number, name: string, score: number }[], place: number | null,
 *   players: number }} Board
 */

/**
 * A chat line. The player is null for the operator.
 * @typedef {{ player: number | null, name: string, text: string, atMs: number }} ChatLine
 */

/**
 * @typedef {{ killer: number | null, killerName: string, victim: number, victimName: string,
 *   atMs: number }} KillMessage
 */

/**
 * Creates a player that enters view. Its position comes with the first sample of its track.
 * @param {number} id
 * @param {string} name
 * @param {number} skin
 * @param {number} health
 * @param {{ weapon: number, item: number | null }} hand
 * @returns {Player}
 */
export function newPlayer(id, name, skin, health, hand) {
  return { id, name, skin, qx: 0, qy: 0, track: new PositionHistory(), shown: { tick: 0, x: 0, y: 0, heading: 0 }, errorBlend: new ErrorBlend(), walked: 0, pace: 0, way: 0,
    bubble: null, health, shownHealth: health, ...hand, receivedItem: hand.item, foodMs: -Infinity, shotMs: -Infinity,
    swing: { atMs: -Infinity, hit: false, count: 0 } };
}
