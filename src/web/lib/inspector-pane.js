/**
 * The inspector beside the game, or beside a capture that is watched: its page in an iframe, shown by a button or by `?wire` in the address. The game goes on while it comes and goes. What
 * the inspector does is its own business: it is told when it is shown and hidden, and may ask to be closed.
 *
 * @module lib/inspector-pane
 */

import { EDITION } from '../wasm/edition.js';
import { withQueryParam } from './netem-menu.js';

/** A server answers for `wire` with the status that says whether one may watch; other hosts only have the file. */
const INSPECTOR_PAGE = EDITION === 'tab' ? 'inspector.html' : 'wire';
/** Beside a capture that is watched it needs no server. */
const PLAYBACK_PAGE = 'inspector.html?beside&watch';

export class InspectorPane {
  /**
   * @param {() => void} onKeysGone called when the inspector gets the keyboard
   * @param {(isOpen: boolean) => void} onPressed called when a button of the page has shown or hidden it
   */
  constructor(onKeysGone, onPressed) {
    /** @type {HTMLIFrameElement | null} kept when it is hidden: what is loaded needs no network */
    this.frame = null;
    this.buttons = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('.see-wire')]);
    for (const button of this.buttons) {
      button.addEventListener('click', ({ detail }) => {
        // After a press with the mouse the keyboard belongs to the page again.
        if (detail > 0) button.blur();
        this.show(!this.isOpen);
        onPressed(this.isOpen);
      });
    }
    // Only after the window has lost the focus is it told what has got it.
    addEventListener('blur', () => setTimeout(() => { if (this.isOpen && document.activeElement === this.frame) onKeysGone(); }));
    if (new URLSearchParams(location.search).has('wire')) this.show(true);
  }

  get isOpen() {
    return this.frame !== null && !this.frame.hidden;
  }

  /** Loads the inspector, hidden. */
  load() {
    const frame = document.createElement('iframe');
    frame.id = 'wire';
    frame.title = 'The inspector: what this page and the server say to each other';
    frame.hidden = true;
    frame.src = new URLSearchParams(location.search).has('watch') ? PLAYBACK_PAGE : `${INSPECTOR_PAGE}?beside`;
    frame.addEventListener('close', () => this.show(false));
    document.body.append(frame);
    this.frame = frame;
    return frame;
  }

  /** The next time it is loaded anew. */
  forget() {
    this.frame?.remove();
    this.frame = null;
  }

  /** @param {boolean} isOpen */
  show(isOpen) {
    const frame = this.frame ?? this.load();
    frame.hidden = !isOpen;
    document.body.classList.toggle('beside', isOpen);
    for (const button of this.buttons) {
      button.textContent = isOpen ? 'Hide the wire' : 'See the wire';
      button.setAttribute('aria-expanded', String(isOpen));
    }
    history.replaceState(null, '', withQueryParam(location.search, 'wire', isOpen ? 'wire' : null) || location.pathname);
    frame.dispatchEvent(new Event(isOpen ? 'show' : 'hide'));
    if (!isOpen) window.focus();
  }
}
