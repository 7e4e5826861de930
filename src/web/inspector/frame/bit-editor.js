/**
 * Editor "Flip a bit": edits a frame in place. The explainer describes the server's reaction; on
 * the connection of this browser's game, the edited frame can be sent.
 *
 * @module inspector/frame/bit-editor
 */

import { element } from './bit-diagram.js';
import { Edit, difference, suggestedFlips, hexByte } from './edit.js';
import { InjectionLog, linkOf, verdict } from './injection-log.js';
import { hex, flattenTree, parseHex } from './tree.js';

const byId = /** @type {import('../elements.js').ById} */ ((/** @type {string} */ id) => document.getElementById(id));

const MARKS = { sent: '↑', no: '✕', broken: '✕', fine: '✓', wait: '…', close: '↓', over: '■', back: '✓' };

/** @param {Uint8Array} bytes */
const digits = (bytes) => [...bytes].map(hex).join('');

/** @typedef {import('../explainer.js').Explanation} Explanation */

/** Editor of a frame. */
export class BitEditor {
  /**
   * @param {import('../explainer.js').Explainer} explainer
   * @param {import('../own-client.js').OwnClient} own
   * @param {{ edited: (explained: Explanation, changed: number[]) => void, closed: () => void,
   *   sent: () => void }} on callbacks of the frame view
   */
  constructor(explainer, own, on) {
    this.explainer = explainer;
    this.own = own;
    this.on = on;
    this.log = new InjectionLog();
    /** @type {Edit | null} */
    this.edit = null;
    /** @type {import('../list/frames.js').Entry | null} */
    this.entry = null;
    this.tree = /** @type {import('./tree.js').Node | null} */ (null);
    this.leaves = /** @type {import('./tree.js').Leaf[]} */ ([]);
    this.teaches = '';
    /** Names of the values that the explainer has rewritten. @type {string[]} */
    this.rewritten = [];
    byId('send').onclick = () => this.send();
    byId('undo').onclick = () => this.undo();
    byId('story-close').onclick = () => this.closeLog();
  }

  get isOpen() {
    return this.edit !== null;
  }

  /** @param {Explanation} explained @param {import('../list/frames.js').Entry} entry */
  open(explained, entry) {
    this.closeLog();
    this.edit = new Edit(parseHex(explained.raw));
    this.entry = entry;
    this.tree = explained.frames[0].tree;
    this.leaves = flattenTree(this.tree).leaves;
    this.forget();
    byId('editor').hidden = false;
    this.drawExamples();
    this.changed();
  }

  close() {
    if (!this.edit) return;
    this.edit = null;
    byId('editor').hidden = true;
    this.on.closed();
  }

  /** @param {number} bit */
  flip(bit) {
    this.edit?.flip(bit);
    this.forget();
    this.changed();
  }

  /** Sets a byte. @param {number} index @param {string} text two hexadecimal digits */
  set(index, text) {
    const value = hexByte(text);
    if (value === null) return;
    this.edit?.set(index, value);
    this.forget();
    this.changed();
  }

  undo() {
    this.edit?.undo();
    this.forget();
    this.changed();
  }

  /** Forgets that the edit is a suggested flip. */
  forget() {
    this.teaches = '';
    this.rewritten = [];
  }

  changed() {
    if (!this.edit || !this.entry) return;
    const explained = this.explainer.explainBytes({ from: this.entry.from, bytes: digits(this.edit.bytes) });
    const changed = this.edit.differing() ?? [];
    byId('difference').textContent = difference(this.edit, this.leaves, this.rewritten);
    this.drawVerdict(explained);
    this.drawSending();
    this.on.edited(explained, changed);
  }

  drawExamples() {
    if (!this.edit || !this.entry || !this.tree) return;
    const all = this.entry.from === 'client' ? suggestedFlips(this.edit.original, this.tree) : [];
    byId('examples').replaceChildren(...all.map((example) => {
      const button = document.createElement('button');
      Object.assign(button, { type: 'button', textContent: example.label, title: example.teaches });
      button.dataset.example = example.id;
      button.onclick = () => this.applyExample(example);
      return button;
    }));
    byId('examples').hidden = all.length === 0;
  }

  /** @param {import('./edit.js').Example} example */
  applyExample(example) {
    if (!this.edit || !this.entry) return;
    this.edit.replace(example.bytes ?? parseHex(this.explainer.rewrite({ n: this.entry.n, set: example.values ?? {}, next: true })));
    this.teaches = example.teaches;
    this.rewritten = example.values ? [...Object.keys(example.values), 'sequence (the next number, because the server drops a repeated one)'] : [];
    this.changed();
  }

  /** @param {Explanation} explained */
  drawVerdict(explained) {
    const { kind, rule, text, address } = verdict(explained);
    byId('verdict').dataset.kind = kind;
    byId('verdict').replaceChildren(...sentence(rule, text, address));
    if (this.teaches !== '') byId('verdict').append(element('teaches', this.teaches));
  }

  drawSending() {
    const why = this.unsendableReason();
    byId('send').disabled = why !== '' || !this.edit?.isChanged;
    byId('undo').disabled = !this.edit?.isChanged;
    byId('send-why').textContent = why;
  }

  /** Returns why the bytes cannot be sent; '' if they can. */
  unsendableReason() {
    if (this.entry?.from === 'server') return 'The server sent this frame, and you cannot send bytes as the server. The verdict shows how your client would answer.';
    if (this.own.resumeKey === null) return 'You can send bytes only on your own connection: open the game and choose "See the wire".';
    if (this.own.id !== this.entry?.client) return 'This is not the connection of your game: the verdict is shown, and nothing is sent.';
    return '';
  }

  send() {
    const { edit } = this;
    if (!edit || this.unsendableReason() !== '') return;
    const summary = difference(edit, this.leaves, this.rewritten);
    if (!this.own.inject(digits(edit.bytes))) return;
    this.close();
    this.log.begin(digits(edit.bytes), summary);
    this.drawLog();
    this.on.sent();
  }

  closeLog() {
    this.log.close();
    this.drawLog();
  }

  /** @param {{ injected: number | null, error?: string }} answer */
  answered(answer) {
    this.log.answered(answer);
    this.drawLog();
  }

  /**
   * Receives observed frames.
   * @param {import('../list/frames.js').Entry[]} entries new entries
   * @returns {import('../list/frames.js').Entry | null} the sent frame, if it is among them
   */
  observed(entries) {
    let sent = null;
    let hasChanged = false;
    for (const entry of entries) {
      hasChanged = this.log.observed(entry, (n) => this.explainer.explain(n)) || hasChanged;
      if (this.log.isActive && entry.injected) sent ??= entry;
    }
    if (hasChanged) this.drawLog();
    return sent;
  }

  /** @param {string} rule */
  ended(rule) {
    this.log.ended(rule);
    this.drawLog();
  }

  /**
   * Handles a reconnect of the game.
   * @param {number | null} id client number of this browser's game
   */
  onReconnected(id) {
    if (id !== null) this.log.onReconnected(id);
    this.drawLog();
    if (this.edit) this.drawSending();
  }

  drawLog() {
    byId('story').hidden = !this.log.isActive;
    byId('story-lines').replaceChildren(...this.log.lines.map(({ kind, rule, text, address }) => {
      const line = document.createElement('li');
      line.dataset.kind = kind;
      const mark = element('mark', MARKS[kind]);
      mark.ariaHidden = 'true';
      const words = element('words');
      words.append(...sentence(rule ?? '', text, address ?? ''));
      line.append(mark, words);
      return line;
    }));
    byId('story-lines').scrollTop = byId('story-lines').scrollHeight;
  }
}

/**
 * Formats a rule, its text and its section.
 * @param {string} rule
 * @param {string} text
 * @param {string} address
 * @returns {Node[]}
 */
export function sentence(rule, text, address) {
  const parts = [];
  if (rule !== '') {
    const name = document.createElement('b');
    name.textContent = rule;
    parts.push(name, document.createTextNode(' '));
  }
  parts.push(document.createTextNode(text));
  if (address !== '') parts.push(document.createTextNode(' '), addressOf(address));
  return parts;
}

/** Creates the link to the section of a rule. @param {string} address section of a rule */
function addressOf(address) {
  const href = linkOf(address);
  const made = document.createElement(href ? 'a' : 'i');
  made.textContent = address;
  if (made instanceof HTMLAnchorElement) Object.assign(made, { href, target: '_blank', rel: 'noopener' });
  return made;
}
