/**
 * Shows one byte bit by bit: its XOR with the key, step by step. In an edited frame, the bits of
 * the byte are buttons.
 *
 * @module inspector/frame/unmasking
 */

import { hex } from './tree.js';
import { KEY_BYTES, XorStepper, bitsOf, keyByte } from './xor-stepper.js';

/** Duration of a step, ms. */
const STEP_MS = 900;
const ROWS = { sent: 'as sent', key: 'XOR key', meant: 'unmasked' };

/**
 * @typedef {{ bytes: Uint8Array, meant: Uint8Array, payload: [number, number], key: [number,
 *   number] }} Masked ranges in bytes
 */

const byId = /** @type {import('../elements.js').ById} */ ((/** @type {string} */ id) => document.getElementById(id));

/** View of one byte. */
export class Unmasking {
  /**
   * @param {HTMLElement} cells element of the byte lanes
   * @param {{ flip: (bit: number) => void, set: (at: number, text: string) => void }} on callbacks
   *   for edits, with the index of the bit or byte in the frame
   */
  constructor(cells, on) {
    this.cells = cells;
    this.on = on;
    this.stepper = new XorStepper();
    /** @type {Masked | null} */
    this.masked = null;
    /**
     * Index of the edited byte, and the bytes of the frame.
     * @type {{ at: number, bytes: Uint8Array } | null}
     */
    this.edited = null;
    /** Index of the byte under the pointer. @type {number | null} */
    this.pointed = null;
    this.timer = 0;
    this.rows = Object.fromEntries(Object.entries(ROWS).map(([kind, label]) => [kind, this.row(kind, label)]));
    byId('byte').replaceChildren(...Object.values(this.rows).map((row) => row.line));
    byId('xor-back').onclick = () => this.step(-1);
    byId('xor-forward').onclick = () => this.step(1);
    byId('xor-play').onclick = () => this.toggle();
  }

  /** @param {string} kind @param {string} label */
  row(kind, label) {
    const line = document.createElement('div');
    line.className = `row ${kind}`;
    const name = document.createElement('span');
    name.className = 'label';
    name.textContent = label;
    const value = document.createElement(kind === 'sent' ? 'input' : 'span');
    value.className = 'hex';
    if (value instanceof HTMLInputElement) {
      Object.assign(value, { maxLength: 2, spellcheck: false, ariaLabel: 'The byte in hexadecimal' });
      value.oninput = () => { if (this.edited && value.value.trim().length === 2) this.on.set(this.edited.at, value.value); };
    }
    const bits = bitsOf(0).map((_, bit) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.ariaLabel = `Bit ${bit}, ${label}`;
      button.onclick = () => { if (this.edited) this.on.flip(this.edited.at * 8 + bit); };
      return button;
    });
    line.append(name, value, ...bits);
    return { line, value, bits };
  }

  /** Shows a frame; null without a masked payload. @param {Masked | null} masked */
  show(masked) {
    clearInterval(this.timer);
    this.masked = masked;
    this.edited = null;
    this.pointed = null;
    this.stepper.reset(masked ? masked.payload[1] - masked.payload[0] : 0);
    this.draw();
  }

  /**
   * Shows a byte of an edited frame.
   * @param {number} at
   * @param {Uint8Array} bytes
   * @param {Masked | null} masked
   */
  edit(at, bytes, masked) {
    this.masked = masked;
    this.edited = { at, bytes };
    this.stepper.reset(0);
    this.draw();
  }

  /** Shows the byte under the pointer, unless a step is shown. @param {number | null} byte */
  point(byte) {
    if (this.edited || this.stepper.at !== null) return;
    this.pointed = byte;
    this.draw();
  }

  /** Selects a byte of the payload. @param {number} byte index in the frame */
  selectByte(byte) {
    if (!this.masked) return;
    this.stepper.selectByte(byte - this.masked.payload[0]);
    this.stopTimer();
    this.draw();
  }

  /** @param {1 | -1} by */
  step(by) {
    this.stepper.step(by);
    this.stopTimer();
    this.draw();
  }

  toggle() {
    this.stepper.toggle();
    this.stopTimer();
    if (this.stepper.isPlaying) this.timer = setInterval(() => this.tick(), STEP_MS);
    this.draw();
  }

  tick() {
    this.stepper.tick();
    if (!this.stepper.isPlaying) this.stopTimer();
    this.draw();
  }

  stopTimer() {
    clearInterval(this.timer);
  }

  draw() {
    const { masked, edited, stepper } = this;
    byId('xor').hidden = !masked && !edited;
    byId('xor').classList.toggle('editing', edited !== null);
    byId('xor').classList.toggle('stepping', stepper.at !== null);
    byId('xor-play-word').textContent = stepper.isPlaying ? 'Pause' : 'Play';
    byId('xor-steps').hidden = edited !== null;
    byId('xor-why').hidden = !masked || edited !== null;
    this.drawByte();
    this.drawLanes();
  }

  drawByte() {
    const { masked, edited, stepper } = this;
    if (!masked && !edited) return;
    const bytes = edited?.bytes ?? /** @type {Masked} */ (masked).bytes;
    const begin = masked?.payload[0] ?? 0;
    const inPayload = (/** @type {number} */ byte) => masked !== null && byte >= begin && byte < masked.payload[1];
    const shown = edited?.at ?? (stepper.at !== null ? begin + stepper.at : this.pointed !== null && inPayload(this.pointed) ? this.pointed : begin);
    const payload = inPayload(shown) ? masked : null;
    const isMasked = payload !== null;
    this.fill('sent', bytes[shown] ?? 0, true);
    this.fill('key', payload ? keyByte(bytes.subarray(...payload.key), shown - begin) : 0, isMasked);
    this.fill('meant', payload?.meant[shown] ?? 0, isMasked);
    const offset = shown - begin;
    byId('xor-at').textContent = isMasked
      ? `Byte ${offset} of the payload XOR byte ${offset % KEY_BYTES} of the key (${offset} mod ${KEY_BYTES} = ${offset % KEY_BYTES}): equal bits give 0, different bits 1.`
      : `Byte ${shown} of the frame. Click a bit, or type two hexadecimal digits.`;
  }

  /** @param {string} kind @param {number} byte @param {boolean} isVisible */
  fill(kind, byte, isVisible) {
    const { line, value, bits } = this.rows[kind];
    line.hidden = !isVisible;
    if (value instanceof HTMLInputElement) {
      value.readOnly = this.edited === null;
      // Does not replace a value while the user types it.
      if (document.activeElement !== value || Number.parseInt(value.value, 16) !== byte) value.value = hex(byte);
    } else value.textContent = hex(byte);
    bitsOf(byte).forEach((bit, index) => {
      bits[index].textContent = String(bit);
      bits[index].disabled = this.edited === null || kind === 'key';
      bits[index].classList.toggle('one', bit === 1);
    });
  }

  /** Marks the current byte in all lanes. Later bytes are shown as still masked. */
  drawLanes() {
    const begin = this.masked?.payload[0] ?? 0;
    const hand = this.edited?.at ?? (this.stepper.at === null ? null : begin + this.stepper.at);
    for (const cell of this.cells.querySelectorAll('.cell')) {
      const byte = Number(/** @type {HTMLElement} */ (cell).dataset.at);
      cell.classList.toggle('hand', byte === hand);
      const lane = /** @type {HTMLElement} */ (cell.parentElement);
      const isHidden = lane.classList.contains('meant') && !this.stepper.isUnmasked(byte - begin);
      cell.classList.toggle('later', isHidden);
    }
  }
}
