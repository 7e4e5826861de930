/**
 * The line below the list: what was done just now, and what else is to be said.
 *
 * @module inspector/status-line
 */

/** How long it is said what was done. */
const SHOWN_MS = 4000;

export class StatusLine {
  /** @param {HTMLElement} box @param {() => string[]} parts what else is to be said */
  constructor(box, parts) {
    this.box = box;
    this.parts = parts;
    this.done = '';
    this.timer = 0;
  }

  show() {
    const text = [this.done, ...this.parts()].filter((part) => part !== '').join(' · ');
    if (this.box.textContent !== text) this.box.textContent = text;
  }

  /** Says what was done, for a while. @param {string} what */
  showTemporarily(what) {
    this.done = what;
    this.show();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => { this.done = ''; this.show(); }, SHOWN_MS);
  }
}
