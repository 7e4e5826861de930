/**
 * The page: joins the parts and draws a frame whenever the browser wants one.
 *
 * ```text
 *  socket ─► connection ─► world ─► draw-*, minimap, hud
 *  keys, mouse ─► input ─► commands ─► connection
 * ```
 *
 * @module main
 */

import { Camera } from './camera.js';
import { Commands } from './commands.js';
import { Connection } from './connection.js';
import { drawLabels, drawPlayers } from './draw-players.js';
import { drawHigh, drawLow } from './draw-scenery.js';
import { drawTerrain } from './draw-terrain.js';
import { drawFlakes, drawRiver, drawSparkles } from './draw-weather.js';
import { Hud, element } from './hud.js';
import { Input } from './input.js';
import { expose } from './inspect.js';
import { Minimap } from './minimap.js';
import { ENDPOINT } from './protocol.js';
import { Rates } from './rates.js';
import { Title } from './title.js';
import { World } from './world.js';

const canvas = /** @type {HTMLCanvasElement} */ (element('world'));
const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d', { alpha: false }));
const calm = matchMedia('(prefers-reduced-motion: reduce)');

const world = new World();
const rates = new Rates();
const camera = new Camera(canvas);
const minimap = new Minimap(/** @type {HTMLCanvasElement} */ (element('minimap')));
const connection = new Connection(endpoint(), receive, changed);
const commands = new Commands(connection, world);
const hud = new Hud(world, connection, rates, (text) => commands.chat(text));
const title = new Title((player) => connection.enter(player));
const actions = { Enter: () => hud.openChat(), KeyP: () => hud.togglePanel() };
const input = new Input(canvas, element('stick'), actions, () => commands.move(input.direction));

let livesSeen = 0;

expose(world, connection, rates);
connection.open();
requestAnimationFrame(frame);

/** The game's endpoint beside this page. */
function endpoint() {
  const url = new URL(ENDPOINT, location.href);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  return url.href;
}

/** @param {{ name: string, values: Record<string, any> }} packet @param {number} nowMs */
function receive(packet, nowMs) {
  world.apply(packet, nowMs);
  if (packet.name === 'pong') world.clock.pingMs = connection.pingMs;
  if (packet.name === 'spawned') commands.spawned();
}

function changed() {
  if (connection.state !== 'live' || connection.lives === livesSeen) return;
  livesSeen = connection.lives;
  if (livesSeen > 1) hud.tell('Connected again');
}

/** @param {number} nowMs */
function frame(nowMs) {
  requestAnimationFrame(frame);
  const elapsed = rates.frame(nowMs);
  rates.count(connection.stats, nowMs);
  world.advance(nowMs);
  camera.fit();
  look(nowMs, elapsed);
  draw(nowMs, calm.matches ? 0 : nowMs / 1000);
  hud.draw(nowMs);
  title.draw(world, connection.state === 'live', nowMs);
  minimap.draw(world, camera, nowMs);
  if (world.ownId !== null) {
    commands.move(input.direction);
    if (input.heading !== null) commands.aim(input.heading, nowMs);
  }
}

/** Points the camera: at oneself exactly, at whom one watches softly, at the middle of an empty world. */
function look(nowMs, elapsed) {
  const focus = world.focus;
  if (focus?.track.last) {
    camera.follow(focus.shown.x, focus.shown.y, elapsed, focus.id === world.ownId);
  } else if (connection.lives === 0 || (connection.state === 'live' && world.ownId === null && world.players.size === 0)) {
    const drift = calm.matches ? 0 : nowMs / 9000;
    const middle = world.mapSize / 2;
    camera.follow(middle + 260 * Math.cos(drift), middle + 320 + 90 * Math.sin(drift * 1.3), elapsed, false);
  }
}

/** @param {number} nowMs @param {number} seconds for what moves by itself; 0 keeps it still */
function draw(nowMs, seconds) {
  camera.apply(ctx);
  const things = [...world.things.values()];
  drawTerrain(ctx, camera, world.mapSize);
  drawRiver(ctx, camera, world.mapSize, seconds);
  drawSparkles(ctx, camera, world.mapSize, seconds);
  drawLow(ctx, camera, things, world.mapSize);
  const players = drawPlayers(ctx, camera, world, input.heading, seconds);
  drawHigh(ctx, camera, things, world.mapSize, seconds, world.focus?.track.last && world.focus.shown);
  if (!calm.matches) drawFlakes(ctx, camera, world.mapSize, seconds);
  drawLabels(ctx, camera, players, world.ownId, nowMs);
}
