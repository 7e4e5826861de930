// Why a page begins anew after it was away.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newPlayerReason } from '../../../src/web/game/session.js';

test('a page whose player is gone is told whether the world is the same', () => {
  assert.match(newPlayerReason({ id: 3, tick: 900 }, 900), /left the world/);
  assert.match(newPlayerReason({ id: 3, tick: 900 }, 5000), /left the world/);
  assert.match(newPlayerReason({ id: 3, tick: 900 }, 20), /new world/);
});
