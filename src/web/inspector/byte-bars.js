/**
 * Bytes per second as bars, one for each packet, divided into its fields. A press on a bar filters
 * for the packet. Fields have the colours of the arguments in the diagram.
 *
 * The length of a bar grows with the square root of its bytes, so that small packets stay readable
 * next to large ones.
 *
 * @module inspector/byte-bars
 */

import { formatBytes } from './byte-rates.js';
import { element } from './frame/bit-diagram.js';
import { TINTS } from './frame/tree.js';

/** Approximate width of a letter, px. */
const LETTER_PX = 6.1;
/** Width of the space around a word, px. */
const AROUND_PX = 10;
/** @type {Readonly<Record<string, string>>} */
const TINTS_BY_NAME = { header: 'length', masking_key: 'key', code: 'code' };

/** Bar chart of buttons, which the keyboard can reach. */
export class ByteBars {
  /** @param {HTMLElement} box @param {HTMLElement} sum @param {(packet: string) => void} onPick */
  constructor(box, sum, onPick) {
    this.box = box;
    this.sum = sum;
    box.addEventListener('click', (event) => {
      const bar = /** @type {HTMLElement} */ (event.target).closest('[data-packet]');
      if (bar instanceof HTMLElement) onPick(bar.dataset.packet ?? '');
    });
  }

  /** @param {import('./byte-rates.js').Bar[]} bars */
  show(bars) {
    const maxBytes = bars[0]?.bytes ?? 0;
    const all = bars.reduce((sum, bar) => sum + bar.bytes, 0);
    this.sum.textContent = bars.length === 0 ? '' : `${formatBytes(all)}/s`;
    while (this.box.children.length > bars.length) this.box.lastChild?.remove();
    bars.forEach((bar, at) => {
      if (!this.box.children[at]) this.box.append(newBar());
      fill(/** @type {HTMLElement} */ (this.box.children[at]), bar, maxBytes);
    });
  }
}

function newBar() {
  const bar = document.createElement('button');
  bar.type = 'button';
  bar.append(element('arrow'), element('name'), element('count'), element('figure'), element('track'));
  return bar;
}

/**
 * Updates a bar.
 * @param {HTMLElement} button
 * @param {import('./byte-rates.js').Bar} bar
 * @param {number} maxBytes bytes of the largest bar
 */
function fill(button, bar, maxBytes) {
  button.dataset.packet = bar.packet;
  button.dataset.from = bar.from;
  const [arrow, name, count, figure, track] = button.children;
  arrow.textContent = bar.from === 'client' ? '↑' : '↓';
  name.textContent = bar.packet;
  count.textContent = `${bar.count < 10 ? bar.count.toFixed(1) : bar.count.toFixed(0)}/s`;
  figure.textContent = `${formatBytes(bar.bytes)}/s`;
  const long = maxBytes === 0 ? 0 : Math.sqrt(bar.bytes / maxBytes);
  const widthPx = long * (button.clientWidth - AROUND_PX);
  let argument = 0;
  const parts = bar.fields.map((field) => {
    const tint = TINTS_BY_NAME[field.name] ?? `a${argument++ % TINTS}`;
    const fits = widthPx * field.bytes / bar.bytes > field.name.length * LETTER_PX + AROUND_PX;
    const part = element(`part t-${tint}`, fits ? field.name : '');
    part.style.flexGrow = String(field.bytes);
    part.title = [`${field.name}: ${formatBytes(field.bytes)}/s`, ...field.parts.map((one) => `  ${one.name}: ${formatBytes(one.bytes)}/s`)].join('\n');
    return part;
  });
  track.replaceChildren(...parts);
  /** @type {HTMLElement} */ (track).style.setProperty('--part', String(long));
}
