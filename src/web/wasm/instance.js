/**
 * Instance of `tickwire.wasm` with its input and output buffers. `src/wasm/lib.rs` lists its
 * functions.
 *
 * @module wasm/instance
 */

const decoder = new TextDecoder();
const encoder = new TextEncoder();
const SEED_BYTES = 32;

/** Instance of a WebAssembly module of tickwire. */
export class WasmInstance {
  /** @param {WebAssembly.Instance} instance */
  constructor(instance) {
    /** @type {any} */
    this.wasm = instance.exports;
  }

  /** Seeds the random numbers for keys and masks. */
  seed() {
    this.setInput(crypto.getRandomValues(new Uint8Array(SEED_BYTES)));
    this.wasm.seed_random();
  }

  /** Sets the input of the next call. @param {Uint8Array} bytes */
  setInput(bytes) {
    const address = this.wasm.input(bytes.length);
    if (address === 0) throw new Error(`${bytes.length} bytes are too many for tickwire.wasm`);
    new Uint8Array(this.wasm.memory.buffer, address, bytes.length).set(bytes);
  }

  /** Sets the input of the next call. @param {string} text */
  setInputText(text) {
    this.setInput(encoder.encode(text));
  }

  /**
   * Returns the output of a call. The view is valid until the next call.
   * @param {number} length result of the call, bytes
   */
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
