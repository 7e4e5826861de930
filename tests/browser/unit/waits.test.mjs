// The waits between tries.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backoffMs } from '../../../src/web/lib/attempt.js';

test('the first three tries come within two seconds, later ones ever slower up to a bound', () => {
  assert.ok(backoffMs(0, 1) + backoffMs(1, 1) + backoffMs(2, 1) < 2000);
  for (let attempt = 1; attempt < 7; attempt++) assert.ok(backoffMs(attempt, 0.5) > backoffMs(attempt - 1, 0.5));
  assert.equal(backoffMs(50, 0.5), backoffMs(6, 0.5));
  assert.ok(backoffMs(1000, 1) <= 13000);
});

test('waits are spread, so that clients do not return in step', () => {
  assert.ok(backoffMs(3, 1) / backoffMs(3, 0) > 1.5);
});
