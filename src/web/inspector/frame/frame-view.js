/**
 * The chosen frame: its title, its header, its bytes in lanes, one byte bit by bit, and its fields, which light up together; and the same frame while
 * it is edited.
 *
 * @module inspector/frame/frame-view
 */

import { Drawing } from './bit-diagram.js';
import { Flip, sentence } from './bit-editor.js';
import { clock } from '../list/list.js';
import { Rows } from './tree-rows.js';
import { BYTE, layOut, meant, partsOf, unhex } from './tree.js';
import { Unmasking } from './unmasking.js';

/** @param {string} id @returns {any} */
const at = (id) => document.getElementById(id);

/** @typedef {{ start: number, end: number }} Place in bits */

export class FrameView {
  /** @param {import('../explainer.js').Explainer} explainer @param {import('../own-client.js').Own} own */
  constructor(explainer, own) {
    const point = (place, by) => this.point(place, by);
    const pin = (place) => this.pin(place);
    const bit = (bit) => { this.selected = Math.floor(bit / BYTE); this.flip.flip(bit); };
    this.drawing = new Drawing(at('figure'), at('cells'), { point, pin, bit, byte: (byte) => this.take(byte), redrawn: () => this.unmasking.drawLanes() });
    this.rows = new Rows(at('tree'), point, pin);
    this.unmasking = new Unmasking(at('cells'), { flip: (bit) => this.flip.flip(bit), set: (byte, text) => this.flip.set(byte, text) });
    this.flip = new Flip(explainer, own, {
      edited: (explained, changed) => this.edited(explained, changed),
      closed: () => this.closed(),
      sent: () => this.on.sent?.(),
    });
    this.on = { sent: /** @type {(() => void) | null} */ (null) };
    /** What was pressed stays lit. @type {Place | null} */
    this.pinned = null;
    /** What is shown, so that it can be edited. @type {{ explained: any, entry: import('../list/frames.js').Entry } | null} */
    this.shown = null;
    /** The byte that is edited. */
    this.selected = 0;
    at('flip').onclick = () => this.toggleFlip();
  }

  /** @param {Place | null} place @param {string} by the part where the pointer is */
  point(place, by) {
    for (const part of [this.drawing, this.rows]) part.light(place, 'lit');
    if (by === 'cells') this.unmasking.point(place && Math.floor(place.start / BYTE));
    // The part that is pointed into does not move under the pointer.
    if (place && by !== 'tree') this.rows.reveal(place);
  }

  /** @param {Place | null} place again lets go */
  pin(place) {
    const again = this.pinned !== null && place !== null && this.pinned.start === place.start && this.pinned.end === place.end;
    this.pinned = again ? null : place;
    for (const part of [this.drawing, this.rows]) part.light(this.pinned, 'pinned');
    if (this.pinned) this.drawing.reveal(this.pinned);
  }

  /** A byte was pressed. @param {number} byte in the frame */
  take(byte) {
    if (!this.flip.isOpen) {
      this.unmasking.take(byte);
      return;
    }
    this.selected = byte;
    this.drawSelected();
  }

  /** @param {any} explained @param {import('../list/frames.js').Entry} entry */
  show(explained, entry) {
    this.flip.close();
    this.shown = { explained, entry };
    this.title(entry);
    at('flip').hidden = explained.text !== undefined;
    this.draw(explained, []);
    at('tree').parentElement.scrollTop = 0;
  }

  /** @param {any} explained @param {number[]} changed bits */
  draw(explained, changed) {
    const { frames, text } = explained;
    at('frame-text').hidden = text === undefined;
    at('frame-text').textContent = text ?? '';
    // The head of a request or response is text, which has no bits to speak of.
    at('figure').hidden = text !== undefined;
    const problem = frames.find((frame) => frame.problem)?.problem ?? null;
    if (this.flip.isOpen) at('frame-problem').hidden = true;
    else this.problem(problem);
    this.pinned = null;
    const bytes = unhex(explained.raw);
    const [first] = frames;
    const payload = unhex(first.payload);
    const laid = layOut(first.tree);
    const leaves = frames.flatMap((frame) => layOut(frame.tree).leaves);
    const plain = meant(bytes.subarray(0, first.end), payload);
    const whole = bytes.slice();
    whole.set(plain);
    const { header, parts } = partsOf(frames, text !== undefined);
    const place = problem ? { start: problem.bits[0], end: problem.bits[1] } : null;
    this.drawing.show({ leaves, bytes, meant: whole, header, parts, problem: place, changed, editable: this.flip.isOpen });
    this.rows.show(laid.rows, whole, place);
    const [masked, key] = [parts.find((part) => part.kind === 'masked'), parts.find((part) => part.kind === 'key')];
    this.masked = masked && key ? { bytes, meant: whole, payload: [masked.start, masked.end], key: [key.start, key.end] } : null;
    this.bytes = bytes;
    if (this.flip.isOpen) this.drawSelected();
    else this.unmasking.show(this.masked);
  }

  drawSelected() {
    this.selected = Math.min(this.selected, this.bytes.length - 1);
    this.unmasking.edit(this.selected, this.bytes, this.masked);
  }

  toggleFlip() {
    if (this.flip.isOpen) this.flip.close();
    else if (this.shown && this.shown.explained.text === undefined) {
      this.selected = this.masked?.payload[0] ?? 0;
      this.flip.open(this.shown.explained, this.shown.entry);
    }
    at('flip').setAttribute('aria-pressed', String(this.flip.isOpen));
    at('flip-word').textContent = this.flip.isOpen ? 'Done' : 'Flip a bit';
  }

  /** @param {any} explained @param {number[]} changed */
  edited(explained, changed) {
    at('chosen').classList.add('editing');
    this.draw(explained, changed);
  }

  closed() {
    at('chosen').classList.remove('editing');
    at('flip').setAttribute('aria-pressed', 'false');
    at('flip-word').textContent = 'Flip a bit';
    if (this.shown) this.draw(this.shown.explained, []);
  }

  /** @param {import('../list/frames.js').Entry} entry */
  title(entry) {
    at('hint').hidden = true;
    at('chosen').hidden = false;
    at('chosen').dataset.n = String(entry.n);
    at('frame-title').textContent = entry.packet ?? entry.opcode ?? entry.rule ?? 'bytes';
    const who = /** @type {any} */ (entry).injected ? 'sent by you as the client' : entry.from === 'client' ? 'from the client' : 'from the server';
    const facts = [who, `${entry.bytes} byte${entry.bytes === 1 ? '' : 's'}`, entry.where ?? `tick ${entry.tick}`, clock(entry.at_ms), `frame ${entry.n}`];
    const small = document.createElement('span');
    small.textContent = facts.join(' · ');
    at('frame-title').append(' ', small);
    at('frame-line').textContent = entry.line;
  }

  /** @param {{ rule: string, address: string, sentence: string, answer: string } | null} problem */
  problem(problem) {
    at('frame-problem').hidden = problem === null;
    if (!problem) return;
    const answer = problem.answer === 'wait' ? '' : ` Answer: ${problem.answer}.`;
    at('frame-problem').replaceChildren(...sentence(problem.rule, `${problem.sentence.replace(/\.$/, '')}.${answer}`, problem.address));
  }

  /** Forgets the frame; but not one whose story is being told. */
  clear() {
    this.flip.close();
    if (this.flip.story.isActive) return;
    at('hint').hidden = false;
    at('chosen').hidden = true;
    this.shown = null;
    this.drawing.clear();
    this.rows.clear();
    this.unmasking.show(null);
  }
}
