/**
 * An instance of `tickwire.wasm`, and how bytes get into it and out of it; `src/wasm/lib.rs` has its functions.
 *
 * @module wasm/instance
 */

const decoder = new TextDecoder();
const encoder = new TextEncoder();
const SEED_BYTES = 32;

/** See the module. */
export class WasmInstance {
  /** @param {WebAssembly.Instance} instance */
  constructor(instance) {
    /** @type {any} */
    this.wasm = instance.exports;
  }

  /** Begins with keys and masks of its own. */
  seed() {
    this.setInput(crypto.getRandomValues(new Uint8Array(SEED_BYTES)));
    this.wasm.seed_random();
  }

  /** @param {Uint8Array} bytes the input of the next call */
  setInput(bytes) {
    const address = this.wasm.input(bytes.length);
    if (address === 0) throw new Error(`${bytes.length} bytes are too many for tickwire.wasm`);
    new Uint8Array(this.wasm.memory.buffer, address, bytes.length).set(bytes);
  }

  /** @param {string} text the input of the next call */
  setInputText(text) {
    this.setInput(encoder.encode(text));
  }

  /** What a call put out; it holds until the next call. @param {number} length */
  outputBytes(length) {
    return new Uint8Array(this.wasm.memory.buffer, this.wasm.output(), length);
  }

  /** @param {number} length @returns {any} */
  json(length) {
    const value = JSON.parse(decoder.decode(this.outputBytes(length)));
    if (value.error !== undefined) throw new Error(value.error);
    return value;
  }
}
