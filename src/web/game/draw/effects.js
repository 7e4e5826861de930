/**
 * Draws effects: dust below the players, debris and sparks above them, numbers on top.
 *
 * @module game/draw/effects
 */

import { NUMBER_MS, PRINT_MS, RING_MS, positionOf } from '../world/effects.js';
import { ICONS, drawIcon } from './icons.js';
import { FONT, measure, Sprites } from './sprites.js';
import { ageMs } from '../../lib/interpolation.js';
import { INK, CLAN_MATE_COLOR, SNOW, outlineOf } from '../rules/palette.js';

const sprites = new Sprites(60);
const at = { x: 0, y: 0 };

/**
 * Colours of rising numbers by style. The number of a resource is drawn with its icon.
 * @type {Readonly<Record<string, string>>}
 */
const STYLES = Object.freeze({ damage: '#ffffff', heal: '#8ee88f', age: '#ffe08a', score: '#ffe08a', wood: '#e8bf8a', food: '#ff9db4',
  stone: '#dfe5ec', gold: '#ffd85e' });
/** Distance that a number rises, px. */
const RISE_PX = 92;

/**
 * Draws the debris of one layer.
 * @param {CanvasRenderingContext2D} ctx
 * @param {import('./camera.js').Camera} camera
 * @param {import('../world/effects.js').Effects} effects
 * @param {number} nowMs
 * @param {boolean} low true for dust on the ground, false for flying debris
 */
export function drawPieces(ctx, camera, effects, nowMs, low) {
  for (const one of effects.particles.all) {
    const part = ageMs(nowMs, one.bornMs) / one.lifeMs;
    if (part >= 1 || (one.shape === 'dust') !== low) continue;
    positionOf(one, nowMs, at);
    if (!camera.sees(at.x, at.y, 40)) continue;
    if (one.shape === 'dust') dust(ctx, one, part);
    else if (one.shape === 'spark') spark(ctx, one, part);
    else piece(ctx, one, part, nowMs);
  }
  ctx.globalAlpha = 1;
  if (!low) rings(ctx, effects, nowMs);
}

/**
 * Draws a puff that grows and fades.
 * @param {CanvasRenderingContext2D} ctx @param {import('../world/effects.js').Particle} one
 * @param {number} part
 */
function dust(ctx, { colour, size }, part) {
  ctx.globalAlpha = 0.72 * (1 - part) * Math.min(1, part * 8);
  ctx.fillStyle = colour;
  ctx.beginPath();
  ctx.arc(at.x, at.y, size * (0.55 + 0.75 * part), 0, 7);
  ctx.fill();
}

/**
 * Draws a streak along the path, shorter and thinner as it slows.
 * @param {CanvasRenderingContext2D} ctx @param {import('../world/effects.js').Particle} one
 * @param {number} part
 */
function spark(ctx, { colour, size, vx, vy }, part) {
  const pace = Math.hypot(vx, vy) || 1;
  const reach = size * 1.6 * (1 - part);
  ctx.globalAlpha = 1 - part * part;
  ctx.strokeStyle = colour;
  ctx.lineWidth = Math.max(0.5, 4.5 * (1 - part));
  ctx.lineCap = 'round';
  ctx.beginPath();
  ctx.moveTo(at.x, at.y);
  ctx.lineTo(at.x + (vx / pace) * reach, at.y + (vy / pace) * reach);
  ctx.stroke();
}

/**
 * Draws a spinning leaf or splinter with its own outline.
 * @param {CanvasRenderingContext2D} ctx @param {import('../world/effects.js').Particle} one
 * @param {number} part @param {number} nowMs
 */
function piece(ctx, { shape, colour, size, turn, spin, bornMs }, part, nowMs) {
  const angle = turn + spin * ageMs(nowMs, bornMs);
  const cos = Math.cos(angle);
  const sin = Math.sin(angle);
  const long = size * (part > 0.7 ? (1 - part) / 0.3 : 1);
  const wide = long * (shape === 'leaf' ? 0.55 : 0.72);
  /** @param {number} x @param {number} y */
  /** @param {number} x @param {number} y @returns {[number, number]} */
  const point = (x, y) => [at.x + x * cos - y * sin, at.y + x * sin + y * cos];
  ctx.globalAlpha = 1;
  ctx.beginPath();
  ctx.moveTo(...point(-long, 0));
  if (shape === 'leaf') {
    ctx.quadraticCurveTo(...point(0, -wide * 1.7), ...point(long, 0));
    ctx.quadraticCurveTo(...point(0, wide * 1.7), ...point(-long, 0));
  } else {
    for (const [x, y] of [[-0.2, -1], [0.9, -0.6], [0.7, 0.8], [-0.5, 0.9]]) ctx.lineTo(...point(x * long, y * wide));
    ctx.closePath();
  }
  ctx.fillStyle = colour;
  ctx.strokeStyle = outlineOf(colour);
  ctx.lineWidth = 2.6;
  ctx.stroke();
  ctx.fill();
}

/**
 * Draws growing rings of hits.
 * @param {CanvasRenderingContext2D} ctx @param {import('../world/effects.js').Effects} effects
 * @param {number} nowMs
 */
function rings(ctx, effects, nowMs) {
  for (const { x, y, radius, colour, bornMs } of effects.rings.all) {
    const part = ageMs(nowMs, bornMs) / RING_MS;
    if (part >= 1) continue;
    const open = 1 - (1 - part) ** 3;
    ctx.globalAlpha = 0.75 * (1 - part) ** 1.5;
    ctx.strokeStyle = colour;
    ctx.lineWidth = 1 + 7 * (1 - part);
    ctx.beginPath();
    ctx.arc(x, y, radius * (0.3 + 0.7 * open), 0, 7);
    ctx.stroke();
  }
  ctx.globalAlpha = 1;
}

/**
 * Draws rising numbers. With `calm` they do not move.
 * @param {CanvasRenderingContext2D} ctx
 * @param {import('./camera.js').Camera} camera
 * @param {import('../world/effects.js').Effects} effects
 * @param {number} nowMs
 * @param {boolean} calm
 */
export function drawNumbers(ctx, camera, effects, nowMs, calm) {
  const size = Math.max(1, 0.62 / camera.zoom);
  for (const { text, style, x, y, bornMs } of effects.numbers.all) {
    const part = ageMs(nowMs, bornMs) / NUMBER_MS;
    if (part >= 1 || !camera.sees(x, y, 120)) continue;
    const sprite = figure(text, style, camera.scale, size);
    const rise = calm ? 20 : RISE_PX * (1 - (1 - part) ** 1.35);
    const pop = calm ? 1 : part < 0.12 ? 0.6 + (part / 0.12) * 0.65 : Math.max(1, 1.25 - (part - 0.12) * 2.5);
    ctx.globalAlpha = Math.min(1, (1 - part) / 0.35);
    const width = sprite.width * pop;
    const height = sprite.height * pop;
    ctx.drawImage(sprite.image, x - width / 2, y - rise * size - height / 2, width, height);
  }
  ctx.globalAlpha = 1;
}

/**
 * Returns the picture of a number with the icon of its resource.
 * @param {string} text @param {string} style @param {number} scale @param {number} size
 */
function figure(text, style, scale, size) {
  const height = (style === 'age' ? 34 : 29) * size;
  const font = `bold ${height}px ${FONT}`;
  const icon = style in ICONS ? height * 0.95 : 0;
  const cover = () => {
    const width = measure(text, font) + (icon && icon + 6 * size) + 14 * size;
    return { left: -width / 2, top: -height * 0.8, width, height: height * 1.6 };
  };
  return sprites.get(`${style}:${size}:${text}`, scale, cover, (ctx) => {
    const shift = icon ? (icon + 6 * size) / 2 : 0;
    ctx.font = font;
    ctx.textAlign = 'center';
    ctx.textBaseline = 'middle';
    ctx.lineWidth = 7 * size;
    ctx.strokeStyle = INK;
    ctx.strokeText(text, -shift, 0);
    ctx.fillStyle = STYLES[style] ?? '#ffffff';
    ctx.fillText(text, -shift, 0);
    if (icon) drawIcon(ctx, style, measure(text, font) / 2 - shift + 6 * size + icon / 2, -1 * size, icon);
  });
}

/**
 * Draws fading footprints in snow.
 * @param {CanvasRenderingContext2D} ctx
 * @param {import('./camera.js').Camera} camera
 * @param {import('../world/effects.js').Effects} effects
 * @param {number} nowMs
 */
export function drawPrints(ctx, camera, effects, nowMs) {
  ctx.fillStyle = SNOW.mark;
  for (const { x, y, way, bornMs } of effects.prints.all) {
    const part = ageMs(nowMs, bornMs) / PRINT_MS;
    if (part >= 1 || !camera.sees(x, y, 20)) continue;
    ctx.globalAlpha = 0.8 * (1 - part);
    ctx.beginPath();
    ctx.ellipse(x, y, 10.5, 7, way, 0, 7);
    ctx.fill();
  }
  ctx.globalAlpha = 1;
}

/** Distance from the window edge at which a ping outside the view is drawn, CSS px. */
const EDGE_PX = 46;

/**
 * Draws map pings as growing rings. A ping outside the view is drawn small at the window edge.
 * @param {CanvasRenderingContext2D} ctx
 * @param {import('./camera.js').Camera} camera
 * @param {readonly { x: number, y: number, part: number }[]} pings
 */
export function drawPings(ctx, camera, pings) {
  const inset = EDGE_PX / camera.zoom;
  const { left, top, right, bottom } = camera.view;
  for (const { x, y, part } of pings) {
    const atX = Math.max(left + inset, Math.min(right - inset, x));
    const atY = Math.max(top + inset, Math.min(bottom - inset, y));
    const size = (atX === x && atY === y ? 1 : 0.5) * Math.max(1, 0.62 / camera.zoom);
    for (const late of [0, 0.3, 0.6]) {
      const open = (part * 2.2 + 1 - late) % 1;
      for (const [colour, width] of [[INK, 11], [CLAN_MATE_COLOR, 6]]) {
        ctx.globalAlpha = (1 - open) * Math.min(1, (1 - part) * 4) * (colour === INK ? 0.5 : 1);
        ctx.strokeStyle = /** @type {string} */ (colour);
        ctx.lineWidth = /** @type {number} */ (width) * size * (1 - 0.6 * open);
        ctx.beginPath();
        ctx.arc(atX, atY, (14 + 86 * open) * size, 0, 7);
        ctx.stroke();
      }
    }
  }
  ctx.globalAlpha = 1;
}
