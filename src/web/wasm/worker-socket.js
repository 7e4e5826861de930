/**
 * Replaces a WebSocket in the browser edition: the client code of the bots creates the same frames
 * and sends them through a port to the worker. It has the part of the WebSocket interface that the
 * pages use; `binaryType` is always `arraybuffer`.
 *
 * @module wasm/worker-socket
 */

import { workerHost } from './worker-host.js';
import { WasmInstance } from './instance.js';

/** Event kinds in the output of `client_receive`. */
const [OPEN, BINARY, TEXT, CLOSED, ENDED] = [1, 2, 3, 4, 5];
/** Close code of a connection that ended without a close frame. */
const ABNORMAL = 1006;

const decoder = new TextDecoder();

/** Instance that all sockets of a page share. @type {Promise<WasmInstance> | null} */
let links = null;

/** @param {import('./worker-host.js').WorkerHost} host */
function instance(host) {
  links ??= host.module.then(async (module) => {
    const made = new WasmInstance(await WebAssembly.instantiate(module, {}));
    made.seed();
    return made;
  });
  return links;
}

/**
 * Splits the output of `client_receive` into events: kind, length as u32, body.
 * @param {Uint8Array} bytes
 * @returns {[number, Uint8Array<ArrayBuffer>][]} kind and body; the bodies are copies
 */
export function parseEvents(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const all = [];
  for (let at = 0; at < bytes.length;) {
    const end = at + 5 + view.getUint32(at + 1);
    all.push(/** @type {[number, Uint8Array<ArrayBuffer>]} */ ([bytes[at], bytes.slice(at + 5, end)]));
    at = end;
  }
  return all;
}

export class WorkerSocket {
  /** @param {string} path endpoint with its query @param {string[]} protocols */
  constructor(path, protocols, host = workerHost()) {
    /** @type {number} */
    this.readyState = WebSocket.CONNECTING;
    /** @type {BinaryType} */
    this.binaryType = 'arraybuffer';
    /** @type {() => void} */
    this.onopen = () => {};
    /** @type {(event: { data: ArrayBuffer | string }) => void} */
    this.onmessage = () => {};
    /** @type {(event: { code: number, reason: string }) => void} */
    this.onclose = () => {};
    /** Called with each datagram of the lane. @type {(datagram: Uint8Array) => void} */
    this.ondatagram = () => {};
    this.link = 0;
    /** Close code and reason of the server. */
    this.closed = { code: ABNORMAL, reason: '' };
    this.port = host.connect();
    this.port.onmessage = ({ data }) => this.receive(data);
    this.failed = () => this.onEnd(host.failed);
    this.host = host;
    host.addEventListener('failed', this.failed);
    host.ready.then(() => instance(host)).then((links) => this.start(links, path, protocols)).catch(({ message }) => this.onEnd(message));
    // An iframe that is removed does not close its ports, so the worker would not notice.
    if (window.parent !== window) addEventListener('pagehide', () => this.port.postMessage(null));
  }

  /** @param {WasmInstance} links @param {string} path @param {string[]} protocols */
  start(links, path, protocols) {
    if (this.host.failed !== '') throw new Error(this.host.failed);
    if (this.readyState !== WebSocket.CONNECTING) return;
    this.links = links;
    links.setInputText(JSON.stringify({ host: 'tab', target: `/${path}`, protocols }));
    this.link = links.wasm.client_open();
    this.flush();
  }

  /** Sends the pending bytes. */
  flush() {
    if (!this.links || this.link === 0) return;
    const { buffer, byteLength } = this.links.outputBytes(this.links.wasm.client_read_output(this.link)).slice();
    if (byteLength > 0) this.port.postMessage(buffer, [buffer]);
  }

  /**
   * Receives bytes from the worker.
   * @param {ArrayBuffer | { datagram: ArrayBuffer } | null} data bytes from the server, or a
   *   datagram, or null at the end
   */
  receive(data) {
    if (data === null || !this.links) return this.onEnd('');
    // The port of an iframe delivers buffers of its parent, for which `instanceof` returns false.
    if ('datagram' in data) return this.ondatagram(new Uint8Array(data.datagram));
    this.port.postMessage(data.byteLength);
    this.links.setInput(new Uint8Array(data));
    for (const [kind, body] of parseEvents(this.links.outputBytes(this.links.wasm.client_receive(this.link)))) this.onEvent(kind, body);
    this.flush();
  }

  /** @param {number} kind @param {Uint8Array<ArrayBuffer>} body */
  onEvent(kind, body) {
    if (kind === OPEN) {
      this.readyState = WebSocket.OPEN;
      this.onopen();
    } else if (kind === BINARY) this.onmessage({ data: body.buffer });
    else if (kind === TEXT) this.onmessage({ data: decoder.decode(body) });
    else if (kind === CLOSED) this.closed = { code: body[0] * 256 + body[1] || ABNORMAL, reason: decoder.decode(body.subarray(2)) };
    else if (kind === ENDED) this.onEnd(decoder.decode(body));
  }

  /** @param {Uint8Array | string} message */
  send(message) {
    if (!this.links || this.readyState !== WebSocket.OPEN) return;
    if (typeof message === 'string') {
      this.links.setInputText(message);
      this.links.wasm.client_send_text(this.link);
    } else {
      this.links.setInput(message);
      this.links.wasm.client_send_binary(this.link);
    }
    this.flush();
  }

  /** Sends a datagram of the lane. @param {Uint8Array<ArrayBuffer>} datagram */
  sendDatagram({ buffer }) {
    if (this.readyState === WebSocket.OPEN) this.port.postMessage({ datagram: buffer }, [buffer]);
  }

  close() {
    if (this.readyState >= WebSocket.CLOSING) return;
    this.readyState = WebSocket.CLOSING;
    if (!this.links) return this.onEnd('');
    this.links.wasm.client_close(this.link);
    this.flush();
  }

  /** Ends the connection. @param {string} why reason if no close frame was received */
  onEnd(why) {
    if (this.readyState === WebSocket.CLOSED) return;
    this.readyState = WebSocket.CLOSED;
    this.host.removeEventListener('failed', this.failed);
    this.port.postMessage(null);
    this.port.close();
    if (this.link !== 0) this.links?.wasm.client_drop(this.link);
    this.link = 0;
    this.onclose({ ...this.closed, reason: this.closed.reason || why });
  }
}
