/**
 * Icons of resources and statistics. Each is drawn in a centred square of 24 by 24 units.
 *
 * @module game/draw/icons
 */

import { mix, outlineOf } from '../rules/palette.js';

/** @type {Readonly<Record<string, (ctx: CanvasRenderingContext2D) => void>>} */
export const ICONS = Object.freeze({ wood, food, stone, gold, kills, score, hammer });

/**
 * Draws an icon.
 * @param {CanvasRenderingContext2D} ctx
 * @param {string} name key of `ICONS`
 * @param {number} x centre
 * @param {number} y centre
 * @param {number} size side of the square
 */
export function drawIcon(ctx, name, x, y, size) {
  ctx.save();
  ctx.translate(x, y);
  ctx.scale(size / 24, size / 24);
  ctx.lineJoin = 'round';
  ctx.lineCap = 'round';
  ICONS[name](ctx);
  ctx.restore();
}

/**
 * Fills and outlines the current path.
 * @param {CanvasRenderingContext2D} ctx @param {string} fill
 */
function paint(ctx, fill, width = 2.2) {
  ctx.fillStyle = fill;
  ctx.strokeStyle = outlineOf(fill);
  ctx.lineWidth = width;
  ctx.fill();
  ctx.stroke();
}

/** @param {CanvasRenderingContext2D} ctx @param {readonly import('./shapes.js').Point[]} points */
function polygon(ctx, points) {
  ctx.beginPath();
  for (const [x, y] of points) ctx.lineTo(x, y);
  ctx.closePath();
}

/** Draws a log with its cut end to the right. @param {CanvasRenderingContext2D} ctx */
function wood(ctx) {
  ctx.rotate(-0.45);
  ctx.beginPath();
  ctx.roundRect(-10, -5.5, 17, 11, 4);
  paint(ctx, '#a9794a');
  ctx.beginPath();
  ctx.moveTo(-7, -1.5);
  ctx.lineTo(0, -1.5);
  ctx.moveTo(-5, 2);
  ctx.lineTo(1, 2);
  ctx.strokeStyle = '#8a5f38';
  ctx.lineWidth = 1.6;
  ctx.stroke();
  ctx.beginPath();
  ctx.ellipse(6.5, 0, 4, 5.5, 0, 0, 7);
  paint(ctx, '#e5c08c');
  ctx.beginPath();
  ctx.ellipse(6.5, 0, 1.5, 2.3, 0, 0, 7);
  ctx.strokeStyle = '#b98d58';
  ctx.lineWidth = 1.3;
  ctx.stroke();
}

/** Draws a berry with a leaf. @param {CanvasRenderingContext2D} ctx */
function food(ctx) {
  ctx.beginPath();
  ctx.arc(0, 2.5, 7.5, 0, 7);
  paint(ctx, '#d14671');
  ctx.beginPath();
  ctx.ellipse(-2.6, -0.4, 2.2, 1.6, -0.6, 0, 7);
  ctx.fillStyle = 'rgb(255 255 255 / 0.75)';
  ctx.fill();
  ctx.beginPath();
  ctx.moveTo(0, -4);
  ctx.quadraticCurveTo(2, -11, 9, -10);
  ctx.quadraticCurveTo(8, -4, 0, -4);
  paint(ctx, '#6fb25c', 1.8);
}

/** @param {CanvasRenderingContext2D} ctx */
function stone(ctx) {
  polygon(ctx, [[-9, 3], [-6, -6], [2, -9], [9, -3], [8, 6], [-2, 9]]);
  paint(ctx, '#9aa3af');
  polygon(ctx, [[-5, 0], [-3, -4.5], [2, -6], [5, -2], [1, 2]]);
  ctx.fillStyle = '#c4ccd6';
  ctx.fill();
}

/** @param {CanvasRenderingContext2D} ctx */
function gold(ctx) {
  polygon(ctx, [[-9, 4], [-7, -5], [0, -9], [8, -5], [9, 4], [1, 9]]);
  paint(ctx, '#dba93a');
  polygon(ctx, [[-5, 0], [-4, -4], [0, -6], [5, -3], [3, 2]]);
  ctx.fillStyle = '#f9df86';
  ctx.fill();
  ctx.fillStyle = '#ffffff';
  polygon(ctx, [[4, 1], [5, 3.4], [7.4, 4.4], [5, 5.4], [4, 7.8], [3, 5.4], [0.6, 4.4], [3, 3.4]]);
  ctx.fill();
}

/** Draws a skull. @param {CanvasRenderingContext2D} ctx */
function kills(ctx) {
  ctx.beginPath();
  ctx.arc(0, -2, 8, 2.6, 6.82);
  ctx.lineTo(4.6, 8);
  ctx.lineTo(-4.6, 8);
  ctx.closePath();
  paint(ctx, '#f4efe2');
  ctx.fillStyle = '#4a4360';
  for (const side of [-1, 1]) {
    ctx.beginPath();
    ctx.ellipse(side * 3.3, -1.4, 2.3, 2.6, 0, 0, 7);
    ctx.fill();
  }
  polygon(ctx, [[0, 1.6], [1.3, 4], [-1.3, 4]]);
  ctx.fill();
}

/** Draws a star for points. @param {CanvasRenderingContext2D} ctx */
function score(ctx) {
  ctx.beginPath();
  for (let i = 0; i < 10; i++) {
    const radius = i % 2 ? 4.6 : 10;
    const angle = (i * Math.PI) / 5 - Math.PI / 2;
    ctx.lineTo(radius * Math.cos(angle), radius * Math.sin(angle) + 0.6);
  }
  ctx.closePath();
  paint(ctx, '#f2b632');
  ctx.beginPath();
  ctx.arc(-1.6, -1.6, 1.8, 0, 7);
  ctx.fillStyle = mix('#f2b632', '#ffffff', 0.7);
  ctx.fill();
}

/** Draws the tool of the attack button. @param {CanvasRenderingContext2D} ctx */
function hammer(ctx) {
  ctx.rotate(-0.7);
  ctx.beginPath();
  ctx.roundRect(-10, -1.7, 16, 3.4, 1.7);
  paint(ctx, '#b98a57', 1.8);
  ctx.beginPath();
  ctx.roundRect(3, -6.5, 7, 13, 2.2);
  paint(ctx, '#a3acb8', 1.8);
}
