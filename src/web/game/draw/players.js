/**
 * Draws players: round bodies with hands and eyes in the direction of the heading, and the tool or
 * item in the hands.
 *
 * @module game/draw/players
 */

import { ARMS } from './arms.js';
import { drawItem } from './items.js';
import { GRIP, drawArm, drawTool } from './tools.js';
import { ageMs, hasStarted } from '../../lib/interpolation.js';
import { INK, SKINS, WATER, biomeAt, mix, outlineOf } from '../rules/palette.js';
import { Sprites } from './sprites.js';
import { recoilProgress, ownSwingStart, streak, strokeMs, swingAngle, swingMs } from '../world/player.js';

/** Radius of a player in the rules, px. */
export const RADIUS = 35;
const HAND = 11.5;
const OUTLINE = 5.5;
/** Resting position of the hands, radians to each side of the heading. */
const HAND_ANGLE = 0.88;
/**
 * A carried item: distance from the body, px; size, px; angle of each hand from the heading,
 * radians.
 */
const CARRIED = Object.freeze({ x: 46, size: 40, angle: 0.5 });
/** Fraction of the reload time after which the next shot is drawn as loaded. */
const RELOADED = 0.6;
/** Rotation of the free hand, as a fraction of the swing. Negative: in the opposite direction. */
const COUNTER = -0.3;
/** Flash colour, visible on every skin. */
const FLASH = '#fff4ee';

/**
 * Pose of a player: weapon in the hand or null; carried item or null; fraction of the swing; time
 * since the last shot, ms; flash strength 0 to 1; device px for each px of the world.
 * @typedef {{ weapon: number | null, item: number | null, part: number, sinceShotMs: number, flash:
 *   number, scale: number }} Pose
 */

/** @type {Pose} */
const EMPTY_HANDED = Object.freeze({ weapon: null, item: null, part: 1, sinceShotMs: Infinity, flash: 0, scale: 1 });

const sprites = new Sprites(200);

/**
 * Draws a body, in the world or on the title card.
 * @param {CanvasRenderingContext2D} ctx
 * @param {number} x
 * @param {number} y
 * @param {number} heading radians
 * @param {number} skin 0 to 9
 * @param {number} walked walked distance, px; determines the position of the moving hands
 * @param {number} pace 0 at rest to 1 at full speed
 * @param {Pose} pose
 */
export function drawBody(ctx, x, y, heading, skin, walked, pace, pose = EMPTY_HANDED) {
  const skinFill = (SKINS[skin] ?? SKINS[0]).body;
  const fill = pose.flash > 0 ? mix(skinFill, FLASH, 0.85 * pose.flash) : skinFill;
  const gait = Math.sin(walked / 21) * 0.2 * pace;
  const { weapon, item } = pose;
  if (item !== null) carry(ctx, x, y, heading + gait * 0.3, fill, item, pose.scale);
  else if (weapon !== null && weapon in ARMS) drawArmed(ctx, x, y, heading + gait * 0.2, fill, weapon, pose);
  else drawHands(ctx, x, y, heading, fill, gait, pose);
  disc(ctx, x, y, RADIUS - OUTLINE / 2, fill);
  // The light comes from the top left for every heading.
  ctx.globalAlpha *= 0.5;
  ctx.fillStyle = mix(fill, '#ffffff', 0.55);
  ctx.beginPath();
  ctx.arc(x, y, RADIUS - OUTLINE - 1.5, 2.5, 5.3);
  ctx.arc(x + 6, y + 7, RADIUS - OUTLINE - 3, 5.0, 2.8, true);
  ctx.fill();
  ctx.globalAlpha /= 0.5;
  eyes(ctx, x, y, heading);
}

/**
 * Draws both hands, and the tool in the right one. The body is drawn later, above them.
 * @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y @param {number} heading
 * @param {string} fill @param {number} gait @param {Pose} pose
 */
function drawHands(ctx, x, y, heading, fill, gait, { weapon, part, scale }) {
  const swing = swingAngle(part);
  const hand = mix(fill, '#ffffff', 0.08);
  const free = heading - HAND_ANGLE + gait + swing * COUNTER;
  ctx.save();
  ctx.translate(x, y);
  ctx.rotate(heading + swing + (weapon === null ? gait : gait * 0.5));
  if (weapon !== null) {
    drawStreak(ctx, part, swing);
    drawTool(ctx, weapon, scale);
  }
  ctx.lineWidth = OUTLINE;
  ctx.strokeStyle = outlineOf(fill);
  if (weapon === null) disc(ctx, RADIUS * 0.98 * Math.cos(HAND_ANGLE), RADIUS * 0.98 * Math.sin(HAND_ANGLE), HAND, hand);
  else disc(ctx, GRIP.x, GRIP.y, HAND, hand);
  ctx.restore();
  ctx.lineWidth = OUTLINE;
  ctx.strokeStyle = outlineOf(fill);
  disc(ctx, x + RADIUS * 0.98 * Math.cos(free), y + RADIUS * 0.98 * Math.sin(free), HAND, hand);
}

/**
 * Draws a two-handed weapon or the shield, and both hands.
 * @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y @param {number} heading
 * @param {string} fill @param {number} weapon @param {Pose} pose
 */
function drawArmed(ctx, x, y, heading, fill, weapon, { sinceShotMs, scale }) {
  const { hands, kick, behind } = ARMS[weapon];
  const held = () => drawArm(ctx, weapon, sinceShotMs > swingMs(weapon) * RELOADED, scale);
  ctx.save();
  ctx.translate(x, y);
  ctx.rotate(heading);
  ctx.translate(-kick * recoilProgress(sinceShotMs), 0);
  if (!behind) held();
  ctx.lineWidth = OUTLINE;
  ctx.strokeStyle = outlineOf(fill);
  for (const [handX, handY] of hands) disc(ctx, handX, handY, HAND, mix(fill, '#ffffff', 0.08));
  if (behind) held();
  ctx.restore();
}

/**
 * Draws both hands in front with an item between them.
 * @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y @param {number} heading
 * @param {string} fill @param {number} item @param {number} scale
 */
function carry(ctx, x, y, heading, fill, item, scale) {
  ctx.save();
  ctx.translate(x, y);
  ctx.rotate(heading);
  Sprites.show(ctx, carried(item, scale), CARRIED.x, 0);
  ctx.lineWidth = OUTLINE;
  ctx.strokeStyle = outlineOf(fill);
  for (const side of [-1, 1]) {
    const angle = side * CARRIED.angle;
    disc(ctx, RADIUS * 1.06 * Math.cos(angle), RADIUS * 1.06 * Math.sin(angle), HAND, mix(fill, '#ffffff', 0.08));
  }
  ctx.restore();
}

/** Draws the carried item. @param {number} item @param {number} scale */
function carried(item, scale) {
  const side = CARRIED.size / 2 + 3;
  const cover = () => ({ left: -side, top: -side, width: 2 * side, height: 2 * side });
  return sprites.get(`item:${item}`, scale, cover, (ctx) => drawItem(ctx, item, CARRIED.size));
}

/**
 * Draws the streak behind the head of a tool, in the coordinates of the arm.
 * @param {CanvasRenderingContext2D} ctx @param {number} part @param {number} swing
 */
function drawStreak(ctx, part, swing) {
  const trace = streak(part);
  if (!trace) return;
  const head = 0.38;
  ctx.lineCap = 'butt';
  ctx.strokeStyle = '#ffffff';
  for (const [radius, width, alpha] of [[66, 24, 0.3], [72, 9, 0.34]]) {
    ctx.globalAlpha = alpha * trace.alpha;
    ctx.lineWidth = width;
    ctx.beginPath();
    ctx.arc(0, 0, radius, trace.to - swing + head, Math.min(trace.from, trace.to + 1.1) - swing + head);
    ctx.stroke();
  }
  ctx.globalAlpha = 1;
}

/**
 * Draws two eyes near the front, which show the heading.
 * @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y @param {number} heading
 */
function eyes(ctx, x, y, heading) {
  for (const side of [-1, 1]) {
    const angle = heading + side * 0.5;
    const ex = x + 18.5 * Math.cos(angle);
    const ey = y + 18.5 * Math.sin(angle);
    ctx.fillStyle = INK;
    ctx.beginPath();
    ctx.arc(ex, ey, 5, 0, 7);
    ctx.fill();
    ctx.fillStyle = '#ffffff';
    ctx.beginPath();
    ctx.arc(ex - 1.5, ey - 1.8, 1.7, 0, 7);
    ctx.fill();
  }
}

/**
 * Draws a filled circle with the current outline.
 * @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y @param {number} radius
 * @param {string} fill
 */
function disc(ctx, x, y, radius, fill) {
  ctx.fillStyle = fill;
  ctx.beginPath();
  ctx.arc(x, y, radius, 0, 7);
  ctx.fill();
  ctx.stroke();
}

/**
 * Draws the shadows and bodies of all players. The local player comes last.
 * @param {CanvasRenderingContext2D} ctx
 * @param {import('./camera.js').Camera} camera
 * @param {import('../world/world.js').World} world
 * @param {{ heading: number | null, pressedMs: number }} ahead local input that the server has not
 *   acknowledged: heading and time of the last press
 * @param {import('../world/effects.js').Effects} effects
 * @param {number} seconds time of the animations, s
 * @param {number} nowMs
 */
export function drawPlayers(ctx, camera, world, ahead, effects, seconds, nowMs) {
  const players = [...world.players.values()].filter((player) => player.track.last && camera.sees(player.shown.x, player.shown.y, 80));
  players.sort((a, b) => Number(a.id === world.ownId) - Number(b.id === world.ownId) || a.id - b.id);
  for (const player of players) if (biomeAt(player.shown.y, world.mapSize) === 'river') ripples(ctx, player, seconds);
  ctx.fillStyle = 'rgb(40 36 60 / 0.2)';
  for (const { shown } of players) {
    ctx.beginPath();
    ctx.ellipse(shown.x + 6, shown.y + 9, RADIUS + 2, RADIUS, 0, 0, 7);
    ctx.fill();
  }
  for (const player of players) {
    const { x, y, heading } = player.shown;
    const own = player.id === world.ownId;
    const ms = swingMs(player.weapon);
    const since = ageMs(nowMs, own ? ownSwingStart(player.swing.atMs, ahead.pressedMs, ms) : player.swing.atMs);
    pose.scale = camera.scale;
    pose.weapon = player.weapon;
    pose.item = player.item;
    pose.part = since / strokeMs(player.weapon);
    pose.sinceShotMs = hasStarted(nowMs, player.shotMs) ? ageMs(nowMs, player.shotMs) : Infinity;
    pose.flash = effects.flashOf(player.id, nowMs);
    drawBody(ctx, x, y, own && ahead.heading !== null ? ahead.heading : heading, player.skin, player.walked, player.pace, pose);
    if (player.isProtected) bubble(ctx, x, y, seconds);
  }
  return players;
}

/** Reused pose, so that a frame allocates nothing. @type {Pose} */
const pose = { weapon: 0, item: null, part: 1, sinceShotMs: Infinity, flash: 0, scale: 1 };

/**
 * Draws the bubble of a player with spawn protection.
 * @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y
 * @param {number} seconds
 */
function bubble(ctx, x, y, seconds) {
  ctx.fillStyle = 'rgb(255 255 255 / 0.16)';
  ctx.strokeStyle = `rgb(255 255 255 / ${0.6 + 0.2 * Math.sin(seconds * 5)})`;
  ctx.lineWidth = 3;
  ctx.beginPath();
  ctx.arc(x, y, RADIUS + 14, 0, 7);
  ctx.fill();
  ctx.stroke();
}

/**
 * Draws rings around players in water.
 * @param {CanvasRenderingContext2D} ctx @param {import('../world/player.js').Player} player
 * @param {number} seconds
 */
function ripples(ctx, { id, shown, pace }, seconds) {
  ctx.strokeStyle = WATER.foam;
  ctx.lineWidth = 4;
  for (const late of [0, 0.5]) {
    const part = (seconds * 0.7 + id * 0.37 + late) % 1;
    ctx.globalAlpha = (1 - part) * (0.25 + 0.4 * pace);
    ctx.beginPath();
    ctx.arc(shown.x, shown.y, RADIUS + 2 + part * (16 + 16 * pace), 0, 7);
    ctx.stroke();
  }
  ctx.globalAlpha = 1;
}
