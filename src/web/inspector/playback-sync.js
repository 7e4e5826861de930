/**
 * Synchronizes the inspector with a playback page: the inspector shows the frames of the same file,
 * and follows the time of the playback. Selecting a frame moves the playback to its time.
 *
 * @module inspector/playback-sync
 */

import { lastBefore } from './list/frames.js';
import { open, showOpenError } from './open-file.js';

/** Interval at which the list follows the page, ms. */
const FOLLOW_MS = 200;

/**
 * `window.tickwireWatch` of a playback page.
 * @typedef {{ file: () => Promise<File>, tick: number, ms: number, seek: (ms: number) => number }}
 *   PlaybackPage
 */

/** Synchronization with a playback page. */
export class PlaybackSync {
  /**
   * @param {() => import('./list/source-menu.js').Source} shown @param {(n: number) => void} goTo
   * @param {Window} [page]
   */
  constructor(shown, goTo, page = window) {
    this.shown = shown;
    this.goTo = goTo;
    const isAsked = new URLSearchParams(page.location.search).has('capture') && page.parent !== page;
    const parent = /** @type {Window & { tickwireWatch?: PlaybackPage }} */ (page.parent);
    this.page = isAsked ? parent.tickwireWatch ?? null : null;
    /** Tick to which the page and the list are synchronized. */
    this.tick = 0;
    this.isFollowing = false;
    /** Number of visible frames at the last check. */
    this.visibleCount = 0;
  }

  get isAvailable() {
    return this.page !== null;
  }

  /** Opens the page's file and starts to follow the page. */
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

  /** Moves the list to the time of the page. */
  follow() {
    const { page } = this;
    const { kind, explainer } = this.shown();
    if (!page || kind !== 'file' || page.tick === 0 || page.tick === this.tick) return;
    const [tick, ms] = [page.tick, page.ms];
    const { seen } = explainer.count();
    const index = lastBefore(seen, (at) => explainer.rows(at, 1)[0]?.at_ms ?? Infinity, ms);
    // If the file is not read up to this time yet, a later call tries again.
    if (index + 1 < seen || seen === this.visibleCount) this.tick = tick;
    this.visibleCount = seen;
    const row = index < 0 ? undefined : explainer.rows(index, 1)[0];
    if (!row) return;
    this.isFollowing = true;
    this.goTo(row.n);
    this.isFollowing = false;
  }

  /** Moves the page to the time of the selected frame. @param {number} n */
  onFrameSelected(n) {
    const { explainer, kind } = this.shown();
    if (!this.page || this.isFollowing || kind !== 'file') return;
    const { at_ms } = explainer.entry(n);
    if (at_ms !== undefined) this.tick = this.page.seek(at_ms);
  }
}
