/**
 * The last tick of which a page was told while it had a player. A page that comes back says it in `hello`: then the server tells what it has missed, and
 * nothing twice.
 *
 * @module lib/resume-tick
 */

/** Packets that tell nothing of the game. */
const STATELESS_PACKETS = ['pong', 'error', 'command_accepted', 'command_rejected'];
/** The rule by which the server says that the player of a page that comes back is gone. */
const PLAYER_GONE = 'player_gone';

export class ResumeTick {
  /** Null without a player. @type {number | null} */
  tick = null;

  /**
   * A packet has come.
   * @param {string} name @param {Record<string, any>} values @param {boolean} isPlaying whether the page has a player
   * @param {() => number} receivedTick the tick of what is heard at this moment
   */
  onPacket(name, values, isPlaying, receivedTick) {
    if (name === 'error' && values.rule === PLAYER_GONE) this.tick = null;
    if (!isPlaying || STATELESS_PACKETS.includes(name)) return;
    const tick = typeof values.tick === 'number' ? values.tick : receivedTick();
    this.tick = Math.max(this.tick ?? 0, tick);
  }
}
