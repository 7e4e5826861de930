/**
 * Pictures of two-handed weapons, of the shield, and of projectiles. Weapons are centred on the
 * body and point right; a projectile has its tip at the origin.
 *
 * @module game/draw/arms
 */

import { block, bow, bright, paint, polygon, stripe } from './shapes.js';
import { outlineOf } from '../rules/palette.js';

const WOOD = '#b98a57';
const LEATHER = '#8a5f38';
const STEEL = '#c3cad3';
const DARK = '#77808d';
const GOLD = '#e2b13c';
const STRING = '#f4ecd8';

/**
 * @typedef {object} Arm
 * @property {(ctx: CanvasRenderingContext2D, loaded: boolean) => void} draw
 * @property {number} back extent behind the centre of the body, px; negative if it starts in front
 * @property {number} ahead
 * @property {number} wide extent to each side, px
 * @property {readonly (readonly [number, number])[]} hands positions of the right and the left
 *   hand, px
 * @property {boolean} [behind] whether the weapon is drawn after the hands and covers them
 * @property {number} kick recoil of a shot, px
 * @property {(ctx: CanvasRenderingContext2D) => void} [icon] separate icon in a centred square of
 *   88 units; default: the weapon as held
 */

/** Weapons by their number in the rules. @type {Readonly<Record<number, Arm>>} */
export const ARMS = Object.freeze({
  9: { draw: longbow, back: -26, ahead: 86, wide: 42, hands: [[39, 4], [64, 0]], kick: 5 },
  11: { draw: shield, back: -30, ahead: 74, wide: 56, hands: [[39, 20], [39, -20]], behind: true, kick: 0, icon: shieldIcon },
  12: { draw: crossbow, back: -18, ahead: 82, wide: 40, hands: [[30, 13], [52, -5]], kick: 7 },
  13: { draw: repeater, back: -18, ahead: 84, wide: 40, hands: [[30, 14], [58, -5]], kick: 4 },
  15: { draw: musket, back: -16, ahead: 104, wide: 18, hands: [[32, 14], [62, 0]], kick: 14 },
});

/**
 * Draws a thin line.
 * @param {CanvasRenderingContext2D} ctx @param {readonly import('./shapes.js').Point[]} points
 * @param {number} width @param {string} colour
 */
function line(ctx, points, width, colour) {
  ctx.strokeStyle = colour;
  ctx.lineWidth = width;
  ctx.beginPath();
  for (const [x, y] of points) ctx.lineTo(x, y);
  ctx.stroke();
}

/**
 * Draws a bow. The string is drawn back to the right hand while an arrow is loaded.
 * @param {CanvasRenderingContext2D} ctx @param {boolean} loaded
 */
function longbow(ctx, loaded) {
  const nock = loaded ? 37 : 49;
  line(ctx, [[48, -37], [nock, 0], [48, 37]], 5, outlineOf(STRING));
  line(ctx, [[48, -37], [nock, 0], [48, 37]], 2.5, STRING);
  if (loaded) {
    ctx.save();
    ctx.translate(84, 0);
    arrow(ctx, 46);
    ctx.restore();
  }
  bow(ctx, [48, -37, 84, 0, 48, 37], 7, WOOD);
  block(ctx, 61, -9, 9, 18, 4, LEATHER, 4);
}

/**
 * Draws the stock and limbs of a crossbow, and a bolt.
 * @param {CanvasRenderingContext2D} ctx @param {boolean} loaded @param {string} wood
 * @param {string} limbs
 */
function stock(ctx, loaded, wood, limbs) {
  const nock = loaded ? 40 : 54;
  bow(ctx, [52, -31, 78, 4, 52, 39], 7, limbs);
  line(ctx, [[52, -31], [nock, 4], [52, 39]], 5, outlineOf(STRING));
  line(ctx, [[52, -31], [nock, 4], [52, 39]], 2.5, STRING);
  block(ctx, 20, -2, 50, 12, 5, wood);
  stripe(ctx, 25, 0, 38, 3, bright(wood, 0.35));
}

/** @param {CanvasRenderingContext2D} ctx @param {boolean} loaded */
function crossbow(ctx, loaded) {
  stock(ctx, loaded, LEATHER, WOOD);
  if (!loaded) return;
  ctx.save();
  ctx.translate(80, 4);
  bolt(ctx, 36);
  ctx.restore();
}

/**
 * Draws a steel crossbow with a magazine of darts.
 * @param {CanvasRenderingContext2D} ctx @param {boolean} loaded
 */
function repeater(ctx, loaded) {
  stock(ctx, loaded, '#51455f', STEEL);
  block(ctx, 34, -7, 24, 22, 5, '#c95a4a', 4);
  stripe(ctx, 38, -3, 16, 4, bright('#c95a4a', 0.4));
  polygon(ctx, [[70, 0], [82, 4], [70, 8]], STEEL, 3.5);
}

/** @param {CanvasRenderingContext2D} ctx */
function musket(ctx) {
  block(ctx, 44, 2, 58, 8, 3, DARK);
  stripe(ctx, 50, 3.5, 48, 2.5, bright(DARK, 0.5));
  polygon(ctx, [[18, 0], [40, 0], [70, 1], [70, 11], [44, 12], [24, 16], [18, 15]], LEATHER);
  stripe(ctx, 24, 3, 40, 3, bright(LEATHER, 0.35));
  block(ctx, 46, -4, 9, 9, 3, GOLD, 4);
  for (const x of [74, 90]) block(ctx, x, 1, 5, 10, 2, GOLD, 3.5);
}

/**
 * Draws the shield from above: a bent plate in front of the body.
 * @param {CanvasRenderingContext2D} ctx
 */
function shield(ctx) {
  ctx.beginPath();
  ctx.arc(-6, 0, 70, -0.82, 0.82);
  ctx.arc(-6, 0, 52, 0.82, -0.82, true);
  ctx.closePath();
  paint(ctx, WOOD);
  ctx.lineCap = 'butt';
  for (const [radius, width, colour] of /** @type {const} */ ([[67, 6, STEEL], [57, 4, bright(WOOD, 0.35)]])) {
    ctx.strokeStyle = colour;
    ctx.lineWidth = width;
    ctx.beginPath();
    ctx.arc(-6, 0, radius, -0.8, 0.8);
    ctx.stroke();
  }
  block(ctx, 54, -11, 15, 22, 6, GOLD, 4);
}

/** Draws the shield from the front. @param {CanvasRenderingContext2D} ctx */
function shieldIcon(ctx) {
  ctx.beginPath();
  ctx.moveTo(0, -38);
  ctx.quadraticCurveTo(17, -29, 33, -31);
  ctx.quadraticCurveTo(35, 14, 0, 38);
  ctx.quadraticCurveTo(-35, 14, -33, -31);
  ctx.quadraticCurveTo(-17, -29, 0, -38);
  paint(ctx, STEEL, 7);
  ctx.beginPath();
  ctx.moveTo(0, -28);
  ctx.quadraticCurveTo(13, -21, 25, -22);
  ctx.quadraticCurveTo(26, 10, 0, 28);
  ctx.quadraticCurveTo(-26, 10, -25, -22);
  ctx.quadraticCurveTo(-13, -21, 0, -28);
  paint(ctx, WOOD, 3.5);
  stripe(ctx, -3.5, -20, 7, 40, '#8a5f38');
  block(ctx, -8, -11, 16, 16, 8, GOLD, 4);
}

/**
 * Projectiles by kind: the length in px, and a picture with the tip at the origin.
 * @type {Readonly<Record<number, { length: number, draw: (ctx: CanvasRenderingContext2D,
 *   length: number) => void }>>}
 */
const SHOTS = Object.freeze({
  0: { length: 52, draw: arrow },
  1: { length: 38, draw: slug },
  2: { length: 40, draw: bolt },
  3: { length: 34, draw: dart },
  5: { length: 13, draw: bullet },
});

/** Returns the picture of a kind of projectile. @param {number} kind */
export const shotPicture = (kind) => SHOTS[kind] ?? SHOTS[0];

/**
 * Draws two feathers at the end of a shaft.
 * @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} reach
 * @param {string} colour
 */
function feathers(ctx, x, reach, colour) {
  for (const side of [-1, 1]) {
    polygon(ctx, [[x, 0], [x - 5, side * reach], [x + 8, side * reach], [x + 13, 0]], colour, 3);
  }
}

/** @param {CanvasRenderingContext2D} ctx @param {number} length */
function arrow(ctx, length) {
  block(ctx, -length, -1.8, length - 8, 3.6, 1.5, '#c99560', 4);
  feathers(ctx, -length + 3, 6, '#f4ecd8');
  polygon(ctx, [[-14, -6.5], [0, 0], [-14, 6.5], [-10, 0]], STEEL, 3.5);
}

/** @param {CanvasRenderingContext2D} ctx @param {number} length */
function bolt(ctx, length) {
  block(ctx, -length, -2.4, length - 8, 4.8, 2, LEATHER, 4);
  feathers(ctx, -length + 2, 6.5, '#c95a4a');
  polygon(ctx, [[-13, -6], [0, 0], [-13, 6]], DARK, 3.5);
}

/** @param {CanvasRenderingContext2D} ctx @param {number} length */
function dart(ctx, length) {
  block(ctx, -length, -1.6, length - 8, 3.2, 1.5, STEEL, 4);
  feathers(ctx, -length + 2, 5.5, '#8a6fc4');
  polygon(ctx, [[-12, -4.5], [0, 0], [-12, 4.5]], '#e9eef4', 3);
}

/**
 * Draws the heavy bolt of a turret.
 * @param {CanvasRenderingContext2D} ctx @param {number} length
 */
function slug(ctx, length) {
  block(ctx, -length, -3, length - 10, 6, 2.5, DARK, 4);
  polygon(ctx, [[-length - 3, -7], [-length + 8, -3], [-length + 8, 3], [-length - 3, 7], [-length + 2, 0]], '#c95a4a', 3);
  polygon(ctx, [[-16, -8], [0, 0], [-16, 8]], STEEL, 3.5);
}

/** @param {CanvasRenderingContext2D} ctx */
function bullet(ctx) {
  ctx.beginPath();
  ctx.ellipse(-6, 0, 7.5, 5.5, 0, 0, 7);
  paint(ctx, '#565d6b', 3.5);
  stripe(ctx, -9, -3, 7, 2.6, '#dfe5ec');
}
