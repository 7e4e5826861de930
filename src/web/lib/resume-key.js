/**
 * The page's key. By it the server returns the player to a page that is loaded again, and identifies the page's client at `/wire`.
 *
 * The key is kept in `sessionStorage`, which the browser copies when a tab is duplicated or restored. Therefore a page claims its key before it sends
 * it, and replaces a key that another living page has claimed: the copy of a tab is a second player, and a page that is loaded again is the same player.
 *
 * @module lib/resume-key
 */

const STORAGE_KEY = 'tickwire.key';
/** Time in which the page before a reload releases its key, and another page answers, ms. */
const CLAIM_MS = 400;

/** Key without storage, as in Node. @type {string | undefined} */
let processKey;
/** Whether a connection has the page's key. */
let isInUse = false;
/** The page's key, while the page lives. @type {Promise<string> | null} */
let claimedKey = null;
/** Ends the claim. @type {() => void} */
let release = () => {};

/** A random key: 32 hex digits. */
export const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');

/**
 * The key of a connection: the page's for the first one, a random one for each further connection at the same time, as of two players at one screen.
 *
 * @typedef {object} AcquiredKey
 * @property {() => Promise<string>} get called for each attempt: a page that returns from the browser's history claims its key again
 * @property {() => void} giveBack
 */

/** @param {boolean} [isOther] whether the page is another player than the page around it @returns {AcquiredKey} */
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
  claimedKey ??= claimPageKey();
  return claimedKey;
}

async function claimPageKey() {
  let key;
  try {
    key = sessionStorage.getItem(STORAGE_KEY);
    const ending = key === null ? null : await claim(key);
    if (ending) {
      release = ending;
    } else {
      key = newKey();
      sessionStorage.setItem(STORAGE_KEY, key);
      release = await claim(key, true) ?? release;
    }
    return key;
  } catch {
    // Without storage no other page has this key.
    processKey ??= newKey();
    return processKey;
  }
}

// Before the next page of this tab begins; a page that is kept for the browser's history is no living one.
globalThis.addEventListener?.('pagehide', () => {
  release();
  claimedKey = null;
});

/**
 * Claims a key among the pages of this browser.
 *
 * @param {string} key @param {boolean} [isNew] whether no other page can have it
 * @param {{ locks?: LockManager, Channel?: typeof BroadcastChannel }} [by]
 * @returns {Promise<(() => void) | null>} ends the claim; null if another page has claimed the key
 */
export async function claim(key, isNew = false, { locks = globalThis.navigator?.locks, Channel = globalThis.BroadcastChannel } = {}) {
  const name = `tickwire.key.${key}`;
  // Locks only exist on https and on this machine. They are also held by a page whose scripts the browser has suspended, and end with a crash.
  try {
    if (locks) return await claimLock(locks, name);
  } catch {
    // Locks are forbidden here.
  }
  try {
    if (Channel) return await claimChannel(new Channel(name), isNew);
  } catch {
    // Channels as well: pages are not distinguished.
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
 * Asks on a channel whether another page holds the key. Of pages that ask at once, the one with the smallest number gets the key.
 * @param {BroadcastChannel} channel @param {boolean} isNew @returns {Promise<(() => void) | null>}
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
