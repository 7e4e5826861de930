/**
 * Box for pasted bytes in any notation. The explainer reads them and makes a link, which becomes
 * the address of the page; so the address can be shared, and shows the same bytes.
 *
 * @module inspector/paste-box
 */

const byId = /** @type {import('./elements.js').ById} */ ((/** @type {string} */ id) => document.getElementById(id));

/** Maximum visible lines of the box. */
const MAX_LINES = 6;
/** Digits of the bytes of a link in the box. */
const GROUP = 2;

/**
 * Returns the bytes of a link in hexadecimal, separated by spaces.
 * @param {string} fragment without `#`
 */
export function bytesOfLink(fragment) {
  const digits = /(?:^|&)frame=([^&]*)/.exec(fragment)?.[1] ?? '';
  return digits.replaceAll(/[^0-9a-f]/gi, '').match(new RegExp(`.{1,${GROUP}}`, 'g'))?.join(' ') ?? '';
}

/** Box with its button, and the note or error below it. */
export class PasteBox {
  /**
   * @param {(text: string) => { link: string, note: string }} read throws if no notation fits
   * @param {{ open: (link: string) => void, failed: () => void }} on opens a link; `failed` is
   *   called if the text has no bytes
   */
  constructor(read, on) {
    this.read = read;
    this.on = on;
    /** Link that this box has opened. */
    this.opened = '';
    const box = byId('paste');
    byId('paste-form').addEventListener('submit', (event) => { event.preventDefault(); this.explain(); });
    // The box has the pasted text only after the event.
    box.addEventListener('paste', () => setTimeout(() => this.explain()));
    box.addEventListener('input', () => { this.fit(); this.show('', false); });
    addEventListener('resize', () => this.fit());
    box.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.explain();
    });
  }

  /** Explains the text of the box. */
  explain() {
    const text = byId('paste').value.trimEnd();
    byId('paste').value = text;
    this.fit();
    if (text.trim() === '') return this.show('Paste bytes first: hexadecimal, a dump, Base64, an array …', true);
    try {
      const { link, note } = this.read(text);
      this.opened = link;
      this.show(note, false);
      this.on.open(link);
    } catch (error) {
      this.show(error instanceof Error ? error.message : String(error), true);
      this.opened = '';
      this.on.failed();
    }
  }

  /** Shows the bytes of a link, unless the box itself has opened it. @param {string} link */
  showLink(link) {
    if (link === this.opened) return;
    this.opened = link;
    byId('paste').value = bytesOfLink(link);
    this.fit();
    this.show('', false);
  }

  /** Shows a note or an error below the box. @param {string} text @param {boolean} isError */
  show(text, isError) {
    byId('paste-note').hidden = text === '';
    byId('paste-note').textContent = text;
    byId('paste-note').classList.toggle('problem', isError);
    byId('paste').setAttribute('aria-invalid', String(isError));
  }

  /** Adapts the height of the box to its text. */
  fit() {
    const box = byId('paste');
    box.rows = 1;
    const line = Number.parseFloat(getComputedStyle(box).lineHeight);
    const lines = Math.round((box.scrollHeight - box.clientHeight) / line) + 1;
    box.rows = Math.max(1, Math.min(MAX_LINES, lines));
  }
}
