/**
 * Minimap: biomes, known scenery, structures of the local player, players in view, all clan mates,
 * and the local player.
 *
 * @module game/hud/minimap
 */

import { GRASS, INK, CLAN_MATE_COLOR, SAND, SNOW, WATER, biomeBorders } from '../rules/palette.js';

/** Minimum redraw interval, ms. */
const REDRAW_INTERVAL_MS = 100;
/**
 * Colour and radius, CSS px, by kind: tree, bush, rock, gold. The radii differ for colour-blind
 * players.
 */
const DOTS = [['#4a7a43', 1.7], ['#7d9a4e', 1.2], ['#73798a', 1.6], ['#f0b429', 2.3]];

export class Minimap {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    this.ground = document.createElement('canvas');
    this.version = -1;
    this.size = 0;
    this.drawnAt = 0;
  }

  /**
   * @param {import('../world/world.js').World} world
   * @param {import('../draw/camera.js').Camera} camera
   * @param {number} nowMs
   */
  draw(world, camera, nowMs) {
    if (nowMs - this.drawnAt < REDRAW_INTERVAL_MS) return;
    this.drawnAt = nowMs;
    const size = Math.round(this.canvas.clientWidth * camera.ratio);
    if (size === 0) return;
    if (size !== this.size || world.thingsVersion !== this.version) this.drawGround(world, size, camera.ratio);
    const { ctx } = this;
    const scale = size / world.mapSize;
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.drawImage(this.ground, 0, 0);
    this.drawView(camera, scale);
    for (const { id, track, shown } of world.players.values()) {
      if (id !== world.ownId && track.last && !world.clans.isMate(id, world.ownId)) this.dot(shown, scale, 2 * camera.ratio, '#ffffff', camera.ratio);
    }
    this.drawBuilt(world, scale, camera.ratio);
    this.drawMates(world, scale, camera.ratio, nowMs);
    const focus = world.cameraTarget;
    /** @param {number} value */
    const inside = (value) => Math.max(5 * camera.ratio, Math.min(size - 5 * camera.ratio, value * scale));
    if (world.death && !Number.isNaN(world.death.x)) this.drawGrave(inside(world.death.x), inside(world.death.y), camera.ratio);
    if (focus?.track.last) this.drawSelf(inside(focus.shown.x), inside(focus.shown.y), camera.ratio);
    this.drawPings(world.clans.pingsAt(nowMs), scale, camera.ratio);
  }

  /**
   * Draws a dot.
   * @param {{ x: number, y: number }} at
   * @param {number} scale
   * @param {number} radius device px
   * @param {string} colour
   * @param {number} ratio
   */
  dot(at, scale, radius, colour, ratio) {
    const { ctx } = this;
    ctx.beginPath();
    ctx.arc(at.x * scale, at.y * scale, radius, 0, 7);
    ctx.fillStyle = colour;
    ctx.fill();
    ctx.lineWidth = ratio;
    ctx.strokeStyle = INK;
    ctx.stroke();
  }

  /**
   * Draws clan mates in view at their rendered positions, others at the last received ones.
   * @param {import('../world/world.js').World} world @param {number} scale @param {number} ratio
   * @param {number} nowMs
   */
  drawMates(world, scale, ratio, nowMs) {
    for (const { player, x, y } of world.clans.matesAt(nowMs)) {
      if (player !== world.ownId && !world.players.has(player)) this.dot({ x, y }, scale, 3.2 * ratio, CLAN_MATE_COLOR, ratio);
    }
    for (const { id, shown, track } of world.players.values()) {
      if (track.last && world.clans.isMate(id, world.ownId)) this.dot(shown, scale, 3.2 * ratio, CLAN_MATE_COLOR, ratio);
    }
  }

  /**
   * Draws map pings as growing rings.
   * @param {readonly { x: number, y: number, part: number }[]} pings
   * @param {number} scale @param {number} ratio
   */
  drawPings(pings, scale, ratio) {
    const { ctx } = this;
    for (const { x, y, part } of pings) {
      const open = (part * 2.2) % 1;
      for (const [colour, width] of [[INK, 4], [CLAN_MATE_COLOR, 2]]) {
        ctx.globalAlpha = 1 - open;
        ctx.strokeStyle = /** @type {string} */ (colour);
        ctx.lineWidth = /** @type {number} */ (width) * ratio;
        ctx.beginPath();
        ctx.arc(x * scale, y * scale, (4 + 14 * open) * ratio, 0, 7);
        ctx.stroke();
      }
    }
    ctx.globalAlpha = 1;
  }

  /**
   * Draws the background. It changes only with new scenery or a new size.
   * @param {import('../world/world.js').World} world @param {number} size @param {number} ratio
   */
  drawGround(world, size, ratio) {
    this.size = size;
    this.version = world.thingsVersion;
    for (const canvas of [this.canvas, this.ground]) {
      if (canvas.width !== size) canvas.width = canvas.height = size;
    }
    const ctx = /** @type {CanvasRenderingContext2D} */ (this.ground.getContext('2d'));
    const at = biomeBorders(size);
    const bands = [[0, SNOW.base], [at.snowEnd, GRASS.base], [at.riverStart, WATER.base], [at.riverEnd, GRASS.base], [at.desertStart, SAND.base]];
    for (const [from, colour] of bands) {
      ctx.fillStyle = /** @type {string} */ (colour);
      ctx.fillRect(0, /** @type {number} */ (from), size, size);
    }
    const scale = size / world.mapSize;
    for (const thing of world.things.values()) {
      const [colour, radius] = DOTS[thing.kind] ?? DOTS[0];
      ctx.fillStyle = /** @type {string} */ (colour);
      ctx.beginPath();
      ctx.arc(thing.x * scale, thing.y * scale, /** @type {number} */ (radius) * ratio, 0, 7);
      ctx.fill();
    }
  }

  /**
   * Draws a frame around the visible part of the map.
   * @param {import('../draw/camera.js').Camera} camera @param {number} scale
   */
  drawView(camera, scale) {
    const { left, top, right, bottom } = camera.view;
    this.ctx.strokeStyle = 'rgb(255 255 255 / 0.85)';
    this.ctx.lineWidth = camera.ratio;
    this.ctx.strokeRect(left * scale, top * scale, (right - left) * scale, (bottom - top) * scale);
  }

  /**
   * Draws the structures of the local player as small squares.
   * @param {import('../world/world.js').World} world @param {number} scale @param {number} ratio
   */
  drawBuilt(world, scale, ratio) {
    if (world.bodyId === null) return;
    const { ctx } = this;
    const side = 2.6 * ratio;
    ctx.fillStyle = '#ffe9a8';
    ctx.strokeStyle = INK;
    ctx.lineWidth = ratio;
    for (const { owner, x, y } of world.built.structures.values()) {
      if (owner !== world.bodyId) continue;
      ctx.strokeRect(x * scale - side / 2, y * scale - side / 2, side, side);
      ctx.fillRect(x * scale - side / 2, y * scale - side / 2, side, side);
    }
  }

  /**
   * Draws the place of death as a cross.
   * @param {number} x @param {number} y @param {number} ratio
   */
  drawGrave(x, y, ratio) {
    const { ctx } = this;
    const reach = 4 * ratio;
    ctx.beginPath();
    ctx.moveTo(x - reach, y - reach);
    ctx.lineTo(x + reach, y + reach);
    ctx.moveTo(x + reach, y - reach);
    ctx.lineTo(x - reach, y + reach);
    for (const [colour, width] of [[INK, 4.5], ['#ff8a75', 2.2]]) {
      ctx.strokeStyle = /** @type {string} */ (colour);
      ctx.lineWidth = /** @type {number} */ (width) * ratio;
      ctx.stroke();
    }
  }

  /**
   * Draws the local or spectated player as a diamond. Other players are discs.
   * @param {number} x @param {number} y @param {number} ratio
   */
  drawSelf(x, y, ratio) {
    const { ctx } = this;
    const reach = 5 * ratio;
    ctx.beginPath();
    ctx.moveTo(x, y - reach);
    ctx.lineTo(x + reach, y);
    ctx.lineTo(x, y + reach);
    ctx.lineTo(x - reach, y);
    ctx.closePath();
    ctx.fillStyle = '#ffd85e';
    ctx.fill();
    ctx.lineWidth = 1.8 * ratio;
    ctx.strokeStyle = INK;
    ctx.stroke();
  }
}
