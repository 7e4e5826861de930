/**
 * Steps through the unmasking of a payload (RFC 6455 section 5.3): byte i is XORed with byte i mod
 * 4 of the key.
 *
 * The stepper stores only the index of the current byte. While it is stopped, there is no current
 * byte and the whole payload is unmasked. From this state, a step forward selects the first byte,
 * and a step back the last one.
 *
 * @module inspector/frame/xor-stepper
 */

/** Bytes of a masking key. */
export const KEY_BYTES = 4;
const BITS = [7, 6, 5, 4, 3, 2, 1, 0];

/** Returns the bits of a byte, most significant first. @param {number} byte @returns {number[]} */
export const bitsOf = (byte) => BITS.map((bit) => (byte >> bit) & 1);

/**
 * Returns the key byte for a payload byte.
 * @param {Uint8Array} key
 * @param {number} at index in the payload
 */
export const keyByte = (key, at) => key[at % KEY_BYTES];

/** Position of the unmasking. */
export class XorStepper {
  constructor() {
    this.length = 0;
    /** Current byte; null when stopped. @type {number | null} */
    this.at = null;
    this.isPlaying = false;
  }

  /** Resets to stopped. @param {number} length payload bytes */
  reset(length) {
    this.length = length;
    this.stop();
  }

  stop() {
    this.at = null;
    this.isPlaying = false;
  }

  /** Moves by one byte, and pauses. @param {1 | -1} by */
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

  /** Selects a byte. @param {number} at */
  selectByte(at) {
    this.isPlaying = false;
    if (at >= 0 && at < this.length) this.at = at;
  }

  /** Plays from the current or the first byte, or pauses. */
  toggle() {
    this.isPlaying = !this.isPlaying && this.length > 0;
    if (this.isPlaying && this.at === null) this.at = 0;
  }

  /** Moves to the next byte while playing. Stops after the last byte. */
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
