/**
 * View of the selected frame: title, header, byte lanes, one byte bit by bit, and the tree of
 * fields. A part that is highlighted in one of these is highlighted in all. The view also shows the
 * frame during editing.
 *
 * @module inspector/frame/frame-view
 */

import { BitDiagram } from './bit-diagram.js';
import { BitEditor, sentence } from './bit-editor.js';
import { contentOf, fateOf, waitText } from '../list/datagram-row.js';
import { formatTime, markOf, sizeOf } from '../list/list.js';
import { inflatedFrame } from './inflated-frame.js';
import { TreeRows } from './tree-rows.js';
import { BYTE, flattenTree, unmaskedBytes, partsOf, parseHex } from './tree.js';
import { Unmasking } from './unmasking.js';

/** Notice in the view of a datagram. */
const NOT_EDITABLE = 'Datagrams are not edited or sent.';

const byId = /** @type {import('../elements.js').ById} */ ((/** @type {string} */ id) => document.getElementById(id));

/** @typedef {{ start: number, end: number }} BitRange range in bits */
/** @typedef {import('../explainer.js').Explanation} Explanation */

/** Whether the bytes are frames. @param {Explanation} explained */
const isFrame = ({ text, frames }) => text === undefined && !['datagram', 'message'].includes(frames[0].kind);

/** Makes an element in which no line ends. @param {string} text */
function wordsOf(text) {
  const made = document.createElement('span');
  made.className = 'words';
  made.textContent = text;
  return made;
}

export class FrameView {
  /**
   * @param {import('../explainer.js').Explainer} explainer
   * @param {import('../own-client.js').OwnClient} own
   */
  constructor(explainer, own) {
    /** @param {BitRange | null} range @param {string} by */
    const point = (range, by) => this.point(range, by);
    /** @param {BitRange} range */
    const pin = (range) => this.pin(range);
    /** @param {number} bit */
    const bit = (bit) => { this.selected = Math.floor(bit / BYTE); this.editor.flip(bit); };
    this.diagram = new BitDiagram(byId('figure'), byId('cells'), { point, pin, bit, byte: (byte) => this.selectByte(byte), redrawn: () => this.unmasking.drawLanes() });
    this.rows = new TreeRows(byId('tree'), point, pin);
    // Its bytes are not in the frame, so its rows point at nothing.
    this.messageRows = new TreeRows(byId('message-tree'), () => {}, () => {});
    this.unmasking = new Unmasking(byId('cells'), { flip: (bit) => this.editor.flip(bit), set: (byte, text) => this.editor.set(byte, text) });
    this.editor = new BitEditor(explainer, own, {
      edited: (explained, changed) => this.edited(explained, changed),
      closed: () => this.closed(),
      sent: () => this.on.sent?.(),
    });
    this.on = { sent: /** @type {(() => void) | null} */ (null) };
    /** Pinned range, which stays highlighted. @type {BitRange | null} */
    this.pinned = null;
    /**
     * Shown frame, for editing.
     * @type {{ explained: Explanation, entry: import('../list/frames.js').Entry } | null}
     */
    this.shown = null;
    /** Bytes and masked part of the shown frame. */
    this.bytes = /** @type {Uint8Array} */ (new Uint8Array());
    /** @type {import('./unmasking.js').Masked | null} */
    this.masked = null;
    /** Selected byte of the editor. */
    this.selected = 0;
    byId('flip').onclick = () => this.toggleEditor();
  }

  /**
   * Highlights a range.
   * @param {BitRange | null} range
   * @param {string} by id of the element under the pointer
   */
  point(range, by) {
    for (const part of [this.diagram, this.rows]) part.highlight(range, 'lit');
    if (by === 'cells') this.unmasking.point(range && Math.floor(range.start / BYTE));
    // The tree does not scroll under the pointer.
    if (range && by !== 'tree') this.rows.reveal(range);
  }

  /** Pins a range. Pinning the same range again unpins it. @param {BitRange | null} range */
  pin(range) {
    const again = this.pinned !== null && range !== null && this.pinned.start === range.start && this.pinned.end === range.end;
    this.pinned = again ? null : range;
    for (const part of [this.diagram, this.rows]) part.highlight(this.pinned, 'pinned');
    if (this.pinned) this.diagram.reveal(this.pinned);
  }

  /** Handles a press on a byte. @param {number} byte index in the frame */
  selectByte(byte) {
    if (!this.editor.isOpen) {
      this.unmasking.selectByte(byte);
      return;
    }
    this.selected = byte;
    this.drawSelected();
  }

  /** @param {Explanation} explained @param {import('../list/frames.js').Entry} entry */
  show(explained, entry) {
    this.editor.close();
    this.shown = { explained, entry };
    this.title(entry);
    this.showReceived(explained.received);
    byId('flip').hidden = !this.isEditable;
    this.draw(explained, []);
    /** @type {HTMLElement} */ (byId('tree').parentElement).scrollTop = 0;
  }

  /** Whether bits can be flipped: not in a message whose frame was never on the wire. */
  get isEditable() {
    return this.shown !== null && this.shown.entry.compressed === undefined && isFrame(this.shown.explained);
  }

  /**
   * Shows the message in whose place a proxy has sent the frame.
   * @param {Explanation | undefined} received
   */
  showReceived(received) {
    if (!received) return;
    byId('frame-lane').hidden = false;
    byId('frame-lane').textContent = `The proxy received instead: ${received.frames.map(({ line }) => line).join(' · ')}`;
  }

  /** Draws a frame. @param {Explanation} explained @param {number[]} changed bits */
  draw(explained, changed) {
    const { text } = explained;
    const compressed = this.shown?.entry.compressed;
    const { bytes, frames } = compressed === undefined ? { bytes: parseHex(explained.raw), frames: explained.frames } : inflatedFrame(explained);
    byId('frame-text').hidden = text === undefined;
    byId('frame-text').textContent = text ?? '';
    // A request or response head is text without bit fields.
    byId('figure').hidden = text !== undefined;
    const problem = frames.find((frame) => frame.problem)?.problem ?? null;
    if (this.editor.isOpen) byId('frame-problem').hidden = true;
    else this.problem(problem);
    this.pinned = null;
    const [first] = frames;
    const payload = parseHex(first.payload);
    const laid = flattenTree(first.tree);
    const leaves = frames.flatMap((frame) => flattenTree(frame.tree).leaves);
    const plain = unmaskedBytes(bytes.subarray(0, first.end), payload);
    const whole = bytes.slice();
    whole.set(plain);
    const { header, parts } = partsOf(frames, text !== undefined);
    if (compressed !== undefined) for (const part of parts) if (part.kind === 'plain') part.label = 'inflated';
    const range = problem ? { start: problem.bits[0], end: problem.bits[1] } : null;
    this.diagram.show({ leaves, bytes, meant: whole, header, parts, problem: range, changed, editable: this.editor.isOpen });
    this.rows.show(laid.rows, whole, range);
    this.drawMessage(frames.find((frame) => frame.message)?.message ?? null);
    if (compressed !== undefined) this.messageLine(`The payload is inflated: ${payload.length} bytes. On the wire: ${compressed} bytes with the header, compressed.`);
    const [masked, key] = [parts.find((part) => part.kind === 'masked'), parts.find((part) => part.kind === 'key')];
    this.masked = masked && key ? { bytes, meant: whole, payload: [masked.start, masked.end], key: [key.start, key.end] } : null;
    this.bytes = bytes;
    if (this.editor.isOpen) this.drawSelected();
    else this.unmasking.show(this.masked);
  }

  /**
   * Draws the message that a frame completes, if it was compressed or has several frames.
   * @param {import('../explainer.js').Message | null} message
   */
  drawMessage(message) {
    this.messageLine('');
    this.messageRows.clear();
    if (!message) return;
    const { frames, bytes, compressed_bytes: compressed, payload, tree } = message;
    const parts = [frames > 1 ? `${frames} frames` : '', compressed === undefined ? '' : `${compressed} bytes inflated`].filter(Boolean);
    this.messageLine(`The message: ${bytes} bytes, from ${parts.join(', ')}`);
    this.messageRows.show(flattenTree({ ...tree, children: [tree] }).rows, parseHex(payload), null);
  }

  /** Shows a line above the fields. @param {string} text '' hides it */
  messageLine(text) {
    byId('message-line').hidden = text === '';
    byId('message-line').textContent = text;
  }

  drawSelected() {
    this.selected = Math.min(this.selected, this.bytes.length - 1);
    this.unmasking.edit(this.selected, this.bytes, this.masked);
  }

  toggleEditor() {
    if (this.editor.isOpen) this.editor.close();
    else if (this.shown && this.isEditable) {
      this.selected = this.masked?.payload[0] ?? 0;
      this.editor.open(this.shown.explained, this.shown.entry);
    }
    byId('flip').setAttribute('aria-pressed', String(this.editor.isOpen));
    byId('flip-word').textContent = this.editor.isOpen ? 'Done' : 'Flip a bit';
  }

  /** @param {Explanation} explained @param {number[]} changed */
  edited(explained, changed) {
    byId('chosen').classList.add('editing');
    this.draw(explained, changed);
  }

  closed() {
    byId('chosen').classList.remove('editing');
    byId('flip').setAttribute('aria-pressed', 'false');
    byId('flip-word').textContent = 'Flip a bit';
    if (this.shown) this.draw(this.shown.explained, []);
  }

  /** @param {import('../list/frames.js').Entry} entry */
  title(entry) {
    byId('hint').hidden = true;
    byId('chosen').hidden = false;
    byId('chosen').dataset.n = String(entry.n);
    const { datagram } = entry;
    byId('frame-title').textContent = datagram ? `datagram ${datagram.sequence}: ${contentOf(datagram, entry.rule)}` : entry.packet ?? entry.opcode ?? entry.rule ?? 'bytes';
    byId('frame-lane').hidden = !datagram;
    if (datagram) {
      byId('frame-lane').textContent = [fateOf({ ...entry, datagram }), waitText(datagram), NOT_EDITABLE].filter(Boolean).join(' ');
    }
    const who = entry.injected ? `injected as the ${entry.from}` : entry.from === 'client' ? 'from the client' : 'from the server';
    const facts = [who, sizeOf(entry), ...(entry.injected ? [] : markOf(entry)), entry.where ?? `tick ${entry.tick}`, formatTime(entry.at_ms), `${datagram ? 'row' : 'frame'} ${entry.n}`];
    const small = document.createElement('span');
    small.append(...facts.filter((fact) => fact !== '').flatMap((fact, at) => (at === 0 ? [wordsOf(fact)] : [' · ', wordsOf(fact)])));
    byId('frame-title').append(' ', small);
    byId('frame-title').classList.toggle('injected', entry.injected === true);
    byId('frame-line').textContent = entry.line ?? '';
  }

  /** Shows a row without bytes: a gap or missing datagrams. @param {string} text */
  showGap(text) {
    this.editor.close();
    this.shown = null;
    byId('hint').hidden = true;
    byId('chosen').hidden = false;
    byId('frame-title').textContent = text;
    byId('frame-line').textContent = '';
    for (const part of [byId('frame-lane'), byId('frame-problem'), byId('frame-text'), byId('flip')]) part.hidden = true;
    this.clearDrawing();
  }

  /** @param {import('../explainer.js').Problem | null} problem */
  problem(problem) {
    byId('frame-problem').hidden = problem === null;
    if (!problem) return;
    const answer = problem.response === 'wait' ? '' : ` Answer: ${problem.response}.`;
    byId('frame-problem').replaceChildren(...sentence(problem.rule, `${problem.description.replace(/\.$/, '')}.${answer}`, problem.citation));
  }

  /** Clears the view, unless the log of a sent frame is open. */
  clear() {
    this.editor.close();
    if (this.editor.log.isActive) return;
    byId('hint').hidden = false;
    byId('chosen').hidden = true;
    this.shown = null;
    this.clearDrawing();
  }

  clearDrawing() {
    this.diagram.clear();
    this.rows.clear();
    this.drawMessage(null);
    this.unmasking.show(null);
  }
}
