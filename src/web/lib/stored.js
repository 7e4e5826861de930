/**
 * Browser storage of the page. If the browser forbids it, values last as long as the page. Even
 * reading `localStorage` may throw, so each access is guarded.
 *
 * @module lib/stored
 */

/** Storage that never throws. */
export class Stored {
  /** @param {'localStorage' | 'sessionStorage'} kind */
  constructor(kind) {
    this.kind = kind;
    /** @type {Map<string, string>} */
    this.values = new Map();
  }

  /** Whether values outlast the page. */
  get isKept() {
    return this.use((storage) => storage.length >= 0) ?? false;
  }

  /** @param {string} key @returns {string | null} */
  getItem(key) {
    return this.use((storage) => storage.getItem(key)) ?? this.values.get(key) ?? null;
  }

  /** @param {string} key @param {string} value */
  setItem(key, value) {
    this.values.set(key, value);
    this.use((storage) => storage.setItem(key, value));
  }

  /** @param {string} key */
  removeItem(key) {
    this.values.delete(key);
    this.use((storage) => storage.removeItem(key));
  }

  /**
   * Returns the result of a call on the storage.
   * @template T
   * @param {(storage: Storage) => T} call
   * @returns {T | undefined} undefined if storage is forbidden, missing or full
   */
  use(call) {
    try {
      const storage = /** @type {Record<string, any>} */ (globalThis)[this.kind];
      return storage ? call(storage) : undefined;
    } catch {
      return undefined;
    }
  }
}

/** Storage of all pages of this origin, across visits. */
export const local = new Stored('localStorage');
/** Storage of this tab. */
export const session = new Stored('sessionStorage');
