/**
 * Frame of a compressed message that a proxy has inflated: its header as it was on the wire, and
 * the inflated payload.
 *
 * @module inspector/frame/inflated-frame
 */

import { BYTE, parseHex } from './tree.js';

/** @typedef {import('./tree.js').Node} Node */
/** @typedef {import('../explainer.js').Explanation} Explanation */

/** Moves a node by a number of bits. @param {Node} node @param {number} by @returns {Node} */
export const shifted = (node, by) => ({ ...node, bits: [node.bits[0] + by, node.bits[1] + by], children: node.children.map((child) => shifted(child, by)) });

/**
 * Moves the bits of a problem.
 * @param {import('../explainer.js').Problem | null} problem
 * @param {number} by
 */
function moved(problem, by) {
  if (!problem) return null;
  const [start, end] = problem.bits;
  return { ...problem, bits: /** @type {[number, number]} */ ([Math.max(0, start + by), Math.max(0, end + by)]) };
}

/**
 * Returns the frame with its header on the wire, or without a header if that is unknown. The bytes
 * after the header are inflated and unmasked.
 * @param {Explanation} explained inflated message in one frame
 * @returns {{ bytes: Uint8Array, frames: import('../explainer.js').ExplainedFrame[] }}
 */
export function inflatedFrame({ frames: [frame], wire }) {
  const header = parseHex(wire?.raw ?? '');
  const payload = parseHex(frame.payload);
  const bytes = new Uint8Array(header.length + payload.length);
  bytes.set(header);
  bytes.set(payload, header.length);
  const content = frame.tree.children.filter(({ name }) => name === 'payload');
  const children = [...wire?.frames[0]?.tree.children ?? [], ...content.map((node) => shifted(node, header.length * BYTE - node.bits[0]))];
  const tree = { ...frame.tree, bits: /** @type {[number, number]} */ ([0, bytes.length * BYTE]), children };
  return { bytes, frames: [{ ...frame, start: 0, end: bytes.length, masked: false, problem: moved(frame.problem, header.length * BYTE - (content[0]?.bits[0] ?? 0)), tree }] };
}
