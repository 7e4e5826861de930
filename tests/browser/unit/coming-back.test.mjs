// Why a page begins anew after it was away.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { whyAnew } from '../../../src/web/coming-back.js';

test('a page that gets the player that it had, in the same world, says nothing', () => {
  assert.equal(whyAnew({ id: 3, tick: 900 }, { id: 3, tick: 900 }), null);
  assert.equal(whyAnew({ id: 3, tick: 900 }, { id: 3, tick: 5000 }), null);
});

test('another player of the same world, or the same number in a new one, is said', () => {
  assert.match(whyAnew({ id: 3, tick: 900 }, { id: 4, tick: 1900 }) ?? '', /left the world/);
  assert.match(whyAnew({ id: 3, tick: 900 }, { id: 3, tick: 20 }) ?? '', /new world/);
  assert.match(whyAnew({ id: 3, tick: 900 }, { id: 4, tick: 20 }) ?? '', /new world/);
});

test('a page that had no player begins without a word', () => {
  assert.equal(whyAnew(null, { id: 3, tick: 20 }), null);
  assert.equal(whyAnew({ id: 0, tick: 0 }, { id: 3, tick: 20 }), null);
});
