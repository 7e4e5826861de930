/**
 * The exercises in WebAssembly (`src/wasm/quiz.rs`): the code of `tickwire quiz`.
 *
 * @module quiz/exercises
 */

import { wasmModule } from '../wasm/module.js';
import { WasmInstance } from '../wasm/instance.js';

/**
 * @typedef {{ id: string, lesson: number, kind: string, seed: number, task: string,
 *   form: 'hex' | 'text', hint: string, answer: string }} Question `answer`: a right answer
 * @typedef {{ frames: import('../inspector/explainer.js').ExplainedFrame[] }} Explained
 * @typedef {{ right: boolean, verdict: string, bits: [number, number] | null, bytes?: string,
 *   explained?: Explained }} Verdict `bits`: range of the wrong bits in the answer; `bytes` in
 *   hexadecimal; an answer in text has no bytes
 */

/** Exercises and their answers. */
export class Exercises extends WasmInstance {
  static async load() {
    return new Exercises(await WebAssembly.instantiate(await wasmModule(), {}));
  }

  /**
   * Returns the question of a lesson with this seed.
   * @param {import('./address.js').Place} place
   * @returns {Question}
   */
  question({ lesson, seed }) {
    return this.json(this.wasm.quiz_question(lesson, seed));
  }

  /**
   * Checks an answer and explains its bytes.
   * @param {string} id
   * @param {string} answer
   * @returns {Verdict}
   * @throws {Error} if the text is no answer
   */
  check(id, answer) {
    this.setInputText(`${id}\n${answer}`);
    return this.json(this.wasm.quiz_check());
  }
}
