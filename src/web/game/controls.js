/**
 * What the page needs besides its first picture: input, the overlay and its panels, sounds,
 * effects, the inspector, and the simulated network. `main.js` imports it after the first picture.
 *
 * ```text
 *  keys, mouse, touch ─► input ─► commands ─► connection
 *  world events ─► effect player ─► effects, sound
 * ```
 *
 * @module game/controls
 */

import { drawNumbers, drawPieces, drawPings, drawPrints } from './draw/effects.js';
import { drawLabels } from './draw/labels.js';
import { drawShots } from './draw/shots.js';
import { ghostOf } from './draw/structures.js';
import { Audio, missing } from './facilities.js';
import { InviteButton } from './hud/invite.js';
import { Hints } from './hud/hints.js';
import { ClanPanel } from './hud/clan-panel.js';
import { byId, onButton } from './hud/dom.js';
import { Hud } from './hud/hud.js';
import { Hotbar, unusableReason } from './hud/hotbar.js';
import { LockstepPanel } from './hud/lockstep-panel.js';
import { Minimap } from './hud/minimap.js';
import { Panels, SettingsHud } from './hud/panels.js';
import { PlayerStatsHud } from './hud/player-stats.js';
import { Commands } from './net/commands.js';
import { GAME, dialectAndTable, loadTables } from './net/protocol.js';
import { TrafficRates } from './net/rates.js';
import { loadRules } from './rules/rules.js';
import { exposeDebugState } from './debug-console.js';
import { EffectPlayer } from './effect-player.js';
import { Input } from './input.js';
import { Settings } from './settings.js';
import { Sound } from './sound.js';
import { ageMs } from '../lib/interpolation.js';
import { InspectorPane } from '../lib/inspector-pane.js';
import { NetemLink } from '../lib/netem.js';
import { fillNetemMenu, describeChoice } from '../lib/netem-menu.js';
import { local } from '../lib/stored.js';
import { bindLaneSwitch, bindSwitches } from '../lib/sync-panel.js';
import { EDITION } from '../wasm/edition.js';
import { netemOf } from '../wasm/worker-host.js';

/** Time in which the red edge fades after a hit, ms. */
const PAIN_MS = 600;
/** Keys with an action in the playback of a capture, which has no local player. */
const PLAYBACK_KEYS = ['KeyM', 'KeyP', 'KeyO', 'Escape'];

/**
 * Parts of the page that exist before the controls.
 * @typedef {object} Parts
 * @property {import('./world/world.js').World} world
 * @property {import('../lib/prediction.js').Prediction} prediction
 * @property {import('./session.js').Session} session
 * @property {import('./scene.js').Scene} scene
 * @property {import('./hud/title.js').TitleCard} title
 * @property {((page: import('../playback/page.js').Page) => ReturnType<typeof
 *   import('../playback/page.js').startPlaybackPage>) | null} startPlayback starts the playback of
 *   the capture in the address; null in a game
 */

export class Controls {
  rates = new TrafficRates();
  sound = new Sound(local, Audio);
  panels = new Panels();
  minimap = new Minimap(/** @type {HTMLCanvasElement} */ (byId('minimap')));
  /** Rendered strength of the red edge. */
  painShown = 0;
  /** Number of attack presses that were handled. */
  handledPresses = 0;

  /** @param {Parts} parts */
  constructor({ world, prediction, session, scene, title, startPlayback }) {
    const { connection, lockstep } = session;
    this.world = world;
    this.prediction = prediction;
    this.session = session;
    this.connection = connection;
    this.scene = scene;
    this.title = title;
    this.commands = new Commands(connection, world, prediction);
    this.hud = new Hud(world, connection, this.rates, (text) => this.commands.chat(text));
    this.effectPlayer = new EffectPlayer(world, scene.camera, scene.effects, this.sound);
    this.playerStats = new PlayerStatsHud(world, () => session.beginLife(title.player));
    this.lockstepPanel = new LockstepPanel(lockstep, connection, world);
    this.hints = new Hints(world, (text) => this.hud.showToast(text));
    this.clanPanel = this.createClanPanel();
    this.hotbar = new Hotbar(world, (slot) => this.commands.select(slot), (choice) => this.choose(choice));
    const sticks = { walk: byId('stick'), strike: byId('strike-stick') };
    this.input = new Input(scene.canvas, sticks, this.keyActions(startPlayback !== null), () => this.sendInput(), () => world.ownId !== null);
    this.settings = new Settings(local, () => this.applySettings());
    this.settingsHud = new SettingsHud(this.settings, { sound: () => this.sound.on, auto: () => this.input.auto },
      { sound: () => this.toggleSound(), auto: () => this.toggleAuto(), keys: () => this.panels.toggle('help') });
    // The player may have spawned before the controls were loaded.
    if (world.ownId !== null) this.commands.spawned();
    scene.later = { drawLabels, drawNumbers, drawPieces, drawPings, drawPrints, drawShots };
    this.bind();
    this.applySettings();
    this.hud.showSound(this.sound.on);
    for (const text of missing()) title.note(text);
    /** Invitation of friends; null for a capture. */
    this.invite = startPlayback ? null : new InviteButton((text) => this.hud.showToast(text));
    this.pane = this.createPane();
    /** Playback of a capture; null in a game. */
    this.playback = startPlayback && this.createPlayback(startPlayback);
    exposeDebugState({ world, prediction, lockstep, playback: this.playback, connection, rates: this.rates, effects: scene.effects, sound: this.sound, settings: this.settings, input: this.input },
      () => ghostOf(world, this.input.heading));
  }

  createClanPanel() {
    const { commands } = this;
    return new ClanPanel(this.world, {
      found: (name) => commands.createClan(name),
      leave: () => commands.leaveClan(),
      ask: (name) => commands.requestClan(name),
      answer: (player, accept) => commands.answer(player, accept),
      kick: (player) => commands.kick(player),
      ping: () => this.ping(),
    }, (text) => this.hud.showToast(text));
  }

  createPane() {
    return new InspectorPane(() => {
      // Phones have no keyboard.
      if (this.world.ownId !== null && matchMedia('(pointer: fine)').matches) this.hud.showToast('Keys now go to the inspector; click the game to play on');
    }, (isOpen) => {
      // A phone has no space for a panel over the game and the inspector.
      if (isOpen && matchMedia('(pointer: coarse)').matches) this.hud.closePanel();
    });
  }

  /**
   * Starts the playback of a capture. Its packets are handled as if a server had sent them.
   * @param {NonNullable<Parts['startPlayback']>} start
   */
  createPlayback(start) {
    document.body.classList.add('playing');
    const playback = start({
      onMessage: (message, nowMs) => this.connection.receiveMessage(message, nowMs),
      // Redraws at once, because the time of a paused playback does not advance.
      onSeekDone: () => { for (const part of [this.hud, this.minimap]) part.drawnAt = -Infinity; },
      tables: async () => {
        await Promise.all([loadTables(), loadRules()]);
        return [GAME, ...dialectAndTable()];
      },
      pane: this.pane,
    });
    this.scene.canvas.addEventListener('click', (event) => {
      const player = this.scene.playerAt(event);
      if (player) playback.follow(player.id);
    });
    return playback;
  }

  /**
   * Returns the action of each key.
   * @param {boolean} isPlayback
   * @returns {Record<string, () => void>}
   */
  keyActions(isPlayback) {
    /** @type {Record<string, () => void>} */
    const actions = {
      KeyQ: () => this.hotbar.swap(),
      Enter: () => (this.world.death ? this.playerStats.respawn() : this.hud.openChat()),
      KeyP: () => this.hud.togglePanel(),
      KeyM: () => this.toggleSound(),
      KeyE: () => this.toggleAuto(),
      KeyR: () => this.ping(),
      KeyC: () => this.panels.toggle('clan'),
      KeyO: () => this.panels.toggle('settings'),
      KeyH: () => this.panels.toggle('help'),
      '?': () => this.panels.toggle('help'),
      Escape: () => this.panels.close(),
    };
    for (let index = 0; index < 10; index++) {
      const key = `Digit${(index + 1) % 10}`;
      actions[key] = () => this.hotbar.selectSlot(index);
      actions[`Shift+${key}`] = () => this.hotbar.chooseUpgrade(index);
    }
    return isPlayback ? Object.fromEntries(PLAYBACK_KEYS.map((key) => [key, actions[key]])) : actions;
  }

  /** Binds the elements that belong to no panel. */
  bind() {
    onButton('sound-button', () => this.toggleSound());
    byId('minimap').addEventListener('click', () => this.ping());
    for (const gesture of ['pointerup', 'keydown', 'touchend']) addEventListener(gesture, () => this.sound.touch(), { capture: true });
    document.addEventListener('visibilitychange', () => { if (!document.hidden) this.sound.resume(); });
    bindSwitches((switches) => this.prediction.setFeatures(switches));
    bindLaneSwitch((isOn) => this.connection.transport.useLane(isOn));
  }

  /**
   * Fills the menu of network conditions, and applies the conditions in the address. In the browser
   * edition, `startBrowserServer` does this.
   */
  async startNetem() {
    if (EDITION === 'tab') return;
    const asked = netemOf(location.search);
    const line = new NetemLink();
    this.connection.transport.wrapSocket = (socket) => line.wrapSocket(socket);
    this.connection.transport.wrapChannel = (open) => line.wrapChannel(open);
    try {
      line.begin(await this.prediction.load());
      const result = asked === '' ? {} : await line.setNetem(asked);
      if (result.error !== undefined) this.title.note(describeChoice(asked, result));
      fillNetemMenu(/** @type {HTMLSelectElement} */ (byId('p-net')), (text) => { byId('p-net-text').textContent = text; }, line);
      byId('p-net-row').hidden = false;
    } catch (error) {
      console.warn('no simulated line:', error);
      if (asked !== '') this.title.note(`No network is simulated: ${/** @type {Error} */ (error).message}`);
    }
  }

  /** Sends the changed input as commands. */
  sendInput() {
    const { world, input, commands } = this;
    if (world.ownId === null) return;
    commands.move(input.direction);
    const item = world.players.get(world.ownId)?.item ?? null;
    // During continuous attacks a further press uses the item in the hand.
    const again = input.presses !== this.handledPresses && item !== null;
    this.handledPresses = input.presses;
    if (!commands.attack(input.isAttacking, input.heading, again) || !input.isAttacking) return;
    if (item === null) this.effectPlayer.press(performance.now());
    const why = unusableReason(world, input.heading);
    if (why) this.hud.showToast(why, true);
  }

  /** Sends a map ping to the clan. */
  ping() {
    if (this.world.clans.own) this.commands.ping();
    else if (this.world.ownId !== null) this.hud.showToast('Join a clan to show your position to it: press C');
  }

  toggleSound() {
    this.hud.showSound(this.sound.toggle());
    this.settingsHud.draw();
  }

  /** Toggles automatic attacks. */
  toggleAuto() {
    const { input } = this;
    input.auto = !input.auto;
    this.hud.showToast(input.auto ? 'Automatic attacks are on (E)' : 'Automatic attacks are off (E)');
    this.settingsHud.draw();
  }

  applySettings() {
    this.sound.setVolume(this.settings.values.volume / 100);
    this.settingsHud.draw();
  }

  /** Chooses an upgrade. @param {number} choice */
  choose(choice) {
    if (this.commands.upgrade(choice)) this.sound.play('choose');
  }

  /** Shows the due effects, before the scene is drawn. @param {number} nowMs */
  beginFrame(nowMs) {
    const { connection, world, scene, effectPlayer, playback, settings, input } = this;
    this.rates.count(connection.stats, nowMs);
    connection.history.addCorrection(this.prediction.figures, nowMs);
    scene.isCalm = effectPlayer.calm = scene.reducedMotion.matches || !settings.values.effects;
    scene.hasNames = settings.values.names;
    // The title card is silent.
    effectPlayer.audible = connection.player !== null || world.death !== null || (playback !== null && playback.playing && playback.speed <= 2);
    effectPlayer.draw(nowMs);
    scene.heading = input.heading;
    scene.pressedMs = effectPlayer.pressedMs;
  }

  /**
   * Draws the overlay, and sends the input.
   * @param {number} nowMs
   * @param {number} realMs the same as `nowMs`, except in a playback
   */
  endFrame(nowMs, realMs) {
    const { world, input } = this;
    this.drawPain(nowMs);
    for (const part of [this.hud, this.lockstepPanel, this.playerStats, this.hotbar, this.clanPanel]) part.draw(nowMs);
    this.hints.draw();
    this.minimap.draw(world, this.scene.camera, nowMs);
    this.playback?.draw(realMs);
    this.sendInput();
    if (input.heading !== null) this.commands.aim(input.heading, nowMs);
  }

  /** Draws a red edge after a hit on the local player. @param {number} nowMs */
  drawPain(nowMs) {
    const { atMs, part } = this.effectPlayer.pain;
    const strength = this.world.ownId === null ? 0 : Math.round(part * Math.max(0, 1 - ageMs(nowMs, atMs) / PAIN_MS) * 50) / 50;
    if (strength === this.painShown) return;
    this.painShown = strength;
    byId('pain').style.opacity = String(strength);
  }
}
