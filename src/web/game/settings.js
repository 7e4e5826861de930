/**
 * What a player has set: kept from one visit to the next where the browser allows it. Pure but for the store that it is
 * given.
 *
 * @module game/settings
 */

const STORAGE_KEY = 'tickwire.settings';

/** What is set before anybody has set anything; also says which settings there are, and of what type. */
export const DEFAULTS = Object.freeze({
  /** Loudness, 0 to 100. */
  volume: 100,
  /** Whether pieces fly and things shake. */
  effects: true,
  /** Whether names stand above players. */
  names: true,
  /** Whether frames a second and the ping are shown. */
  speed: false,
});

/** @typedef {keyof typeof DEFAULTS} Name */

export class Settings {
  /** @param {Pick<Storage, 'getItem' | 'setItem'>} store @param {(name: Name) => void} changed called after each change */
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
      // Storage may be forbidden; then it is forgotten.
    }
    this.changed(name);
  }
}

/** A value as it may be; undefined for one that makes no sense. @param {string} name @param {unknown} value */
function validated(name, value) {
  if (!Object.hasOwn(DEFAULTS, name) || typeof value !== typeof DEFAULTS[name]) return undefined;
  if (typeof value !== 'number') return value;
  return Number.isFinite(value) ? Math.max(0, Math.min(100, Math.round(value))) : undefined;
}

/** What is in the store, as far as it makes sense. @param {Pick<Storage, 'getItem'>} store */
function remembered(store) {
  try {
    const stored = JSON.parse(store.getItem(STORAGE_KEY) ?? '{}');
    return Object.fromEntries(Object.entries(stored).map(([name, value]) => [name, validated(name, value)])
      .filter(([, value]) => value !== undefined));
  } catch {
    return {};
  }
}
