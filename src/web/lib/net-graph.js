/**
 * Draws the graph of the connection panel over the last seconds: gaps between updates as bars from
 * below, corrections as bars from above, round trips and the prediction lead as lines.
 *
 * @module lib/net-graph
 */

import { HISTORY_MS } from './net-history.js';
import { ageMs } from './interpolation.js';

const TRIP = '#ffd35e';
const GAP = '#69c2dd';
const LEAD = '#9ad88b';
const CORRECTION = '#ff7f6b';
/** Correction that fills the height of the graph, px of the world. */
const CORRECTION_PX = 50;
const LINE = 'rgb(255 255 255 / 0.28)';
/** Space above the maximum of the scale for its label, CSS px. */
const HEAD_PX = 4;
/** Width of the labels of the time scale, CSS px. */
const SCALE_PX = 56;

/**
 * Draws the graph.
 * @param {HTMLCanvasElement} canvas
 * @param {import('./net-history.js').NetHistory} history
 * @param {number} nowMs
 */
export function drawNetGraph(canvas, history, nowMs) {
  const ratio = Math.min(2, devicePixelRatio || 1);
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (width === 0) return;
  if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
  if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
  const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  const top = history.scaleMaxMs;
  /** @param {number} atMs */
  const x = (atMs) => width * (1 - ageMs(nowMs, atMs) / HISTORY_MS);
  /** @param {number} ms */
  const y = (ms) => height - (height - HEAD_PX) * Math.min(1, ms / top);
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.clearRect(0, 0, width, height);
  drawScale(ctx, width, y, top);
  drawCorrectionScale(ctx, height);
  ctx.fillStyle = GAP;
  for (const { atMs, ms } of history.gaps) ctx.fillRect(Math.floor(x(atMs)), y(ms), 1, height - y(ms));
  ctx.fillStyle = CORRECTION;
  for (const { atMs, ms } of history.corrections) ctx.fillRect(Math.floor(x(atMs)), 0, 2, Math.max(3, height * Math.min(1, ms / CORRECTION_PX)));
  drawLead(ctx, history.leads.map(({ atMs, ms }) => [x(atMs), y(ms)]));
  drawRoundTrips(ctx, history.roundTrips.map(({ atMs, ms }) => [x(atMs), y(ms)]));
}

/**
 * Draws the lines and labels of the time scale.
 * @param {CanvasRenderingContext2D} ctx
 * @param {number} width
 * @param {(ms: number) => number} y
 * @param {number} top
 */
function drawScale(ctx, width, y, top) {
  ctx.font = '10px "DejaVu Sans", Verdana, sans-serif';
  ctx.textBaseline = 'top';
  for (const ms of [top, top / 2]) {
    ctx.fillStyle = LINE;
    ctx.fillRect(0, y(ms), width, 1);
    ctx.fillStyle = 'rgb(255 255 255 / 0.75)';
    ctx.fillText(`${ms} ms`, 2, y(ms) + 2);
  }
}

/**
 * Draws the labels of the correction scale next to the time scale.
 * @param {CanvasRenderingContext2D} ctx
 * @param {number} height
 */
function drawCorrectionScale(ctx, height) {
  ctx.fillStyle = CORRECTION;
  ctx.textBaseline = 'bottom';
  for (const part of [0.5, 1]) ctx.fillText(`${CORRECTION_PX * part} px`, SCALE_PX, height * part - 1);
}

/** @param {CanvasRenderingContext2D} ctx @param {number[][]} points */
function drawLead(ctx, points) {
  ctx.strokeStyle = LEAD;
  ctx.lineWidth = 1.5;
  ctx.beginPath();
  for (const [x, y] of points) ctx.lineTo(x, y);
  ctx.stroke();
}

/** @param {CanvasRenderingContext2D} ctx @param {number[][]} points */
function drawRoundTrips(ctx, points) {
  ctx.strokeStyle = ctx.fillStyle = TRIP;
  ctx.lineWidth = 1.5;
  ctx.beginPath();
  for (const [x, y] of points) ctx.lineTo(x, y);
  ctx.stroke();
  for (const [x, y] of points) {
    ctx.beginPath();
    ctx.arc(x, y, 2.2, 0, 7);
    ctx.fill();
  }
}
