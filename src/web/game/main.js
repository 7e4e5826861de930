/**
 * The page: joins the parts and draws a frame whenever the browser wants one.
 *
 * ```text
 *  socket ─► connection ─► world ─► draw-*, minimap, hud
 *                            └─► stage ─► effects, sound
 *  keys, mouse, thumbs ─► input ─► commands ─► connection
 * ```
 *
 * @module game/main
 */

import { SETTINGS, wrongIn } from '../lib/address.js';
import { Camera } from './draw/camera.js';
import { PLAYER_GONE, comingBack, noteLeaving, whyAnew } from './net/reload-resume.js';
import { Commands } from './net/commands.js';
import { Connection } from './net/connection.js';
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
import { TOKEN_MISSING, TOKEN_WRONG, textOf } from '../lib/close-reasons.js';
import { Audio, missing, preventing } from './facilities.js';
import { Friends } from './hud/invite.js';
import { Hints } from './hud/hints.js';
import { ClanHud } from './hud/clan-panel.js';
import { Hud, element, onPress } from './hud/hud.js';
import { KitHud, whyNot } from './hud/hotbar.js';
import { Panels, SettingsHud } from './hud/panels.js';
import { CARD_MS, PlayHud } from './hud/player-stats.js';
import { EDITION } from '../wasm/edition.js';
import { Input } from './input.js';
import { expose } from './debug-console.js';
import { Line } from '../lib/netem.js';
import { LockstepPanel } from './hud/lockstep-panel.js';
import { Lockstep } from '../lib/lockstep.js';
import { Minimap } from './hud/minimap.js';
import { ageMs } from '../lib/age.js';
import { takeKey } from '../lib/resume-key.js';
import { ownToken } from '../lib/player-token.js';
import { Pane } from '../lib/inspector-pane.js';
import { Prediction } from '../lib/prediction.js';
import { ENDPOINT, loadCodes, predicted } from './net/protocol.js';
import { Rates } from './net/rates.js';
import { loadRules } from './rules/rules.js';
import { Settings } from './settings.js';
import { Sound } from './sound.js';
import { Stage } from './effect-player.js';
import { local } from '../lib/stored.js';
import { bindSwitches } from '../lib/sync-panel.js';
import { compile, tabModule } from '../wasm/module.js';
import { offerNet, sentence } from '../lib/netem-menu.js';
import { IS_SECOND, begin } from './browser-edition.js';
import { Title } from './hud/title.js';
import { watchPage } from '../playback/page.js';
import { World } from './world/world.js';
import { netOf } from '../wasm/worker-host.js';
import { watched } from '../lib/room.js';

/** A click so near to a player is one on it, px of the world. */
const CLICK_PX = 60;
/** Time in which the red edge fades. */
const PAIN_MS = 600;

// At once: nobody sees it in the address bar for long.
ownToken();

const canvas = /** @type {HTMLCanvasElement} */ (element('world'));
const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d', { alpha: false }));
const calm = matchMedia('(prefers-reduced-motion: reduce)');

const prediction = new Prediction(() => compile(new URL('../wasm/prediction.wasm', import.meta.url)));
const world = new World(prediction);
const rates = new Rates();
const camera = new Camera(canvas);
const minimap = new Minimap(/** @type {HTMLCanvasElement} */ (element('minimap')));
const connection = new Connection(ENDPOINT, receive, changed, (bytes, came, nowMs) => prediction.take(bytes, came, nowMs));
// The page around it shares its storage, and is another player.
if (IS_SECOND) connection.key = takeKey(true).get;
const lockstep = new URLSearchParams(location.search).get('mode') === 'lockstep' ? new Lockstep(tabModule) : null;
connection.lockstep = lockstep;
connection.onAgain = () => {
  isAgain = true;
  prediction.forget();
};
const commands = new Commands(connection, world, prediction);
const hud = new Hud(world, connection, rates, (text) => commands.chat(text));
const effects = new Effects();
const sound = new Sound(local, Audio);
const stage = new Stage(world, camera, effects, sound);
const title = new Title(beginLife);
/** Whether this page watches a capture, and is no game. */
const isWatching = watched(location.search) !== null;
if (!isWatching) new Friends((text) => hud.tell(text));
const playHud = new PlayHud(world, () => beginLife(title.player));
const panels = new Panels();
const lockstepPanel = new LockstepPanel(lockstep, connection, world);
const pane = new Pane(() => {
  // On a phone there are no keys.
  if (world.ownId !== null && matchMedia('(pointer: fine)').matches) hud.tell('Keys now go to the inspector; click the game to play on');
}, (isOpen) => {
  // A phone has room for the game and the inspector, and for no panel over them.
  if (isOpen && matchMedia('(pointer: coarse)').matches) hud.closePanel();
});
const hints = new Hints(world, (text) => hud.tell(text));
/** The capture that this page watches again; null in a game. */
const watch = isWatching ? beginWatch(watched(location.search) ?? '') : null;
const clanHud = new ClanHud(world, {
  found: (name) => commands.found(name),
  leave: () => commands.leaveClan(),
  ask: (name) => commands.ask(name),
  answer: (player, accept) => commands.answer(player, accept),
  kick: (player) => commands.kick(player),
  ping,
}, (text) => hud.tell(text));
const kitHud = new KitHud(world, (slot) => commands.select(slot), choose);
/** @type {Record<string, () => void>} */
const actions = {
  KeyQ: () => kitHud.swap(),
  Enter: () => (world.death ? playHud.again() : hud.openChat()),
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
for (let place = 0; place < 10; place++) {
  const key = `Digit${(place + 1) % 10}`;
  actions[key] = () => kitHud.pick(place);
  actions[`Shift+${key}`] = () => kitHud.take(place);
}
const sticks = { walk: element('stick'), strike: element('strike-stick') };
// Who watches does nothing in the world.
if (watch) for (const key of Object.keys(actions)) if (!['KeyM', 'KeyP', 'KeyO', 'Escape'].includes(key)) delete actions[key];
const input = new Input(canvas, sticks, actions, command, () => world.ownId !== null);
const settings = new Settings(local, applySettings);
const settingsHud = new SettingsHud(settings, { sound: () => sound.on, auto: () => input.auto },
  { sound: toggleSound, auto: toggleAuto, keys: () => panels.toggle('help') });
/** Strength of the red edge as it is drawn. */
let painShown = 0;
/** Presses that were answered. */
let pressesSeen = 0;

let livesSeen = 0;
/** Whether the world begins again on the same connection: the server knows the player as before. */
let isAgain = false;
/** Why the page follows as a stream, as it was said. */
let whySaid = '';
/** Why there is no prediction, as last shown. */
let whyNoPrediction = '';
/** The player that this page has or had, until it died. @type {import('./net/reload-resume.js').Had | null} */
let had = comingBack();
/** Whether the player has asked for a life, and has not been seen alive since. */
let isBeginning = false;
/** The tick of the last welcome. */
let welcomeTick = 0;

expose({ world, prediction, lockstep, watch, connection, rates, effects, sound, settings, input }, () => ghostOf(world, input.heading));
applySettings();
hud.showSound(sound.on);
onPress('sound-button', toggleSound);
element('minimap').addEventListener('click', ping);
if (watch) canvas.addEventListener('click', followAt);
for (const gesture of ['pointerup', 'keydown', 'touchend']) addEventListener(gesture, () => sound.touch(), { capture: true });
document.addEventListener('visibilitychange', () => { if (!document.hidden) sound.resume(); });
for (const text of missing()) title.note(text);
const address = wrongIn(location.search, EDITION);
for (const text of address.wrong) title.note(`In the address, ${text}`);
if (address.unknown.length > 0) console.warn(`in the address, unknown settings: ${address.unknown.join(', ')}; there are ${SETTINGS.join(', ')}`);
const prevented = preventing(ctx);
if (prevented !== '') title.refuse(prevented);
else if (!watch) begin(pane, (why) => title.fail(why), (text) => title.note(text)).then(beginLine).then(() => connection.open(), ({ message }) => title.fail(message));
bindSwitches((switches) => prediction.switch(switches));
if (ctx) requestAnimationFrame(frame);
connection.since = () => (had && had.id !== 0 ? had.tick : null);
noteLeaving(() => (connection.player === null ? null : had ?? { id: 0, tick: 0 }));
if (had && !watch && prevented === '') {
  title.play();
  // It goes on with the life that it had, or shows how that has ended.
  isBeginning = false;
}

/** @param {{ name: string, values: Record<string, any> }} packet @param {number} nowMs */
function receive(packet, nowMs) {
  if (packet.name === 'welcome') {
    if (!watch) foresee();
    welcomeTick = packet.values.tick;
  }
  if (packet.name === 'error' && packet.values.rule === PLAYER_GONE) return beginAnew();
  // The connection has come back to a body that was dead already.
  if (packet.name === 'died' && isBeginning) return playAgain();
  world.apply(packet, nowMs);
  if (packet.name === 'update' && world.ownId !== null && world.players.has(world.ownId)) isBeginning = false;
  if (packet.name === 'pong') world.clock.pingMs = connection.pingMs;
  if (packet.name === 'spawned') {
    if (!isAgain) commands.spawned();
    had = { id: packet.values.player, tick: welcomeTick };
  }
  if (packet.name === 'update') isAgain = false;
  if (had) had.tick = Math.max(had.tick, toldOf(packet, nowMs));
  // Until one plays again one is a watcher, also for a server that is met anew.
  if (packet.name === 'died') connection.player = had = null;
  if (packet.name === 'error' && packet.values.rule === TOKEN_MISSING) refuse(TOKEN_MISSING);
}

/** Begins a life: Play on the card, and on the card of a death. @param {import('./net/connection.js').Player} player */
function beginLife(player) {
  isBeginning = true;
  connection.enter(player);
}

/** Asks once more: the second `enter` of a connection is a respawn. */
function playAgain() {
  isBeginning = false;
  connection.enter(connection.player ?? title.player);
}

/** The player that the page had is gone: says why it gets a new one. */
function beginAnew() {
  if (had) hud.tell(whyAnew(had, welcomeTick));
  had = null;
}

/**
 * The tick of which a packet tells; 0 if that does not matter to a page that comes back.
 * @param {{ name: string, values: Record<string, any> }} packet @param {number} nowMs
 */
function toldOf({ name, values }, nowMs) {
  if (name === 'update') return values.tick;
  return name === 'say' ? world.clock.tickHeard(nowMs) : 0;
}

/** Without a good token one only looks on, at most. @param {string} rule */
function refuse(rule) {
  connection.player = null;
  title.refuse(textOf(0, rule));
}

/** Offers a simulated line to the server, and puts it before the connection if the address asks for one. The server of a tab has its own. */
async function beginLine() {
  if (EDITION === 'tab') return;
  const line = new Line();
  connection.around = (socket) => line.around(socket);
  const ready = prediction.ready().then(async (wasm) => {
    line.begin(wasm);
    const asked = netOf(location.search);
    const told = asked === '' ? {} : await line.setNet(asked);
    if (told.error !== undefined) title.note(sentence(asked, told));
    offerNet(/** @type {HTMLSelectElement} */ (element('p-net')), (text) => { element('p-net-told').textContent = text; }, line);
    element('p-net-row').hidden = false;
  }).catch((error) => {
    console.warn('no simulated line:', error);
    if (netOf(location.search) !== '') title.note(`No network is simulated: ${error.message}`);
  });
  if (netOf(location.search) !== '') await ready;
}

/** A click on a player of a capture follows it. @param {MouseEvent} event */
function followAt({ offsetX, offsetY }) {
  const x = camera.x + (offsetX - camera.width / 2) / camera.zoom;
  const y = camera.y + (offsetY - camera.height / 2) / camera.zoom;
  const far = ({ shown }) => Math.hypot(shown.x - x, shown.y - y);
  const [nearest] = [...world.players.values()].sort((one, other) => far(one) - far(other));
  if (nearest && far(nearest) < CLICK_PX) watch?.follow(nearest.id);
}

/** Watches a capture: what its world tells comes as if a server had sent it, by the time of the recording. @param {string} asked */
function beginWatch(asked) {
  document.body.classList.add('playing');
  return watchPage(asked, {
    hear: (message, nowMs) => connection.hear(message, nowMs),
    // Time may stand still.
    shown: () => { for (const part of [hud, minimap]) part.drawnAt = -Infinity; },
    tables: async () => {
      await Promise.all([loadCodes(), loadRules()]);
      return predicted();
    },
    pane,
  });
}

/** Begins to predict on a new connection. Without prediction one plays as well, and sees oneself later. */
async function foresee() {
  try {
    await prediction.begin(...predicted());
  } catch (error) {
    prediction.fail(error);
  }
  if (prediction.why === '' || prediction.why === whyNoPrediction) return;
  whyNoPrediction = prediction.why;
  console.warn(whyNoPrediction);
  hud.tell(whyNoPrediction);
}

/** Tells the server what is wanted now, as far as it does not know. */
function command() {
  if (world.ownId === null) return;
  commands.move(input.direction);
  const item = world.players.get(world.ownId)?.item ?? null;
  // Whoever strikes on and on uses an item by one more press.
  const again = input.presses !== pressesSeen && item !== null;
  pressesSeen = input.presses;
  if (!commands.attack(input.striking, input.heading, again) || !input.striking) return;
  if (item === null) stage.press(performance.now());
  const why = whyNot(world, input.heading);
  if (why) hud.tell(why);
}

/** Shows one's place to one's clan. */
function ping() {
  if (world.clans.own) commands.ping();
  else if (world.ownId !== null) hud.tell('Join a clan to show your position to it: press C');
}

function toggleSound() {
  hud.showSound(sound.toggle());
  settingsHud.draw();
}

/** Strikes on without a button held, or no longer. */
function toggleAuto() {
  input.auto = !input.auto;
  hud.tell(input.auto ? 'Automatic attacks are on (E)' : 'Automatic attacks are off (E)');
  settingsHud.draw();
}

function applySettings() {
  sound.setVolume(settings.values.volume / 100);
  settingsHud.draw();
}

/** Takes what an age offers. @param {number} choice */
function choose(choice) {
  if (commands.upgrade(choice)) sound.play('choose');
}

function changed() {
  if (connection.state === 'waiting' && [TOKEN_MISSING, TOKEN_WRONG].includes(connection.reason)) refuse(connection.reason);
  if (connection.state === 'connecting') prediction.forget();
  if (lockstep && lockstep.sentence !== whySaid && connection.state === 'live') {
    whySaid = lockstep.sentence;
    hud.tell(whySaid);
  }
  if (connection.state !== 'live' || connection.lives === livesSeen) return;
  livesSeen = connection.lives;
  if (livesSeen > 1) hud.tell('Reconnected');
}

/** @param {number} realMs */
function frame(realMs) {
  requestAnimationFrame(frame);
  const elapsed = rates.frame(realMs);
  const nowMs = watch ? watch.advance(realMs) : realMs;
  rates.count(connection.stats, nowMs);
  prediction.advance(nowMs);
  connection.history.predicted(prediction.figures, nowMs);
  world.advance(nowMs);
  camera.fit();
  look(nowMs, elapsed);
  stage.calm = calm.matches || !settings.values.effects;
  // Who only looks on from the title card hears nothing.
  stage.audible = connection.player !== null || world.death !== null || (watch !== null && watch.playing && watch.speed <= 2);
  stage.draw(nowMs);
  draw(nowMs, calm.matches ? 0 : nowMs / 1000);
  drawPain(nowMs);
  hud.draw(nowMs);
  lockstepPanel.draw(nowMs);
  playHud.draw(nowMs);
  kitHud.draw(nowMs);
  clanHud.draw(nowMs);
  hints.draw();
  title.draw(world, connection.state === 'live', nowMs);
  minimap.draw(world, camera, nowMs);
  watch?.draw(realMs);
  command();
  if (input.heading !== null) commands.aim(input.heading, nowMs);
}

/** A red edge when oneself is hurt. @param {number} nowMs */
function drawPain(nowMs) {
  const { atMs, part } = stage.pain;
  const strength = world.ownId === null ? 0 : Math.round(part * Math.max(0, 1 - ageMs(nowMs, atMs) / PAIN_MS) * 50) / 50;
  if (strength === painShown) return;
  painShown = strength;
  element('pain').style.opacity = String(strength);
}

/** Points the camera: at oneself exactly, at whom one watches softly, at the middle of an empty world. */
function look(nowMs, elapsed) {
  const focus = world.focus;
  // One sees for a moment where one died.
  if (world.death && ageMs(nowMs, world.death.atMs) < CARD_MS) return;
  if (focus?.track.last) {
    camera.follow(focus.shown.x, focus.shown.y, elapsed, focus.id === world.ownId, world.death !== null);
  } else if (connection.lives === 0 || (connection.state === 'live' && world.ownId === null && world.players.size === 0)) {
    const drift = calm.matches ? 0 : nowMs / 9000;
    const middle = world.mapSize / 2;
    camera.follow(middle + 260 * Math.cos(drift), middle + 320 + 90 * Math.sin(drift * 1.3), elapsed, false);
  }
}

/** @param {number} nowMs @param {number} seconds for what moves by itself; 0 keeps it still */
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
  drawAnimals(ctx, camera, world.herd, effects, nowMs);
  const ahead = { heading: input.heading, pressedMs: stage.pressedMs };
  const players = drawPlayers(ctx, camera, world, ahead, effects, seconds, nowMs);
  drawStructures(ctx, camera, world, 'turning', effects, seconds, nowMs);
  drawShots(ctx, camera, world.shots.flying.values());
  drawHigh(ctx, camera, things, world.mapSize, seconds, world.focus?.track.last && world.focus.shown, effects, nowMs);
  drawPieces(ctx, camera, effects, nowMs, false);
  if (!stage.calm) drawFlakes(ctx, camera, world.mapSize, seconds);
  drawLabels(ctx, camera, players, world, settings.values.names, nowMs);
  drawPings(ctx, camera, world.clans.pingsAt(nowMs));
  drawNumbers(ctx, camera, effects, nowMs, calm.matches);
}
