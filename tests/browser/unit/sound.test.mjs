// Sounds: nothing before a gesture, nothing while off, never too many, and recipes that are bearable.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SOUNDS, Sound } from '../../../src/web/game/sound.js';

/** An audio context that only counts. */
function fakeAudio() {
  const made = { contexts: 0, sources: 0 };
  const param = () => ({ value: 0, setValueAtTime() {}, exponentialRampToValueAtTime(value) { assert.ok(value > 0); } });
  const node = (more = {}) => ({ connect: (to) => to, disconnect() {}, ...more });
  const source = () => node({ frequency: param(), start() { made.sources += 1; }, stop() {} });
  class Context {
    constructor() {
      made.contexts += 1;
      Object.assign(this, { state: 'running', currentTime: 0, sampleRate: 8000, destination: node() });
    }

    createGain() { return node({ gain: param() }); }
    createDynamicsCompressor() { return node(); }
    createStereoPanner() { return node({ pan: param() }); }
    createBiquadFilter() { return node({ frequency: param(), Q: param() }); }
    createOscillator() { return source(); }
    createBufferSource() { return source(); }
    createBuffer(_, length) { return { getChannelData: () => new Float32Array(length) }; }
    async suspend() { this.state = 'suspended'; }
    async resume() { this.state = 'running'; }
  }
  return { Context, made };
}

function fakeStore(entries = {}) {
  return { entries, getItem: (key) => entries[key] ?? null, setItem: (key, value) => { entries[key] = value; } };
}

function make(store = fakeStore()) {
  const { Context, made } = fakeAudio();
  const time = { now: 0 };
  return { sound: new Sound(store, Context, () => time.now), made, time };
}

test('nothing is opened or played before somebody has pressed something', () => {
  const { sound, made } = make();
  assert.equal(sound.play('wood'), false);
  assert.equal(made.contexts, 0);
  sound.touch();
  assert.equal(sound.play('wood'), true);
  assert.deepEqual([made.contexts, made.sources, sound.played], [1, SOUNDS.wood.length, 1]);
});

test('off is silent and remembered; on again plays without another gesture', () => {
  const store = fakeStore();
  const { sound, time } = make(store);
  sound.touch();
  assert.equal(sound.toggle(), false);
  assert.equal(sound.play('stone'), false);
  const next = make(store);
  next.sound.touch();
  assert.deepEqual([next.sound.on, next.made.contexts], [false, 0]);
  assert.equal(next.sound.toggle(), true);
  time.now = 1000;
  assert.equal(next.sound.play('stone'), true);
});

test('the same sound at the same moment is one sound, and there is a bound to them all', () => {
  const { sound, made, time } = make();
  sound.touch();
  assert.equal(sound.play('hurt'), true);
  assert.equal(sound.play('hurt'), false);
  for (let i = 0; i < 200; i++) {
    time.now += 100;
    sound.play('swing');
  }
  assert.ok(made.sources < 30, `${made.sources} at once`);
});

test('a gesture or the way back to the page resumes whatever the system has interrupted, unless sound is off', () => {
  const { sound, made } = make();
  sound.touch();
  for (const state of ['suspended', 'interrupted']) {
    for (const wake of [() => sound.touch(), () => sound.resume()]) {
      sound.context.state = state;
      wake();
      assert.equal(sound.context.state, 'running', state);
    }
  }
  sound.toggle();
  sound.context.state = 'interrupted';
  for (const wake of [() => sound.touch(), () => sound.resume()]) wake();
  assert.equal(sound.context.state, 'interrupted');
  assert.equal(sound.toggle(), true);
  assert.equal(sound.context.state, 'running');
  sound.context.state = 'closed';
  sound.touch();
  assert.deepEqual([made.contexts, sound.context.state], [2, 'running']);
});

test('forbidden storage is no obstacle', () => {
  const broken = { getItem() { throw new Error('no'); }, setItem() { throw new Error('no'); } };
  const { sound } = make(broken);
  assert.equal(sound.on, true);
  assert.equal(sound.toggle(), false);
});

test('every sound is short, audible and not loud', () => {
  for (const [name, voices] of Object.entries(SOUNDS)) {
    assert.ok(voices.length >= 1 && voices.length <= 4, name);
    for (const { from, to, ms, gain, delayMs = 0, attackMs = 3 } of voices) {
      assert.ok(from >= 50 && from <= 6000 && to >= 50 && to <= 6000, `${name}: pitch`);
      assert.ok(delayMs + ms <= 1000 && attackMs < ms, `${name}: time`);
      assert.ok(gain > 0 && gain <= 0.7, `${name}: loudness`);
    }
  }
});
