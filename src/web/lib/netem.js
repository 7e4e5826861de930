/**
 * A simulated line between this page and its server, by the model that `tickwire net` has: messages wait here until they would have arrived.
 *
 * @module lib/netem
 */

/** A seed of the line's random numbers. */
const seed = () => Math.floor(Math.random() * 2 ** 32);
/** Bytes of a frame's header, about. */
const HEADER_BYTES = 6;
/** `WebSocket.OPEN`. */
const OPEN = 1;

const decoder = new TextDecoder();

/** Messages of one direction that are under way; each is handed over when its time has come, in order. */
class DelayQueue {
  constructor() {
    /** @type {{ at: number, hand: () => void }[]} */
    this.queue = [];
    /** @type {any} */
    this.timer = 0;
  }

  /** @param {number} at ms @param {() => void} hand */
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

/** A WebSocket at the end of a line. */
export class NetemSocket {
  /** @param {import('../wasm/open-socket.js').Socket} socket @param {NetemLink} line */
  constructor(socket, line) {
    this.socket = socket;
    this.netem = line;
    this.up = new DelayQueue();
    this.down = new DelayQueue();
    /** @type {((event: any) => void) | null} */
    this.onopen = null;
    /** @type {((event: any) => void) | null} */
    this.onmessage = null;
    /** @type {((event: any) => void) | null} */
    this.onclose = null;
    socket.onopen = (/** @type {any} */ event) => this.down.add(line.arrivalTime(true, 0), () => this.onopen?.(event));
    socket.onmessage = (/** @type {any} */ event) => this.down.add(line.arrivalTime(false, event.data.byteLength), () => this.onmessage?.(event));
    socket.onclose = (/** @type {any} */ event) => this.down.add(line.arrivalTime(false, 0), () => this.onclose?.(event));
  }

  get readyState() { return this.socket.readyState; }
  set binaryType(/** @type {BinaryType} */ type) { this.socket.binaryType = type; }

  /** @param {Uint8Array<ArrayBuffer>} bytes */
  send(bytes) {
    const open = () => { if (this.socket.readyState === OPEN) this.socket.send(bytes); };
    this.up.add(this.netem.arrivalTime(true, bytes.length), open);
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
    /** Of `prediction.wasm`; the line is perfect until it is here. @type {import('../wasm/instance.js').WasmInstance | null} */
    this.wasm = null;
    /** Named conditions. @type {{ name: string, about: string }[]} */
    this.presets = [];
    /** What holds now. @type {import('./netem-menu.js').NetemResult} */
    this.net = {};
    /** Whether messages wait at all. */
    this.isActive = false;
  }

  /** The model is here. @param {import('../wasm/instance.js').WasmInstance} wasm */
  begin(wasm) {
    this.wasm = wasm;
    wasm.wasm.line_open(seed());
    const lines = decoder.decode(wasm.outputBytes(wasm.wasm.line_presets())).trimEnd().split('\n');
    this.presets = lines.map((line) => line.split('\t')).map(([name, about]) => ({ name, about }));
  }

  /** Changes the conditions of everything that is sent from now on. @param {string} text @returns {Promise<import('./netem-menu.js').NetemResult>} */
  async setNetem(text) {
    const { wasm } = this;
    if (!wasm) return { error: 'prediction.wasm is not here' };
    wasm.setInputText(text);
    const result = decoder.decode(wasm.outputBytes(wasm.wasm.line_set()));
    this.net = result.startsWith('+') ? { net: result.slice(1) } : { error: result.slice(1) };
    if (this.net.error === undefined) this.isActive = text !== '';
    return this.net;
  }

  /** Puts the line before a socket. @param {any} socket @returns {any} */
  wrapSocket(socket) {
    this.wasm?.wasm.line_open(seed());
    return new NetemSocket(socket, this);
  }

  /** When so many bytes arrive that leave now. @param {boolean} isUp @param {number} bytes */
  arrivalTime(isUp, bytes) {
    const now = performance.now();
    return this.wasm && this.isActive ? this.wasm.wasm.line_send(isUp ? 1 : 0, now, bytes + HEADER_BYTES) : now;
  }
}
