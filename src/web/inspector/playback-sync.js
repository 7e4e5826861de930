/**
 * The inspector beside a page that watches a capture: it shows the frames of the same file, and both are at the same time. Whichever is moved moves the
 * other.
 *
 * @module inspector/playback-sync
 */

import { lastBefore } from './list/frames.js';
import { open, showOpenError } from './open-file.js';

/** How often the list follows the page. */
const FOLLOW_MS = 200;

/** See the module. */
export class PlaybackSync {
  /**
   * @param {() => import('./list/source-menu.js').Source} shown @param {(n: number) => void} goTo
   * @param {Window} [page]
   */
  constructor(shown, goTo, page = window) {
    this.shown = shown;
    this.goTo = goTo;
    const isAsked = new URLSearchParams(page.location.search).has('watch') && page.parent !== page;
    /** @type {{ file: () => Promise<File>, tick: number, ms: number, seek: (ms: number) => number } | null} */
    this.page = isAsked ? /** @type {any} */ (page.parent).tickwireWatch ?? null : null;
    /** The tick at which both are. */
    this.tick = 0;
    this.isFollowing = false;
    /** Frames in the list when it was last looked at. */
    this.seen = 0;
  }

  get isAvailable() {
    return this.page !== null;
  }

  /** Opens the page's file, and follows the page from then on. */
  async open() {
    const { page } = this;
    if (!page) return;
    document.body.classList.add('watched');
    try {
      await open(await page.file());
      setInterval(() => this.follow(), FOLLOW_MS);
    } catch (error) {
      showOpenError(/** @type {Error} */ (error).message);
    }
  }

  /** Goes to where the page is. */
  follow() {
    const { page } = this;
    const { kind, explainer } = this.shown();
    if (!page || kind !== 'file' || page.tick === 0 || page.tick === this.tick) return;
    const [tick, ms] = [page.tick, page.ms];
    const { seen } = explainer.count();
    const place = lastBefore(seen, (at) => explainer.rows(at, 1)[0]?.at_ms ?? Infinity, ms);
    // What is not read yet is gone to when it is.
    if (place + 1 < seen || seen === this.seen) this.tick = tick;
    this.seen = seen;
    const row = place < 0 ? undefined : explainer.rows(place, 1)[0];
    if (!row) return;
    this.isFollowing = true;
    this.goTo(row.n);
    this.isFollowing = false;
  }

  /** A frame was chosen here: the page goes there. @param {number} n */
  onFrameSelected(n) {
    const { explainer, kind } = this.shown();
    if (!this.page || this.isFollowing || kind !== 'file') return;
    this.tick = this.page.seek(explainer.entry(n).at_ms);
  }
}
