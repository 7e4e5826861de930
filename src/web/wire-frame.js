/**
 * The chosen frame: its title, its drawing, its bytes and its tree, which light up together.
 *
 * Comes in: an explanation. Goes out: nothing; what is pointed at in one of the three is lit in all three. Never: bytes read
 * here.
 *
 * @module wire-frame
 */

import { Drawing } from './wire-draw.js';
import { clock } from './wire-list.js';
import { Rows } from './wire-rows.js';
import { layOut, meant, unhex } from './wire-tree.js';

/** @param {string} id @returns {any} */
const at = (id) => document.getElementById(id);

/** @typedef {{ start: number, end: number }} Place in bits */

export class FrameView {
  constructor() {
    const onPoint = (place, by) => this.point(place, by);
    const onPin = (place) => this.pin(place);
    this.drawing = new Drawing(at('figure'), at('cells'), onPoint, onPin);
    this.rows = new Rows(at('tree'), onPoint, onPin);
    /** What was pressed stays lit. @type {Place | null} */
    this.pinned = null;
  }

  /** @param {Place | null} place @param {string} by the part where the pointer is */
  point(place, by) {
    for (const part of [this.drawing, this.rows]) part.light(place, 'lit');
    if (!place) return;
    // The part that is pointed into does not move under the pointer.
    if (by !== 'tree') this.rows.reveal(place);
  }

  /** @param {Place | null} place again lets go */
  pin(place) {
    const again = this.pinned !== null && place !== null && this.pinned.start === place.start && this.pinned.end === place.end;
    this.pinned = again ? null : place;
    for (const part of [this.drawing, this.rows]) part.light(this.pinned, 'pinned');
    if (this.pinned) this.drawing.reveal(this.pinned);
  }

  /** @param {any} explained @param {import('./wire-frames.js').Entry} entry */
  show(explained, entry) {
    this.title(entry);
    const frame = explained.frames[0];
    at('frame-text').hidden = explained.text === undefined;
    at('frame-text').textContent = explained.text ?? '';
    // The head of a request or response is text, which has no bits to speak of.
    at('figure').hidden = explained.text !== undefined;
    this.problem(frame.problem);
    this.pinned = null;
    const bytes = unhex(explained.raw);
    const payload = unhex(frame.payload);
    const laid = layOut(frame.tree);
    const problem = frame.problem ? { start: frame.problem.bits[0], end: frame.problem.bits[1] } : null;
    const plain = meant(bytes, payload);
    const masked = frame.masked === true && payload.length > 0;
    this.drawing.show({ leaves: laid.leaves, bytes, meant: plain, masked, problem });
    this.rows.show(laid.rows, plain, problem);
    at('unmask').hidden = !masked;
    at('cells-title').textContent = masked ? 'All bytes: as they travel, and unmasked' : 'All bytes';
  }

  /** Shows the bits of a masked payload as they travel, or as they are meant. */
  unmask() {
    this.drawing.isUnmasked = !this.drawing.isUnmasked;
    at('unmask').setAttribute('aria-pressed', String(this.drawing.isUnmasked));
    this.drawing.show(this.drawing.drawn);
  }

  /** @param {import('./wire-frames.js').Entry} entry */
  title(entry) {
    at('hint').hidden = true;
    at('chosen').hidden = false;
    at('chosen').dataset.n = String(entry.n);
    at('frame-title').textContent = entry.packet ?? entry.opcode ?? entry.rule ?? 'bytes';
    const who = entry.from === 'client' ? 'from the client' : 'from the server';
    const facts = [who, `${entry.bytes} byte${entry.bytes === 1 ? '' : 's'}`, `tick ${entry.tick}`, clock(entry.at_ms), `frame ${entry.n}`];
    const small = document.createElement('span');
    small.textContent = facts.join(' · ');
    at('frame-title').append(' ', small);
    at('frame-line').textContent = entry.line;
  }

  /** @param {{ rule: string, address: string, sentence: string, answer: string } | null} problem */
  problem(problem) {
    at('frame-problem').hidden = problem === null;
    if (!problem) return;
    const [rule, sentence, rest] = at('frame-problem').children;
    rule.textContent = problem.rule;
    sentence.textContent = problem.sentence;
    rest.textContent = problem.address ? `${problem.address} — ${problem.answer}` : '';
  }

  clear() {
    at('hint').hidden = false;
    at('chosen').hidden = true;
    this.drawing.clear();
    this.rows.clear();
  }
}
