/**
 * Filter bar above the list: text field, buttons, and error message. The explainer parses the text
 * and explains an empty list. While the text is invalid, the previous filter stays active.
 *
 * @module inspector/list/filter-bar
 */

import { isComposing } from '../../lib/held.js';

/** Delay between a key press and the filtering, ms. */
const TYPING_MS = 120;

const byId = /** @type {import('../elements.js').ById} */ ((/** @type {string} */ id) => document.getElementById(id));

/**
 * Underlines the invalid part of a filter.
 * @param {string} text
 * @param {{ begin?: number, end?: number }} result
 */
export function underline(text, { begin = 0, end = 0 }) {
  return `${text.replace(/\s/g, ' ')}\n${' '.repeat(begin)}${'^'.repeat(Math.max(1, end - begin))}`;
}

/**
 * Converts a text with backticks to text and `code` elements.
 * @param {string} words
 * @returns {(string | HTMLElement)[]}
 */
export function withCode(words) {
  return words.split('`').map((part, at) => {
    if (at % 2 === 0) return part;
    const code = document.createElement('code');
    code.textContent = part;
    return code;
  });
}

/** Shows why the list is empty. @param {import('./frames.js').VisibleFrames} frames */
export function showEmptyReason(frames) {
  const isEmpty = frames.visible === 0 && frames.why !== '';
  byId('why').hidden = !isEmpty;
  byId('list').hidden = isEmpty;
  if (!isEmpty || byId('why').dataset.why === frames.why) return;
  byId('why').dataset.why = frames.why;
  byId('why').replaceChildren(...withCode(frames.why));
}

export class FilterBar {
  /** @param {(isTyped: boolean) => void} onChange */
  constructor(onChange) {
    this.onChange = onChange;
    this.from = /** @type {'' | 'client' | 'server'} */ ('');
    this.isAutomatic = true;
    this.timer = 0;
    byId('filter').addEventListener('input', () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.onChange(true), TYPING_MS);
    });
    byId('from').onclick = (event) => {
      const { from } = /** @type {HTMLElement} */ (event.target).dataset;
      if (from !== undefined) this.setFrom(/** @type {'' | 'client' | 'server'} */ (from));
    };
    byId('automatic').onclick = () => this.setAutomatic(!this.isAutomatic);
    const closeHelp = () => { byId('filter-help').open = false; };
    document.addEventListener('pointerdown', (event) => { if (!byId('filter-help').contains(/** @type {Node} */ (event.target))) closeHelp(); });
    document.addEventListener('keydown', (event) => { if (event.key === 'Escape' && !isComposing(event)) closeHelp(); });
  }

  /** Returns the filter request. @param {number | null} client */
  request(client) {
    return { text: byId('filter').value, from: this.from, client, automatic: this.isAutomatic };
  }

  /** Typed filter. */
  get text() {
    return byId('filter').value;
  }

  /** @param {string} text */
  set(text) {
    byId('filter').value = text;
    this.onChange(true);
  }

  /** Clears the filter. An opened capture starts without the filter of the previous source. */
  showAll() {
    byId('filter').value = '';
    this.setAutomatic(true);
    this.setFrom('');
  }

  /** @param {'' | 'client' | 'server'} from */
  setFrom(from) {
    this.from = from;
    for (const button of byId('from').querySelectorAll('button')) button.setAttribute('aria-pressed', String(button.dataset.from === from));
    this.onChange(false);
  }

  /** Sets whether pings and pongs are shown. @param {boolean} isAutomatic */
  setAutomatic(isAutomatic) {
    this.isAutomatic = isAutomatic;
    byId('automatic').setAttribute('aria-pressed', String(!isAutomatic));
    this.onChange(false);
  }

  /** @param {{ wrong?: string, begin?: number, end?: number }} result */
  showError(result) {
    byId('filter').dataset.read = byId('filter').value;
    byId('filter').setAttribute('aria-invalid', String(result.wrong !== undefined));
    byId('filter-error').hidden = result.wrong === undefined;
    if (result.wrong === undefined) return;
    const [marker, words] = byId('filter-error').children;
    marker.textContent = underline(byId('filter').value, result);
    words.replaceChildren(...withCode(result.wrong));
  }
}
