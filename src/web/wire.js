/**
 * `/wire`: what one client and the server say to each other, frame by frame, as it happens.
 *
 * ```text
 *  socket ─► line ─► explainer ─► frames ─► list          game around it ─► whose frames
 *                    (WebAssembly) ├► explanation ─► drawing, bytes, tree
 *                                  └► bytes a second ─► bars
 * ```
 *
 * Comes in: observed bytes of a client, keys and presses. Goes out: which client. Never: a byte of a frame read in JavaScript; the server's one
 * explainer, as WebAssembly, does that.
 *
 * @module wire
 */

import { Bars } from './wire-bars.js';
import { Beside } from './wire-beside.js';
import { Bytes } from './wire-bytes.js';
import { Explainer } from './wire-explainer.js';
import { FrameView } from './wire-frame.js';
import { Frames, parseFilter } from './wire-frames.js';
import { Line } from './wire-line.js';
import { List } from './wire-list.js';
import { showMore } from './wire-more.js';
import { Own } from './wire-own.js';
import { Presses } from './wire-press.js';

/** How often bytes are counted. */
const COUNT_MS = 1000;
/** The newest frame is drawn so often at most while it is followed. */
const DRAW_MS = 400;

/** @param {string} id @returns {any} */
const at = (id) => document.getElementById(id);

const explainer = await Explainer.load();
const frames = new Frames(explainer.framesKept);
const bytes = new Bytes();
const list = new List(at('list'), frames, { choose: (n) => choose(n), unfollow: () => setFollow(false) });
const bars = new Bars(at('bars'), at('bytes-sum'), (packet) => setFilter(packet));
const line = new Line({ opened, said, observed, state: status, askForToken });
const beside = new Beside();
const own = new Own((wish) => line.say(wish));
const view = new FrameView(explainer, own);
const presses = new Presses((n) => explainer.explain(n));

const state = {
  /** @type {{ id: number, player: number, name: string, dialect: string, address: string }[]} */
  clients: [],
  watched: /** @type {number | null} */ (null),
  /** Whether the page chose whom to watch, and may choose again. */
  byItself: true,
  paused: false,
  from: /** @type {'' | 'client' | 'server'} */ (''),
  lost: 0,
  missed: 0,
  /** Why the watched client has left. */
  ended: '',
  drawnMs: 0,
  /** The key press that was drawn last. */
  pressed: 0,
  countedMs: 0,
};

function opened() {
  show(true);
  // A server that was started anew counts its clients anew: whom one chose may be somebody else now.
  Object.assign(state, { clients: [], watched: null, byItself: true, ended: '', lost: 0, missed: 0 });
  clear();
}

/** @param {Record<string, any>} message @param {string} text the same */
function said(message, text) {
  if (message.welcome) explainer.welcome(text);
  if (message.clients) {
    state.clients = message.clients;
    drawClients();
    chooseClient();
    own.ask();
  }
  if (message.own !== undefined) {
    own.heard(message.own);
    chooseClient();
    view.flip.back(message.own);
  }
  if (message.injected !== undefined) view.flip.answered({ injected: message.injected, error: message.error });
}

/** @param {ArrayBuffer} message observed bytes */
function observed(message) {
  const told = explainer.receive(message);
  if (told.frames) {
    list.draw(frames.add(told.frames));
    presses.add(told.frames);
    const sent = view.flip.observed(told.frames);
    if (sent) pick(sent.n);
  }
  if (told.ended !== undefined) {
    state.ended = told.ended;
    view.flip.ended(told.ended);
  }
  state.lost += told.lost ?? 0;
  state.missed = told.missed ?? state.missed;
  followNewest();
  note();
}

function count() {
  const now = performance.now();
  const seconds = (now - state.countedMs) / 1000;
  state.countedMs = now;
  if (state.watched === null || state.paused) return;
  bytes.add(explainer.fields(), seconds);
  bars.show(bytes.bars());
}

/** While the newest is followed it is drawn, calmly; beside the game that is the newest key press, and nothing else takes its place. */
function followNewest() {
  const now = performance.now();
  if (!list.follow || view.flip.isOpen || now - state.drawnMs < DRAW_MS) return;
  const press = own.proof === null ? null : presses.newest;
  // The frame that was sent stays while its story is told.
  const newest = press ?? (view.flip.story.isActive ? undefined : frames.seen.at(-1));
  if (!newest || newest.n === list.chosen || (press && press.n === state.pressed)) return;
  Object.assign(state, { drawnMs: now, pressed: press?.n ?? 0 });
  pick(newest.n);
}

/** Chooses a frame by hand: from then on the newest is not followed. @param {number} n */
function choose(n) {
  setFollow(false);
  pick(n);
}

/** @param {number} n */
function pick(n) {
  list.chosen = n;
  list.draw();
  const [explained, entry] = [explainer.explain(n), frames.all.find((one) => one.n === n)];
  if (explained.gone) at('frame-line').textContent = 'This frame is no longer kept.';
  else if (entry) view.show(explained, entry);
}

/** The game around this page says whose frames; else whoever was chosen; else the newest who plays. */
function chooseClient() {
  const id = own.id ?? beside.own(state.clients);
  if (id !== null && state.byItself) watch(id);
  else if (state.watched === null && state.byItself && !beside.isOpen) {
    const newest = state.clients.findLast((client) => client.player !== 0) ?? state.clients.at(-1);
    if (newest) watch(newest.id);
  }
}

/** @param {number | null} id */
function watch(id) {
  if (id === state.watched) return;
  Object.assign(state, { watched: id, ended: '', lost: 0 });
  clear();
  note();
  explainer.watch(id);
  explainer.pause(state.paused);
  line.say({ watch: id });
  drawClients();
}

function clear() {
  frames.clear();
  bytes.clear();
  list.chosen = 0;
  list.draw();
  bars.show([]);
  presses.clear();
  view.clear();
}

function drawClients() {
  const select = at('client');
  const options = state.clients.map((client) => {
    const name = client.name === '' ? (client.player === 0 ? 'watching' : `player ${client.player}`) : client.name;
    return new Option(`${name} · ${client.dialect} · ${client.address}`, String(client.id), false, client.id === state.watched);
  });
  const isHere = state.clients.some((client) => client.id === state.watched);
  const nobody = state.clients.length === 0 ? 'Nobody is connected' : 'Nobody';
  options.unshift(new Option(isHere || state.watched === null ? nobody : `Client ${state.watched} has left`, '', false, !isHere));
  select.replaceChildren(...options);
}

function note() {
  const parts = [];
  if (state.paused) parts.push(state.missed > 0 ? `Paused: ${state.missed} frames passed` : 'Paused');
  if (state.ended !== '') parts.push(`It left: ${state.ended}`);
  if (state.lost > 0) parts.push(`${state.lost} messages were too many to show`);
  at('note').textContent = parts.join(' · ');
}

/** @param {boolean} follow */
function setFollow(follow) {
  list.follow = follow;
  at('follow').setAttribute('aria-pressed', String(follow));
  if (follow) followNewest();
  list.draw();
}

/** @param {boolean} paused */
function setPause(paused) {
  state.paused = paused;
  state.missed = 0;
  at('pause').setAttribute('aria-pressed', String(paused));
  if (state.watched !== null) explainer.pause(paused);
  note();
}

/** @param {string} text */
function setFilter(text) {
  at('filter').value = text;
  filtered();
}

function filtered() {
  frames.setFilter(parseFilter(at('filter').value, state.from));
  list.draw();
  if (!list.follow) list.reveal(list.chosen);
  followNewest();
}

/** @param {'' | 'client' | 'server'} from */
function setFrom(from) {
  state.from = from;
  for (const button of at('from').children) button.setAttribute('aria-pressed', String(button.dataset.from === from));
  filtered();
}

/** Saves the frames that are kept, as a capture. */
function save() {
  const whose = state.clients.find((client) => client.id === state.watched) ?? { player: 0, name: '' };
  const capture = state.watched === null ? null : explainer.save(whose);
  if (!capture) return;
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([capture], { type: 'application/x-pcapng' }));
  link.download = `tickwire-client-${state.watched}.pcapng`;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** Shows the inside, or the form that asks for the token. @param {boolean} inside */
function show(inside) {
  for (const part of document.querySelectorAll('[data-inside]')) /** @type {HTMLElement} */ (part).hidden = !inside;
  at('token-form').hidden = inside;
}

/** @param {string} why */
function askForToken(why) {
  show(false);
  at('token-error').textContent = why;
  status('waiting', 'Not connected');
  if (document.hasFocus()) at('token').focus();
}

/** @param {'open' | 'waiting'} lamp @param {string} text */
function status(lamp, text) {
  at('status').dataset.state = lamp;
  if (at('status-text').textContent !== text) at('status-text').textContent = text;
}

/** @param {KeyboardEvent} event */
function key(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === 'Escape') {
    view.pin(null);
    target.blur();
    return;
  }
  if (target.closest('input, select')) return;
  const step = { ArrowUp: -1, ArrowDown: 1, PageUp: -20, PageDown: 20 }[event.key];
  if (step !== undefined) move(step);
  else if (event.key === ' ' && !target.closest('button')) setPause(!state.paused);
  else if (event.key === '/') at('filter').focus();
  else if (event.key === 'f') setFollow(!list.follow);
  else if (event.key === 'e') view.toggleFlip();
  else if (event.key === 'x') view.unmasking.toggle();
  else if (event.key === 'ArrowLeft') view.unmasking.step(-1);
  else if (event.key === 'ArrowRight') view.unmasking.step(1);
  else return beside.pass(event);
  event.preventDefault();
}

/** @param {number} by frames */
function move(by) {
  const next = frames.beside(list.chosen, by);
  if (!next) return;
  choose(next.n);
  list.reveal(next.n);
}

/** In the game's page the inspector closes; alone it goes to the game, which opens it beside itself. */
function toGame() {
  if (beside.isOpen) beside.close();
  else location.href = './?wire';
}

/** In the game's page the client's frames are rare among the server's: they are what one looks for. */
function beBeside() {
  document.body.classList.add('game');
  at('game').textContent = 'Close';
  at('hint').textContent = 'Press a key in the game: its frame is shown here, bit by bit.';
  setFrom('client');
  // Pings come by themselves, and an aim with each move of the mouse.
  setFilter('-ping -aim');
}

function wire() {
  at('client').onchange = () => {
    state.byItself = false;
    watch(at('client').value === '' ? null : Number(at('client').value));
  };
  at('filter').addEventListener('input', filtered);
  at('from').onclick = (event) => { if (event.target.dataset.from !== undefined) setFrom(event.target.dataset.from); };
  at('pause').onclick = () => setPause(!state.paused);
  at('follow').onclick = () => setFollow(!list.follow);
  at('save').onclick = save;
  at('game').onclick = toGame;
  at('token-form').addEventListener('submit', (event) => {
    event.preventDefault();
    line.keep(at('token').value.trim());
    at('token').value = '';
    line.open();
  });
  document.addEventListener('keydown', key);
  // After a press with the mouse the keys are the page's again, not the button's.
  document.addEventListener('click', (event) => {
    if (event.detail > 0) /** @type {HTMLElement} */ (event.target).closest('button')?.blur();
  });
  window.addEventListener('hashchange', () => { line.takeFragment(); line.open(); });
  view.on.sent = () => beside.focusGame();
  showMore(document.querySelectorAll('.actions, #examples, #fields'));
  setInterval(() => { followNewest(); chooseClient(); }, DRAW_MS);
  setInterval(count, COUNT_MS);
}

wire();
line.takeFragment();
if (beside.isOpen) beBeside();
beside.whileShown(() => line.open(), () => line.close());
