/**
 * Draws structures: pads and traps on the ground, walls, spikes and mills above them, sails above
 * the players, and the ghost of the structure that would be placed.
 *
 * @module game/draw/structures
 */

import { pictureOf } from './items.js';
import { ageMs } from '../../lib/interpolation.js';
import { positionInFront, canAfford, groupOf, hasRoom, itemOf, mayBuild } from '../rules/rules.js';
import { Sprites } from './sprites.js';

/** Opacity of traps of other players. */
const HIDDEN = 0.24;
/** Duration of the animation of a new structure, ms. */
const RISE_MS = 170;
/** Layers of the lifetime ring from the bottom: width, px, and colour. */
const RING = Object.freeze(/** @type {const} */ ([[9, 'rgb(56 50 74 / 0.55)'], [5, '#ffe9a8']]));
const SHADOW = 'rgb(40 36 60 / 0.2)';
const REFUSED = 'rgb(222 64 52 / 0.72)';

/** @typedef {import('../world/structures.js').Structure} Structure */

const sprites = new Sprites(64);
const off = { x: 0, y: 0 };

/**
 * Draws the structures of one layer.
 * @param {CanvasRenderingContext2D} ctx
 * @param {import('./camera.js').Camera} camera
 * @param {import('../world/world.js').World} world
 * @param {'ground' | 'solid' | 'turning'} layer
 * @param {import('../world/effects.js').Effects} effects
 * @param {number} seconds
 * @param {number} nowMs
 */
export function drawStructures(ctx, camera, world, layer, effects, seconds, nowMs) {
  for (const one of world.built.structures.values()) {
    const item = itemOf(one.item);
    if (!item || !camera.sees(one.x, one.y, 90)) continue;
    const picture = pictureOf(item.id);
    if (layer === 'turning' ? !picture.turning : (layer === 'ground') === groupOf(item).is_solid) continue;
    effects.offset(one.id, nowMs, off);
    const up = Math.min(1, 0.6 + (0.4 * ageMs(nowMs, one.seenMs)) / RISE_MS);
    ctx.save();
    ctx.translate(one.x + off.x, one.y + off.y);
    if (layer === 'solid') shadow(ctx, item.radius_px * up);
    ctx.scale(up, up);
    const left = leftOf(one, item, world, nowMs);
    if (layer === 'turning') picture.pose?.(ctx, one, { seconds, nowMs, left });
    else {
      if (left < 1) ring(ctx, picture.reach + 2, left);
      ctx.rotate(one.heading);
    }
    if (item.group === 'trap' && one.owner !== world.bodyId) ctx.globalAlpha = HIDDEN;
    Sprites.show(ctx, sprite(item.id, layer === 'turning' ? 'turning' : 'draw', camera.scale, false), 0, 0);
    ctx.restore();
  }
}

/**
 * Returns the remaining fraction of the lifetime; 1 if the structure has no end.
 * @param {Structure} structure @param {import('../rules/rules.js').Item} item
 * @param {import('../world/world.js').World} world @param {number} nowMs
 */
function leftOf({ endsTick }, { duration_ms: durationMs }, { clock }, nowMs) {
  if (endsTick === null || durationMs === null) return 1;
  return Math.min(1, Math.max(0, ((endsTick - clock.tickAt(nowMs)) * clock.tickMs) / durationMs));
}

/**
 * Draws a ring that closes as the lifetime ends.
 * @param {CanvasRenderingContext2D} ctx @param {number} radius @param {number} left
 */
function ring(ctx, radius, left) {
  ctx.lineCap = 'round';
  for (const [width, style] of RING) {
    ctx.strokeStyle = style;
    ctx.lineWidth = width;
    ctx.beginPath();
    ctx.arc(0, 0, radius, -Math.PI / 2, (2 * left - 0.5) * Math.PI);
    ctx.stroke();
  }
}

/** @param {CanvasRenderingContext2D} ctx @param {number} radius */
function shadow(ctx, radius) {
  ctx.fillStyle = SHADOW;
  ctx.beginPath();
  ctx.arc(8, 12, radius, 0, 7);
  ctx.fill();
}

/**
 * Draws a picture or its moving part, in red if the server would reject the structure.
 * @param {number} id item
 * @param {'draw' | 'turning'} part
 * @param {number} scale
 * @param {boolean} refused
 */
function sprite(id, part, scale, refused) {
  const { reach, [part]: draw } = pictureOf(id);
  const side = reach + 6;
  const cover = () => ({ left: -side, top: -side, width: 2 * side, height: 2 * side });
  return sprites.get(`${id}:${part}:${refused}`, scale, cover, (ctx) => {
    draw?.(ctx);
    if (!refused) return;
    ctx.globalCompositeOperation = 'source-atop';
    ctx.fillStyle = REFUSED;
    ctx.fillRect(-side, -side, 2 * side, 2 * side);
  });
}

/**
 * Draws predicted structures, and the ghost of the structure in the hand. The ghost is red if the
 * structure cannot be placed.
 * @param {CanvasRenderingContext2D} ctx
 * @param {import('./camera.js').Camera} camera
 * @param {import('../world/world.js').World} world
 * @param {number | null} heading direction of view, radians
 * @param {number} seconds
 */
export function drawGhost(ctx, camera, world, heading, seconds) {
  for (const one of world.built.predicted) drawPredicted(ctx, camera, one);
  const ghost = ghostOf(world, heading);
  if (!ghost) return;
  ctx.save();
  ctx.translate(ghost.x, ghost.y);
  ctx.globalAlpha = 0.66 + 0.08 * Math.sin(seconds * 5);
  ctx.rotate(ghost.heading);
  Sprites.show(ctx, sprite(ghost.id, 'draw', camera.scale, !ghost.possible), 0, 0);
  if (pictureOf(ghost.id).turning) Sprites.show(ctx, sprite(ghost.id, 'turning', camera.scale, !ghost.possible), 0, 0);
  ctx.restore();
}

/**
 * Draws a predicted structure of the local player.
 * @param {CanvasRenderingContext2D} ctx
 * @param {import('./camera.js').Camera} camera
 * @param {Pick<Structure, 'item' | 'x' | 'y' | 'heading'>} one
 */
function drawPredicted(ctx, camera, { item, x, y, heading }) {
  ctx.save();
  ctx.translate(x, y);
  ctx.rotate(heading);
  Sprites.show(ctx, sprite(item, 'draw', camera.scale, false), 0, 0);
  if (pictureOf(item).turning) Sprites.show(ctx, sprite(item, 'turning', camera.scale, false), 0, 0);
  ctx.restore();
}

/**
 * Returns the structure that a press would place now, and its position; null without a placeable
 * item in the hand.
 * @param {import('../world/world.js').World} world
 * @param {number | null} heading
 */
export function ghostOf(world, heading) {
  const own = world.ownId === null ? undefined : world.players.get(world.ownId);
  const item = itemOf(own?.item ?? null);
  if (!own || !item || item.group === 'food') return null;
  const ahead = heading ?? own.shown.heading;
  const position = positionInFront(own.shown, ahead, item);
  const { built, things, mapSize } = world;
  const possible = canAfford(item, world.resources) && mayBuild(item, built.inventory.counts)
    && hasRoom(position, item.radius_px, things.values(), built.structures.values(), mapSize);
  return { id: item.id, ...position, heading: ahead, possible };
}
