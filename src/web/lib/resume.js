/**
 * Resuming a player: the page's resume key, and the last tick that the page has received. A
 * resuming page sends the tick in `hello`, and the server sends the missed events once.
 *
 * The server uses the key to return the player to a reloaded page, and `/wire` to identify the
 * page's client.
 *
 * The key is stored in `sessionStorage`, which the browser copies when a tab is duplicated or
 * restored. Therefore a page claims its key before it sends it, and replaces a key that another
 * living page has claimed. The copy of a tab is a second player; a reloaded page is the same
 * player.
 *
 * @module lib/resume
 */

const STORAGE_KEY = 'tickwire.resume_key';
/** Maximum wait for another page to release the key, or to report that it holds the key, ms. */
const CLAIM_MS = 400;

/** Key of a process without storage, such as Node. @type {string | undefined} */
let processKey;
/** Whether a connection uses the page's key. */
let isInUse = false;
/** The claimed key, while the page lives. @type {Promise<string> | null} */
let claimedKey = null;
/** Releases the claim. @type {() => void} */
let release = () => {};

/** Returns a random key: 32 hex digits. */
export const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');

/**
 * Resume key of a connection. The first connection of a page uses the page's key; each further one
 * has a random key, for example for two players at one screen.
 * @typedef {object} AcquiredKey
 * @property {() => Promise<string>} get returns the key; called for each attempt, because a page
 *   that returns from the browser's history must claim its key again
 * @property {() => void} giveBack releases the key
 */

/**
 * Acquires the key of a new connection.
 * @param {boolean} [isOther] whether the page is another player than its parent page
 * @returns {AcquiredKey}
 */
export function acquireKey(isOther = isInUse) {
  if (isOther) {
    const key = newKey();
    return { get: async () => key, giveBack: () => {} };
  }
  isInUse = true;
  return { get: resumeKey, giveBack: () => { isInUse = false; } };
}

/** Claims the page's key. @returns {Promise<string>} 32 hex digits */
export function resumeKey() {
  return claimedKey ??= claimPageKey();
}

async function claimPageKey() {
  try {
    const stored = sessionStorage.getItem(STORAGE_KEY);
    const ending = stored === null ? null : await claim(stored);
    if (stored !== null && ending) {
      release = ending;
      return stored;
    }
    const key = newKey();
    sessionStorage.setItem(STORAGE_KEY, key);
    release = await claim(key, true) ?? release;
    return key;
  } catch {
    // Without storage no other page has this key.
    processKey ??= newKey();
    return processKey;
  }
}

// `pagehide` precedes the next page of this tab. A page in the browser's history does not count as
// living.
globalThis.addEventListener?.('pagehide', () => {
  release();
  claimedKey = null;
});

/**
 * Claims a key among the pages of this browser.
 * @param {string} key
 * @param {boolean} [isNew] whether no other page can have the key
 * @param {{ locks?: LockManager, Channel?: typeof BroadcastChannel }} [by]
 * @returns {Promise<(() => void) | null>} releases the claim; null if another page has claimed the
 *   key
 */
export async function claim(key, isNew = false, { locks = globalThis.navigator?.locks, Channel = globalThis.BroadcastChannel } = {}) {
  const name = `tickwire.resume_key.${key}`;
  // Web Locks need https or localhost. A suspended page keeps its lock; a crash releases it.
  try {
    if (locks) return await claimLock(locks, name);
  } catch {
    // The browser forbids Web Locks.
  }
  try {
    if (Channel) return await claimChannel(new Channel(name), isNew);
  } catch {
    // The browser also forbids channels, so pages are not distinguished.
  }
  return () => {};
}

/** @param {LockManager} locks @param {string} name @returns {Promise<(() => void) | null>} */
function claimLock(locks, name) {
  return new Promise((resolve, reject) => {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), CLAIM_MS);
    const held = () => {
      clearTimeout(timer);
      return new Promise((end) => { resolve(() => end(undefined)); });
    };
    locks.request(name, { signal: late.signal }, held).catch((error) => {
      clearTimeout(timer);
      if (late.signal.aborted) resolve(null);
      else reject(error);
    });
  });
}

/**
 * Asks on a channel whether another page holds the key. If several pages ask at once, the page with
 * the smallest number gets the key.
 * @param {BroadcastChannel} channel
 * @param {boolean} isNew
 * @returns {Promise<(() => void) | null>}
 */
function claimChannel(channel, isNew) {
  const number = newKey();
  return new Promise((resolve) => {
    let isHeld = isNew;
    let timer = /** @type {any} */ (0);
    const lose = () => {
      clearTimeout(timer);
      channel.close();
      resolve(null);
    };
    const win = () => {
      isHeld = true;
      resolve(() => channel.close());
    };
    channel.onmessage = ({ data: { asks = null } }) => {
      if (asks === null) {
        if (!isHeld) lose();
      } else if (isHeld || number < asks) {
        channel.postMessage({ holds: number });
      } else {
        lose();
      }
    };
    if (isNew) return win();
    timer = setTimeout(win, CLAIM_MS);
    return channel.postMessage({ asks: number });
  });
}

/** Packets without game state. */
const STATELESS_PACKETS = ['pong', 'error', 'command_accepted', 'command_rejected'];
/** Rule of the `error` packet that the server sends if the player to resume no longer exists. */
const PLAYER_LEFT = 'player_left';

export class ResumeTick {
  /** Last received tick; null without a player. @type {number | null} */
  tick = null;

  /**
   * Records a received packet.
   * @param {string} name
   * @param {Record<string, any>} values
   * @param {boolean} isPlaying whether the page has a player
   * @param {() => number} receivedTick returns the tick of a packet that arrives now and contains
   *   no tick
   */
  onPacket(name, values, isPlaying, receivedTick) {
    if (name === 'error' && values.rule === PLAYER_LEFT) this.tick = null;
    if (!isPlaying || STATELESS_PACKETS.includes(name)) return;
    const tick = typeof values.tick === 'number' ? values.tick : receivedTick();
    this.tick = Math.max(this.tick ?? 0, tick);
  }
}
