/**
 * Runs work of the explainer in small slices, so that the page stays responsive: opening and
 * reading a capture, and filtering.
 *
 * @module inspector/work-slices
 */

/** Time limit of a slice, ms. */
const SLICE_MS = 14;
/** Interval at which the page is notified of progress, ms. */
const NOTIFY_INTERVAL_MS = 100;
/** Bytes of the first slice. The size of later slices adapts to the time limit. */
const FIRST_BYTES = 64 * 1024;

/** Adapts the size of a slice to the duration of the previous slice. */
export class Pace {
  constructor() {
    this.bytes = FIRST_BYTES;
  }

  /** Runs a slice. @template T @param {(bytes: number) => T} slice @returns {T} */
  run(slice) {
    const begin = performance.now();
    const result = slice(Math.round(this.bytes));
    const took = Math.max(performance.now() - begin, 0.5);
    this.bytes = Math.min(Math.max(this.bytes * Math.min(Math.max(SLICE_MS / took, 0.25), 2), 4096), 64 * 1024 * 1024);
    return result;
  }
}

/**
 * Opens the file of the explainer in slices; returns null if it is cancelled.
 * @param {import('./explainer.js').Explainer} explainer
 * @param {{ isCancelled: () => boolean, onProgress: (percent: number) => void }} on
 */
export async function openInSlices(explainer, { isCancelled, onProgress }) {
  const pace = new Pace();
  let notifiedMs = performance.now();
  for (;;) {
    const opened = pace.run((bytes) => explainer.openOn(bytes));
    if ('packets' in opened) return opened;
    if (performance.now() - notifiedMs >= NOTIFY_INTERVAL_MS) {
      notifiedMs = performance.now();
      onProgress(opened.percent);
    }
    await new Promise((resolve) => { setTimeout(resolve); });
    if (isCancelled()) return null;
  }
}

export class WorkSlices {
  /**
   * @param {(result: ReturnType<import('./explainer.js').Explainer['advance']>) => void} onProgress
   */
  constructor(onProgress) {
    this.onProgress = onProgress;
    this.isRunning = false;
    this.pace = new Pace();
    this.notifiedMs = 0;
    /** @type {import('./explainer.js').Explainer | null} */
    this.explainer = null;
  }

  /**
   * Starts or continues the work of an explainer.
   * @param {import('./explainer.js').Explainer} explainer
   */
  start(explainer) {
    this.explainer = explainer;
    this.notifiedMs = 0;
    if (this.isRunning) return;
    this.isRunning = true;
    this.slice();
  }

  slice() {
    const explainer = /** @type {import('./explainer.js').Explainer} */ (this.explainer);
    const result = this.pace.run((bytes) => explainer.advance(bytes));
    const now = performance.now();
    this.isRunning = result.more;
    if (result.more) setTimeout(() => this.slice());
    if (result.more && now - this.notifiedMs < NOTIFY_INTERVAL_MS) return;
    this.notifiedMs = now;
    this.onProgress(result);
  }
}
