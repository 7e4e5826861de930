/**
 * Pictures of items: food and structures. Each is centred, points right, and uses px of the world.
 * The sails of a mill are separate, because they turn.
 *
 * @module game/draw/items
 */

import { FONT } from './sprites.js';
import { lerpAngle, ageMs, hasStarted } from '../../lib/interpolation.js';
import { mix, outlineOf } from '../rules/palette.js';
import { itemOf } from '../rules/rules.js';

/** @typedef {readonly [x: number, y: number, width: number, height: number]} Rectangle in px */

const OUTLINE = 5.5;
const WOOD = '#b98a57';
const STONE = '#a3acb8';
const IRON = '#c3cad3';
const SAIL = '#f6edd6';
/** Duration of a turret's turn to its target, ms. */
const AIM_MS = 70;
/** Duration of a turret's recoil, ms. */
const KICK_MS = 190;
/** Distance of a turret's recoil, px. */
const KICK_PX = 9;
/** Colour of items without a picture of their own. */
const PLAIN = '#d9cdb2';

/**
 * `seconds`: time of the animations; `left`: remaining fraction of the lifetime, 1 if the structure
 * has no end.
 * @typedef {{ seconds: number, nowMs: number, left: number }} Moment
 * @typedef {object} Picture
 * @property {number} reach radius of the picture, px
 * @property {(ctx: CanvasRenderingContext2D) => void} draw
 * @property {(ctx: CanvasRenderingContext2D) => void} [turning] moving part, drawn above `draw`
 * @property {(ctx: CanvasRenderingContext2D, one: import('../world/structures.js').Structure,
 *   moment: Moment) => void} [pose] transforms the moving part
 */

/** Pictures by item number in the rules. @type {Readonly<Record<number, Picture>>} */
const PICTURES = Object.freeze({
  0: { reach: 24, draw: apple },
  1: { reach: 24, draw: cookie },
  2: { reach: 24, draw: cheese },
  3: { reach: 56, draw: woodWall },
  4: { reach: 56, draw: stoneWall },
  5: { reach: 58, draw: castleWall },
  6: { reach: 60, draw: (ctx) => spikes(ctx, 8, 40, 57, IRON, WOOD) },
  7: { reach: 66, draw: (ctx) => spikes(ctx, 11, 42, 62, '#d5dbe3', '#8d6a45') },
  8: { reach: 66, draw: poisonSpikes },
  9: { reach: 66, draw: spindle, turning: saw, pose: spin(2.4) },
  10: { reach: 76, draw: (ctx) => tower(ctx, 38, WOOD), turning: (ctx) => sails(ctx, 4, 70, SAIL), pose: spin(0.8) },
  11: { reach: 78, draw: (ctx) => tower(ctx, 40, '#a87448'), turning: (ctx) => sails(ctx, 5, 72, '#f0b7a0'), pose: spin(1.3) },
  12: { reach: 80, draw: (ctx) => tower(ctx, 41, STONE), turning: (ctx) => sails(ctx, 6, 74, '#a9d3ea'), pose: spin(1.8) },
  15: { reach: 56, draw: pit },
  16: { reach: 54, draw: boost },
  17: { reach: 62, draw: turretBase, turning: turretGun, pose: aim },
  19: { reach: 54, draw: healing },
  20: { reach: 54, draw: spawn },
});
const NOTHING = Object.freeze({ reach: 10, draw: () => {} });

/** Generated pictures of items that are not in `PICTURES`. @type {Map<number, Picture>} */
const plain = new Map();

/**
 * Returns the picture of an item.
 * @param {number} id
 * @returns {Picture} a disc with the name if the item is not in `PICTURES`; empty for an unknown
 *   item
 */
export function pictureOf(id) {
  const picture = PICTURES[id] ?? plain.get(id);
  if (picture) return picture;
  const item = itemOf(id);
  if (!item) return NOTHING;
  const radius = Math.max(20, item.radius_px - 4);
  /** @type {Picture} */
  const made = { reach: radius + 10, draw: (ctx) => named(ctx, radius, item.name.split(' ')) };
  plain.set(id, made);
  return made;
}

/** Returns a pose that rotates. @param {number} speed radians/s @returns {Picture['pose']} */
function spin(speed) {
  return (ctx, one, { seconds }) => ctx.rotate(one.heading + seconds * speed + one.id);
}

/**
 * Turns a turret in the direction of its last shot, with recoil.
 * @type {NonNullable<Picture['pose']>}
 */
function aim(ctx, { aim: to, aimed, shotMs }, { nowMs }) {
  // The shot begins at `shotMs`, which is later than its packet.
  const begun = hasStarted(nowMs, shotMs);
  const age = ageMs(nowMs, shotMs);
  ctx.rotate(begun ? lerpAngle(aimed, to, Math.min(1, age / AIM_MS)) : aimed);
  if (begun) ctx.translate(-KICK_PX * Math.max(0, 1 - age / KICK_MS), 0);
}

/**
 * Draws the whole item in a square around the origin.
 * @param {CanvasRenderingContext2D} ctx
 * @param {number} id
 * @param {number} size side of the square
 */
export function drawItem(ctx, id, size) {
  const picture = pictureOf(id);
  ctx.save();
  ctx.scale(size / 2 / picture.reach, size / 2 / picture.reach);
  ctx.lineJoin = ctx.lineCap = 'round';
  picture.draw(ctx);
  picture.turning?.(ctx);
  ctx.restore();
}

/**
 * Fills and outlines the current path.
 * @param {CanvasRenderingContext2D} ctx @param {string} fill
 */
function paint(ctx, fill, width = OUTLINE) {
  ctx.fillStyle = fill;
  ctx.strokeStyle = outlineOf(fill);
  ctx.lineWidth = width;
  ctx.stroke();
  ctx.fill();
}

/**
 * @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y @param {number} radius
 * @param {string} fill
 */
function disc(ctx, x, y, radius, fill, width = OUTLINE) {
  ctx.beginPath();
  ctx.arc(x, y, radius, 0, 7);
  paint(ctx, fill, width);
}

/**
 * @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y @param {number} width
 * @param {number} height @param {number} radius @param {string} fill
 */
function box(ctx, x, y, width, height, radius, fill, line = OUTLINE) {
  ctx.beginPath();
  ctx.roundRect(x, y, width, height, radius);
  paint(ctx, fill, line);
}

/**
 * @param {CanvasRenderingContext2D} ctx @param {readonly import('./shapes.js').Point[]} points
 * @param {string} fill
 */
function polygon(ctx, points, fill, width = OUTLINE) {
  ctx.beginPath();
  for (const [x, y] of points) ctx.lineTo(x, y);
  ctx.closePath();
  paint(ctx, fill, width);
}

/**
 * Draws a lighter line.
 * @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y @param {number} width
 * @param {number} height @param {string} fill
 */
function light(ctx, x, y, width, height, fill) {
  ctx.fillStyle = mix(fill, '#ffffff', 0.38);
  ctx.beginPath();
  ctx.roundRect(x, y, width, height, Math.min(width, height) / 2);
  ctx.fill();
}

/**
 * Draws a disc with one word per line.
 * @param {CanvasRenderingContext2D} ctx
 * @param {number} radius
 * @param {string[]} words
 */
function named(ctx, radius, words) {
  disc(ctx, 0, 0, radius, PLAIN);
  const size = Math.min(20, (2.6 * radius) / Math.max(...words.map((word) => word.length)), (1.5 * radius) / words.length);
  ctx.font = `700 ${size}px ${FONT}`;
  ctx.textAlign = 'center';
  ctx.textBaseline = 'middle';
  ctx.fillStyle = outlineOf(PLAIN);
  words.forEach((word, line) => ctx.fillText(word, 0, (line - (words.length - 1) / 2) * size * 1.1));
}

/** @param {CanvasRenderingContext2D} ctx */
function apple(ctx) {
  disc(ctx, 0, 3, 17, '#d8523f');
  ctx.fillStyle = 'rgb(255 255 255 / 0.6)';
  ctx.beginPath();
  ctx.ellipse(-6, -3, 5, 3.4, -0.7, 0, 7);
  ctx.fill();
  ctx.beginPath();
  ctx.moveTo(0, -11);
  ctx.quadraticCurveTo(4, -23, 17, -20);
  ctx.quadraticCurveTo(14, -9, 0, -11);
  paint(ctx, '#6fb25c', 4);
}

/** @param {CanvasRenderingContext2D} ctx */
function cookie(ctx) {
  disc(ctx, 0, 0, 19, '#cf9d5b');
  ctx.fillStyle = '#e2b879';
  ctx.beginPath();
  ctx.arc(-3, -4, 12, 0, 7);
  ctx.fill();
  ctx.fillStyle = '#6b4630';
  for (const [x, y] of [[-8, -7], [5, -9], [9, 3], [-3, 3], [-10, 6], [2, 12]]) {
    ctx.beginPath();
    ctx.arc(x, y, 3.1, 0, 7);
    ctx.fill();
  }
}

/** @param {CanvasRenderingContext2D} ctx */
function cheese(ctx) {
  polygon(ctx, [[-20, 5], [8, -16], [20, 1], [20, 14], [-20, 16]], '#e2a52e');
  polygon(ctx, [[-20, 5], [8, -16], [20, 1]], '#f7cf5e', 3.5);
  ctx.fillStyle = '#b97f1c';
  for (const [x, y, radius] of [[-8, 11, 3], [5, 9, 4], [15, 8, 2.4]]) {
    ctx.beginPath();
    ctx.arc(x, y, radius, 0, 7);
    ctx.fill();
  }
}

/** Draws planks held by two bars. @param {CanvasRenderingContext2D} ctx */
function woodWall(ctx) {
  for (const x of [-46, -15, 16]) {
    box(ctx, x, -46, 30, 92, 9, WOOD);
    light(ctx, x + 5, -39, 6, 66, WOOD);
  }
  for (const y of [-29, 17]) {
    box(ctx, -46, y, 92, 12, 5, '#9a6f44', 4);
    ctx.fillStyle = '#5b4433';
    for (const x of [-31, 0, 31]) {
      ctx.beginPath();
      ctx.arc(x, y + 6, 2.8, 0, 7);
      ctx.fill();
    }
  }
}

/** Draws hewn stones in three rows. @param {CanvasRenderingContext2D} ctx */
function stoneWall(ctx) {
  box(ctx, -47, -47, 94, 94, 17, '#8b949f');
  stones(ctx, STONE, [[-43, -43, 48, 26], [9, -43, 34, 26], [-43, -13, 30, 26], [-9, -13, 52, 26], [-43, 17, 42, 26], [3, 17, 40, 26]]);
}

/** @param {CanvasRenderingContext2D} ctx @param {string} fill @param {readonly Rectangle[]} list */
function stones(ctx, fill, list) {
  for (const [x, y, width, height] of list) {
    box(ctx, x, y, width, height, 8, fill, 3.5);
    light(ctx, x + 5, y + 4, width - 12, 5, fill);
  }
}

/** Draws a keep with a tower at each corner. @param {CanvasRenderingContext2D} ctx */
function castleWall(ctx) {
  box(ctx, -44, -44, 88, 88, 8, '#77808d');
  stones(ctx, '#939dab', [[-34, -34, 38, 20], [8, -34, 26, 20], [-34, -10, 22, 20], [-8, -10, 42, 20], [-34, 14, 34, 20], [4, 14, 30, 20]]);
  for (const x of [-37, 37]) {
    for (const y of [-37, 37]) {
      disc(ctx, x, y, 16, '#b4bdc9');
      disc(ctx, x, y, 8, '#7a8391', 3.5);
    }
  }
}

/**
 * Draws a ball of spikes.
 * @param {CanvasRenderingContext2D} ctx @param {number} count @param {number} inner
 * @param {number} outer @param {string} metal @param {string} core
 */
function spikes(ctx, count, inner, outer, metal, core) {
  ctx.beginPath();
  for (let i = 0; i < count * 2; i++) {
    const angle = (i * Math.PI) / count;
    const radius = i % 2 ? inner * 0.72 : outer;
    ctx.lineTo(radius * Math.cos(angle), radius * Math.sin(angle));
  }
  ctx.closePath();
  paint(ctx, metal);
  ctx.strokeStyle = mix(metal, '#ffffff', 0.6);
  ctx.lineWidth = 3;
  for (let i = 0; i < count; i++) {
    const angle = (2 * i * Math.PI) / count;
    ctx.beginPath();
    ctx.moveTo(inner * 0.8 * Math.cos(angle), inner * 0.8 * Math.sin(angle));
    ctx.lineTo(outer * 0.86 * Math.cos(angle), outer * 0.86 * Math.sin(angle));
    ctx.stroke();
  }
  disc(ctx, 0, 0, inner * 0.6, core);
  light(ctx, -inner * 0.36, -inner * 0.36, inner * 0.4, 6, core);
}

/** Draws poisoned spikes. @param {CanvasRenderingContext2D} ctx */
function poisonSpikes(ctx) {
  spikes(ctx, 11, 42, 62, '#b9c9a8', '#6f5b3f');
  ctx.fillStyle = '#6fbf4b';
  for (let i = 0; i < 11; i++) {
    const angle = (2 * i * Math.PI) / 11;
    ctx.beginPath();
    ctx.moveTo(60 * Math.cos(angle), 60 * Math.sin(angle));
    ctx.lineTo(49 * Math.cos(angle + 0.11), 49 * Math.sin(angle + 0.11));
    ctx.lineTo(49 * Math.cos(angle - 0.11), 49 * Math.sin(angle - 0.11));
    ctx.fill();
  }
  disc(ctx, 0, 0, 15, '#6fbf4b', 4);
  for (const [x, y, radius] of [[-4, -5, 4], [5, 3, 2.6], [-3, 6, 2]]) {
    ctx.fillStyle = '#c4ec9a';
    ctx.beginPath();
    ctx.arc(x, y, radius, 0, 7);
    ctx.fill();
  }
}

/** Draws the round stone base of a turret. @param {CanvasRenderingContext2D} ctx */
function turretBase(ctx) {
  disc(ctx, 0, 0, 40, '#8b949f');
  for (let i = 0; i < 8; i++) {
    ctx.save();
    ctx.rotate((i * Math.PI) / 4);
    box(ctx, 24, -12, 17, 24, 6, STONE, 3.5);
    light(ctx, 28, -8, 4, 16, STONE);
    ctx.restore();
  }
  disc(ctx, 0, 0, 25, '#6f7784', 4);
}

/** Draws a heavy crossbow on a turning disc. @param {CanvasRenderingContext2D} ctx */
function turretGun(ctx) {
  for (const [width, colour] of /** @type {const} */ ([[14, outlineOf('#d9a441')], [8, '#d9a441']])) {
    ctx.strokeStyle = colour;
    ctx.lineWidth = width;
    ctx.beginPath();
    ctx.moveTo(16, -36);
    ctx.quadraticCurveTo(50, 0, 16, 36);
    ctx.stroke();
  }
  disc(ctx, 0, 0, 19, '#c95a4a', 4.5);
  box(ctx, -16, -8, 66, 16, 6, '#9a6f44', 4.5);
  light(ctx, -10, -5, 50, 4, '#9a6f44');
  polygon(ctx, [[44, -8], [60, 0], [44, 8]], IRON, 4);
  disc(ctx, 0, 0, 7, '#d9a441', 3.5);
}

/** Draws the base of a saw. @param {CanvasRenderingContext2D} ctx */
function spindle(ctx) {
  disc(ctx, 0, 0, 30, '#6f7784');
}

/** Draws a saw blade with hooked teeth. @param {CanvasRenderingContext2D} ctx */
function saw(ctx) {
  const teeth = 9;
  ctx.beginPath();
  for (let i = 0; i < teeth; i++) {
    const from = (i / teeth) * 2 * Math.PI;
    ctx.lineTo(36 * Math.cos(from), 36 * Math.sin(from));
    ctx.quadraticCurveTo(50 * Math.cos(from + 0.12), 50 * Math.sin(from + 0.12), 62 * Math.cos(from + 0.52), 62 * Math.sin(from + 0.52));
  }
  ctx.closePath();
  paint(ctx, '#d9dee6');
  disc(ctx, 0, 0, 24, '#c95a4a');
  disc(ctx, 0, 0, 8, '#f0d0c4', 3.5);
}

/**
 * Draws the tower of a mill from above.
 * @param {CanvasRenderingContext2D} ctx @param {number} radius @param {string} fill
 */
function tower(ctx, radius, fill) {
  ctx.beginPath();
  for (let i = 0; i < 8; i++) ctx.lineTo((radius + 4) * Math.cos(((i + 0.5) * Math.PI) / 4), (radius + 4) * Math.sin(((i + 0.5) * Math.PI) / 4));
  ctx.closePath();
  paint(ctx, fill);
  ctx.strokeStyle = mix(fill, '#38324a', 0.35);
  ctx.lineWidth = 3.5;
  for (let i = 0; i < 8; i++) {
    const angle = ((i + 0.5) * Math.PI) / 4;
    ctx.beginPath();
    ctx.moveTo(14 * Math.cos(angle), 14 * Math.sin(angle));
    ctx.lineTo((radius - 2) * Math.cos(angle), (radius - 2) * Math.sin(angle));
    ctx.stroke();
  }
}

/**
 * @param {CanvasRenderingContext2D} ctx @param {number} count @param {number} length
 * @param {string} fill
 */
function sails(ctx, count, length, fill) {
  for (let i = 0; i < count; i++) {
    ctx.save();
    ctx.rotate((i / count) * 2 * Math.PI);
    box(ctx, 6, -3.5, length - 8, 7, 3, '#9a6f44', 4);
    polygon(ctx, [[20, -2], [length - 2, -2], [length - 2, 15], [24, 13]], fill, 4.5);
    ctx.strokeStyle = mix(fill, '#38324a', 0.25);
    ctx.lineWidth = 2.5;
    ctx.beginPath();
    for (const x of [36, 52]) {
      ctx.moveTo(x, 1);
      ctx.lineTo(x, 11);
    }
    ctx.stroke();
    ctx.restore();
  }
  disc(ctx, 0, 0, 11, '#d9a441');
}

/** Draws a dark hole with teeth. @param {CanvasRenderingContext2D} ctx */
function pit(ctx) {
  disc(ctx, 0, 0, 47, '#8a7252');
  disc(ctx, 0, 0, 36, '#463a44', 3);
  for (let i = 0; i < 10; i++) {
    ctx.save();
    ctx.rotate((i / 10) * 2 * Math.PI);
    polygon(ctx, [[39, -9], [17, 0], [39, 9]], '#d8cdb4', 3.5);
    ctx.restore();
  }
}

/** Draws the plate of a pad. @param {CanvasRenderingContext2D} ctx @param {string} fill */
function plate(ctx, fill) {
  box(ctx, -43, -43, 86, 86, 18, fill);
  ctx.strokeStyle = mix(fill, '#ffffff', 0.35);
  ctx.lineWidth = 3.5;
  ctx.beginPath();
  ctx.roundRect(-34, -34, 68, 68, 11);
  ctx.stroke();
}

/** @param {CanvasRenderingContext2D} ctx */
function boost(ctx) {
  plate(ctx, '#6f7784');
  for (const x of [-26, -1]) polygon(ctx, [[x, -23], [x + 13, -23], [x + 31, 0], [x + 13, 23], [x, 23], [x + 17, 0]], '#f5c542', 4);
}

/** @param {CanvasRenderingContext2D} ctx */
function healing(ctx) {
  plate(ctx, '#e9e3d2');
  const [a, b] = [8.5, 25];
  polygon(ctx, [[-a, -b], [a, -b], [a, -a], [b, -a], [b, a], [a, a], [a, b], [-a, b], [-a, a], [-b, a], [-b, -a], [-a, -a]], '#df5a55', 4.5);
}

/** Draws a spawn pad: a bright star on a disc. @param {CanvasRenderingContext2D} ctx */
function spawn(ctx) {
  plate(ctx, '#4f86a8');
  disc(ctx, 0, 0, 26, '#7fc0df', 4);
  ctx.beginPath();
  for (let i = 0; i < 10; i++) {
    const radius = i % 2 ? 8.5 : 20;
    ctx.lineTo(radius * Math.cos((i * Math.PI) / 5), radius * Math.sin((i * Math.PI) / 5));
  }
  ctx.closePath();
  paint(ctx, '#fff3c9', 3.5);
}
