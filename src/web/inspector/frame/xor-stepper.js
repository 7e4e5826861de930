/**
 * Unmasking in steps (RFC 6455 section 5.3): byte i of the payload is XORed with byte i mod 4 of the key.
 *
 * The stepper knows which byte is at hand, and nothing else. At rest no byte is at hand and the whole payload is shown unmasked; from there a step
 * forward begins with the first byte, and a step back with the last one.
 *
 * @module inspector/frame/xor-stepper
 */

/** Bytes of a masking key. */
export const KEY_BYTES = 4;
const BITS = [7, 6, 5, 4, 3, 2, 1, 0];

/** The bits of a byte, the most significant one first. @param {number} byte @returns {number[]} */
export const bitsOf = (byte) => BITS.map((bit) => (byte >> bit) & 1);

/** The byte of the key for a byte of the payload. @param {Uint8Array} key @param {number} at */
export const keyByte = (key, at) => key[at % KEY_BYTES];

/** See the module. */
export class XorStepper {
  constructor() {
    this.length = 0;
    /** The byte at hand; null at rest. @type {number | null} */
    this.at = null;
    this.isPlaying = false;
  }

  /** Begins anew, at rest. @param {number} length of the payload */
  reset(length) {
    this.length = length;
    this.stop();
  }

  stop() {
    this.at = null;
    this.isPlaying = false;
  }

  /** By hand: playing stops. @param {1 | -1} by */
  step(by) {
    this.isPlaying = false;
    this.move(by);
  }

  /** @param {1 | -1} by */
  move(by) {
    if (this.length === 0) return;
    const from = this.at ?? (by > 0 ? -1 : this.length);
    const next = from + by;
    this.at = next < 0 || next >= this.length ? null : next;
  }

  /** Takes a byte to hand. @param {number} at */
  selectByte(at) {
    this.isPlaying = false;
    if (at >= 0 && at < this.length) this.at = at;
  }

  /** Plays from the byte at hand, or from the first one; or stops. */
  toggle() {
    this.isPlaying = !this.isPlaying && this.length > 0;
    if (this.isPlaying && this.at === null) this.at = 0;
  }

  /** The next byte while it plays; the last one is followed by rest. */
  tick() {
    if (!this.isPlaying) return;
    this.move(1);
    if (this.at === null) this.isPlaying = false;
  }

  /** Whether a byte is shown unmasked. @param {number} at */
  isUnmasked(at) {
    return this.at === null || at <= this.at;
  }
}
