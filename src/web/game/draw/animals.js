/**
 * Draws animals: a body with walking feet, and a head that lunges in an attack. Each picture is
 * centred, faces right, and uses px of the world.
 *
 * @module game/draw/animals
 */

import { FADE_MS } from '../world/animals.js';
import { block, bow, bright, oval, paint, polygon, spot, stripe } from './shapes.js';
import { ageMs } from '../../lib/interpolation.js';
import { INK, mix } from '../rules/palette.js';
import { speciesOf } from '../rules/rules.js';
import { Sprites } from './sprites.js';

/** Duration of an attack, ms. */
const STRIKE_MS = 320;
/** Distance that an attacking animal lunges, px. */
const LUNGE_PX = 26;
const SHADOW = 'rgb(40 36 60 / 0.2)';
const FLASH = '#fff4ee';
const BONE = '#f6edd6';
const AMBER = '#f5c542';

/**
 * @typedef {object} Look
 * @property {(ctx: CanvasRenderingContext2D) => void} body
 * @property {(ctx: CanvasRenderingContext2D) => void} head
 * @property {string} foot colour of the feet
 * @property {readonly [number, number]} stance offset of the feet forward and to the side, px
 */

/** Pictures by animal kind, as numbered in the rules. @type {Readonly<Record<number, Look>>} */
const LOOKS = Object.freeze({
  0: { body: cowBody, head: cowHead, foot: '#6b5545', stance: [32, 38] },
  1: { body: pigBody, head: pigHead, foot: '#c97f88', stance: [30, 42] },
  2: { body: bullBody, head: bullHead, foot: '#3d3038', stance: [36, 44] },
  4: { body: wolfBody, head: wolfHead, foot: '#565d6b', stance: [38, 34] },
});
/** Radius of the pictures, px. */
const REACH = 118;

const sprites = new Sprites(24);

/** @param {number} kind */
const lookOf = (kind) => LOOKS[kind] ?? LOOKS[0];

/**
 * Draws the animals in view, first the fading ones.
 * @param {CanvasRenderingContext2D} ctx
 * @param {import('./camera.js').Camera} camera
 * @param {import('../world/animals.js').AnimalTracker} herd
 * @param {import('../world/effects.js').Effects} effects
 * @param {number} nowMs
 */
export function drawAnimals(ctx, camera, herd, effects, nowMs) {
  for (const animal of herd.fading) draw(ctx, camera, animal, effects, nowMs);
  for (const animal of herd.all.values()) draw(ctx, camera, animal, effects, nowMs);
}

/**
 * @param {CanvasRenderingContext2D} ctx @param {import('./camera.js').Camera} camera
 * @param {import('../world/animals.js').Animal} animal
 * @param {import('../world/effects.js').Effects} effects @param {number} nowMs
 */
function draw(ctx, camera, animal, effects, nowMs) {
  const { kind, shown, walked, pace, strike, goneMs } = animal;
  if (!camera.sees(shown.x, shown.y, REACH)) return;
  const left = 1 - ageMs(nowMs, goneMs) / FADE_MS;
  if (left <= 0) return;
  const { radius_px: radius } = speciesOf(kind);
  const part = ageMs(nowMs, strike.atMs) / STRIKE_MS;
  const lunge = part < 1 ? Math.sin(Math.PI * Math.min(1, part * 1.5)) * (part < 0.67 ? 1 : 0) : 0;
  ctx.save();
  ctx.globalAlpha = left;
  ctx.translate(shown.x, shown.y);
  ctx.scale(0.8 + 0.2 * left, 0.8 + 0.2 * left);
  ctx.fillStyle = SHADOW;
  ctx.beginPath();
  ctx.ellipse(8, 12, radius * 0.92, radius * 0.8, shown.heading, 0, 7);
  ctx.fill();
  ctx.rotate(shown.heading);
  feet(ctx, lookOf(kind), walked, pace);
  ctx.translate(lunge * LUNGE_PX, 0);
  const flash = effects.flashOf(animal.id, nowMs);
  piece(ctx, kind, 'body', camera.scale, flash, left);
  ctx.rotate(Math.sin(walked / 34) * 0.09 * pace);
  ctx.translate(lunge * 8, 0);
  piece(ctx, kind, 'head', camera.scale, flash, left);
  if (part > 0.15 && part < 0.85) claws(ctx, kind, radius, (part - 0.15) / 0.7);
  ctx.restore();
}

/**
 * Draws the body or the head, white during a flash.
 * @param {CanvasRenderingContext2D} ctx @param {number} kind @param {'body' | 'head'} part
 * @param {number} scale @param {number} flash @param {number} alpha
 */
function piece(ctx, kind, part, scale, flash, alpha) {
  Sprites.show(ctx, sprite(kind, part, scale, false), 0, 0);
  if (flash === 0) return;
  ctx.globalAlpha = alpha * flash * 0.8;
  Sprites.show(ctx, sprite(kind, part, scale, true), 0, 0);
  ctx.globalAlpha = alpha;
}

/**
 * @param {number} kind @param {'body' | 'head'} part @param {number} scale @param {boolean} white
 */
function sprite(kind, part, scale, white) {
  const cover = () => ({ left: -REACH, top: -REACH, width: 2 * REACH, height: 2 * REACH });
  return sprites.get(`${kind}:${part}:${white}`, scale, cover, (ctx) => {
    lookOf(kind)[part](ctx);
    if (!white) return;
    ctx.globalCompositeOperation = 'source-atop';
    ctx.fillStyle = FLASH;
    ctx.fillRect(-REACH, -REACH, 2 * REACH, 2 * REACH);
  });
}

/**
 * Draws four feet; diagonal ones step together.
 * @param {CanvasRenderingContext2D} ctx
 * @param {Look} look
 * @param {number} walked px
 * @param {number} pace
 */
function feet(ctx, { foot, stance: [ahead, aside] }, walked, pace) {
  const stride = Math.sin(walked / 17) * 13 * pace;
  for (const [x, y, way] of [[ahead, -aside, 1], [ahead, aside, -1], [-ahead, -aside, -1], [-ahead, aside, 1]]) {
    oval(ctx, x - 6 + stride * way, y, 14, 10, foot, 4.5);
  }
}

/**
 * Draws the streaks of claws or horns in front of an attacking head.
 * @param {CanvasRenderingContext2D} ctx @param {number} kind @param {number} radius
 * @param {number} part
 */
function claws(ctx, kind, radius, part) {
  ctx.strokeStyle = '#ffffff';
  ctx.lineCap = 'round';
  ctx.globalAlpha *= 0.85 * (1 - part);
  const rows = kind === 4 ? [-16, 0, 16] : [-22, 22];
  for (const y of rows) {
    ctx.lineWidth = 6 * (1 - part) + 1;
    ctx.beginPath();
    ctx.moveTo(radius * 0.95, y - 10);
    ctx.quadraticCurveTo(radius * 1.12 + 12 * part, y, radius * 0.95, y + 12);
    ctx.stroke();
  }
}

/**
 * Draws two eyes that look forward.
 * @param {string} fill colour of the eye; a light one gets a pupil
 * @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y
 */
function eyes(ctx, x, y, fill = INK) {
  for (const side of [-1, 1]) {
    spot(ctx, x, side * y, 5.6, 5.2, INK);
    if (fill !== INK) spot(ctx, x + 0.8, side * y, 3.6, 3.4, fill);
    spot(ctx, x + (fill === INK ? -1.4 : 1.2), side * y - 1.4, 1.8, 1.8, fill === INK ? '#ffffff' : INK);
  }
}

/**
 * Draws slanted brows.
 * @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y @param {string} colour
 */
function brows(ctx, x, y, colour) {
  ctx.strokeStyle = colour;
  ctx.lineWidth = 4.5;
  for (const side of [-1, 1]) {
    ctx.beginPath();
    ctx.moveTo(x - 8, side * (y + 6));
    ctx.lineTo(x + 7, side * (y - 5));
    ctx.stroke();
  }
}

/**
 * Draws a highlight along the back.
 * @param {CanvasRenderingContext2D} ctx @param {string} fill @param {number} x @param {number} y
 * @param {number} radiusX @param {number} radiusY
 */
function back(ctx, fill, x, y, radiusX, radiusY, part = 0.3) {
  spot(ctx, x, y, radiusX, radiusY, bright(fill, part));
}

/** @param {CanvasRenderingContext2D} ctx */
function cowBody(ctx) {
  const fill = '#efe4d2';
  bow(ctx, [-62, 0, -82, -8, -88, 10], 5, fill, 4.5);
  oval(ctx, -90, 14, 8, 7, '#6b5545', 4);
  oval(ctx, -10, 0, 60, 48, fill, 6);
  ctx.save();
  ctx.clip();
  for (const [x, y, a, b, turn] of [[-42, -26, 28, 20, 0.4], [8, 30, 26, 18, -0.3], [-48, 32, 14, 11, 0], [22, -32, 16, 13, 0.5]]) {
    spot(ctx, x, y, a, b, '#8a6247', turn);
  }
  ctx.restore();
  back(ctx, fill, -14, -4, 30, 10);
}

/** @param {CanvasRenderingContext2D} ctx */
function cowHead(ctx) {
  for (const side of [-1, 1]) {
    oval(ctx, 36, side * 31, 8, 13, '#d9b9a4', 4.5);
    bow(ctx, [46, side * 18, 50, side * 34, 62, side * 33], 7, BONE, 4.5);
  }
  oval(ctx, 52, 0, 27, 25, '#efe4d2', 6);
  spot(ctx, 38, 0, 11, 12, '#8a6247');
  oval(ctx, 72, 0, 13, 19, '#e8b5ab', 4.5);
  for (const y of [-7, 7]) spot(ctx, 76, y, 2.6, 3.4, '#8a5a58');
  eyes(ctx, 56, 15);
}

/** @param {CanvasRenderingContext2D} ctx */
function pigBody(ctx) {
  const fill = '#eeaab2';
  bow(ctx, [-64, 0, -80, -16, -82, 2], 6, fill, 4.5);
  bow(ctx, [-82, 2, -82, 12, -73, 8], 6, fill, 4.5);
  oval(ctx, -8, 0, 60, 52, fill, 6);
  back(ctx, fill, -12, -5, 32, 12);
  for (const [x, y] of [[-40, 24], [-32, -30], [10, 34]]) spot(ctx, x, y, 9, 6, mix(fill, '#c97f88', 0.35), 0.4);
}

/** @param {CanvasRenderingContext2D} ctx */
function pigHead(ctx) {
  const fill = '#eeaab2';
  for (const side of [-1, 1]) polygon(ctx, [[28, side * 18], [34, side * 38], [54, side * 24]], '#d98b96', 4.5);
  oval(ctx, 48, 0, 29, 28, fill, 6);
  back(ctx, fill, 42, -4, 12, 8);
  oval(ctx, 72, 0, 11, 17, '#d98b96', 4.5);
  for (const y of [-6, 6]) spot(ctx, 74, y, 3, 4, '#9c5a66');
  eyes(ctx, 58, 15);
}

/** @param {CanvasRenderingContext2D} ctx */
function bullBody(ctx) {
  const fill = '#7a5140';
  bow(ctx, [-66, 0, -86, 10, -96, -6], 6, fill, 4.5);
  oval(ctx, -98, -10, 9, 8, '#3d3038', 4);
  oval(ctx, -20, 0, 60, 50, fill, 6);
  oval(ctx, 18, 0, 40, 55, mix(fill, '#3d3038', 0.25), 6);
  back(ctx, fill, -30, 0, 26, 13, 0.1);
  ctx.strokeStyle = mix(fill, '#3d3038', 0.6);
  ctx.lineWidth = 4;
  for (const y of [-22, 0, 22]) {
    ctx.beginPath();
    ctx.moveTo(2, y - 7);
    ctx.quadraticCurveTo(14, y, 2, y + 7);
    ctx.stroke();
  }
}

/** @param {CanvasRenderingContext2D} ctx */
function bullHead(ctx) {
  const fill = '#7a5140';
  for (const side of [-1, 1]) {
    oval(ctx, 40, side * 36, 8, 12, '#5d3d33', 4.5);
    // Draws horns that point forward.
    ctx.beginPath();
    ctx.moveTo(46, side * 20);
    ctx.quadraticCurveTo(52, side * 56, 96, side * 46);
    ctx.quadraticCurveTo(66, side * 42, 64, side * 18);
    ctx.closePath();
    paint(ctx, BONE);
  }
  oval(ctx, 56, 0, 29, 28, fill, 6);
  oval(ctx, 77, 0, 13, 19, '#a87c66', 4.5);
  for (const y of [-7, 7]) spot(ctx, 81, y, 3, 3.6, '#3d3038');
  ctx.strokeStyle = AMBER;
  ctx.lineWidth = 3.5;
  ctx.beginPath();
  ctx.arc(88, 0, 6, -2, 2);
  ctx.stroke();
  eyes(ctx, 60, 17, '#ff9d76');
  brows(ctx, 60, 22, '#3d3038');
}

/**
 * Draws an outlined ellipse with a rim of tufts.
 * @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y @param {number} radiusX
 * @param {number} radiusY @param {number} tufts @param {string} fill
 */
function fur(ctx, x, y, radiusX, radiusY, tufts, fill) {
  ctx.beginPath();
  for (let i = 0; i < tufts * 2; i++) {
    const angle = (i * Math.PI) / tufts;
    const far = i % 2 ? 0.9 : 1.07;
    ctx.lineTo(x + radiusX * far * Math.cos(angle + 0.12), y + radiusY * far * Math.sin(angle + 0.12));
  }
  ctx.closePath();
  paint(ctx, fill, 6);
}

/** @param {CanvasRenderingContext2D} ctx */
function wolfBody(ctx) {
  const fill = '#7f8798';
  ctx.beginPath();
  ctx.moveTo(-58, -9);
  ctx.quadraticCurveTo(-92, -34, -112, -6);
  ctx.quadraticCurveTo(-96, 18, -58, 10);
  ctx.closePath();
  paint(ctx, fill, 6);
  polygon(ctx, [[-98, -14], [-112, -6], [-98, 6], [-93, -4]], '#dfe5ec', 2.5);
  fur(ctx, -14, 0, 62, 42, 15, fill);
  fur(ctx, 20, 0, 34, 44, 13, mix(fill, '#dfe5ec', 0.22));
  stripe(ctx, -64, -7, 76, 14, mix(fill, INK, 0.3));
}

/** @param {CanvasRenderingContext2D} ctx */
function wolfHead(ctx) {
  const fill = '#7f8798';
  for (const side of [-1, 1]) {
    polygon(ctx, [[34, side * 10], [24, side * 36], [58, side * 20]], fill);
    polygon(ctx, [[36, side * 17], [31, side * 29], [48, side * 20]], '#c59aa0', 2.5);
  }
  polygon(ctx, [[28, 0], [36, -27], [60, -24], [92, -8], [98, 0], [92, 8], [60, 24], [36, 27]], fill, 6);
  polygon(ctx, [[58, 0], [66, -13], [90, -6], [94, 0], [90, 6], [66, 13]], '#dfe5ec', 3);
  block(ctx, 90, -5, 9, 10, 4, '#3f3a4e', 3.5);
  eyes(ctx, 59, 13, AMBER);
  brows(ctx, 58, 17, mix(fill, INK, 0.65));
}
