/**
 * Draws labels of players and animals: names with clan tags, health bars, speech bubbles.
 *
 * @module game/draw/labels
 */

import { RADIUS } from './players.js';
import { FONT, measure, Sprites } from './sprites.js';
import { INK, CLAN_MATE_COLOR } from '../rules/palette.js';
import { rules, speciesOf } from '../rules/rules.js';

/** Colours of names: the local player, clan mates, other players, animals. */
const NAMES = Object.freeze({ own: '#ffe9a8', mate: CLAN_MATE_COLOR, other: '#ffffff', animal: '#e8dcc8' });

const sprites = new Sprites(160);

/**
 * Draws names and health bars, then speech bubbles on top. The health bar of the local player is
 * always visible, others only while hurt.
 * @param {CanvasRenderingContext2D} ctx
 * @param {import('./camera.js').Camera} camera
 * @param {import('../world/world.js').Player[]} players
 * @param {import('../world/world.js').World} world
 * @param {boolean} names whether names are shown
 * @param {number} nowMs
 */
export function drawLabels(ctx, camera, players, world, names, nowMs) {
  // Keeps text readable in small windows.
  const size = Math.max(1, 0.62 / camera.zoom);
  for (const animal of world.animalTracker.all.values()) animalLabel(ctx, camera, animal, size, names);
  for (const { id, name, shown, health, shownHealth } of players) {
    const own = id === world.ownId;
    const hurt = own || health < rules.player_health || shownHealth < rules.player_health - 1;
    if (hurt) healthBar(ctx, shown.x, shown.y - RADIUS - 20, size, shownHealth / rules.player_health, health / rules.player_health);
    if (!names) continue;
    const side = own ? 'own' : world.clans.isMate(id, world.ownId) ? 'mate' : 'other';
    const tag = world.clans.tagOf(id, world.ownId);
    const sprite = label(`${tag && `[${tag}] `}${name || `guest ${id}`}`, side, camera.scale, size);
    Sprites.show(ctx, sprite, shown.x, shown.y - RADIUS - (hurt ? 23 + 11 * size : 20));
  }
  for (const { bubble, shown } of players) {
    if (!bubble) continue;
    const left = bubble.untilMs - nowMs;
    ctx.globalAlpha = Math.min(1, left / 250);
    Sprites.show(ctx, speech(bubble.text, camera.scale, size), shown.x, shown.y - RADIUS - 29 - 37 * size);
    ctx.globalAlpha = 1;
  }
}

/**
 * Draws the name of an animal, and its health bar while hurt.
 * @param {CanvasRenderingContext2D} ctx @param {import('./camera.js').Camera} camera
 * @param {import('../world/animals.js').Animal} animal @param {number} size @param {boolean} names
 */
function animalLabel(ctx, camera, { kind, shown, health, shownHealth }, size, names) {
  const { health: whole, radius_px: radius, name } = speciesOf(kind);
  if (!camera.sees(shown.x, shown.y, 140)) return;
  const hurt = health < whole || shownHealth < whole - 1;
  const y = shown.y - radius - 14;
  if (hurt) healthBar(ctx, shown.x, y, size, shownHealth / whole, health / whole, 50 * size);
  if (names && name) Sprites.show(ctx, label(name, 'animal', camera.scale, size), shown.x, y - (hurt ? 3 + 11 * size : 0));
}

/**
 * Draws a health bar: green, amber when hurt, red near death. A recent loss of health lingers in
 * white.
 * @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y @param {number} size
 * @param {number} shown @param {number} health
 */
function healthBar(ctx, x, y, size, shown, health, half = 36 * size) {
  const height = 8.5 * size;
  const fill = health > 0.55 ? '#7ed670' : health > 0.28 ? '#f5b942' : '#f2604c';
  ctx.fillStyle = INK;
  ctx.beginPath();
  ctx.roundRect(x - half - 3, y - height - 3, 2 * half + 6, height + 6, 6);
  ctx.fill();
  ctx.fillStyle = '#5b5470';
  ctx.fillRect(x - half, y - height, 2 * half, height);
  ctx.fillStyle = '#ffffff';
  ctx.fillRect(x - half, y - height, 2 * half * Math.max(0, Math.min(1, shown)), height);
  ctx.fillStyle = fill;
  ctx.fillRect(x - half, y - height, 2 * half * Math.max(0, Math.min(1, shown, health)), height);
  ctx.fillStyle = 'rgb(255 255 255 / 0.35)';
  ctx.fillRect(x - half, y - height, 2 * half * Math.max(0, Math.min(1, shown, health)), height * 0.35);
}

/**
 * Draws a name as light text with a dark rim, readable on snow and sand. The name of the local
 * player has a mark.
 * @param {string} name @param {keyof typeof NAMES} side @param {number} scale @param {number} size
 */
function label(name, side, scale, size) {
  const height = 24 * size;
  const font = `bold ${20 * size}px ${FONT}`;
  const text = side === 'own' ? `▸ ${name}` : name;
  const cover = () => {
    const width = measure(text, font) + 16;
    return { left: -width / 2, top: -height, width, height: height * 1.5 };
  };
  return sprites.get(`name:${side}:${size}:${name}`, scale, cover, (ctx) => {
    ctx.font = font;
    ctx.textAlign = 'center';
    ctx.lineWidth = 6.5 * size;
    ctx.strokeStyle = INK;
    ctx.strokeText(text, 0, 0);
    ctx.fillStyle = NAMES[side];
    ctx.fillText(text, 0, 0);
  });
}

/**
 * Draws a speech bubble with its tail at the origin.
 * @param {string} text @param {number} scale @param {number} size
 */
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
