/**
 * Draws the bytes of an answer, each frame as in the inspector: the header bit by bit, then the
 * bytes in lanes.
 *
 * @module quiz/drawing
 */

import { BitDiagram, element } from '../inspector/frame/bit-diagram.js';
import { BYTE, flattenTree, partsOf, parseHex, unmaskedBytes } from '../inspector/frame/tree.js';

/** @typedef {import('../inspector/explainer.js').ExplainedFrame} ExplainedFrame */
/** @typedef {import('../inspector/frame/tree.js').Node} Node */

/** Moves a tree to other bits. @param {Node} node @param {number} by @returns {Node} */
export function moved(node, by) {
  const [start, end] = node.bits;
  return { ...node, bits: [start + by, end + by], children: node.children.map((child) => moved(child, by)) };
}

/** The bytes of an answer, drawn. */
export class Drawing {
  /** @param {HTMLElement} box */
  constructor(box) {
    this.box = box;
    /** Diagrams of the frames. @type {BitDiagram[]} */
    this.diagrams = [];
  }

  clear() {
    this.show([], new Uint8Array(), null);
  }

  /**
   * Draws the frames.
   * @param {ExplainedFrame[]} frames
   * @param {Uint8Array} bytes
   * @param {[number, number] | null} wrong range of wrong bits
   */
  show(frames, bytes, wrong) {
    // A diagram per frame stays, because each observes the size of its boxes.
    while (this.diagrams.length < frames.length) this.add();
    this.diagrams.forEach((diagram, at) => {
      const part = /** @type {HTMLElement} */ (this.box.children[at]);
      part.hidden = at >= frames.length;
      if (part.hidden) return diagram.clear();
      /** @type {HTMLElement} */ (part.firstElementChild).textContent = frames[at].line;
      this.draw(diagram, frames[at], bytes, wrong);
    });
  }

  add() {
    const part = element('drawn-frame');
    const [figure, cells] = [element('figure'), element('cells')];
    figure.setAttribute('role', 'group');
    figure.setAttribute('aria-label', 'The header, bit by bit');
    cells.setAttribute('role', 'group');
    cells.setAttribute('aria-label', 'The bytes after the header');
    part.append(document.createElement('h3'), figure, cells);
    this.box.append(part);
    const diagram = new BitDiagram(figure, cells, {
      point: (range) => diagram.highlight(range, 'lit'), pin: () => {}, bit: () => {}, byte: () => {}, redrawn: () => {},
    });
    this.diagrams.push(diagram);
  }

  /**
   * @param {BitDiagram} diagram
   * @param {ExplainedFrame} frame
   * @param {Uint8Array} all bytes of the answer
   * @param {[number, number] | null} wrong
   */
  draw(diagram, frame, all, wrong) {
    const by = -frame.start * BYTE;
    const bytes = all.slice(frame.start, frame.end);
    const tree = moved(frame.tree, by);
    const meant = unmaskedBytes(bytes, parseHex(frame.payload));
    const { header, parts } = partsOf([{ ...frame, tree, start: 0, end: bytes.length }], false);
    const changed = [];
    for (let bit = wrong?.[0] ?? 0; bit < (wrong?.[1] ?? 0); bit += 1) changed.push(bit + by);
    const bits = frame.problem && frame.problem.rule !== 'incomplete' ? frame.problem.bits : null;
    const problem = bits && { start: bits[0] + by, end: bits[1] + by };
    diagram.show({ leaves: flattenTree(tree).leaves, bytes, meant, header, parts, problem, changed, editable: false });
  }
}
