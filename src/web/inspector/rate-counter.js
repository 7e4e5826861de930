/**
 * Counts the bytes per second of the live frames, and shows them as bars.
 *
 * @module inspector/rate-counter
 */

import { ByteRates } from './byte-rates.js';

/** Counter of the bytes per second. */
export class RateCounter {
  /**
   * @param {import('./explainer.js').Explainer} explainer
   * @param {import('./byte-bars.js').ByteBars} bars
   */
  constructor(explainer, bars) {
    this.explainer = explainer;
    this.bars = bars;
    this.rates = new ByteRates();
    this.countedMs = 0;
  }

  /** Adds the bytes since the last call. @param {boolean} isActive whether live frames arrive */
  count(isActive) {
    const now = performance.now();
    const seconds = (now - this.countedMs) / 1000;
    this.countedMs = now;
    if (!isActive) return;
    this.rates.add(this.explainer.fields(), seconds);
    this.bars.show(this.rates.bars());
  }

  clear() {
    this.rates.clear();
    this.bars.show([]);
  }
}
