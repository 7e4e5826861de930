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
 * @typedef {{ right: boolean, verdict: string, bits: [number, number] | null }} Verdict `bits`:
 *   range of the wrong bits in the answer
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
   * Explains an answer without a verdict. Both parts are null for an answer in text.
   * @param {string} id
   * @param {string} answer
   * @returns {{ bytes: string | null, explained: Explained | null }} `bytes` in hexadecimal
   * @throws {Error} if the text is no answer
   */
  explain(id, answer) {
    this.setInputText(JSON.stringify({ id, answer }));
    return this.json(this.wasm.quiz_explain());
  }

  /**
   * Checks an answer.
   * @param {string} id
   * @param {string} answer
   * @returns {Verdict}
   * @throws {Error} if the text is no answer
   */
  check(id, answer) {
    this.setInputText(JSON.stringify({ id, answer }));
    return this.json(this.wasm.quiz_check());
  }
}
