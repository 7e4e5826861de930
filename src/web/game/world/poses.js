/**
 * Poses of the players in updates. Updates by datagram may overtake the stream, in which players
 * enter and leave.
 *
 * @module game/world/poses
 */

import { UNIT, forEachGroup } from '../net/protocol.js';

/** Maximum number of stored poses. At the limit, the oldest one is dropped. */
const POSES = 256;

/** @typedef {{ tick: number, x: number, y: number, heading: number }} Pose in hpx and angle8 */

export class LanePoses {
  /** Tick of the newest update; -1 before the first. */
  #newest = -1;
  /** Newest pose by datagram of each player, the oldest pose first. @type {Map<number, Pose>} */
  #poses = new Map();

  /** Resets the state for a new connection. */
  clear() {
    this.#newest = -1;
    this.#poses.clear();
  }

  /** Records an update. Returns false if a newer one was recorded. @param {number} tick */
  advance(tick) {
    if (tick < this.#newest) return false;
    this.#newest = tick;
    return true;
  }

  /**
   * Stores a pose by datagram, because the stream may report an earlier enter of the player later.
   * @param {number} id
   * @param {Pose} pose
   */
  store(id, pose) {
    this.#poses.delete(id);
    this.#poses.set(id, pose);
    if (this.#poses.size > POSES) this.#poses.delete(/** @type {number} */ (this.#poses.keys().next().value));
  }

  /**
   * Returns the stored pose of a player that enters in this tick, if the pose is newer. An older
   * pose may be from an earlier life.
   * @param {number} id
   * @param {number} tick
   * @returns {Pose | null}
   */
  poseAfter(id, tick) {
    const pose = this.#poses.get(id);
    return pose && pose.tick > tick ? pose : null;
  }
}

/**
 * Applies the poses of an update, and its animals if the client has a lane.
 * @param {import('./world.js').World} world @param {number} tick
 * @param {Record<string, any>} values @param {number} nowMs
 */
export function applyPoses(world, tick, values, nowMs) {
  forEachGroup('full', values.full, (id, x, y, heading) => world.addSample(id, tick, x, y, heading, true));
  // A player that moved and turned is in both lists. Both records make one sample.
  const headings = new Map();
  forEachGroup('turned', values.turned, (id, heading) => headings.set(id, heading));
  forEachGroup('moved', values.moved, (id, dx, dy) => {
    const player = world.players.get(id);
    if (player) world.addSample(id, tick, player.qx + dx, player.qy + dy, headings.get(id) ?? null, false);
    headings.delete(id);
  });
  for (const [id, heading] of headings) {
    const player = world.players.get(id);
    if (player) world.addSample(id, tick, player.qx, player.qy, heading, false);
  }
  forEachGroup('own', values.own, (sequence, marginTicks, x, y, vx, vy, heading, direction) => {
    const moving = world.own !== null && (world.own.vx !== 0 || world.own.vy !== 0);
    world.own = { sequence, marginTicks, x: x * UNIT.fixed, y: y * UNIT.fixed, vx: vx * UNIT.fixed, vy: vy * UNIT.fixed,
      heading: heading * UNIT.angle16, direction };
    world.addOwnSample(tick, moving);
  });
  if (values.animals_gone) world.removeAnimals(values.animals_gone, nowMs);
  if (values.animals) world.animals(values.animals, nowMs);
}
