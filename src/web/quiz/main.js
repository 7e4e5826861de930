/**
 * The page `/quiz`: an exercise of a lesson, the drawn bytes of the answer, and a verdict that
 * names the wrong bit.
 *
 * ```text
 *  #lesson=3&seed=7 ─► question ─► answer ─┬─► drawing     while it is typed
 *                      (WebAssembly)       └─► verdict     after Check
 * ```
 *
 * @module quiz/main
 */

import { EDITION } from '../wasm/edition.js';
import { LESSONS, fragmentOf, nextPlace, placeOf } from './address.js';
import { Drawing } from './drawing.js';
import { Exercises } from './exercises.js';
import { BYTE, bitAt, parseHex } from '../inspector/frame/tree.js';

/** Lessons in `docs/lessons/`: file and title. @type {readonly (readonly [string, string])[]} */
const TITLES = [['01-eleven-bytes', 'Eleven bytes'], ['02-lengths', 'Lengths'], ['03-masking', 'Masking'], ['04-fragments', 'Fragments'],
  ['05-closing', 'Closing'], ['06-handshake', 'The handshake'], ['07-messagepack', 'MessagePack'], ['08-packet-to-tick', 'From packet to tick'],
  ['09-breaking-the-rules', 'Breaking the rules'], ['10-datagrams', 'Datagrams'], ['11-compression', 'Compression'],
  ['12-segments', 'TCP segments'], ['13-endings', 'Closing well and badly'], ['14-network-panel', 'The network panel']];
const EMPTY = { hex: 'Type bytes, and they are drawn here: hexadecimal, with or without spaces. All notations of tickwire explain are understood.',
  text: 'The answer to this question is text, so nothing is drawn.' };

const byId = /** @type {import('./elements.js').ById} */ ((/** @type {string} */ id) => document.getElementById(id));

const exercises = await Exercises.load();
const drawing = new Drawing(byId('drawn-frames'));
/** @type {{ question: import('./exercises.js').Question, answered: Set<string>, right: number }} */
const state = { question: exercises.question(placeOf(location.hash)), answered: new Set(), right: 0 };

/** Shows a note or an error below the answer. @param {string} text @param {boolean} isError */
function note(text, isError) {
  byId('note').textContent = text;
  byId('note').classList.toggle('problem', isError);
  byId('answer').setAttribute('aria-invalid', String(isError));
}

/** Shows the question of the address. */
function open() {
  const place = placeOf(location.hash);
  history.replaceState(null, '', fragmentOf(place));
  state.question = exercises.question(place);
  const { id, task, form } = state.question;
  byId('lesson').value = String(place.lesson);
  byId('lesson-link').href = new URL(`${TITLES[place.lesson - 1][0]}.md`, byId('lesson-link').href).href;
  byId('id').textContent = id;
  byId('task').textContent = task;
  byId('answer').value = '';
  byId('answer').placeholder = form === 'hex' ? 'Bytes: 81 05 …' : 'Text';
  for (const part of /** @type {const} */ (['hint-text', 'model'])) byId(part).hidden = true;
  byId('exercise').scrollTop = 0;
  draw();
}

/** Draws the answer while it is typed, without its verdict. */
function draw() {
  const text = byId('answer').value.trim();
  const { id, form } = state.question;
  byId('empty').textContent = EMPTY[form];
  byId('verdict').hidden = true;
  if (text === '' || form === 'text') {
    byId('empty').hidden = false;
    drawing.clear();
    return note('', false);
  }
  try {
    show(exercises.check(id, text), null);
  } catch (error) {
    // The last complete bytes stay, while a digit is missing.
    note(error instanceof Error ? error.message : String(error), true);
  }
}

/**
 * Draws the bytes of an answer.
 * @param {import('./exercises.js').Verdict} checked
 * @param {[number, number] | null} wrong
 */
function show({ bytes = '', explained }, wrong) {
  const given = parseHex(bytes);
  byId('empty').hidden = true;
  drawing.show(explained?.frames ?? [], given, wrong);
  note(given.length === 1 ? '1 byte' : `${given.length} bytes`, false);
}

/** Checks the answer, and counts the first verdict of a question. */
function check() {
  const { id } = state.question;
  const text = byId('answer').value.trim();
  try {
    const checked = exercises.check(id, text);
    const { right, verdict, bits } = checked;
    if (checked.explained) show(checked, bits);
    else note('', false);
    byId('verdict').hidden = false;
    byId('verdict').dataset.kind = right ? 'fine' : 'wrong';
    byId('verdict-text').textContent = verdictText(right, verdict);
    showBits(checked);
    count(right);
  } catch (error) {
    byId('verdict').hidden = true;
    note(error instanceof Error ? error.message : String(error), true);
  }
}

/** Returns the sentence of a verdict. @param {boolean} isRight @param {string} verdict */
function verdictText(isRight, verdict) {
  if (isRight) return verdict === 'right' ? 'Right.' : verdict;
  if (/\bwrong\b/i.test(verdict)) return verdict;
  return `Wrong. ${verdict.charAt(0).toUpperCase()}${verdict.slice(1)}`;
}

/** Counts the question once. @param {boolean} isRight */
function count(isRight) {
  const { answered, question: { id } } = state;
  if (!answered.has(id)) state.right += Number(isRight);
  answered.add(id);
  byId('score').textContent = `${state.right} of ${answered.size} right`;
}

/**
 * Shows the byte of the wrong bit, bit by bit.
 * @param {import('./exercises.js').Verdict} checked
 */
function showBits({ bits, bytes = '' }) {
  byId('bits').hidden = bits === null || bits[1] === bits[0];
  if (bits === null || bits[1] === bits[0]) return;
  const given = parseHex(bytes);
  const first = Math.floor(bits[0] / BYTE) * BYTE;
  const label = document.createElement('b');
  label.textContent = `Your byte ${first / BYTE}, bits 0 to 7`;
  const digits = Array.from({ length: BYTE }, (_, at) => {
    const digit = document.createElement('span');
    digit.textContent = String(bitAt(given, first + at));
    digit.classList.toggle('wrong', first + at >= bits[0] && first + at < bits[1]);
    return digit;
  });
  byId('bits').replaceChildren(label, ...digits);
}

/** Opens a question. @param {import('./address.js').Place} place */
function go(place) {
  location.hash = fragmentOf(place);
}

byId('lesson').append(...TITLES.slice(0, LESSONS).map(([, title], at) => new Option(`${at + 1}. ${title}`, String(at + 1))));
byId('lesson').addEventListener('change', () => go({ ...placeOf(location.hash), lesson: Number(byId('lesson').value) }));
byId('answer').addEventListener('input', () => draw());
byId('answer').addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  check();
});
byId('answer-form').addEventListener('submit', (event) => { event.preventDefault(); check(); });
byId('next').addEventListener('click', () => go(nextPlace(placeOf(location.hash))));
byId('show-hint').addEventListener('click', () => {
  byId('hint-text').textContent = state.question.hint;
  byId('hint-text').hidden = false;
});
byId('show-model').addEventListener('click', () => {
  byId('model').textContent = state.question.answer;
  byId('model').hidden = false;
  // Afterwards the question no longer counts as right.
  count(false);
});
addEventListener('hashchange', open);
if (EDITION === 'tab') byId('wire-link').href = 'inspector.html';
open();
if (matchMedia('(pointer: fine)').matches) byId('answer').focus();
