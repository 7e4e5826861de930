// Keys and pointers that are held: whatever ends a hold without a `keyup` or a `pointerup` ends it here as well. Rows of events, and what is held after them.
import assert from 'node:assert/strict';
import { setMaxListeners } from 'node:events';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { HeldKeys, HeldPointers, codeOf } from '../../../src/web/lib/held.js';
import { Input } from '../../../src/web/game/input.js';

/** An element or a window. `closest` answers for an element of that selector. */
class Target extends EventTarget {
  constructor(more = {}) {
    super();
    Object.assign(this, { style: {}, clientWidth: 800, clientHeight: 600, captured: [], closest: () => null, ...more });
  }

  setPointerCapture(pointer) { this.captured.push(pointer); }
}

globalThis.window = /** @type {any} */ (new Target());
globalThis.document = /** @type {any} */ (new Target({ hidden: false, activeElement: null }));
setMaxListeners(0, globalThis.window, globalThis.document);
globalThis.HTMLElement = /** @type {any} */ (class {});
globalThis.addEventListener = window.addEventListener.bind(window);

/** An event with these members. @param {EventTarget} at @param {string} type */
function fire(at, type, members = {}) {
  const event = new Event(type, { cancelable: true });
  const all = { ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...members };
  for (const [name, value] of Object.entries(all)) Object.defineProperty(event, name, { value });
  at.dispatchEvent(event);
  return event;
}
const key = (type, code, more = {}) => fire(window, type, { code, key: code.startsWith('Key') ? code[3].toLowerCase() : code, ...more });
const field = new Target({ closest: (selector) => (selector.includes('textarea') ? field : null) });
const button = new Target({ closest: (selector) => (selector.startsWith('button') ? button : null) });

/** Everything after which a browser may send no `keyup` and no `pointerup`. */
const AWAY = {
  'the window loses the focus': () => fire(window, 'blur'),
  'the page is left': () => fire(window, 'pagehide'),
  'the page is hidden': () => {
    document.hidden = true;
    fire(document, 'visibilitychange');
    document.hidden = false;
  },
  'a context menu opens': () => fire(window, 'contextmenu'),
  'a drag begins': () => fire(window, 'dragstart'),
};

test('after whatever hides a keyup from the page no key is held', () => {
  const ends = {
    ...AWAY,
    'Cmd goes down': () => key('keydown', 'MetaLeft', { key: 'Meta', metaKey: true }),
    'Cmd goes up': () => key('keyup', 'MetaLeft', { key: 'Meta' }),
  };
  for (const [name, end] of Object.entries(ends)) {
    const changes = [];
    const held = new HeldKeys(['KeyD', 'KeyW'], (...change) => changes.push(change));
    key('keydown', 'KeyD');
    key('keydown', 'KeyW');
    assert.deepEqual([[...held], held.newest], [['KeyD', 'KeyW'], 'KeyW']);
    end();
    assert.deepEqual([[...held], held.newest], [[], null], name);
    key('keyup', 'KeyD');
    assert.deepEqual(changes, [['KeyD', true], ['KeyW', true], [null, false]], name);
  }
});

test('after whatever hides a pointerup from the page no pointer is held, and each is released once', () => {
  const element = new Target();
  const ends = {
    ...AWAY,
    'the browser takes the pointer': () => [1, 2].forEach((pointerId) => fire(window, 'pointercancel', { pointerId })),
    'the capture is lost': () => [1, 2].forEach((pointerId) => fire(element, 'lostpointercapture', { pointerId })),
    'they are released': () => [1, 2].forEach((pointerId) => fire(window, 'pointerup', { pointerId })),
  };
  const released = [];
  const held = new HeldPointers(/** @type {any} */ (element), { released: (pointer) => released.push(pointer) });
  for (const [name, end] of Object.entries(ends)) {
    for (const pointerId of [1, 2]) fire(element, 'pointerdown', { pointerId, pointerType: 'touch', button: 0 });
    assert.ok(held.has(1) && held.has(2), name);
    end();
    for (const pointerId of [1, 2]) fire(window, 'pointerup', { pointerId });
    assert.deepEqual([held.has(1), held.has(2), released.splice(0)], [false, false, [1, 2]], name);
  }
  assert.ok(fire(element, 'contextmenu').defaultPrevented, 'a long press opens no menu');
});

test('the main button of the mouse counts, also while another one is down', () => {
  const element = new Target();
  const log = [];
  const held = new HeldPointers(/** @type {any} */ (element), { pressed: () => log.push('pressed'), released: () => log.push('released'), moved: () => log.push('moved') });
  const mouse = (type, button, buttons) => fire(element, type, { pointerId: 1, pointerType: 'mouse', button, buttons });
  mouse('pointerdown', 2, 2);
  assert.equal(held.has(1), false);
  for (const [button, buttons] of [[0, 3], [-1, 3], [0, 2], [-1, 2]]) mouse('pointermove', button, buttons);
  assert.deepEqual(log, ['pressed', 'moved', 'released']);
});

test('shortcuts, text and a focused button keep their keys, and all keys that count are taken from the browser', () => {
  const held = new HeldKeys(['KeyD', 'Space', 'ArrowUp']);
  for (const more of [{ ctrlKey: true }, { metaKey: true }, { altKey: true }, { target: field }]) {
    assert.equal(key('keydown', 'KeyD', more).defaultPrevented, false);
  }
  assert.equal(key('keydown', 'Space', { target: button }).defaultPrevented, false);
  assert.deepEqual([...held], []);
  assert.equal(key('keydown', 'KeyD', { target: button }).defaultPrevented, true);
  assert.equal(key('keydown', 'ArrowUp').defaultPrevented, true);
  assert.deepEqual([...held], ['KeyD', 'ArrowUp']);
  // A button on the screen is a key as well.
  held.press('Space');
  held.release('ArrowUp');
  assert.deepEqual([held.newest, held.has('ArrowUp')], ['Space', false]);
  held.releaseAll();
});

test('a key without a code is known by what it types, with Shift or without', () => {
  for (const [code, typed, known] of [['KeyW', 'z', 'KeyW'], ['', 'w', 'KeyW'], ['', 'W', 'KeyW'], ['Unidentified', ' ', 'Space'], ['', '1', 'Digit1'],
    ['', 'ArrowLeft', 'ArrowLeft'], ['', 'Enter', 'Enter']]) {
    assert.equal(codeOf({ code, key: typed }), known);
  }
  const held = new HeldKeys(['KeyW']);
  key('keydown', '', { key: 'w' });
  assert.deepEqual([...held], ['KeyW']);
  key('keyup', '', { key: 'W' });
  assert.deepEqual([...held], []);
});

/** The input of the game's page, with an action for two keys. */
function play() {
  const canvas = new Target();
  const stick = () => ({ style: {}, hidden: true, firstElementChild: { style: {} } });
  const done = [];
  const state = { plays: true };
  const input = new Input(/** @type {any} */ (canvas), /** @type {any} */ ({ walk: stick(), strike: stick() }),
    { KeyQ: () => done.push('Q'), 'Shift+Digit1': () => done.push('upgrade'), Digit1: () => done.push('1'), '?': () => done.push('?') }, () => {}, () => state.plays);
  const mouse = (x, y) => fire(window, 'pointermove', { pointerType: 'mouse', pointerId: 1, clientX: x, clientY: y, buttons: 0 });
  const touch = (type, pointerId, x, y) => fire(canvas, type, { pointerId, pointerType: 'touch', clientX: x, clientY: y, button: 0, buttons: 1 });
  return { input, canvas, done, state, mouse, touch };
}

test('by keys alone one looks where one walks, and goes on to look there, until the mouse moves', () => {
  const { input, state, mouse } = play();
  state.plays = false;
  mouse(790, 300);
  state.plays = true;
  assert.equal(input.heading, null, 'the mouse on the title card aims at nothing');
  for (const [code, heading] of [['KeyS', Math.PI / 2], ['ArrowLeft', Math.PI * 0.75]]) {
    key('keydown', code);
    assert.equal(input.heading, heading);
  }
  key('keyup', 'KeyS');
  key('keyup', 'ArrowLeft');
  assert.equal(input.heading, Math.PI);
  mouse(790, 300);
  assert.equal(input.heading, Math.PI, 'the mouse lies where it lay');
  mouse(400, 0);
  assert.equal(input.heading, -Math.PI / 2);
  key('keydown', 'KeyD');
  assert.deepEqual([input.heading, input.direction], [-Math.PI / 2, 0], 'from now on the mouse aims');
  key('keyup', 'KeyD');
});

test('the left thumb alone turns as well, and a key of a tablet after it', () => {
  const { input, touch } = play();
  touch('pointerdown', 5, 100, 300);
  touch('pointermove', 5, 100, 360);
  assert.deepEqual([input.heading, input.direction], [Math.PI / 2, Math.PI / 2]);
  fire(window, 'pointerup', { pointerId: 5 });
  key('keydown', 'KeyA');
  assert.deepEqual([input.heading, input.direction], [Math.PI, Math.PI]);
  key('keyup', 'KeyA');
});

test('Cmd, the focus and a lost pointer end walk and strike in the game\'s page', () => {
  const { input, canvas, touch } = play();
  const holds = () => [input.direction, input.isAttacking];
  key('keydown', 'KeyD');
  key('keydown', 'Space');
  assert.deepEqual([...holds(), input.presses], [0, true, 1]);
  key('keydown', 'MetaLeft', { key: 'Meta', metaKey: true });
  key('keyup', 'MetaLeft', { key: 'Meta' });
  assert.deepEqual(holds(), [null, false]);
  fire(canvas, 'pointerdown', { pointerId: 1, pointerType: 'mouse', button: 0, buttons: 1, clientX: 10, clientY: 10 });
  assert.equal(input.isAttacking, true);
  fire(canvas, 'lostpointercapture', { pointerId: 1 });
  assert.equal(input.isAttacking, false);
  touch('pointerdown', 5, 100, 300);
  touch('pointerdown', 6, 700, 300);
  touch('pointermove', 5, 160, 300);
  assert.deepEqual(holds(), [0, true]);
  fire(window, 'blur');
  assert.deepEqual(holds(), [null, false]);
});

test('keys without a code act in the game\'s page', () => {
  const { done } = play();
  for (const typed of ['q', '1', '?']) key('keydown', '', { key: typed });
  key('keydown', '', { key: '1', shiftKey: true });
  key('keydown', 'KeyQ', { repeat: true });
  assert.deepEqual(done, ['Q', '1', '?', 'upgrade']);
});

test('no page follows what is held by itself', () => {
  const read = (path) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
  const pages = ['examples/coins.html', 'examples/fog.html', 'examples/paint.html', 'examples/pong.html', 'examples/kites.html', 'examples/units.html',
    'src/games/tanks/page.html', 'src/web/game/input.js', 'src/web/playback/bar.js', 'docs/your-first-game.md', 'docs/your-own-page.md'];
  assert.deepEqual(pages.filter((path) => /'keyup'|'pointerup'|'pointercancel'|buttons\)/.test(read(path))), []);
  assert.deepEqual(pages.filter((path) => !read(path).includes('new HeldKeys(')), ['examples/units.html', 'src/web/playback/bar.js']);
});
