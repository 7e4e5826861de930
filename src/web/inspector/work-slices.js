/**
 * Work of the explainer in small slices, so that the page stays quick: reading a capture, and filtering many frames by their values.
 *
 * @module inspector/work-slices
 */

/** How long a slice may take. */
const SLICE_MS = 14;
/** How often the page hears of the progress. */
const TELL_MS = 100;
/** Bytes of the first slice; later ones are as long as fits. */
const FIRST_BYTES = 64 * 1024;

export class Work {
  /** @param {(told: ReturnType<import('./explainer.js').Explainer['work']>) => void} onProgress */
  constructor(onProgress) {
    this.onProgress = onProgress;
    this.isRunning = false;
    this.bytes = FIRST_BYTES;
    this.toldMs = 0;
    /** @type {import('./explainer.js').Explainer | null} */
    this.explainer = null;
  }

  /** Begins, or goes on, until nothing is left. @param {import('./explainer.js').Explainer} explainer */
  start(explainer) {
    this.explainer = explainer;
    this.toldMs = 0;
    if (this.isRunning) return;
    this.isRunning = true;
    this.slice();
  }

  slice() {
    const begin = performance.now();
    const told = /** @type {import('./explainer.js').Explainer} */ (this.explainer).work(Math.round(this.bytes));
    const now = performance.now();
    const took = Math.max(now - begin, 0.5);
    this.bytes = Math.min(Math.max(this.bytes * Math.min(Math.max(SLICE_MS / took, 0.25), 2), 4096), 64 * 1024 * 1024);
    this.isRunning = told.more;
    if (told.more) setTimeout(() => this.slice());
    if (told.more && now - this.toldMs < TELL_MS) return;
    this.toldMs = now;
    this.onProgress(told);
  }
}
