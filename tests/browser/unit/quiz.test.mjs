// The address of an exercise, and the frames of an answer moved to the start of their drawing.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { LESSONS, fragmentOf, nextPlace, placeOf } from '../../../src/web/quiz/address.js';
import { moved } from '../../../src/web/quiz/drawing.js';
import { Exercises } from '../../../src/web/quiz/exercises.js';

test('the fragment has the lesson and the seed, and an invalid part is replaced', () => {
  for (const [fragment, lesson, seed] of [
    ['#lesson=3&seed=7', 3, 7],
    ['seed=0&lesson=11', 11, 0],
    ['#lesson=11&seed=4294967295', 11, 4294967295],
    ['#lesson=15&seed=4294967296', 1, 500],
    ['#lesson=-1&seed=1e3', 1, 500],
    ['#lesson=3.5&seed=', 1, 500],
    ['', 1, 500],
  ]) {
    const place = placeOf(String(fragment), () => 0.5);
    assert.deepEqual(place, { lesson, seed }, String(fragment));
    assert.deepEqual(placeOf(fragmentOf(place)), place);
  }
  assert.deepEqual(nextPlace({ lesson: 2, seed: 4294967295 }), { lesson: 2, seed: 0 });
});

test('a tree is moved with its children', () => {
  const leaf = { name: 'fin', bits: /** @type {[number, number]} */ ([40, 41]), value: '1', encoding: '', children: [] };
  const tree = { name: 'frame', bits: /** @type {[number, number]} */ ([40, 56]), value: '', encoding: '', children: [leaf] };
  const { bits, children } = moved(tree, -40);
  assert.deepEqual([bits, children[0].bits, tree.bits], [[0, 16], [0, 1], [40, 56]]);
});

test('the WebAssembly asks and checks as tickwire quiz does', async () => {
  const bytes = readFileSync(new URL('../../../src/web/wasm/tickwire.wasm', import.meta.url));
  const { instance } = await WebAssembly.instantiate(bytes, {});
  const exercises = new Exercises(instance);
  for (let lesson = 1; lesson <= LESSONS; lesson += 1) {
    for (let seed = 0; seed < 20; seed += 1) {
      const { id, answer, form } = exercises.question({ lesson, seed });
      const { right, bytes: given, explained } = exercises.check(id, answer);
      assert.equal(right, true, `${id}: ${answer}`);
      if (form === 'text') assert.deepEqual([given, explained], [undefined, undefined]);
      else assert.ok(given === answer.replaceAll(' ', '') && explained && explained.frames.length > 0, id);
    }
  }
  const { task, id } = exercises.question({ lesson: 1, seed: 7 });
  assert.match(task, /^A client sends the text "river"/);
  const { right, verdict, bits } = exercises.check(id, '81 05 72 69 76 65 72');
  assert.deepEqual([right, bits], [false, [8, 9]]);
  assert.match(verdict, /^byte 1, bit 0 \(mask\): is 0, must be 1/);
  assert.throws(() => exercises.check(id, '81 0'), /odd number of digits/);
  assert.throws(() => exercises.question({ lesson: 15, seed: 1 }), /no such exercise/);
});
