/**
 * Settings of the player, stored across visits if the browser allows it. The only side effect of
 * this module is on the given store.
 *
 * @module game/settings
 */

const STORAGE_KEY = 'tickwire.settings';

/** Default settings. They also define the names and types. */
export const DEFAULTS = Object.freeze({
  /** Volume, 0 to 100. */
  volume: 100,
  /** Whether debris and shaking are shown. */
  effects: true,
  /** Whether names are shown above players. */
  names: true,
  /** Whether frame rate and ping are shown. */
  speed: false,
});

/** @typedef {keyof typeof DEFAULTS} Name */

export class Settings {
  /**
   * @param {Pick<Storage, 'getItem' | 'setItem'>} store
   * @param {(name: Name) => void} changed called after each change
   */
  constructor(store, changed = () => {}) {
    this.store = store;
    this.changed = changed;
    this.values = { ...DEFAULTS, ...remembered(store) };
  }

  /** @param {Name} name @param {number | boolean} value */
  set(name, value) {
    const valid = validated(name, value);
    if (valid === undefined || this.values[name] === valid) return;
    Object.assign(this.values, { [name]: valid });
    try {
      this.store.setItem(STORAGE_KEY, JSON.stringify(this.values));
    } catch {
      // Storage may be forbidden; then the setting lasts as long as the page.
    }
    this.changed(name);
  }
}

/**
 * Returns the valid form of a value; undefined if there is none.
 * @param {string} name
 * @param {unknown} value
 */
function validated(name, value) {
  if (!Object.hasOwn(DEFAULTS, name) || typeof value !== typeof DEFAULTS[/** @type {Name} */ (name)]) return undefined;
  if (typeof value !== 'number') return value;
  return Number.isFinite(value) ? Math.max(0, Math.min(100, Math.round(value))) : undefined;
}

/** Reads the valid settings from the store. @param {Pick<Storage, 'getItem'>} store */
function remembered(store) {
  try {
    const stored = JSON.parse(store.getItem(STORAGE_KEY) ?? '{}');
    return Object.fromEntries(Object.entries(stored).map(([name, value]) => [name, validated(name, value)])
      .filter(([, value]) => value !== undefined));
  } catch {
    return {};
  }
}
