/**
 * Entry point of the game's page: connects the parts and draws the frames.
 *
 * ```text
 *  socket ─► connection ─► world ─► draw/, minimap, hud
 *                            └─► effect player ─► effects, sound
 *  keys, mouse, touch ─► input ─► commands ─► connection
 * ```
 *
 * @module game/main
 */

import { SETTINGS, wrongIn, playerToken, captureFromQuery } from '../lib/address.js';
import { Camera } from './draw/camera.js';
import { PLAYER_LEFT, playerBeforeReload, savePlayerOnUnload, newPlayerReason } from './net/reload-resume.js';
import { Commands } from './net/commands.js';
import { GameConnection } from './net/connection.js';
import { drawAnimals } from './draw/animals.js';
import { drawNumbers, drawPieces, drawPings, drawPrints } from './draw/effects.js';
import { drawLabels } from './draw/labels.js';
import { drawPlayers } from './draw/players.js';
import { drawHigh, drawLow } from './draw/scenery.js';
import { drawShots } from './draw/shots.js';
import { drawGhost, drawStructures, ghostOf } from './draw/structures.js';
import { drawTerrain } from './draw/terrain.js';
import { drawFlakes, drawRiver, drawSparkles } from './draw/weather.js';
import { Effects } from './world/effects.js';
import { TOKEN_MISSING, TOKEN_WRONG, describeClose } from '../lib/close-reasons.js';
import { Audio, missing, preventing } from './facilities.js';
import { InviteButton } from './hud/invite.js';
import { Hints } from './hud/hints.js';
import { ClanPanel } from './hud/clan-panel.js';
import { byId, onButton } from './hud/dom.js';
import { Hud } from './hud/hud.js';
import { Hotbar, unusableReason } from './hud/hotbar.js';
import { Panels, SettingsHud } from './hud/panels.js';
import { CARD_MS, PlayerStatsHud } from './hud/player-stats.js';
import { EDITION } from '../wasm/edition.js';
import { Input } from './input.js';
import { exposeDebugState } from './debug-console.js';
import { NetemLink } from '../lib/netem.js';
import { LockstepPanel } from './hud/lockstep-panel.js';
import { Lockstep } from '../lib/lockstep.js';
import { Minimap } from './hud/minimap.js';
import { ageMs } from '../lib/interpolation.js';
import { acquireKey } from '../lib/resume.js';
import { InspectorPane } from '../lib/inspector-pane.js';
import { Prediction } from '../lib/prediction.js';
import { ENDPOINT, loadTables, predictionSetup } from './net/protocol.js';
import { TrafficRates } from './net/rates.js';
import { loadRules } from './rules/rules.js';
import { Settings } from './settings.js';
import { Sound } from './sound.js';
import { EffectPlayer } from './effect-player.js';
import { local } from '../lib/stored.js';
import { bindSwitches } from '../lib/sync-panel.js';
import { compile, wasmModule } from '../wasm/module.js';
import { fillNetemMenu, describeChoice } from '../lib/netem-menu.js';
import { IS_SECOND_CLIENT, startBrowserServer } from './browser-edition.js';
import { TitleCard } from './hud/title.js';
import { startPlaybackPage } from '../playback/page.js';
import { World } from './world/world.js';
import { netemOf } from '../wasm/worker-host.js';

/** Maximum distance between a click and the player that it selects, px of the world. */
const CLICK_PX = 60;
/** Time in which the red edge fades after a hit, ms. */
const PAIN_MS = 600;

// Reads the token at once, so that it leaves the address bar.
playerToken();

const canvas = /** @type {HTMLCanvasElement} */ (byId('world'));
const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d', { alpha: false }));
const reducedMotion = matchMedia('(prefers-reduced-motion: reduce)');

const prediction = new Prediction(() => compile(new URL('../wasm/prediction.wasm', import.meta.url)));
const world = new World(prediction);
const rates = new TrafficRates();
const camera = new Camera(canvas);
const minimap = new Minimap(/** @type {HTMLCanvasElement} */ (byId('minimap')));
const connection = new GameConnection(ENDPOINT, receive, onConnectionChanged, (bytes, isReceived, nowMs) => prediction.onMessage(bytes, isReceived, nowMs));
// The parent page uses the same storage, so this page needs a resume key of its own.
if (IS_SECOND_CLIENT) connection.key = acquireKey(true).get;
const lockstep = new URLSearchParams(location.search).get('mode') === 'lockstep' ? new Lockstep(wasmModule) : null;
connection.lockstep = lockstep;
connection.onAgain = () => {
  isResync = true;
  prediction.forget();
};
const commands = new Commands(connection, world, prediction);
const hud = new Hud(world, connection, rates, (text) => commands.chat(text));
const effects = new Effects();
const sound = new Sound(local, Audio);
const effectPlayer = new EffectPlayer(world, camera, effects, sound);
const title = new TitleCard(beginLife);
/** Whether this page plays a capture. */
const isPlayback = captureFromQuery(location.search) !== null;
if (!isPlayback) new InviteButton((text) => hud.showToast(text));
const playerStats = new PlayerStatsHud(world, () => beginLife(title.player));
const panels = new Panels();
const lockstepPanel = new LockstepPanel(lockstep, connection, world);
const pane = new InspectorPane(() => {
  // Phones have no keyboard.
  if (world.ownId !== null && matchMedia('(pointer: fine)').matches) hud.showToast('Keys now go to the inspector; click the game to play on');
}, (isOpen) => {
  // A phone has no space for a panel over the game and the inspector.
  if (isOpen && matchMedia('(pointer: coarse)').matches) hud.closePanel();
});
const hints = new Hints(world, (text) => hud.showToast(text));
/** Playback of a capture; null in a game. */
const playback = isPlayback ? startPlayback(captureFromQuery(location.search) ?? '') : null;
const clanPanel = new ClanPanel(world, {
  found: (name) => commands.createClan(name),
  leave: () => commands.leaveClan(),
  ask: (name) => commands.requestClan(name),
  answer: (player, accept) => commands.answer(player, accept),
  kick: (player) => commands.kick(player),
  ping,
}, (text) => hud.showToast(text));
const hotbar = new Hotbar(world, (slot) => commands.select(slot), choose);
/** @type {Record<string, () => void>} */
const actions = {
  KeyQ: () => hotbar.swap(),
  Enter: () => (world.death ? playerStats.respawn() : hud.openChat()),
  KeyP: () => hud.togglePanel(),
  KeyM: toggleSound,
  KeyE: toggleAuto,
  KeyR: ping,
  KeyC: () => panels.toggle('clan'),
  KeyO: () => panels.toggle('settings'),
  KeyH: () => panels.toggle('help'),
  '?': () => panels.toggle('help'),
  Escape: () => panels.close(),
};
for (let index = 0; index < 10; index++) {
  const key = `Digit${(index + 1) % 10}`;
  actions[key] = () => hotbar.selectSlot(index);
  actions[`Shift+${key}`] = () => hotbar.chooseUpgrade(index);
}
const sticks = { walk: byId('stick'), strike: byId('strike-stick') };
// A playback has no local player.
if (playback) for (const key of Object.keys(actions)) if (!['KeyM', 'KeyP', 'KeyO', 'Escape'].includes(key)) delete actions[key];
const input = new Input(canvas, sticks, actions, command, () => world.ownId !== null);
const settings = new Settings(local, applySettings);
const settingsHud = new SettingsHud(settings, { sound: () => sound.on, auto: () => input.auto },
  { sound: toggleSound, auto: toggleAuto, keys: () => panels.toggle('help') });
/** Rendered strength of the red edge. */
let painShown = 0;
/** Number of attack presses that were handled. */
let handledPresses = 0;

let handledLives = 0;
/** Whether the world is being resynchronized on the same connection. The player stays the same. */
let isResync = false;
/** Last shown reason for the fallback to a stream. */
let shownFallbackReason = '';
/** Last shown reason why there is no prediction. */
let whyNoPrediction = '';
/** Player of this page until its death. @type {import('./net/reload-resume.js').Had | null} */
let previousPlayer = playerBeforeReload();
/** Whether a life was requested and no update contains the local player yet. */
let isBeginning = false;
/** Tick of the last `welcome`. */
let welcomeTick = 0;

exposeDebugState({ world, prediction, lockstep, playback, connection, rates, effects, sound, settings, input }, () => ghostOf(world, input.heading));
applySettings();
hud.showSound(sound.on);
onButton('sound-button', toggleSound);
byId('minimap').addEventListener('click', ping);
if (playback) canvas.addEventListener('click', followPlayerAt);
for (const gesture of ['pointerup', 'keydown', 'touchend']) addEventListener(gesture, () => sound.touch(), { capture: true });
document.addEventListener('visibilitychange', () => { if (!document.hidden) sound.resume(); });
for (const text of missing()) title.note(text);
const address = wrongIn(location.search, EDITION);
for (const text of address.wrong) title.note(`In the address, ${text}`);
if (address.unknown.length > 0) console.warn(`in the address, unknown settings: ${address.unknown.join(', ')}; there are ${SETTINGS.join(', ')}`);
const prevented = preventing(ctx);
if (prevented !== '') title.showRejection(prevented);
else if (!playback) startBrowserServer(pane, (why) => title.fail(why), (text) => title.note(text)).then(startNetem).then(() => connection.open(), ({ message }) => title.fail(message));
bindSwitches((switches) => prediction.setFeatures(switches));
if (ctx) requestAnimationFrame(frame);
connection.resumeTick = () => (previousPlayer && previousPlayer.id !== 0 ? previousPlayer.tick : null);
savePlayerOnUnload(() => (connection.player === null ? null : previousPlayer ?? { id: 0, tick: 0 }));
if (previousPlayer && !playback && prevented === '') {
  title.play();
  // A resumed page continues its life, or shows how it ended.
  isBeginning = false;
}

/** @param {{ name: string, values: Record<string, any> }} packet @param {number} nowMs */
function receive(packet, nowMs) {
  if (packet.name === 'welcome') {
    if (!playback) startPrediction();
    welcomeTick = packet.values.tick;
  }
  if (packet.name === 'error' && packet.values.rule === PLAYER_LEFT) return explainNewPlayer();
  // The resumed body is already dead.
  if (packet.name === 'died' && isBeginning) return playAgain();
  world.apply(packet, nowMs);
  if (packet.name === 'update' && world.ownId !== null && world.players.has(world.ownId)) isBeginning = false;
  if (packet.name === 'pong') world.clock.pingMs = connection.pingMs;
  if (packet.name === 'spawned') {
    if (!isResync) commands.spawned();
    previousPlayer = { id: packet.values.player, tick: welcomeTick };
  }
  if (packet.name === 'update') isResync = false;
  if (previousPlayer) previousPlayer.tick = Math.max(previousPlayer.tick, packetTick(packet, nowMs));
  // After death the client spectates, even after a reconnect.
  if (packet.name === 'died') connection.player = previousPlayer = null;
  if (packet.name === 'error' && packet.values.rule === TOKEN_MISSING) onRejectedToken(TOKEN_MISSING);
}

/**
 * Starts a life from the title card or the death card.
 * @param {import('./net/connection.js').Player} player
 */
function beginLife(player) {
  isBeginning = true;
  connection.enter(player);
}

/** Requests a respawn: the second `enter` of a connection. */
function playAgain() {
  isBeginning = false;
  connection.enter(connection.player ?? title.player);
}

/** Explains why the page gets a new player instead of its earlier one. */
function explainNewPlayer() {
  if (previousPlayer) hud.showToast(newPlayerReason(previousPlayer, welcomeTick));
  previousPlayer = null;
}

/**
 * Returns the tick of an `update` or `say` packet; 0 for other packets, which a resume ignores.
 * @param {{ name: string, values: Record<string, any> }} packet
 * @param {number} nowMs
 */
function packetTick({ name, values }, nowMs) {
  if (name === 'update') return values.tick;
  return name === 'say' ? world.clock.tickReceivedAt(nowMs) : 0;
}

/** Shows the rejection. Without a valid token the page can only spectate. @param {string} rule */
function onRejectedToken(rule) {
  connection.player = null;
  title.showRejection(describeClose(0, rule));
}

/**
 * Fills the menu of network conditions, and applies the conditions in the address. In the browser
 * edition, `startBrowserServer` does this.
 */
async function startNetem() {
  if (EDITION === 'tab') return;
  const line = new NetemLink();
  connection.wrapSocket = (socket) => line.wrapSocket(socket);
  const ready = prediction.load().then(async (wasm) => {
    line.begin(wasm);
    const asked = netemOf(location.search);
    const result = asked === '' ? {} : await line.setNetem(asked);
    if (result.error !== undefined) title.note(describeChoice(asked, result));
    fillNetemMenu(/** @type {HTMLSelectElement} */ (byId('p-net')), (text) => { byId('p-net-text').textContent = text; }, line);
    byId('p-net-row').hidden = false;
  }).catch((error) => {
    console.warn('no simulated line:', error);
    if (netemOf(location.search) !== '') title.note(`No network is simulated: ${error.message}`);
  });
  if (netemOf(location.search) !== '') await ready;
}

/** Spectates the clicked player of a playback. @param {MouseEvent} event */
function followPlayerAt({ offsetX, offsetY }) {
  const x = camera.x + (offsetX - camera.width / 2) / camera.zoom;
  const y = camera.y + (offsetY - camera.height / 2) / camera.zoom;
  /** @param {import('./world/player.js').Player} player */
  const far = ({ shown }) => Math.hypot(shown.x - x, shown.y - y);
  const [nearest] = [...world.players.values()].sort((one, other) => far(one) - far(other));
  if (nearest && far(nearest) < CLICK_PX) playback?.follow(nearest.id);
}

/**
 * Starts the playback of a capture. Its packets are handled as if a server had sent them.
 * @param {string} asked
 */
function startPlayback(asked) {
  document.body.classList.add('playing');
  return startPlaybackPage(asked, {
    onMessage: (message, nowMs) => connection.receiveMessage(message, nowMs),
    // Redraws at once, because the time of a paused playback does not advance.
    onSeekDone: () => { for (const part of [hud, minimap]) part.drawnAt = -Infinity; },
    tables: async () => {
      await Promise.all([loadTables(), loadRules()]);
      return predictionSetup();
    },
    pane,
  });
}

/**
 * Starts the prediction on a new connection. Without prediction the game continues, but input acts
 * with a delay.
 */
async function startPrediction() {
  try {
    await prediction.begin(...predictionSetup());
  } catch (error) {
    prediction.fail(error);
  }
  if (prediction.why === '' || prediction.why === whyNoPrediction) return;
  whyNoPrediction = prediction.why;
  console.warn(whyNoPrediction);
  hud.showToast(whyNoPrediction);
}

/** Sends the changed input as commands. */
function command() {
  if (world.ownId === null) return;
  commands.move(input.direction);
  const item = world.players.get(world.ownId)?.item ?? null;
  // During continuous attacks a further press uses the item in the hand.
  const again = input.presses !== handledPresses && item !== null;
  handledPresses = input.presses;
  if (!commands.attack(input.isAttacking, input.heading, again) || !input.isAttacking) return;
  if (item === null) effectPlayer.press(performance.now());
  const why = unusableReason(world, input.heading);
  if (why) hud.showToast(why);
}

/** Sends a map ping to the clan. */
function ping() {
  if (world.clans.own) commands.ping();
  else if (world.ownId !== null) hud.showToast('Join a clan to show your position to it: press C');
}

function toggleSound() {
  hud.showSound(sound.toggle());
  settingsHud.draw();
}

/** Toggles automatic attacks. */
function toggleAuto() {
  input.auto = !input.auto;
  hud.showToast(input.auto ? 'Automatic attacks are on (E)' : 'Automatic attacks are off (E)');
  settingsHud.draw();
}

function applySettings() {
  sound.setVolume(settings.values.volume / 100);
  settingsHud.draw();
}

/** Chooses an upgrade. @param {number} choice */
function choose(choice) {
  if (commands.upgrade(choice)) sound.play('choose');
}

function onConnectionChanged() {
  if (connection.state === 'waiting' && [TOKEN_MISSING, TOKEN_WRONG].includes(connection.reason)) onRejectedToken(connection.reason);
  if (connection.state === 'connecting') prediction.forget();
  if (lockstep && lockstep.fallbackReason !== shownFallbackReason && connection.state === 'live') {
    shownFallbackReason = lockstep.fallbackReason;
    hud.showToast(shownFallbackReason);
  }
  if (connection.state !== 'live' || connection.lives === handledLives) return;
  handledLives = connection.lives;
  if (handledLives > 1) hud.showToast('Reconnected');
}

/** @param {number} realMs */
function frame(realMs) {
  requestAnimationFrame(frame);
  const elapsed = rates.frame(realMs);
  const nowMs = playback ? playback.advance(realMs) : realMs;
  rates.count(connection.stats, nowMs);
  prediction.advance(nowMs);
  connection.history.addCorrection(prediction.figures, nowMs);
  world.advance(nowMs);
  camera.fit();
  updateCamera(nowMs, elapsed);
  effectPlayer.calm = reducedMotion.matches || !settings.values.effects;
  // The title card is silent.
  effectPlayer.audible = connection.player !== null || world.death !== null || (playback !== null && playback.playing && playback.speed <= 2);
  effectPlayer.draw(nowMs);
  draw(nowMs, reducedMotion.matches ? 0 : nowMs / 1000);
  drawPain(nowMs);
  hud.draw(nowMs);
  lockstepPanel.draw(nowMs);
  playerStats.draw(nowMs);
  hotbar.draw(nowMs);
  clanPanel.draw(nowMs);
  hints.draw();
  title.draw(world, connection.state === 'live', nowMs);
  minimap.draw(world, camera, nowMs);
  playback?.draw(realMs);
  command();
  if (input.heading !== null) commands.aim(input.heading, nowMs);
}

/** Draws a red edge after a hit on the local player. @param {number} nowMs */
function drawPain(nowMs) {
  const { atMs, part } = effectPlayer.pain;
  const strength = world.ownId === null ? 0 : Math.round(part * Math.max(0, 1 - ageMs(nowMs, atMs) / PAIN_MS) * 50) / 50;
  if (strength === painShown) return;
  painShown = strength;
  byId('pain').style.opacity = String(strength);
}

/**
 * Moves the camera: locked to the local player, eased to a spectated one, and drifting around the
 * centre of the map without either.
 * @param {number} nowMs @param {number} elapsed ms
 */
function updateCamera(nowMs, elapsed) {
  const focus = world.cameraTarget;
  // The camera stays at the place of death for a moment.
  if (world.death && ageMs(nowMs, world.death.atMs) < CARD_MS) return;
  if (focus?.track.last) {
    camera.follow(focus.shown.x, focus.shown.y, elapsed, focus.id === world.ownId, world.death !== null);
  } else if (connection.lives === 0 || (connection.state === 'live' && world.ownId === null && world.players.size === 0)) {
    const drift = reducedMotion.matches ? 0 : nowMs / 9000;
    const middle = world.mapSize / 2;
    camera.follow(middle + 260 * Math.cos(drift), middle + 320 + 90 * Math.sin(drift * 1.3), elapsed, false);
  }
}

/** @param {number} nowMs @param {number} seconds time of the animations, s; 0 stops them */
function draw(nowMs, seconds) {
  camera.apply(ctx);
  const things = [...world.things.values()];
  drawTerrain(ctx, camera, world.mapSize);
  drawRiver(ctx, camera, world.mapSize, seconds);
  drawSparkles(ctx, camera, world.mapSize, seconds);
  drawPrints(ctx, camera, effects, nowMs);
  drawStructures(ctx, camera, world, 'ground', effects, seconds, nowMs);
  drawLow(ctx, camera, things, world.mapSize, effects, nowMs);
  drawStructures(ctx, camera, world, 'solid', effects, seconds, nowMs);
  drawPieces(ctx, camera, effects, nowMs, true);
  drawGhost(ctx, camera, world, input.heading, seconds);
  drawAnimals(ctx, camera, world.animalTracker, effects, nowMs);
  const ahead = { heading: input.heading, pressedMs: effectPlayer.pressedMs };
  const players = drawPlayers(ctx, camera, world, ahead, effects, seconds, nowMs);
  drawStructures(ctx, camera, world, 'turning', effects, seconds, nowMs);
  drawShots(ctx, camera, world.projectiles.flying.values());
  drawHigh(ctx, camera, things, world.mapSize, seconds, world.cameraTarget?.track.last && world.cameraTarget.shown, effects, nowMs);
  drawPieces(ctx, camera, effects, nowMs, false);
  if (!effectPlayer.calm) drawFlakes(ctx, camera, world.mapSize, seconds);
  drawLabels(ctx, camera, players, world, settings.values.names, nowMs);
  drawPings(ctx, camera, world.clans.pingsAt(nowMs));
  drawNumbers(ctx, camera, effects, nowMs, reducedMotion.matches);
}
