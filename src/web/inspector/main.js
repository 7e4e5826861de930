/**
 * The page `/wire`: shows the traffic of a client frame by frame, live, from a capture or a link.
 *
 * ```text
 *  socket ─► connection ─► explainer ─┬► frames ─► list         parent game ─► own client
 *  file, link ───► another explainer ─┤  ├► updates ─► strip
 *                      (WebAssembly)  │  └► explanation ─► diagram, bytes, tree
 *                                     └► byte rates ─► bars
 * ```
 * The server's explainer, compiled to WebAssembly, parses all frames.
 *
 * @module inspector/main
 */

import { ByteBars } from './byte-bars.js';
import { GamePage } from './game-page.js';
import { HostPage } from './host-page.js';
import { RateCounter } from './rate-counter.js';
import { showChanges } from './frame/changes.js';
import { CopyMenu } from './frame/copy-menu.js';
import { ALL_CLIENTS, Explainer } from './explainer.js';
import { FilterBar, showEmptyReason } from './list/filter-bar.js';
import { HideBar } from './list/hide-bar.js';
import { FollowButton } from './follow-button.js';
import { FrameView } from './frame/frame-view.js';
import { VisibleFrames } from './list/frames.js';
import { listenToKeys } from './keys.js';
import { hasBrowserEdition, InspectorConnection } from './connection.js';
import { FrameListView } from './list/list.js';
import { Bookmarks } from './list/bookmarks.js';
import { markOverflow } from './overflow-hint.js';
import { StatusLine, notesOf } from './status-line.js';
import { acceptFiles, download, showOpenError } from './open-file.js';
import { OwnClient } from './own-client.js';
import { PasteBox } from './paste-box.js';
import { EndedClients } from './list/ended-clients.js';
import { KeyPresses } from './frame/key-presses.js';
import { exportAvailability, sourceVisibility, linkTo, placeOf, sourceOptions, progressOf } from './list/source-menu.js';
import { UpdateStrip } from './list/update-strip.js';
import { ProxyPanel } from './proxy-panel.js';
import { PlaybackSync } from './playback-sync.js';
import { WorkSlices } from './work-slices.js';

/** Interval of the byte counts, ms. */
const COUNT_MS = 1000;
/** Minimum redraw interval of the followed newest frame, ms. */
const DRAW_MS = 400;

const byId = /** @type {import('./elements.js').ById} */ ((/** @type {string} */ id) => document.getElementById(id));

const explainer = await Explainer.load();
const frames = new VisibleFrames(explainer);
const frameList = new FrameListView(byId('list'), frames, { choose: (n) => selectFrame(n), unfollow: () => setFollow(false) });
const byteBars = new ByteBars(byId('bars'), byId('bytes-sum'), (packet) => filterBar.set(`packet=${packet}`));
const rateCounter = new RateCounter(explainer, byteBars);
const filterBar = new FilterBar(onFilterChanged);
const hideBar = new HideBar(byId('hide'), frames, filterBar);
const work = new WorkSlices(onProgress);
const updateStrip = new UpdateStrip(byId('updates'), byId('updates-words'), goTo);
const statusLine = new StatusLine(byId('note'), () => notesOf(state));
/** @param {string} what */
const showNote = (what) => statusLine.showTemporarily(what);
const bookmarks = new Bookmarks(() => state.shown, frameList, { goTo, notify: showNote });
const connection = new InspectorConnection({ onOpen, onMessage, onObserved, state: status, askForToken });
const hostPage = new HostPage();
const gamePage = new GamePage(hostPage, filterBar);
const ownClient = new OwnClient((message) => connection.request(message));
const view = new FrameView(explainer, ownClient);
const follower = new FollowButton(byId('follow'), frameList, view.editor);
const playbackSync = new PlaybackSync(() => state.shown, goTo);
const proxyPanel = new ProxyPanel((request) => connection.request(request), () => state.watched);
const endedClients = new EndedClients();
const pasteBox = new PasteBox((text) => explainer.readPasted(text), { open: (link) => { location.hash = link; }, failed: onPasteFailed });
const keyPresses = new KeyPresses((n) => explainer.explain(n));

/** @typedef {import('./list/source-menu.js').Source} Source */
/** @type {Source} */
const liveSource = { kind: 'live', name: 'live', explainer, connections: [], all: 0, marks: new Set() };
/** Number above all frame numbers. */
const NEWEST = Number.MAX_SAFE_INTEGER;
const FRAME_OF_LINK = 'frame=';

const state = {
  shown: liveSource,
  /** Last opened capture. */
  file: /** @type {Source | null} */ (null),
  /** Shown connection of the capture; null for all connections. */
  connection: /** @type {number | null} */ (null),
  clients: /** @type {import('./list/source-menu.js').Client[]} */ ([]),
  watched: /** @type {number | null} */ (null),
  /** Whether the page may select another client by itself. */
  byItself: true,
  paused: false,
  lost: 0,
  missed: 0,
  /** Rule that closed the selected client, or ''. */
  ended: '',
  drawnMs: 0,
  /** Number of the last shown frame of a key press. */
  pressed: 0,
  /** Progress of reading and notes on the file. */
  progress: '',
};

const isLiveSource = () => state.shown === liveSource;
/** Whether the list has the frames of all clients. */
const isMerged = () => isLiveSource() && state.watched === ALL_CLIENTS;

function onOpen() {
  show(true);
  // A restarted server numbers its clients from 1 again, so the selection is void.
  Object.assign(state, { clients: [], watched: null, byItself: true, ended: '', lost: 0, missed: 0 });
  liveSource.marks.clear();
  endedClients.forget();
  if (isLiveSource()) clear();
}

/** Receives a message. @param {import('./connection.js').Message} message @param {string} text */
function onMessage(message, text) {
  if (message.welcome) {
    explainer.welcome(text);
    if (isLiveSource()) onFilterChanged();
  }
  if (message.clients) {
    state.clients = message.clients;
    drawClients();
    chooseClient();
    ownClient.requestOwnClient();
  }
  if (message.ended) {
    endedClients.clients = message.ended;
    drawClients();
  }
  if (message.own !== undefined) {
    ownClient.onOwnClient(message.own);
    chooseClient();
    view.editor.onReconnected(message.own);
  }
  proxyPanel.receive(message);
  if (message.held && state.byItself) selectClient(ALL_CLIENTS);
  if (message.injected !== undefined) view.editor.answered({ injected: message.injected, error: message.error });
}

/** Receives observed bytes. @param {ArrayBuffer} message observed bytes */
function onObserved(message) {
  const result = explainer.receive(message);
  if (result.frames) {
    keyPresses.add(result.frames);
    gamePage.received(result.frames);
    const sent = view.editor.observed(result.frames);
    if (sent && isLiveSource()) showFrame(sent.n);
  }
  if (isLiveSource() && result.frames) {
    frames.refresh();
    frameList.draw(result.gone);
    showEmptyReason(frames);
  }
  if (result.ended !== undefined) {
    state.ended = result.ended;
    endedClients.received(state.watched);
    view.editor.ended(result.ended);
  }
  state.lost += result.lost ?? 0;
  state.missed = result.missed ?? state.missed;
  if (isLiveSource()) followNewest();
  statusLine.show();
}

/**
 * Shows the newest frame, at a limited rate. In the game's page, prefers the newest frame that an
 * input of the player caused.
 */
function followNewest() {
  const now = performance.now();
  if (!frameList.follow || view.editor.isOpen || now - state.drawnMs < DRAW_MS) return;
  const press = ownClient.resumeKey === null ? null : keyPresses.newest;
  // The sent frame stays visible while its log is open.
  const newest = press ?? (view.editor.log.isActive ? undefined : frames.newest);
  if (!newest || newest.n === frameList.chosen || (press && press.n === state.pressed)) return;
  Object.assign(state, { drawnMs: now, pressed: press?.n ?? 0 });
  showFrame(newest.n);
}

/** Selects a frame for the user, and stops following. @param {number} n */
function selectFrame(n) {
  setFollow(false);
  showFrame(n);
  playbackSync.onFrameSelected(n);
}

/** Selects a frame and scrolls to it. @param {number} n */
function goTo(n) {
  selectFrame(n);
  frameList.reveal(n);
}

/** @param {number} n */
function showFrame(n) {
  frameList.chosen = n;
  frameList.draw();
  bookmarks.show();
  const shown = state.shown.explainer;
  const [explained, entry] = [shown.explain(n), shown.entry(n)];
  if (explained.gone) view.showGap(entry.gap ?? 'This frame is no longer kept.');
  else if (!entry.gone) view.show(explained, { ...entry, line: explained.frames[0].line, where: placeOf(entry, state.shown) });
  showChanges(shown, n, entry.packet ?? null);
  drawStrip();
}

/**
 * Draws the strip of updates. While following, it shows the newest updates; otherwise, the updates
 * up to the last frame in view or the selected frame.
 */
function drawStrip() {
  const { last } = frameList.visibleRange();
  const chosen = frameList.chosen === 0 ? null : state.shown.explainer.entry(frameList.chosen);
  const client = isLiveSource() && !isMerged() ? state.watched : state.connection ?? chosen?.client ?? last?.client ?? 1;
  if (client === null) return updateStrip.show({ hasTicks: isLiveSource() }, 0);
  const until = frameList.follow ? NEWEST : Math.max(last?.n ?? 0, frameList.chosen);
  updateStrip.show({ ...state.shown.explainer.timeline(client, until, updateStrip.capacity), hasTicks: isLiveSource() }, frameList.chosen);
}

/**
 * Selects a client, unless the user has chosen one. Prefers the client of the parent game. If there
 * is no parent game and no selected client, selects the newest client that has a player, or the
 * newest client if none has one.
 */
function chooseClient() {
  const id = ownClient.id ?? hostPage.ownClient(state.clients);
  if (id !== null && state.byItself) selectClient(id);
  else if (state.watched === null && state.byItself && !hostPage.isOpen) {
    const newest = state.clients.findLast((client) => client.player !== 0) ?? state.clients.at(-1);
    if (newest) selectClient(newest.id);
  }
}

/** @param {number | null} id */
function selectClient(id) {
  if (id === state.watched) return;
  Object.assign(state, { watched: id, ended: '', lost: 0 });
  explainer.selectClient(id);
  explainer.pause(state.paused);
  if (isLiveSource()) {
    frameList.showsClient = isMerged();
    clear();
    work.start(explainer);
  }
  statusLine.show();
  connection.request(endedClients.request(id));
  drawClients();
}

/** Shows the frames of a source. @param {Source} source @param {number | null} [connection] */
function showSource(source, connection = null) {
  const isOther = state.shown !== source;
  Object.assign(state, { shown: source, connection });
  sourceVisibility(source.kind);
  frameList.showsClient = isMerged() || (source.connections.length > 1 && connection === null);
  frames.use(source.explainer);
  view.editor.explainer = source.explainer;
  frameList.forget();
  hideBar.clear();
  if (isOther) {
    clear();
    setFollow(source.kind === 'live');
  }
  onFilterChanged();
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

/** Clears the earlier result after an invalid paste. */
async function onPasteFailed() {
  if (state.shown.kind === 'link') showSource({ ...state.shown, explainer: await Explainer.load() });
  deselect();
}

/** Shows no frame, until one is selected. */
function deselect() {
  setFollow(false);
  frameList.chosen = 0;
  frameList.draw();
  view.clear();
  byId('changes').hidden = true;
  bookmarks.show();
}

/** Explains the frame in the address. */
async function openLink() {
  pasteBox.showLink(location.hash.slice(1));
  try {
    const reader = await Explainer.load();
    reader.openLink(location.hash.slice(1));
    filterBar.showAll();
    showSource({ kind: 'link', name: 'link', explainer: reader, connections: [], all: 0, marks: new Set() });
    showOpenError('');
    showFrame(1);
  } catch (error) {
    showOpenError(error instanceof Error ? error.message : String(error));
  }
}

/** Handles progress of reading or filtering. @param {ReturnType<Explainer['advance']>} result */
function onProgress(result) {
  if (work.explainer !== state.shown.explainer) return;
  frames.refresh();
  frameList.draw();
  if (state.shown.kind === 'file') {
    const about = result.more ? null : state.shown.explainer.fileSummary();
    state.progress = progressOf(result, about?.notes ?? []);
    if (about) state.shown.connections = about.connections;
    if (about) drawClients();
  }
  if (!result.more && !frameList.follow) showVisible();
  const first = frameList.chosen === 0 && state.shown.kind !== 'live' ? frames.at(0) : undefined;
  if (first) showFrame(first.n);
  showEmptyReason(frames);
  statusLine.show();
}

function clear() {
  frames.refresh();
  frameList.chosen = 0;
  frameList.draw();
  byId('changes').hidden = true;
  bookmarks.show();
  updateStrip.show({ hasTicks: isLiveSource() }, 0);
  showEmptyReason(frames);
  rateCounter.clear();
  keyPresses.clear();
  view.clear();
}

function drawClients() {
  exportAvailability(isLiveSource(), state.watched);
  proxyPanel.showTargets(state.clients);
  byId('client').replaceChildren(...sourceOptions([state.clients, endedClients.clients], state.watched, state.shown, state.file, state.connection));
}

/** Handles a choice in the menu of sources. @param {string} value */
function chooseSource(value) {
  const [kind, number] = value.split(':');
  if (kind === 'file' && state.file) return showSource(state.file, number === '' ? null : Number(number));
  if (kind === 'link') return;
  state.byItself = false;
  if (!isLiveSource()) toLive();
  selectClient(value === '' ? null : Number(value));
}

function toLive() {
  if (isLink()) history.replaceState(null, '', location.pathname + location.search);
  showSource(liveSource);
  const isOpen = connection.socket?.readyState === WebSocket.OPEN;
  show(isOpen);
  if (!isOpen) connection.open();
}

/** @param {boolean} follow */
function setFollow(follow) {
  frameList.follow = follow;
  follower.show();
  if (follow) followNewest();
  frameList.draw();
}

/** @param {boolean} paused */
function setPause(paused) {
  state.paused = paused;
  state.missed = 0;
  byId('pause').setAttribute('aria-pressed', String(paused));
  if (state.watched !== null) explainer.pause(paused);
  statusLine.show();
}

/** Applies a changed filter or shows its error. */
function onFilterChanged() {
  const shown = state.shown.explainer;
  const result = shown.filter(filterBar.request(state.shown.kind === 'file' ? state.connection : null));
  filterBar.showError(result);
  if (result.wrong !== undefined) return;
  frames.refresh();
  frameList.draw();
  showEmptyReason(frames);
  work.start(shown);
  if (!frameList.follow) showVisible();
  if (isLiveSource()) followNewest();
  hideBar.update();
}

/** Reveals the selected frame. If the filter of a capture hides it, selects the next one. */
function showVisible() {
  const isHidden = state.shown.kind === 'file' && frameList.chosen !== 0 && frames.indexOf(frameList.chosen) < 0;
  const next = isHidden ? frames.neighbor(frameList.chosen, 0) : undefined;
  if (next) showFrame(next.n);
  else if (isHidden && frames.visible === 0) deselect();
  frameList.reveal(frameList.chosen);
}

/** Returns the selected frame, explained; null if no frame is selected. */
function chosenFrame() {
  const shown = state.shown.explainer;
  const explained = frameList.chosen === 0 ? null : shown.explain(frameList.chosen);
  if (!explained || explained.gone) return null;
  const entry = shown.entry(frameList.chosen);
  return { explained, name: entry.packet ?? entry.opcode ?? entry.rule ?? 'bytes' };
}

/** Exports the stored frames as a capture. */
function save() {
  const capture = state.watched === null ? null : explainer.save(state.clients);
  if (!capture) return showNote('Nothing to save: no handshake was seen');
  download(capture, isMerged() ? 'tickwire-clients.pcapng' : `tickwire-client-${state.watched}.pcapng`);
  if (proxyPanel.isActive) showNote('Compressed messages are saved inflated; --capture FILE has the bytes as they were sent');
}

/** Shows the page or the token form. @param {boolean} inside */
function show(inside) {
  for (const part of document.querySelectorAll('[data-inside]')) /** @type {HTMLElement} */ (part).hidden = !inside;
  byId('token-form').hidden = inside;
}

/** @param {string} why */
function askForToken(why) {
  status('waiting', 'Not connected');
  // A capture or a link needs no server.
  if (!isLiveSource()) return;
  show(false);
  hasBrowserEdition().then((has) => { byId('browser-edition').hidden = !has; });
  byId('token-error').textContent = why;
  if (document.hasFocus()) byId('token').focus();
}

/** @param {'open' | 'waiting'} lamp @param {string} text */
function status(lamp, text) {
  byId('status').dataset.state = lamp;
  if (byId('status-text').textContent !== text) byId('status-text').textContent = text;
}

/** Selects a frame relative to the selected one. @param {number} by number of frames */
function move(by) {
  const next = frames.neighbor(frameList.chosen, by);
  if (next) goTo(next.n);
}

function bindEvents() {
  byId('client').onchange = () => chooseSource(byId('client').value);
  acceptFiles(openFile);
  new CopyMenu(chosenFrame, () => linkTo(state.shown.explainer.link(frameList.chosen)), showNote);
  byId('live').onclick = toLive;
  byId('list').addEventListener('scroll', () => { if (!frameList.follow) drawStrip(); });
  byId('pause').onclick = () => setPause(!state.paused);
  byId('follow').onclick = () => setFollow(follower.toggles());
  byId('save').onclick = save;
  byId('game').onclick = () => gamePage.closeOrOpen();
  byId('token-form').addEventListener('submit', (event) => {
    event.preventDefault();
    connection.storeToken(byId('token').value.trim());
    byId('token').value = '';
    connection.open();
  });
  listenToKeys(move, {
    Escape: () => view.pin(null),
    ' ': () => setPause(!state.paused),
    '/': () => byId('filter').focus(),
    f: () => setFollow(follower.toggles()),
    e: () => view.toggleEditor(),
    x: () => view.unmasking.toggle(),
    ArrowLeft: () => view.unmasking.step(-1),
    ArrowRight: () => view.unmasking.step(1),
    b: () => bookmarks.toggle(),
    ']': () => bookmarks.go(1),
    '[': () => bookmarks.go(-1),
    c: () => byId('copy').click(),
  }, (event) => hostPage.forwardKey(event));
  // A mouse press returns the keyboard focus to the page.
  document.addEventListener('click', (event) => {
    if (event.detail > 0) /** @type {HTMLElement} */ (event.target).closest('button')?.blur();
  });
  window.addEventListener('hashchange', fragment);
  view.on.sent = () => hostPage.focusGame();
  markOverflow(document.querySelectorAll('.actions, #examples, #fields'));
  markOverflow([byId('drawn')], 'more-below');
  setInterval(() => { follower.show(); followNewest(); chooseClient(); if (frameList.follow) drawStrip(); }, DRAW_MS);
  setInterval(() => { rateCounter.count(state.watched !== null && !state.paused && isLiveSource()); hideBar.update(); }, COUNT_MS);
}

const isLink = () => location.hash.slice(1).startsWith(FRAME_OF_LINK);

/** Handles the fragment: explains a frame, or stores a token and connects. */
function fragment() {
  if (isLink()) openLink();
  else if (location.hash !== '') {
    connection.readTokenFromUrl();
    connection.open();
  }
}

bindEvents();
if (hostPage.isOpen) gamePage.adapt();
if (playbackSync.isAvailable) playbackSync.open();
else if (isLink()) openLink();
else {
  connection.readTokenFromUrl();
  hostPage.whileVisible(() => connection.open(), () => connection.close());
}
