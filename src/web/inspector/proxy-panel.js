/**
 * Panel of the intercepting proxy (`tickwire between`): held messages, rules, and messages to send.
 * It is visible once the server sends a list of held messages, which a game server never does.
 *
 * ```text
 *  server ─► { held, rules } ─► cards, rules     card: forward, drop, repeat, send edited ─► server
 *         ─► { proxy: { error } } ─► note        rules, message to send ───────────────────► server
 * ```
 *
 * @module inspector/proxy-panel
 */

import { ALL_CLIENTS } from './explainer.js';
import { withCode } from './list/filter-bar.js';
import { ProxyAddress } from './proxy-address.js';

const byId = /** @type {import('./elements.js').ById} */ ((/** @type {string} */ id) => document.getElementById(id));

/**
 * Held message. `text` is null for a binary message; `payload` and `wire` are in hexadecimal.
 * @typedef {{ client: number, id: number, from: 'client' | 'server', at_ms: number, line: string,
 *   text: string | null, payload: string, wire: string, has_left?: string[] }} Held `has_left`: the
 *   sides that have closed the connection
 */
/** @typedef {'text' | 'binary' | 'wire'} Form form of an edited message */

/** Names of the forms. @type {[Form, string][]} */
const FORMS = [['text', 'Text'], ['binary', 'Binary, in hex'], ['wire', 'Whole frame, in hex']];

/** Height of the box of a message, in lines. */
const [MIN_ROWS, MAX_ROWS] = [1, 6];
/** Characters of a line of a box, about. */
const ROW_CHARS = 52;

/** Returns hexadecimal digits in pairs. @param {string} digits */
const inPairs = (digits) => digits.match(/../g)?.join(' ') ?? '';

/**
 * Returns the part of a request with an edited message; null if the value is not hexadecimal.
 * @param {Form} form
 * @param {string} value
 * @returns {Record<string, string> | null}
 */
export function substitute(form, value) {
  if (form === 'text') return { text: value };
  const digits = value.replaceAll(/[\s,]|0x/gi, '');
  return /^([0-9a-f]{2})*$/i.test(digits) ? { [form]: digits } : null;
}

/** Returns the value of a held message in a form. @param {Held} held @param {Form} form */
export function valueIn(held, form) {
  if (form === 'text') return held.text ?? '';
  return inPairs(form === 'binary' ? held.payload : held.wire);
}

/** Confirms the rules. @param {number} count */
export const appliedText = (count) => (count === 0 ? 'No rule applies' : `${count} ${count === 1 ? 'rule applies' : 'rules apply'} from the next message on`);

/** Panel of the proxy. */
export class ProxyPanel {
  /**
   * @param {(request: Record<string, unknown>) => void} request sends a request to the server
   * @param {() => number | null} watched returns the observed connection
   */
  constructor(request, watched) {
    this.request = request;
    this.watched = watched;
    /** Cards of the held messages, by connection and number. @type {Map<string, HTMLElement>} */
    this.cards = new Map();
    this.rules = '';
    /** Whether rules were sent that the server has not answered. */
    this.isApplying = false;
    /** Whether the server is a proxy. */
    this.isActive = false;
    /** @type {Held[]} */
    this.held = [];
    /** Connection that the menu of targets last followed. @type {number | null} */
    this.followed = null;
    this.address = new ProxyAddress();
    byId('to-proxy').onclick = () => byId('proxy').scrollIntoView();
    byId('proxy-rules-form').addEventListener('submit', (event) => { event.preventDefault(); this.applyRules(); });
    byId('proxy-send').addEventListener('submit', (event) => { event.preventDefault(); this.send(); });
    for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (byId('proxy').querySelectorAll('[data-hold]'))) {
      button.onclick = () => this.toggleHold(button.dataset.hold ?? '');
    }
  }

  /**
   * Receives a message of the server.
   * @param {{ held?: Held[], rules?: string[], proxy?: { error?: string, url?: string } }} message
   */
  receive({ held, rules, proxy }) {
    if (proxy?.url) this.address.show(proxy.url);
    else if (proxy) this.note(proxy.error ?? '');
    if (proxy?.error) this.isApplying = false;
    if (!held || !rules) return;
    this.isActive = true;
    document.body.classList.add('proxy');
    byId('proxy').hidden = false;
    this.showRules(rules);
    if (this.isApplying) byId('proxy-applied').textContent = appliedText(rules.length);
    this.isApplying = false;
    this.showHeld(held);
  }

  /**
   * Lists the connections that a message can be sent to. The menu follows the observed connection;
   * while the page shows all clients, the user chooses.
   * @param {{ id: number }[]} clients
   */
  showTargets(clients) {
    if (clients.length > 0) this.address.hide();
    const watched = this.watched();
    const isFollowing = watched !== this.followed && clients.some(({ id }) => id === watched);
    const chosen = isFollowing ? watched : Number(byId('proxy-client').value);
    if (isFollowing) this.followed = watched;
    if (watched === ALL_CLIENTS) this.followed = null;
    const options = clients.map(({ id }) => new Option(`#${id}`, String(id), false, id === chosen));
    byId('proxy-client').replaceChildren(...options);
    byId('proxy-client').disabled = options.length === 0;
    if (options.length === 0) byId('proxy-client').append(new Option('no client', ''));
  }

  /** @param {string[]} rules */
  showRules(rules) {
    const text = rules.join('\n');
    // Keeps what the user is typing.
    if (text !== this.rules || byId('proxy-rules').value === '') byId('proxy-rules').value = text;
    this.rules = text;
    for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (byId('proxy').querySelectorAll('[data-hold]'))) {
      button.setAttribute('aria-pressed', String(rules.includes(`${button.dataset.hold}: hold`)));
    }
  }

  /** @param {Held[]} held */
  showHeld(held) {
    this.held = held;
    const keys = new Set(held.map(keyOf));
    for (const [key, card] of this.cards) {
      if (keys.has(key)) continue;
      card.remove();
      this.cards.delete(key);
    }
    for (const one of held) {
      const card = this.cards.get(keyOf(one)) ?? this.card(one);
      const title = card.querySelector('p');
      if (title) title.textContent = titleOf(one);
      if (this.cards.has(keyOf(one))) continue;
      this.cards.set(keyOf(one), card);
      byId('proxy-held').append(card);
      if (this.cards.size === 1) card.scrollIntoView({ block: 'nearest' });
    }
    document.body.classList.toggle('has-held', held.length > 0);
    byId('proxy-count').textContent = held.length === 0 ? '' : String(held.length);
    byId('proxy-none').hidden = held.length > 0;
  }

  /** Makes the card of a held message. @param {Held} held */
  card(held) {
    const card = document.createElement('li');
    card.dataset.from = held.from;
    const title = document.createElement('p');
    const value = document.createElement('textarea');
    value.rows = rowsFor(held.text ?? inPairs(held.payload));
    value.spellcheck = false;
    value.ariaLabel = 'Message';
    const form = formMenu(held.text === null ? 'binary' : 'text');
    value.value = valueIn(held, formOf(form));
    form.onchange = () => { value.value = valueIn(held, formOf(form)); };
    const decide = (/** @type {Record<string, unknown>} */ decision) => this.request({ decide: held.id, client: held.client, ...decision });
    const actions = document.createElement('div');
    actions.className = 'line';
    actions.append(
      form,
      button('Send edited', () => this.withSubstitute(formOf(form), value.value, decide)),
      button('Forward', () => decide({ action: 'forward' })),
      button('Twice', () => decide({ action: 'repeat', copies: 1 })),
      button('Drop', () => decide({ action: 'drop' })),
    );
    card.append(title, value, actions);
    return card;
  }

  /**
   * Passes an edited message on, or shows why it cannot be sent.
   * @param {Form} form
   * @param {string} value
   * @param {(message: Record<string, string>) => void} send
   */
  withSubstitute(form, value, send) {
    const message = substitute(form, value);
    this.note(message === null ? 'The bytes must be pairs of hexadecimal digits, such as 81 05' : '');
    if (message !== null) send(message);
  }

  applyRules() {
    const rules = byId('proxy-rules').value.split('\n').map((rule) => rule.trim()).filter((rule) => rule !== '');
    this.isApplying = true;
    byId('proxy-applied').textContent = '';
    this.request({ rules });
  }

  /**
   * Adds the rule that holds each message of a side, or removes it and forwards the held ones.
   * @param {string} side
   */
  toggleHold(side) {
    const rule = `${side}: hold`;
    const rules = this.rules.split('\n').filter((line) => line !== '');
    const isOn = rules.includes(rule);
    this.request({ rules: isOn ? rules.filter((line) => line !== rule) : [...rules, rule] });
    if (!isOn) return;
    for (const { id, client, from } of this.held) if (from === side) this.request({ decide: id, client, action: 'forward' });
  }

  send() {
    const client = Number(byId('proxy-client').value);
    if (client === 0) return this.note('No client is connected');
    this.withSubstitute(formOf(byId('proxy-form')), byId('proxy-value').value, (message) => {
      this.request({ send: byId('proxy-from').value, client, ...message });
    });
  }

  /** @param {string} text */
  note(text) {
    byId('proxy-note').replaceChildren(...withCode(text));
    if (text !== '') byId('proxy-note').scrollIntoView({ block: 'nearest' });
  }
}

/** Returns the height of a box for a message. @param {string} text */
const rowsFor = (text) => Math.min(MAX_ROWS, Math.max(MIN_ROWS, Math.ceil(text.length / ROW_CHARS)));

/** @param {Held} held */
const keyOf = (held) => `${held.client} ${held.id}`;

/** Returns the title of a card; the content follows in its box. @param {Held} held */
export function titleOf({ client, from, line, has_left: left = [] }) {
  const gone = left.map((side) => ` · the ${side} has left`).join('');
  return `${from === 'client' ? '↑' : '↓'} #${client}: ${line.split(': ')[0]}${gone}`;
}

/** @param {HTMLSelectElement} menu */
const formOf = (menu) => /** @type {Form} */ (menu.value);

/** @param {Form} chosen */
function formMenu(chosen) {
  const menu = document.createElement('select');
  menu.ariaLabel = 'Form';
  menu.append(...FORMS.map(([form, name]) => new Option(name, form, false, form === chosen)));
  return menu;
}

/** @param {string} text @param {() => void} onclick */
function button(text, onclick) {
  const made = document.createElement('button');
  made.type = 'button';
  made.textContent = text;
  made.onclick = onclick;
  return made;
}
