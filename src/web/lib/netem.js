/**
 * Simulates a network between this page and its server, with the model of `tickwire netem`.
 * Messages are delayed until they would arrive.
 *
 * @module lib/netem
 */

/** Seed of the random numbers. */
const seed = () => Math.floor(Math.random() * 2 ** 32);
/** Approximate bytes of a frame header. */
const HEADER_BYTES = 6;
/** Value of `WebSocket.OPEN`. */
const OPEN = 1;

const decoder = new TextDecoder();

/** Delays the messages of one direction and delivers them in order. */
class DelayQueue {
  constructor() {
    /** @type {{ at: number, hand: () => void }[]} */
    this.queue = [];
    /** @type {any} */
    this.timer = 0;
  }

  /** Delivers a message at a time. @param {number} at ms @param {() => void} hand */
  add(at, hand) {
    if (this.queue.length === 0 && at <= performance.now() + 0.5) return hand();
    this.queue.push({ at, hand });
    if (this.queue.length === 1) this.wait();
    return undefined;
  }

  wait() {
    this.timer = setTimeout(() => {
      try {
        while (this.queue.length > 0 && this.queue[0].at <= performance.now() + 0.5) this.queue.shift()?.hand();
      } finally {
        if (this.queue.length > 0) this.wait();
      }
    }, Math.max(0, this.queue[0].at - performance.now()));
  }

  clear() {
    clearTimeout(this.timer);
    this.queue = [];
  }
}

/** @typedef {import('../wasm/open-socket.js').Socket} Socket */

/** A WebSocket over a simulated network. */
export class NetemSocket {
  /** @param {Socket} socket @param {NetemLink} line */
  constructor(socket, line) {
    this.socket = socket;
    this.netem = line;
    this.up = new DelayQueue();
    this.down = new DelayQueue();
    /** @type {Socket['onopen']} */
    this.onopen = null;
    /** @type {Socket['onmessage']} */
    this.onmessage = null;
    /** @type {Socket['onclose']} */
    this.onclose = null;
    socket.onopen = (event) => this.down.add(line.arrivalTime(true, 0), () => this.onopen?.(event));
    socket.onmessage = (event) => this.down.add(line.arrivalTime(false, /** @type {ArrayBuffer} */ (event.data).byteLength), () => this.onmessage?.(event));
    socket.onclose = (event) => this.down.add(line.arrivalTime(false, 0), () => this.onclose?.(event));
  }

  get readyState() { return this.socket.readyState; }
  set binaryType(/** @type {BinaryType} */ type) { this.socket.binaryType = type; }

  /** @param {Uint8Array<ArrayBuffer> | string} message */
  send(message) {
    const open = () => { if (this.socket.readyState === OPEN) this.socket.send(message); };
    this.up.add(this.netem.arrivalTime(true, message.length), open);
  }

  /** @param {number} [code] */
  close(code) {
    this.up.clear();
    this.down.clear();
    this.socket.close(code);
  }
}

export class NetemLink {
  constructor() {
    /**
     * Instance of `prediction.wasm`. Without it messages are not delayed.
     * @type {import('../wasm/instance.js').WasmInstance | null}
     */
    this.wasm = null;
    /** Named network conditions. @type {{ name: string, about: string }[]} */
    this.presets = [];
    /** Current network conditions. @type {import('./netem-menu.js').NetemResult} */
    this.net = {};
    /** Whether messages are delayed. */
    this.isActive = false;
  }

  /**
   * Starts the simulation with the loaded model.
   * @param {import('../wasm/instance.js').WasmInstance} wasm
   */
  begin(wasm) {
    this.wasm = wasm;
    wasm.wasm.netem_open(seed());
    const lines = decoder.decode(wasm.outputBytes(wasm.wasm.netem_presets())).trimEnd().split('\n');
    this.presets = lines.map((line) => line.split('\t')).map(([name, about]) => ({ name, about }));
  }

  /**
   * Sets the conditions for all messages that are sent from now on.
   * @param {string} text such as `wifi`; '' for no delay
   * @returns {Promise<import('./netem-menu.js').NetemResult>}
   */
  async setNetem(text) {
    const { wasm } = this;
    if (!wasm) return { error: 'prediction.wasm is not here' };
    wasm.setInputText(text);
    const result = decoder.decode(wasm.outputBytes(wasm.wasm.netem_set()));
    this.net = result.startsWith('+') ? { net: result.slice(1) } : { error: result.slice(1) };
    if (this.net.error === undefined) this.isActive = text !== '';
    return this.net;
  }

  /** Wraps a socket in the simulated network. @param {Socket} socket @returns {Socket} */
  wrapSocket(socket) {
    this.wasm?.wasm.netem_open(seed());
    return new NetemSocket(socket, this);
  }

  /**
   * Wraps a channel for datagrams: its datagrams are delayed, lost and reordered.
   * @param {typeof import('../wasm/open-socket.js').openChannel} open
   * @returns {typeof import('../wasm/open-socket.js').openChannel}
   */
  wrapChannel(open) {
    return (socket, onDatagram, onLost) => {
      const channel = open(socket, (datagram) => this.#carry(false, datagram.length, () => onDatagram(datagram)), onLost);
      const send = channel.send.bind(channel);
      channel.send = (datagram) => this.#carry(true, datagram.length, () => send(datagram));
      return channel;
    };
  }

  /**
   * Delivers a datagram after its delay, or drops it.
   * @param {boolean} isUp
   * @param {number} bytes
   * @param {() => void} deliver
   */
  #carry(isUp, bytes, deliver) {
    if (!this.wasm || !this.isActive) return deliver();
    const now = performance.now();
    const at = this.wasm.wasm.netem_send_datagram(isUp ? 1 : 0, now, bytes);
    return at < 0 ? undefined : setTimeout(deliver, at - now);
  }

  /**
   * Returns the arrival time of a message that is sent now, ms.
   * @param {boolean} isUp
   * @param {number} bytes
   */
  arrivalTime(isUp, bytes) {
    const now = performance.now();
    return this.wasm && this.isActive ? this.wasm.wasm.netem_send(isUp ? 1 : 0, now, bytes + HEADER_BYTES) : now;
  }
}
