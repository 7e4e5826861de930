/**
 * Last tick whose events the page has received while it had a player. A resuming page sends it in
 * `hello`; the server then sends the missed events once.
 *
 * @module lib/resume-tick
 */

/** Packets without game state. */
const STATELESS_PACKETS = ['pong', 'error', 'command_accepted', 'command_rejected'];
/** Rule with which the server reports that the player of a resuming page no longer exists. */
const PLAYER_LEFT = 'player_left';

export class ResumeTick {
  /** Last received tick; null without a player. @type {number | null} */
  tick = null;

  /**
   * Records a received packet.
   * @param {string} name
   * @param {Record<string, any>} values
   * @param {boolean} isPlaying whether the page has a player
   * @param {() => number} receivedTick returns the tick of a packet that arrives now and contains
   *   no tick
   */
  onPacket(name, values, isPlaying, receivedTick) {
    if (name === 'error' && values.rule === PLAYER_LEFT) this.tick = null;
    if (!isPlaying || STATELESS_PACKETS.includes(name)) return;
    const tick = typeof values.tick === 'number' ? values.tick : receivedTick();
    this.tick = Math.max(this.tick ?? 0, tick);
  }
}
