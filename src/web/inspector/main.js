/**
 * `/wire`: what one client and the server say to each other, frame by frame, as it happens; or what a capture has of it, or a link.
 *
 * ```text
 *  socket ─► line ─► explainer ─┬► frames ─► list         game around it ─► whose frames
 *  file, link ──► another one ──┤  ├► updates ─► strip
 *                (WebAssembly)  │  └► explanation ─► drawing, bytes, tree
 *                               └► bytes a second ─► bars
 * ```
 * No byte of a frame is read in JavaScript: the server's one explainer, as WebAssembly, does that.
 *
 * @module inspector/main
 */

import { Bars } from './byte-bars.js';
import { Beside } from './host-page.js';
import { Bytes } from './byte-rates.js';
import { showChanges } from './frame/changes.js';
import { CopyMenu } from './frame/copy-menu.js';
import { Explainer } from './explainer.js';
import { FilterBar, showWhy } from './list/filter-bar.js';
import { Follow } from './follow-button.js';
import { FrameView } from './frame/frame-view.js';
import { Frames } from './list/frames.js';
import { listenToKeys } from './keys.js';
import { Line } from './connection.js';
import { List } from './list/list.js';
import { Marks } from './list/bookmarks.js';
import { showMore } from './overflow-hint.js';
import { Note } from './status-line.js';
import { acceptFiles, download, refuse } from './open-file.js';
import { Own } from './own-client.js';
import { Past } from './list/ended-clients.js';
import { Presses } from './frame/key-presses.js';
import { dressFor, linkTo, options, progressOf } from './list/source-menu.js';
import { Strip } from './list/update-strip.js';
import { Watched } from './playback-sync.js';
import { Work } from './work-slices.js';

/** How often bytes are counted. */
const COUNT_MS = 1000;
/** The newest frame is drawn so often at most while it is followed. */
const DRAW_MS = 400;

/** @param {string} id @returns {any} */
const at = (id) => document.getElementById(id);

const explainer = await Explainer.load();
const frames = new Frames(explainer);
const bytes = new Bytes();
const list = new List(at('list'), frames, { choose: (n) => choose(n), unfollow: () => setFollow(false) });
const bars = new Bars(at('bars'), at('bytes-sum'), (packet) => filterBar.set(packet));
const filterBar = new FilterBar(filtered);
const work = new Work(worked);
const strip = new Strip(at('updates'), at('updates-words'), goTo);
const note = new Note(at('note'), notes);
const tell = (what) => note.tell(what);
const marks = new Marks(() => state.shown, list, { goTo, tell });
const line = new Line({ opened, said, observed, state: status, askForToken });
const beside = new Beside();
const own = new Own((wish) => line.say(wish));
const view = new FrameView(explainer, own);
const follower = new Follow(at('follow'), list, view.flip);
const watched = new Watched(() => state.shown, goTo);
const past = new Past();
const presses = new Presses((n) => explainer.explain(n));

/** @typedef {import('./list/source-menu.js').Source} Source */
/** @type {Source} */
const live = { kind: 'live', name: 'live', explainer, connections: [], all: 0, marks: new Set() };
/** Beyond every frame's number. */
const NEWEST = Number.MAX_SAFE_INTEGER;
const FRAME_OF_LINK = 'frame=';

const state = {
  shown: live,
  /** The capture that was opened last. */
  file: /** @type {Source | null} */ (null),
  /** The connection of it that is shown; `null` for all. */
  connection: /** @type {number | null} */ (null),
  /** @type {{ id: number, player: number, name: string, dialect: string, address: string }[]} */
  clients: [],
  watched: /** @type {number | null} */ (null),
  /** Whether the page chose whom to watch, and may choose again. */
  byItself: true,
  paused: false,
  lost: 0,
  missed: 0,
  /** Why the watched client has left. */
  ended: '',
  drawnMs: 0,
  /** The key press that was drawn last. */
  pressed: 0,
  countedMs: 0,
  /** How far a file was read, and what is to be said of it. */
  progress: '',
};

const isLive = () => state.shown === live;

function opened() {
  show(true);
  // A server that was started anew counts its clients anew: whom one chose may be somebody else now.
  Object.assign(state, { clients: [], watched: null, byItself: true, ended: '', lost: 0, missed: 0 });
  live.marks.clear();
  past.forget();
  if (isLive()) clear();
}

/** @param {Record<string, any>} message @param {string} text the same */
function said(message, text) {
  if (message.welcome) {
    explainer.welcome(text);
    if (isLive()) filtered(false);
  }
  if (message.clients) {
    state.clients = message.clients;
    drawClients();
    chooseClient();
    own.ask();
  }
  if (message.ended) {
    past.clients = message.ended;
    drawClients();
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
    presses.add(told.frames);
    const sent = view.flip.observed(told.frames);
    if (sent && isLive()) pick(sent.n);
  }
  if (isLive() && told.frames) {
    frames.refresh();
    list.draw(told.gone);
    showWhy(frames);
  }
  if (told.ended !== undefined) {
    state.ended = told.ended;
    past.received(state.watched);
    view.flip.ended(told.ended);
  }
  state.lost += told.lost ?? 0;
  state.missed = told.missed ?? state.missed;
  if (isLive()) followNewest();
  note.show();
}

function count() {
  const now = performance.now();
  const seconds = (now - state.countedMs) / 1000;
  state.countedMs = now;
  if (state.watched === null || state.paused || !isLive()) return;
  bytes.add(explainer.fields(), seconds);
  bars.show(bytes.bars());
}

/** While the newest is followed it is drawn, calmly; beside the game that is the newest key press, and nothing else takes its place. */
function followNewest() {
  const now = performance.now();
  if (!list.follow || view.flip.isOpen || now - state.drawnMs < DRAW_MS) return;
  const press = own.proof === null ? null : presses.newest;
  // The frame that was sent stays while its story is told.
  const newest = press ?? (view.flip.story.isActive ? undefined : frames.newest);
  if (!newest || newest.n === list.chosen || (press && press.n === state.pressed)) return;
  Object.assign(state, { drawnMs: now, pressed: press?.n ?? 0 });
  pick(newest.n);
}

/** Chooses a frame by hand: from then on the newest is not followed. @param {number} n */
function choose(n) {
  setFollow(false);
  pick(n);
  watched.chosen(n);
}

/** Chooses a frame, and scrolls to it. @param {number} n */
function goTo(n) {
  choose(n);
  list.reveal(n);
}

/** @param {number} n */
function pick(n) {
  list.chosen = n;
  list.draw();
  marks.show();
  const shown = state.shown.explainer;
  const [explained, entry] = [shown.explain(n), shown.entry(n)];
  if (explained.gone) at('frame-line').textContent = entry.gap ?? 'This frame is no longer kept.';
  else if (!entry.gone) view.show(explained, { ...entry, line: explained.frames[0].line, where: placeOf(entry) });
  showChanges(shown, n, entry.packet);
  drawStrip();
}

/** Where a frame was seen, in words. @param {import('./list/frames.js').Entry} entry */
function placeOf({ tick, client }) {
  const { kind, connections } = state.shown;
  if (kind === 'link') return 'from a link';
  return kind === 'live' ? `tick ${tick}` : `packet ${tick}${connections.length > 1 ? ` of connection ${client}` : ''}`;
}

/** The updates around what is looked at: the newest, or those up to the last line in sight. */
function drawStrip() {
  const { last } = list.inSight();
  const chosen = list.chosen === 0 ? null : state.shown.explainer.entry(list.chosen);
  const client = isLive() ? state.watched : state.connection ?? chosen?.client ?? last?.client ?? 1;
  if (client === null) return strip.show({}, 0);
  const until = list.follow ? NEWEST : Math.max(last?.n ?? 0, list.chosen);
  strip.show({ ...state.shown.explainer.timeline(client, until, strip.room), hasTicks: isLive() }, list.chosen);
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
  explainer.watch(id);
  explainer.pause(state.paused);
  if (isLive()) {
    clear();
    work.start(explainer);
  }
  note.show();
  line.say(past.request(id));
  drawClients();
}

/** Shows another source's frames. @param {Source} source @param {number | null} [connection] of a capture */
function showSource(source, connection = null) {
  const isOther = state.shown !== source;
  Object.assign(state, { shown: source, connection });
  dressFor(source.kind);
  list.showsClient = source.connections.length > 1 && connection === null;
  frames.use(source.explainer);
  view.flip.explainer = source.explainer;
  list.forget();
  if (isOther) {
    clear();
    setFollow(source.kind === 'live');
  }
  filtered(false);
  drawClients();
  show(true);
}

/** @param {import('./open-file.js').Opened} opened */
function openFile({ name, explainer: reader, about }) {
  state.file = { kind: 'file', name, explainer: reader, connections: about.connections, all: about.all, marks: new Set() };
  state.progress = about.notes.join(' · ');
  showSource(state.file);
  filterBar.showAll();
}

/** Explains the frame that the address carries. */
async function openLink() {
  try {
    const reader = await Explainer.load();
    reader.openLink(location.hash.slice(1));
    showSource({ kind: 'link', name: 'link', explainer: reader, connections: [], all: 0, marks: new Set() });
    refuse('');
    pick(1);
  } catch (error) {
    refuse(error instanceof Error ? error.message : String(error));
  }
}

/** Something was read, or filtered. @param {ReturnType<Explainer['work']>} told */
function worked(told) {
  if (work.explainer !== state.shown.explainer) return;
  frames.refresh();
  list.draw();
  if (state.shown.kind === 'file') {
    const about = told.more ? null : state.shown.explainer.about();
    state.progress = progressOf(told, about?.notes ?? []);
    if (about) state.shown.connections = about.connections;
    if (about) drawClients();
  }
  if (!told.more && !list.follow) list.reveal(list.chosen);
  if (list.chosen === 0 && state.shown.kind !== 'live' && frames.seen > 0) pick(/** @type {any} */ (frames.at(0)).n);
  showWhy(frames);
  note.show();
}

function clear() {
  frames.refresh();
  bytes.clear();
  list.chosen = 0;
  list.draw();
  at('changes').hidden = true;
  marks.show();
  strip.show({}, 0);
  showWhy(frames);
  bars.show([]);
  presses.clear();
  view.clear();
}

function drawClients() {
  at('client').replaceChildren(...options([state.clients, past.clients], state.watched, state.shown, state.file, state.connection));
}

/** The menu of clients and connections. @param {string} value */
function chooseSource(value) {
  const [kind, number] = value.split(':');
  if (kind === 'file' && state.file) return showSource(state.file, number === '' ? null : Number(number));
  if (kind === 'link') return;
  state.byItself = false;
  if (!isLive()) toLive();
  watch(value === '' ? null : Number(value));
}

function toLive() {
  if (isLink()) history.replaceState(null, '', location.pathname + location.search);
  showSource(live);
  const isOpen = line.socket?.readyState === WebSocket.OPEN;
  show(isOpen);
  if (!isOpen) line.open();
}

/** What is to be said below the list. */
function notes() {
  if (!isLive()) return state.shown.kind === 'file' ? [state.progress] : [];
  const parts = [];
  if (state.paused) parts.push(state.missed > 0 ? `Paused: ${state.missed} frame${state.missed === 1 ? '' : 's'} passed` : 'Paused');
  if (state.ended !== '') parts.push(`The connection ended: ${state.ended}`);
  if (state.lost > 0) parts.push(`Not shown, because there were too many: ${state.lost} message${state.lost === 1 ? '' : 's'}`);
  return parts;
}

/** @param {boolean} follow */
function setFollow(follow) {
  list.follow = follow;
  follower.show();
  if (follow) followNewest();
  list.draw();
}

/** @param {boolean} paused */
function setPause(paused) {
  state.paused = paused;
  state.missed = 0;
  at('pause').setAttribute('aria-pressed', String(paused));
  if (state.watched !== null) explainer.pause(paused);
  note.show();
}

/** The filter has changed; while it is typed, a wrong one is pointed at. */
function filtered() {
  const shown = state.shown.explainer;
  const told = shown.filter(filterBar.wish(state.shown.kind === 'file' ? state.connection : null));
  filterBar.tell(told);
  if (told.wrong !== undefined) return;
  frames.refresh();
  list.draw();
  showWhy(frames);
  work.start(shown);
  if (!list.follow) list.reveal(list.chosen);
  if (isLive()) followNewest();
}

/** The chosen frame, explained; `null` without one. */
function chosenFrame() {
  const shown = state.shown.explainer;
  const explained = list.chosen === 0 ? { gone: true } : shown.explain(list.chosen);
  if (explained.gone) return null;
  const entry = shown.entry(list.chosen);
  return { explained, name: entry.packet ?? entry.opcode ?? entry.rule ?? 'bytes' };
}

/** Saves the frames that are kept, as a capture. */
function save() {
  const whose = state.clients.find((client) => client.id === state.watched) ?? { player: 0, name: '' };
  const capture = state.watched === null ? null : explainer.save(whose);
  if (capture) download(capture, `tickwire-client-${state.watched}.pcapng`);
}

/** Shows the inside, or the form that asks for the token. @param {boolean} inside */
function show(inside) {
  for (const part of document.querySelectorAll('[data-inside]')) /** @type {HTMLElement} */ (part).hidden = !inside;
  at('token-form').hidden = inside;
}

/** @param {string} why */
function askForToken(why) {
  status('waiting', 'Not connected');
  // A capture or a link needs no server.
  if (!isLive()) return;
  show(false);
  at('token-error').textContent = why;
  if (document.hasFocus()) at('token').focus();
}

/** @param {'open' | 'waiting'} lamp @param {string} text */
function status(lamp, text) {
  at('status').dataset.state = lamp;
  if (at('status-text').textContent !== text) at('status-text').textContent = text;
}

/** @param {number} by frames */
function move(by) {
  const next = frames.beside(list.chosen, by);
  if (next) goTo(next.n);
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
  at('hint').textContent = `${matchMedia('(pointer: coarse)').matches ? 'Tap' : 'Press a key in'} the game: its frame is shown here, bit by bit.`;
  filterBar.setAutomatic(false);
  filterBar.setFrom('client');
  // An aim comes with each move of the mouse.
  filterBar.set('-aim');
}

function wire() {
  at('client').onchange = () => chooseSource(at('client').value);
  acceptFiles(openFile);
  new CopyMenu(chosenFrame, () => linkTo(state.shown.explainer.link(list.chosen)), tell);
  at('live').onclick = toLive;
  at('list').addEventListener('scroll', () => { if (!list.follow) drawStrip(); });
  at('pause').onclick = () => setPause(!state.paused);
  at('follow').onclick = () => setFollow(follower.toggles());
  at('save').onclick = save;
  at('game').onclick = toGame;
  at('token-form').addEventListener('submit', (event) => {
    event.preventDefault();
    line.keep(at('token').value.trim());
    at('token').value = '';
    line.open();
  });
  listenToKeys(move, {
    Escape: () => view.pin(null),
    ' ': () => setPause(!state.paused),
    '/': () => at('filter').focus(),
    f: () => setFollow(follower.toggles()),
    e: () => view.toggleFlip(),
    x: () => view.unmasking.toggle(),
    ArrowLeft: () => view.unmasking.step(-1),
    ArrowRight: () => view.unmasking.step(1),
    b: () => marks.toggle(),
    ']': () => marks.go(1),
    '[': () => marks.go(-1),
    c: () => at('copy').click(),
  }, (event) => beside.pass(event));
  // After a press with the mouse the keys are the page's again, not the button's.
  document.addEventListener('click', (event) => {
    if (event.detail > 0) /** @type {HTMLElement} */ (event.target).closest('button')?.blur();
  });
  window.addEventListener('hashchange', fragment);
  view.on.sent = () => beside.focusGame();
  showMore(document.querySelectorAll('.actions, #examples, #fields'));
  setInterval(() => { follower.show(); followNewest(); chooseClient(); if (list.follow) drawStrip(); }, DRAW_MS);
  setInterval(count, COUNT_MS);
}

const isLink = () => location.hash.slice(1).startsWith(FRAME_OF_LINK);

/** A frame in the address is explained; a token opens the line. */
function fragment() {
  if (isLink()) openLink();
  else if (location.hash !== '') {
    line.takeFragment();
    line.open();
  }
}

wire();
if (beside.isOpen) beBeside();
if (watched.isThere) watched.open();
else if (isLink()) openLink();
else {
  line.takeFragment();
  beside.whileShown(() => line.open(), () => line.close());
}
