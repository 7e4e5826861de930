/**
 * Entry point of the game's page: connects to the server and draws the frames.
 *
 * ```text
 *  socket ─► connection ─► session ─► world ─► scene
 *                                       └─► controls: input, panels, sounds, effects
 * ```
 *
 * This file statically imports only the modules that the first picture needs. The controls are
 * loaded after the first picture.
 *
 * @module game/main
 */

import { SETTINGS, captureFromQuery, playerToken, wrongIn } from '../lib/address.js';
import { Prediction } from '../lib/prediction.js';
import { acquireKey } from '../lib/resume.js';
import { EDITION } from '../wasm/edition.js';
import { byId } from './hud/dom.js';
import { TitleCard } from './hud/title.js';
import { Scene } from './scene.js';
import { Session } from './session.js';
import { World } from './world/world.js';

/** Maximum duration of a frame, ms. */
const MAX_FRAME_MS = 250;
/** Style sheets that the first picture does not need, relative to this file. */
const LATER_STYLES = ['hud/panels.css', 'split-view.css', 'hud/invite.css'];

// Reads the token at once, so that it leaves the address bar.
playerToken();

const query = new URLSearchParams(location.search);
/** Address of the capture that this page plays; null in a game. */
const capture = captureFromQuery(location.search);
const edition = EDITION === 'tab' ? await import('./browser-edition.js') : null;
const playbackPage = capture === null ? null : await import('../playback/page.js');
const lockstep = query.get('mode') === 'lockstep' ? new (await import('../lib/lockstep.js')).Lockstep(async () => (await import('../wasm/module.js')).wasmModule()) : null;

let onPicture = () => {};
/** Resolves when the first picture of the world is drawn, or when the page does not wait for it. */
const picture = new Promise((resolve) => { onPicture = () => resolve(undefined); });
const prediction = new Prediction(async (tag) => {
  await picture;
  return (await import('../wasm/module.js')).compileChanged(new URL('../wasm/prediction.wasm', import.meta.url), tag);
});
const world = new World(prediction);
const title = new TitleCard((player) => {
  session.beginLife(player);
  loadControls().catch(fail);
});
const session = new Session(world, prediction, lockstep, capture !== null, {
  toast,
  reject: (why) => title.showRejection(why),
  player: () => title.player,
  onSpawned: () => controls?.commands.spawned(),
  onState: () => { if (session.connection.state === 'waiting') loadControls().catch(fail); },
});
const { connection } = session;
connection.onRoom = (/** @type {string} */ room) => {
  title.nameRoom(room);
  controls?.invite?.showInGame();
};
const scene = new Scene(/** @type {HTMLCanvasElement} */ (byId('world')), world);
/** Texts that were shown before the controls were loaded. @type {string[]} */
const earlyToasts = [];
/** @type {import('./controls.js').Controls | null} */
let controls = null;
/** @type {Promise<import('./controls.js').Controls> | null} */
let loading = null;
/** Time of the last frame, ms. */
let frameMs = 0;

// The parent page uses the same storage, so this page needs a resume key of its own.
if (edition?.IS_SECOND_CLIENT) connection.transport.key = acquireKey(true);
const address = wrongIn(location.search, EDITION);
for (const text of address.wrong) title.note(`In the address, ${text}`);
if (address.unknown.length > 0) console.warn(`in the address, unknown settings: ${address.unknown.join(', ')}; there are ${SETTINGS.join(', ')}`);
const prevented = preventing();
if (scene.ctx) requestAnimationFrame(frame);
if (prevented === '') start();
else title.showRejection(prevented);

/** Returns why the game cannot run in this browser, as a sentence; '' if it can. */
function preventing() {
  if (typeof WebSocket !== 'function') return 'This browser has no WebSocket, by which this page is connected to its server.';
  if (!scene.ctx) return 'This browser does not let this page draw: it has no canvas, or blocks it.';
  return '';
}

async function start() {
  if (session.previousPlayer && capture === null) {
    title.play();
    session.resume();
  }
  try {
    // The connection waits for the controls only if they choose the server or the network.
    if (capture !== null || edition || query.has('netem')) await loadControls();
    if (capture !== null) return;
    if (controls) await edition?.startBrowserServer(controls.pane, (why) => title.fail(why), (text) => title.note(text));
    if (query.has('netem')) await controls?.startNetem();
    connection.open();
  } catch (error) {
    fail(/** @type {Error} */ (error));
  }
}

/** @param {Error} error */
function fail(error) {
  title.fail(error.message);
}

/** Loads the controls once. */
function loadControls() {
  onPicture();
  loading ??= createControls();
  return loading;
}

async function createControls() {
  const modules = import('./controls.js').catch((cause) => {
    throw new Error('A file of this page could not be loaded. Check the connection, and reload the page.', { cause });
  });
  const [{ Controls }] = await Promise.all([modules, ...LATER_STYLES.map(addStyle)]);
  const startPlayback = playbackPage && ((/** @type {import('../playback/page.js').Page} */ page) => playbackPage.startPlaybackPage(capture ?? '', page));
  controls = new Controls({ world, prediction, session, scene, title, startPlayback });
  for (const text of earlyToasts.splice(0)) toast(text);
  if (capture === null && !query.has('netem')) controls.startNetem();
  return controls;
}

/**
 * Adds a style sheet before the rules for small screens, which override it.
 * @param {string} path
 */
function addStyle(path) {
  const link = Object.assign(document.createElement('link'), { rel: 'stylesheet', href: new URL(path, import.meta.url).href });
  return new Promise((resolve) => {
    link.onload = link.onerror = resolve;
    // A link in the browser edition, and a style in the page of a server.
    /** @type {HTMLElement} */ (document.getElementById('small-styles')).before(link);
  });
}

/** Shows a text for a moment. @param {string} text */
function toast(text) {
  if (controls) controls.hud.showToast(text);
  else earlyToasts.push(text);
}

/** @param {number} realMs */
function frame(realMs) {
  requestAnimationFrame(frame);
  const elapsedMs = frameMs === 0 ? 0 : Math.min(MAX_FRAME_MS, realMs - frameMs);
  frameMs = realMs;
  controls?.rates.frame(realMs);
  const nowMs = controls?.playback ? controls.playback.advance(realMs) : realMs;
  prediction.advance(nowMs);
  world.advance(nowMs);
  scene.moveCamera(nowMs, elapsedMs, connection);
  controls?.beginFrame(nowMs);
  scene.draw(nowMs);
  title.draw(world, connection.state === 'live', nowMs);
  controls?.endFrame(nowMs, realMs);
  if (loading === null && connection.state === 'live') loadControls().catch(fail);
}
