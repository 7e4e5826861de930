/**
 * Draws the world: moves the camera and draws the layers of a frame, from the ground up.
 *
 * @module game/scene
 */

import { Camera } from './draw/camera.js';
import { drawAnimals } from './draw/animals.js';
import { drawPlayers } from './draw/players.js';
import { drawHigh, drawLow } from './draw/scenery.js';
import { drawGhost, drawStructures } from './draw/structures.js';
import { drawTerrain } from './draw/terrain.js';
import { drawFlakes, drawRiver, drawSparkles } from './draw/weather.js';
import { Effects } from './world/effects.js';
import { ageMs } from '../lib/interpolation.js';

/** Delay of the death card, ms, so that the death is visible. The camera stays meanwhile. */
export const CARD_MS = 900;
/** Maximum distance between a click and the player to select, px of the world. */
const CLICK_PX = 60;

/** @typedef {import('./world/world.js').World} World */

/**
 * Layers that the first picture does not need: names, shots, and effects.
 * @typedef {Pick<typeof import('./draw/effects.js'), 'drawNumbers' | 'drawPieces' | 'drawPings' |
 *   'drawPrints'> & Pick<typeof import('./draw/labels.js'), 'drawLabels'> & Pick<typeof
 *   import('./draw/shots.js'), 'drawShots'>} LaterLayers
 */

export class Scene {
  /** @param {HTMLCanvasElement} canvas @param {World} world */
  constructor(canvas, world) {
    this.canvas = canvas;
    this.world = world;
    this.ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d', { alpha: false }));
    this.camera = new Camera(canvas);
    this.effects = new Effects();
    this.reducedMotion = matchMedia('(prefers-reduced-motion: reduce)');
    /** Layers that are loaded after the first picture. @type {LaterLayers | null} */
    this.later = null;
    /** Whether names are drawn. */
    this.hasNames = true;
    /** Whether snowflakes, debris and shaking are off. */
    this.isCalm = this.reducedMotion.matches;
    /** Heading of the local player by the input, radians; null before the first aim. */
    this.heading = /** @type {number | null} */ (null);
    /** Time of the press that started the last swing of the local player, ms. */
    this.pressedMs = -Infinity;
  }

  /**
   * Draws a frame.
   * @param {number} nowMs
   */
  draw(nowMs) {
    const { ctx, camera, world, effects, later, heading } = this;
    // Reduced motion stops the animations.
    const seconds = this.reducedMotion.matches ? 0 : nowMs / 1000;
    camera.apply(ctx);
    const things = [...world.things.values()];
    drawTerrain(ctx, camera, world.mapSize);
    drawRiver(ctx, camera, world.mapSize, seconds);
    drawSparkles(ctx, camera, world.mapSize, seconds);
    later?.drawPrints(ctx, camera, effects, nowMs);
    drawStructures(ctx, camera, world, 'ground', effects, seconds, nowMs);
    drawLow(ctx, camera, things, world.mapSize, effects, nowMs);
    drawStructures(ctx, camera, world, 'solid', effects, seconds, nowMs);
    later?.drawPieces(ctx, camera, effects, nowMs, true);
    drawGhost(ctx, camera, world, heading, seconds);
    drawAnimals(ctx, camera, world.animalTracker, effects, nowMs);
    const players = drawPlayers(ctx, camera, world, { heading, pressedMs: this.pressedMs }, effects, seconds, nowMs);
    drawStructures(ctx, camera, world, 'turning', effects, seconds, nowMs);
    later?.drawShots(ctx, camera, world.projectiles.flying.values());
    drawHigh(ctx, camera, things, world.mapSize, seconds, world.cameraTarget?.track.last && world.cameraTarget.shown, effects, nowMs);
    later?.drawPieces(ctx, camera, effects, nowMs, false);
    if (!this.isCalm) drawFlakes(ctx, camera, world.mapSize, seconds);
    later?.drawLabels(ctx, camera, players, world, this.hasNames, nowMs);
    later?.drawPings(ctx, camera, world.clans.pingsAt(nowMs));
    later?.drawNumbers(ctx, camera, effects, nowMs, this.reducedMotion.matches);
  }

  /**
   * Moves the camera: locked to the local player, eased to a spectated one, and drifting around the
   * centre of the map without either.
   * @param {number} nowMs
   * @param {number} elapsedMs since the last frame
   * @param {import('./net/connection.js').GameConnection} connection
   */
  moveCamera(nowMs, elapsedMs, connection) {
    const { camera, world } = this;
    camera.fit();
    const focus = world.cameraTarget;
    // The camera stays at the place of death for a moment.
    if (world.death && ageMs(nowMs, world.death.atMs) < CARD_MS) return;
    if (focus?.track.last) {
      camera.follow(focus.shown.x, focus.shown.y, elapsedMs, focus.id === world.ownId, world.death !== null);
    } else if (connection.lives === 0 || (connection.state === 'live' && world.ownId === null && world.players.size === 0)) {
      const drift = this.reducedMotion.matches ? 0 : nowMs / 9000;
      const middle = world.mapSize / 2;
      camera.follow(middle + 260 * Math.cos(drift), middle + 320 + 90 * Math.sin(drift * 1.3), elapsedMs, false);
    }
  }

  /**
   * Returns the player at a point of the canvas; undefined if no player is near.
   * @param {{ offsetX: number, offsetY: number }} point CSS px
   */
  playerAt({ offsetX, offsetY }) {
    const { camera } = this;
    const x = camera.x + (offsetX - camera.width / 2) / camera.zoom;
    const y = camera.y + (offsetY - camera.height / 2) / camera.zoom;
    /** @param {import('./world/player.js').Player} player */
    const far = ({ shown }) => Math.hypot(shown.x - x, shown.y - y);
    const [nearest] = [...this.world.players.values()].sort((one, other) => far(one) - far(other));
    return nearest && far(nearest) < CLICK_PX ? nearest : undefined;
  }
}
