/**
 * Pings the server every two seconds and detects dead connections.
 *
 * @module lib/heartbeat
 */

const PING_INTERVAL_MS = 2000;
/** Silence after a ping that marks the connection as dead, ms. */
const PONG_TIMEOUT_MS = 8000;
/** Minimum time limit of `probe`, ms. */
const PROBE_TIMEOUT_MS = 2500;
/** `probe` waits at least this multiple of the last round trip for a response. */
const SLOW_FACTOR = 4;

/**
 * Calls a function when the page becomes visible or online, or returns from the browser's history.
 * The timers of the page may have been late until then, and its connection may have ended
 * unnoticed.
 * @param {() => void} call
 * @returns {() => void} stops the calls
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

/** Pings a server and reports a dead connection. */
export class Heartbeat {
  /**
   * @param {(nonce: number) => boolean} ping sends a ping; returns false if the dialect has no
   *   pings
   * @param {() => void} dead called when the connection is dead
   */
  constructor(ping, dead) {
    this.ping = ping;
    this.onDead = dead;
    this.nonce = 0;
    /** Newest nonce with a measured round trip. */
    this.measured = 0;
    /**
     * Nonces of the pings without a pong, and the times at which they were sent, ms.
     * @type {Map<number, number>}
     */
    this.sent = new Map();
    this.receivedAt = 0;
    this.beatAt = 0;
    /** Last round trip, ms. */
    this.tripMs = 0;
    /** @type {any} */
    this.interval = 0;
    /** @type {any} */
    this.timer = 0;
  }

  /** Starts the pings on a new connection. @param {number} now */
  begin(now) {
    this.end();
    this.receivedAt = this.beatAt = now;
    this.tripMs = 0;
    this.interval = setInterval(() => this.onInterval(performance.now()), PING_INTERVAL_MS);
    this.send(now);
  }

  /** Stops the pings when the connection has ended. */
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

  /** Records that a message was received. @param {number} now */
  onMessage(now) {
    this.receivedAt = now;
  }

  /**
   * Records a pong. With a lane, each ping is sent by datagram and by stream: the first pong
   * measures the round trip, and only a pong of the stream shows that the stream is alive.
   * @param {number} nonce
   * @param {number} now
   * @param {boolean} [isDatagram]
   * @returns {number | null} round trip, ms; null for an unknown or measured nonce
   */
  onPong(nonce, now, isDatagram = false) {
    const sent = this.sent.get(nonce);
    if (sent === undefined) return null;
    if (!isDatagram) this.sent.delete(nonce);
    if (nonce <= this.measured) return null;
    this.measured = nonce;
    this.tripMs = now - sent;
    return this.tripMs;
  }

  /** @param {number} now */
  onInterval(now) {
    // Browsers delay timers of hidden pages by a minute or more. Messages that have arrived may not
    // have been handled yet, so silence proves nothing.
    const isLate = now - this.beatAt > 2 * PING_INTERVAL_MS;
    this.beatAt = now;
    if (isLate) return this.probe(now);
    const oldest = this.sent.values().next().value ?? now;
    if (now - oldest > PONG_TIMEOUT_MS && now - this.receivedAt > PONG_TIMEOUT_MS) return this.onDead();
    return this.send(now);
  }

  /**
   * Pings at once. If no message at all is received in time, the connection is dead.
   * @param {number} now
   */
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
