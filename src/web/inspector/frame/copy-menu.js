/**
 * Menu that copies the selected frame as hexadecimal, JSON, a command, a C array, or a link.
 *
 * @module inspector/frame/copy-menu
 */

import { copyText as copy } from '../../lib/clipboard.js';

const byId = /** @type {import('../elements.js').ById} */ ((/** @type {string} */ id) => document.getElementById(id));

/** @param {HTMLElement} menu */
const itemsOf = (menu) => /** @type {HTMLElement[]} */ ([...menu.children]);

/** Bytes per line of a C array. */
const LINE_BYTES = 12;

/**
 * Splits hexadecimal digits into bytes.
 * @param {string} raw hexadecimal digits
 * @returns {string[]}
 */
const groups = (raw) => raw.match(/../g) ?? [];

/** Formats the bytes in hexadecimal. @param {{ raw: string }} explained */
export const asHex = ({ raw }) => groups(raw).join(' ');

/**
 * Formats the explanation as JSON, like `tickwire explain --json`.
 * @param {Explanation} explained
 */
export function asJson({ n, raw, text, ...rest }) {
  return JSON.stringify(rest, null, 2);
}

/**
 * Returns a command that explains the frame, datagram or message.
 * @param {{ raw: string, from: string, dialect: string, frames?: { kind: string }[] }} explained
 */
export function asCommand({ raw, from, dialect, frames }) {
  const kind = frames?.[0]?.kind ?? 'frame';
  const option = ['datagram', 'message'].includes(kind) ? `--${kind} ` : '';
  return `tickwire explain ${option}--dialect ${dialect} --from ${from} ${raw}`;
}

/**
 * Formats the bytes as a C array.
 * @param {{ raw: string, from: string }} explained
 * @param {string} name packet name
 */
export function asArray({ raw, from }, name) {
  const bytes = groups(raw).map((byte) => `0x${byte}`);
  const lines = [];
  for (let first = 0; first < bytes.length; first += LINE_BYTES) lines.push(`    ${bytes.slice(first, first + LINE_BYTES).join(', ')},`);
  const word = name.replace(/\W+/g, '_').replace(/^(\d|$)/, '_$1');
  return `/* ${name}, from the ${from} */\nstatic const unsigned char ${word}_frame[${bytes.length}] = {\n${lines.join('\n')}\n};\n`;
}

/** @typedef {import('../explainer.js').Explanation} Explanation */
/** @typedef {'hex' | 'json' | 'command' | 'array' | 'link'} CopyKind */

/** Menu button with its menu. Arrow keys move in the menu. */
export class CopyMenu {
  /**
   * @param {() => { explained: Explanation, name: string } | null} chosen returns the selected
   *   frame
   * @param {() => string} link returns a link to the frame; throws if it is too long
   * @param {(text: string) => void} notify
   */
  constructor(chosen, link, notify) {
    this.chosen = chosen;
    this.link = link;
    this.notify = notify;
    byId('copy').onclick = () => this.toggle(byId('copy-menu').hidden);
    byId('copy-link').onclick = () => this.copyAs('link');
    byId('copy-menu').onclick = (event) => {
      const kind = /** @type {HTMLElement} */ (event.target).dataset.as;
      if (kind) this.copyAs(/** @type {CopyKind} */ (kind));
    };
    byId('copy-menu').onkeydown = (event) => this.key(event);
    document.addEventListener('pointerdown', (event) => {
      if (!(/** @type {HTMLElement} */ (event.target).closest('.copying'))) this.toggle(false, false);
    });
  }

  /** @param {boolean} isOpen @param {boolean} [takesFocus] */
  toggle(isOpen, takesFocus = true) {
    const wasOpen = !byId('copy-menu').hidden;
    byId('copy-menu').hidden = !isOpen;
    byId('copy').setAttribute('aria-expanded', String(isOpen));
    if (isOpen) itemsOf(byId('copy-menu'))[0].focus();
    else if (wasOpen && takesFocus) byId('copy').focus();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const items = itemsOf(byId('copy-menu'));
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    const index = items.findIndex((item) => item === document.activeElement);
    if (step !== 0) items[(index + step + items.length) % items.length].focus();
    else if (event.key === 'Escape' || event.key === 'Tab') this.toggle(false);
    else return;
    event.stopPropagation();
    if (event.key !== 'Tab') event.preventDefault();
  }

  /** @param {CopyKind} kind */
  async copyAs(kind) {
    this.toggle(false, !byId('copy-menu').hidden);
    const chosen = this.chosen();
    if (!chosen) return this.notify('Choose a frame first');
    const { explained, name } = chosen;
    const bytes = `${explained.raw.length / 2} bytes`;
    try {
      const [text, what] = {
        hex: () => [asHex(explained), `${bytes} as hexadecimal`],
        json: () => [asJson(explained), 'the explanation as JSON'],
        command: () => [asCommand(explained), 'a command for the terminal'],
        array: () => [asArray(explained, name), `${bytes} as a C array`],
        link: () => [this.link(), `a link that carries the ${bytes} of ${name}`],
      }[kind]();
      this.notify(await copy(text) ? `Copied ${what}` : 'The browser does not let this page copy');
    } catch (error) {
      this.notify(error instanceof Error ? error.message : String(error));
    }
  }
}
