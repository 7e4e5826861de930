// Fields of text: while an input method composes, it receives the keys, and a text stays until it is sent or discarded.
import assert from 'node:assert/strict';
import { test } from 'node:test';

globalThis.window = /** @type {any} */ (new EventTarget());
globalThis.document = /** @type {any} */ (Object.assign(new EventTarget(), { getElementById: () => null }));
const { ClanPanel } = await import('../../../src/web/game/hud/clan-panel.js');
const { Hud } = await import('../../../src/web/game/hud/hud.js');
const { listenToKeys } = await import('../../../src/web/inspector/keys.js');

class Field extends EventTarget {
  constructor() {
    super();
    Object.assign(this, { value: '', hidden: false, focused: true, closest: () => this });
  }

  focus() { this.focused = true; }

  blur() {
    if (this.focused) this.dispatchEvent(new Event('blur'));
    this.focused = false;
  }

  press(key, more = {}) { this.dispatchEvent(Object.assign(new Event('keydown', { cancelable: true, bubbles: true }), { key, isComposing: false, keyCode: 27, ...more })); }
}
/** How browsers mark the keys of a composition: the second one is what Safari sends for the key that ends it. */
const COMPOSING = [{ isComposing: true, keyCode: 229 }, { keyCode: 229 }];

/** The chat of a page that plays, with a text. */
function chat(isSent = true) {
  const said = [];
  const hud = Object.assign(Object.create(Hud.prototype), { world: { ownId: 1 }, form: new Field(), field: new Field(), drawnChatKey: '', tell: () => {} });
  hud.bindChat((text) => isSent && said.push(text) > 0);
  hud.field.value = 'こんにち';
  return { hud, said, submit: () => hud.form.dispatchEvent(new Event('submit', { cancelable: true })) };
}

test('Escape ends a composition in the chat and keeps its text; a second one closes the chat and discards it', () => {
  for (const composing of COMPOSING) {
    const { hud } = chat();
    hud.field.press('Escape', composing);
    assert.deepEqual([hud.form.hidden, hud.field.value, hud.field.focused], [false, 'こんにち', true]);
    hud.field.press('Escape');
    assert.deepEqual([hud.form.hidden, hud.field.value, hud.field.focused], [true, '', false]);
  }
});

test('a text waits while the focus is elsewhere and while there is no connection, and is gone once it is sent', () => {
  const { hud, said, submit } = chat();
  hud.field.blur();
  assert.equal(hud.form.hidden, true);
  hud.openChat();
  assert.deepEqual([hud.form.hidden, hud.field.value], [false, 'こんにち']);
  submit();
  assert.deepEqual([said, hud.field.value, hud.form.hidden], [['こんにち'], '', true]);
  const away = chat(false);
  away.submit();
  assert.equal(away.hud.field.value, 'こんにち');
});

test('Escape ends a composition in the name of a clan and in the filter of the inspector, and leaves the field only after it', () => {
  const name = new Field();
  document.getElementById = () => name;
  globalThis.matchMedia = /** @type {any} */ (() => ({ matches: false }));
  new ClanPanel(/** @type {any} */ ({}), /** @type {any} */ ({}), () => {});
  const filter = new Field();
  const escaped = [];
  listenToKeys(() => {}, { Escape: () => escaped.push('filter') }, () => {});
  const press = (more = {}) => {
    const event = Object.assign(new Event('keydown'), { key: 'Escape', isComposing: false, keyCode: 27, ...more });
    Object.defineProperty(event, 'target', { value: filter });
    document.dispatchEvent(event);
  };
  for (const composing of COMPOSING) {
    name.press('Escape', composing);
    press(composing);
  }
  assert.deepEqual([name.focused, filter.focused, escaped], [true, true, []]);
  name.press('Escape');
  press();
  assert.deepEqual([name.focused, filter.focused, escaped], [false, false, ['filter']]);
});
