/**
 * Panels over the game: the list of keys, the settings and the clan. Only one is open at a time.
 * The game continues meanwhile.
 *
 * @module game/hud/panels
 */

import { byId, onButton } from './dom.js';

/** Panels and the buttons that open them. */
const PANELS = Object.freeze({ help: 'help-button', settings: 'settings-button', clan: 'clan-button' });

/** @typedef {keyof typeof PANELS} PanelName */

export class Panels {
  constructor() {
    for (const name of /** @type {PanelName[]} */ (Object.keys(PANELS))) {
      onButton(PANELS[name], () => this.toggle(name));
      onButton(`${name}-close`, () => this.close());
    }
  }

  /** @param {PanelName} name */
  isOpen(name) {
    return !byId(name).hidden;
  }

  /**
   * Closes a panel if it is open. Otherwise opens it and closes the others.
   * @param {PanelName} name
   */
  toggle(name) {
    const opens = !this.isOpen(name);
    this.close();
    if (opens) this.show(name, true);
  }

  close() {
    for (const name of /** @type {PanelName[]} */ (Object.keys(PANELS))) if (this.isOpen(name)) this.show(name, false);
  }

  /** @param {PanelName} name @param {boolean} open */
  show(name, open) {
    const panel = byId(name);
    if (!open && panel.contains(document.activeElement)) /** @type {HTMLElement} */ (document.activeElement).blur();
    panel.hidden = !open;
    byId(PANELS[name]).setAttribute('aria-expanded', String(open));
  }
}

export class SettingsHud {
  /**
   * @param {import('../settings.js').Settings} settings
   * @param {{ sound: () => boolean, auto: () => boolean }} state returns the state of the switches
   *   that are not stored as settings
   * @param {{ sound: () => void, auto: () => void, keys: () => void }} toggles
   */
  constructor(settings, state, toggles) {
    this.settings = settings;
    this.state = state;
    for (const name of /** @type {const} */ (['effects', 'names', 'speed'])) {
      onChange(`s-${name}`, (box) => settings.set(name, box.checked));
    }
    onChange('s-sound', () => toggles.sound());
    onChange('s-auto', () => toggles.auto());
    field('s-volume').addEventListener('input', () => settings.set('volume', Number(field('s-volume').value)));
    onChange('s-volume', () => {});
    onButton('s-keys', toggles.keys);
    this.draw();
  }

  /** Redraws the settings. Called after each change. */
  draw() {
    const { values } = this.settings;
    for (const name of /** @type {const} */ (['effects', 'names', 'speed'])) field(`s-${name}`).checked = values[name];
    field('s-sound').checked = this.state.sound();
    field('s-auto').checked = this.state.auto();
    field('s-volume').value = String(values.volume);
    field('s-volume').disabled = !this.state.sound();
    byId('speed').hidden = !values.speed;
  }
}

/** @param {string} id */
const field = (id) => /** @type {HTMLInputElement} */ (byId(id));

/**
 * Binds a field. After a change the keyboard focus returns to the game.
 * @param {string} id
 * @param {(field: HTMLInputElement) => void} action
 */
function onChange(id, action) {
  const input = field(id);
  input.addEventListener('change', () => {
    action(input);
    input.blur();
  });
}
