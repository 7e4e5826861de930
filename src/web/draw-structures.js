/**
 * What players built, in the world: pads and traps on the ground, walls, spikes and mills above them, sails above the
 * players; and the ghost of what one is about to build.
 *
 * @module draw-structures
 */

import { pictureOf } from './draw-items.js';
import { mixAngle } from './interpolation.js';
import { ageMs, hasBegun } from './moments.js';
import { before, canPay, hasRoom, itemOf, mayBuild } from './rules.js';
import { Sprites } from './sprites.js';

/** What lies on the ground. */
const FLAT = Object.freeze(['trap', 'boost', 'heal', 'spawn']);
/** How much of others' traps one sees. */
const HIDDEN = 0.24;
/** Time in which something new comes up. */
const RISE_MS = 170;
/** Time in which a turret turns to where it shoots, and in which a shot throws it back, so far. */
const AIM_MS = 70;
const KICK_MS = 190;
const KICK_PX = 9;
const SHADOW = 'rgb(40 36 60 / 0.2)';
const REFUSED = 'rgb(222 64 52 / 0.72)';

const sprites = new Sprites(64);
const off = { x: 0, y: 0 };

/**
 * Structures of one layer.
 * @param {CanvasRenderingContext2D} ctx @param {import('./camera.js').Camera} camera
 * @param {import('./world.js').World} world
 * @param {'ground' | 'solid' | 'turning'} layer
 * @param {import('./effects.js').Effects} effects @param {number} seconds @param {number} nowMs
 */
export function drawStructures(ctx, camera, world, layer, effects, seconds, nowMs) {
  for (const one of world.built.structures.values()) {
    const item = itemOf(one.item);
    if (!item || !camera.sees(one.x, one.y, 90)) continue;
    const picture = pictureOf(item.id);
    if (layer === 'turning' ? !picture.turning : (layer === 'ground') !== FLAT.includes(item.group)) continue;
    effects.offset(one.id, nowMs, off);
    const up = Math.min(1, 0.6 + (0.4 * ageMs(nowMs, one.seenMs)) / RISE_MS);
    ctx.save();
    ctx.translate(one.x + off.x, one.y + off.y);
    if (layer === 'solid') shadow(ctx, item.scale * up);
    ctx.scale(up, up);
    ctx.rotate(layer === 'turning' ? turnOf(one, picture, seconds, nowMs) : one.heading);
    if (layer === 'turning' && picture.aims) ctx.translate(-kickOf(one, nowMs), 0);
    if (item.group === 'trap' && one.owner !== world.bodyId) ctx.globalAlpha = HIDDEN;
    Sprites.show(ctx, sprite(item.id, layer === 'turning' ? 'turning' : 'draw', camera.scale, false), 0, 0);
    ctx.restore();
  }
}

/** Where what turns points to: a turret glides to where it shot last, a mill goes round. */
function turnOf(one, picture, seconds, nowMs) {
  if (!picture.aims) return one.heading + seconds * (picture.spin ?? 0) + one.id;
  // It is shown when whoever is aimed at is shown, which may be later than it was heard of.
  if (!hasBegun(nowMs, one.shotMs)) return one.aimed;
  return mixAngle(one.aimed, one.aim, Math.min(1, ageMs(nowMs, one.shotMs) / AIM_MS));
}

/** How far a shot has thrown a turret back, px. */
function kickOf({ shotMs }, nowMs) {
  return hasBegun(nowMs, shotMs) ? KICK_PX * Math.max(0, 1 - ageMs(nowMs, shotMs) / KICK_MS) : 0;
}

function shadow(ctx, radius) {
  ctx.fillStyle = SHADOW;
  ctx.beginPath();
  ctx.arc(8, 12, radius, 0, 7);
  ctx.fill();
}

/** A picture, or what turns above it; reddened where it is refused. */
function sprite(id, part, scale, refused) {
  const { reach, [part]: draw } = pictureOf(id);
  const side = reach + 6;
  const cover = () => ({ left: -side, top: -side, width: 2 * side, height: 2 * side });
  return sprites.get(`${id}:${part}:${refused}`, scale, cover, (ctx) => {
    draw(ctx);
    if (!refused) return;
    ctx.globalCompositeOperation = 'source-atop';
    ctx.fillStyle = REFUSED;
    ctx.fillRect(-side, -side, 2 * side, 2 * side);
  });
}

/**
 * What is in one's hand as it would stand before one: red where it cannot be paid or there is no room for it.
 * @param {CanvasRenderingContext2D} ctx @param {import('./camera.js').Camera} camera
 * @param {import('./world.js').World} world @param {number | null} heading where one looks @param {number} seconds
 */
export function drawGhost(ctx, camera, world, heading, seconds) {
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
 * What would be built, and where, if one did it now; null with nothing to build in the hand.
 * @param {import('./world.js').World} world @param {number | null} heading
 */
export function ghostOf(world, heading) {
  const own = world.ownId === null ? undefined : world.players.get(world.ownId);
  const item = itemOf(own?.item ?? null);
  if (!own || !item || item.group === 'food') return null;
  const ahead = heading ?? own.shown.heading;
  const place = before(own.shown, ahead, item);
  const { built, things, mapSize } = world;
  const possible = canPay(item, world.stock) && mayBuild(item, built.kit.counts)
    && hasRoom(place, item.scale, things.values(), built.structures.values(), mapSize);
  return { id: item.id, ...place, heading: ahead, possible };
}
