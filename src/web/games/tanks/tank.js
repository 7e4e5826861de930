/**
 * Draws tanks and shells.
 *
 * @module tanks/tank
 */

import { TURN } from './map.js';
import { INK, SHADE, box, disc, ink } from './shapes.js';

export const TANK_RADIUS = 20;
/** Distance from the centre of a tank to the end of its gun, px. */
export const MUZZLE = 32;
/** Distance by which a shot pushes the gun back, px. */
const RECOIL = 7;

/** Colours that differ in lightness and hue; the first is the own tank's by default. */
export const COLOURS = [
  { name: 'Amber', body: '#f2b632' }, { name: 'Red', body: '#c95a4a' }, { name: 'Sky', body: '#7db4e6' },
  { name: 'Green', body: '#5f7f3a' }, { name: 'Pink', body: '#f0b3b8' }, { name: 'Violet', body: '#8a6fc4' },
  { name: 'Teal', body: '#2f9c95' }, { name: 'Sand', body: '#f2d9b1' }, { name: 'Brown', body: '#7d5a3c' },
  { name: 'Orange', body: '#e0763c' },
];

/**
 * Returns the colour of another player's tank: never the own one.
 * @param {number} player
 * @param {number} own number of the own colour
 */
export function colourOf(player, own) {
  const others = COLOURS.filter((_, at) => at !== own);
  return others[player % others.length].body;
}

/** @typedef {import('./shapes.js').View} View */
/**
 * @typedef {object} Look
 * @property {string} paint
 * @property {boolean} isOwn
 * @property {string} name '' without a name
 * @property {number} recoil 0 to 1
 */

/**
 * @param {CanvasRenderingContext2D} context
 * @param {View} view
 * @param {{ x: number, y: number, way: number, kind: number }} shell in half px
 */
export function drawShell(context, { scale, x, y }, shell) {
  context.save();
  context.translate(x(shell.x / 2), y(shell.y / 2));
  context.scale(scale, scale);
  context.fillStyle = SHADE;
  context.fill(box(-6, 6, 14, 7, 4));
  context.rotate(shell.way / 256 * 2 * Math.PI);
  const trail = context.createLinearGradient(-56, 0, 0, 0);
  trail.addColorStop(0, 'rgb(255 240 190 / 0)');
  trail.addColorStop(1, shell.kind ? 'rgb(255 143 90 / 0.75)' : 'rgb(255 240 190 / 0.75)');
  context.fillStyle = trail;
  context.fill(box(-56, -3, 56, 6, 3));
  ink(context, box(-12, -4, 18, 8, 4), shell.kind ? '#ff8f5a' : '#ffe27a', 2.5);
  context.restore();
}

/**
 * Draws a tank at the origin, 40 px wide.
 * @param {CanvasRenderingContext2D} context
 * @param {number} hull radians
 * @param {number} turret radians
 * @param {string} paint
 * @param {{ recoil?: number, isDestroyed?: boolean, tread?: number }} [how] `tread`: how far the
 *   tracks have moved, px
 */
export function drawBody(context, hull, turret, paint, { recoil = 0, isDestroyed = false, tread = 0 } = {}) {
  context.save();
  context.rotate(hull);
  for (const top of [-20, 11]) {
    ink(context, box(-22, top, 44, 9, 4), '#554e62');
    Object.assign(context, { strokeStyle: '#8a8298', lineWidth: 1.6 });
    context.beginPath();
    for (let at = -18 + (tread % 6 + 6) % 6; at <= 19; at += 6) {
      context.moveTo(at, top + 2);
      context.lineTo(at, top + 7);
    }
    context.stroke();
  }
  ink(context, box(-19, -13.5, 38, 27, 6), paint);
  context.fillStyle = 'rgb(56 50 74 / 0.3)';
  context.fill(box(10, -10, 4.5, 20, 2));
  for (const top of [-9, -3, 3]) context.fill(box(-17, top, 7, 3, 1.5));
  context.fillStyle = 'rgb(255 255 255 / 0.26)';
  context.fill(box(-16, -12, 31, 4, 2));
  context.fillStyle = 'rgb(56 50 74 / 0.14)';
  context.fill(box(-16, 8, 31, 4, 2));
  if (!isDestroyed) {
    context.fillStyle = '#fff3c4';
    for (const top of [-10.5, 8]) context.fill(disc(17, top + 1.2, 1.7));
  }
  context.restore();
  context.save();
  context.rotate(turret);
  context.globalAlpha *= isDestroyed ? 0.9 : 1;
  ink(context, box(4 - recoil * RECOIL, -4, 26, 8, 3), '#837b91');
  ink(context, box(25 - recoil * RECOIL, -5.5, 7, 11, 3), '#6a6377');
  ink(context, disc(0, 0, 11), paint);
  ink(context, disc(-2.5, 0, 5), paint, 1.8);
  context.fillStyle = 'rgb(255 255 255 / 0.34)';
  context.fill(disc(-4.5, -3.5, 3));
  context.restore();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {View} view
 * @param {Record<string, number>} tank
 * @param {Look} look
 */
export function drawTank(context, { scale, x, y }, tank, { paint, isOwn, name, recoil }) {
  const isDestroyed = tank.health === 0, turret = tank.turret / TURN * 2 * Math.PI;
  context.save();
  context.translate(x(tank.x), y(tank.y));
  context.scale(scale, scale);
  context.fillStyle = SHADE;
  context.fill(disc(5, 7, 23));
  if (isOwn && !isDestroyed) {
    Object.assign(context, { strokeStyle: 'rgb(255 233 168 / 0.55)', lineWidth: 2.5, fillStyle: 'rgb(255 233 168 / 0.1)' });
    context.fill(disc(0, 0, 29));
    context.stroke(disc(0, 0, 29));
    context.save();
    context.rotate(turret);
    Object.assign(context, { strokeStyle: 'rgb(253 248 236 / 0.4)', lineWidth: 2.5 });
    context.setLineDash([9, 8]);
    context.beginPath();
    context.moveTo(MUZZLE + 8, 0);
    context.lineTo(290, 0);
    context.stroke();
    context.restore();
  }
  const hull = tank.hull / 256 * 2 * Math.PI;
  drawBody(context, hull, turret, paint, { recoil, isDestroyed, tread: tank.x * Math.cos(hull) + tank.y * Math.sin(hull) });
  if (!isDestroyed) drawPlate(context, tank.health, name, isOwn, scale);
  context.restore();
}

/**
 * Draws the health and the name.
 * @param {CanvasRenderingContext2D} context
 * @param {number} health
 * @param {string} name
 * @param {boolean} isOwn
 * @param {number} scale
 */
function drawPlate(context, health, name, isOwn, scale) {
  ink(context, box(-23, -40, 46, 8, 4), 'rgb(20 18 30 / 0.7)', 2);
  context.fillStyle = health > 35 ? '#8ed05c' : '#f0604a';
  context.fill(box(-22, -39, 44 * health / 100, 6, 3));
  if (name === '') return;
  Object.assign(context, { font: `bold ${Math.max(13, 12.5 / scale)}px "Trebuchet MS", "DejaVu Sans", sans-serif`, textAlign: 'center', lineWidth: 4, lineJoin: 'round', strokeStyle: INK, fillStyle: isOwn ? '#ffe9a8' : '#fff' });
  context.strokeText(name, 0, -46);
  context.fillText(name, 0, -46);
}
