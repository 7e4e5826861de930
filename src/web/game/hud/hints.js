/**
 * Hints for new players: why the player is slow. Each is shown once, when it first applies. The
 * keys are hidden after the player has built and attacked. It reads state and shows toasts.
 *
 * @module game/hud/hints
 */

import { biomeAt } from '../rules/palette.js';

/**
 * Hints by biome.
 * @type {Readonly<Partial<Record<import('../rules/palette.js').Biome, string>>>}
 */
const WORDS = Object.freeze({ snow: 'Snow slows you down', river: 'The river carries you along, and slows you' });

export class Hints {
  /** @param {import('../world/world.js').World} world @param {(text: string) => void} notify */
  constructor(world, notify) {
    this.world = world;
    this.notify = notify;
    /** @type {Set<string>} */
    this.biomesWithHint = new Set();
    this.isTaught = false;
  }

  /**
   * Hides the keys once the player has built and attacked.
   * @param {{ swing: { count: number } }} own
   */
  hideKeys(own) {
    if (this.isTaught || own.swing.count === 0 || ![...this.world.built.inventory.counts.values()].some((count) => count > 0)) return;
    this.isTaught = true;
    document.body.classList.add('taught');
  }

  /** Shows the hint of the current biome, if it was not shown before. Called once per frame. */
  draw() {
    const { world } = this;
    const own = world.ownId === null ? undefined : world.players.get(world.ownId);
    if (own) this.hideKeys(own);
    if (!own?.track.last || own.pace < 0.2) return;
    const biome = biomeAt(own.shown.y, world.mapSize);
    const hint = WORDS[biome];
    if (hint === undefined || this.biomesWithHint.has(biome)) return;
    this.biomesWithHint.add(biome);
    this.notify(hint);
  }
}
