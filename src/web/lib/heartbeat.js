/**
 * Pings the server every two seconds, and finds a connection that is dead although nothing has closed it.
 *
 * @module lib/heartbeat
 */

const PING_INTERVAL_MS = 2000;
/** Silence after a ping that means the connection is dead, ms. */
const PONG_TIMEOUT_MS = 8000;
/** Limit of an answer to `ask`, ms. */
const PROBE_TIMEOUT_MS = 2500;
/** A round trip that is longer than usual by this factor is not a dead connection. */
const SLOW_FACTOR = 4;

/**
 * Calls a function when the page becomes visible, returns from the browser's history, or gets a network: its timers may have been late, and its
 * connection may have ended without notice.
 * @param {() => void} call @returns {() => void} ends the calls
 */
export function onReturn(call) {
  const { document } = globalThis;
  const visible = () => { if (!document?.hidden) call(); };
  const over = new AbortController();
  const { signal } = over;
  globalThis.addEventListener?.('online', visible, { signal });
  globalThis.addEventListener?.('pageshow', (event) => { if (event.persisted) visible(); }, { signal });
  document?.addEventListener('visibilitychange', visible, { signal });
  document?.addEventListener('resume', visible, { signal });
  return () => over.abort();
}

/** See the module. */
export class Heartbeat {
  /**
   * @param {(nonce: number) => boolean} ping sends a ping; false if it cannot be sent, as in a dialect without pings
   * @param {() => void} dead called when the connection is dead
   */
  constructor(ping, dead) {
    this.ping = ping;
    this.onDead = dead;
    this.nonce = 0;
    /** Nonce and time of the pings without an answer. @type {Map<number, number>} */
    this.sent = new Map();
    this.receivedAt = 0;
    this.beatAt = 0;
    /** The last round trip, ms. */
    this.tripMs = 0;
    /** @type {any} */
    this.interval = 0;
    /** @type {any} */
    this.timer = 0;
  }

  /** Begins with a connection. @param {number} now */
  begin(now) {
    this.end();
    this.receivedAt = this.beatAt = now;
    this.tripMs = 0;
    this.interval = setInterval(() => this.onInterval(performance.now()), PING_INTERVAL_MS);
    this.send(now);
  }

  /** Ends with the connection. */
  end() {
    this.sent.clear();
    clearInterval(this.interval);
    clearTimeout(this.timer);
    this.timer = 0;
  }

  /** @param {number} now */
  send(now) {
    this.nonce += 1;
    if (!this.ping(this.nonce)) return false;
    this.sent.set(this.nonce, now);
    return true;
  }

  /** A message was received. @param {number} now */
  onMessage(now) {
    this.receivedAt = now;
  }

  /** A pong was received. @param {number} nonce @param {number} now @returns {number | null} round trip, ms; null for an unknown nonce */
  onPong(nonce, now) {
    const sent = this.sent.get(nonce);
    if (sent === undefined) return null;
    this.sent.delete(nonce);
    this.tripMs = now - sent;
    return this.tripMs;
  }

  /** @param {number} now */
  onInterval(now) {
    // A browser runs the timers of a hidden page once a minute or not at all. Messages may then wait behind this call, and prove nothing yet.
    const isLate = now - this.beatAt > 2 * PING_INTERVAL_MS;
    this.beatAt = now;
    if (isLate) return this.probe(now);
    const oldest = this.sent.values().next().value ?? now;
    if (now - oldest > PONG_TIMEOUT_MS && now - this.receivedAt > PONG_TIMEOUT_MS) return this.onDead();
    return this.send(now);
  }

  /** Pings at once; without any message in answer the connection is dead. @param {number} now */
  probe(now) {
    this.beatAt = now;
    if (this.timer !== 0 || !this.send(now)) return;
    const judge = () => {
      this.timer = 0;
      if (this.receivedAt <= now) this.onDead();
    };
    this.timer = setTimeout(judge, Math.max(PROBE_TIMEOUT_MS, SLOW_FACTOR * this.tripMs));
  }
}
