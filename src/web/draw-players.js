/**
 * Players: round bodies with hands and eyes that look where they are heading, names above them, what they say above
 * the names.
 *
 * @module draw-players
 */

import { INK, SKINS, WATER, biomeAt, mix, outlineOf } from './palette.js';
import { Sprites } from './sprites.js';

/** A player's radius in the rules, px. */
export const RADIUS = 35;
const HAND = 11.5;
const OUTLINE = 5.5;
/** Where the hands rest: this far to each side of the heading. */
const HAND_ANGLE = 0.88;

const FONT = '"Trebuchet MS", "Segoe UI", "DejaVu Sans", Verdana, sans-serif';

const sprites = new Sprites(200);

/**
 * One body at a point. Used by the world and by the title card.
 *
 * @param {CanvasRenderingContext2D} ctx
 * @param {number} x @param {number} y @param {number} heading radians
 * @param {number} skin 0 to 9
 * @param {number} walked px walked so far: the hands swing with it
 * @param {number} pace 0 at rest to 1 in full walk
 */
export function drawBody(ctx, x, y, heading, skin, walked, pace) {
  const fill = (SKINS[skin] ?? SKINS[0]).body;
  const line = outlineOf(fill);
  ctx.lineWidth = OUTLINE;
  ctx.strokeStyle = line;
  const swing = Math.sin(walked / 21) * 0.2 * pace;
  for (const side of [-1, 1]) {
    const angle = heading + side * HAND_ANGLE + swing;
    disc(ctx, x + RADIUS * 0.98 * Math.cos(angle), y + RADIUS * 0.98 * Math.sin(angle), HAND, mix(fill, '#ffffff', 0.08));
  }
  disc(ctx, x, y, RADIUS - OUTLINE / 2, fill);
  // Light from the top left, the same for every heading.
  ctx.globalAlpha *= 0.5;
  ctx.fillStyle = mix(fill, '#ffffff', 0.55);
  ctx.beginPath();
  ctx.arc(x, y, RADIUS - OUTLINE - 1.5, 2.5, 5.3);
  ctx.arc(x + 6, y + 7, RADIUS - OUTLINE - 3, 5.0, 2.8, true);
  ctx.fill();
  ctx.globalAlpha /= 0.5;
  eyes(ctx, x, y, heading);
}

/** Two eyes near the front; they make the heading readable at a glance. */
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

/** A filled circle with the current outline. */
function disc(ctx, x, y, radius, fill) {
  ctx.fillStyle = fill;
  ctx.beginPath();
  ctx.arc(x, y, radius, 0, 7);
  ctx.fill();
  ctx.stroke();
}

/**
 * Shadows and bodies of all players, oneself last.
 * @param {CanvasRenderingContext2D} ctx @param {import('./camera.js').Camera} camera
 * @param {import('./world.js').World} world
 * @param {number | null} ownHeading where one's own mouse points, ahead of the server's answer
 * @param {number} seconds
 */
export function drawPlayers(ctx, camera, world, ownHeading, seconds) {
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
    drawBody(ctx, x, y, own && ownHeading !== null ? ownHeading : heading, player.skin, player.walked, player.pace);
  }
  return players;
}

/** Rings that spread from whoever is in the water. */
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

/**
 * Names, then bubbles, so that no name covers what is said.
 * @param {CanvasRenderingContext2D} ctx @param {import('./camera.js').Camera} camera
 * @param {import('./world.js').Player[]} players @param {number | null} ownId @param {number} nowMs
 */
export function drawLabels(ctx, camera, players, ownId, nowMs) {
  // Text keeps a readable size on small windows.
  const size = Math.max(1, 0.62 / camera.zoom);
  for (const { id, name, shown } of players) {
    const sprite = label(name || `guest ${id}`, id === ownId, camera.scale, size);
    Sprites.show(ctx, sprite, shown.x, shown.y - RADIUS - 17);
  }
  for (const { bubble, shown } of players) {
    if (!bubble) continue;
    const left = bubble.untilMs - nowMs;
    ctx.globalAlpha = Math.min(1, left / 250);
    Sprites.show(ctx, speech(bubble.text, camera.scale, size), shown.x, shown.y - RADIUS - 22 - 26 * size);
    ctx.globalAlpha = 1;
  }
}

/** A name: light text in a dark rim, readable on snow and sand alike; one's own has a mark before it. */
function label(name, own, scale, size) {
  const height = 24 * size;
  const font = `bold ${20 * size}px ${FONT}`;
  const text = own ? `▸ ${name}` : name;
  const cover = () => {
    const width = measure(text, font) + 16;
    return { left: -width / 2, top: -height, width, height: height * 1.5 };
  };
  return sprites.get(`name:${own}:${size}:${name}`, scale, cover, (ctx) => {
    ctx.font = font;
    ctx.textAlign = 'center';
    ctx.lineWidth = 6.5 * size;
    ctx.strokeStyle = INK;
    ctx.strokeText(text, 0, 0);
    ctx.fillStyle = own ? '#ffe9a8' : '#ffffff';
    ctx.fillText(text, 0, 0);
  });
}

/** A speech bubble with its tail at the origin. */
function speech(text, scale, size) {
  const font = `${21 * size}px ${FONT}`;
  const height = 40 * size;
  const tail = 11 * size;
  const halfWidth = () => measure(text, font) / 2 + 17 * size;
  const cover = () => ({ left: -halfWidth() - 8, top: -height - tail - 6, width: 2 * halfWidth() + 16, height: height + tail + 14 });
  return sprites.get(`say:${size}:${text}`, scale, cover, (ctx) => {
    const half = halfWidth();
    ctx.beginPath();
    ctx.roundRect(-half, -height - tail, 2 * half, height, 14 * size);
    ctx.moveTo(-9 * size, -tail - 1);
    ctx.lineTo(0, 0);
    ctx.lineTo(9 * size, -tail - 1);
    ctx.fillStyle = 'rgb(252 250 244 / 0.96)';
    ctx.strokeStyle = INK;
    ctx.lineWidth = 3.5;
    ctx.stroke();
    ctx.fill();
    ctx.font = font;
    ctx.textAlign = 'center';
    ctx.textBaseline = 'middle';
    ctx.fillStyle = INK;
    ctx.fillText(text, 0, -height / 2 - tail + 1);
  });
}

const ruler = /** @type {CanvasRenderingContext2D} */ (document.createElement('canvas').getContext('2d'));

/** @param {string} text @param {string} font */
function measure(text, font) {
  ruler.font = font;
  return ruler.measureText(text).width;
}
