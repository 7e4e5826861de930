// The waits between tries.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { waitMs } from '../../../src/web/lib/backoff.js';

test('the first three tries come within two seconds, later ones ever slower up to a bound', () => {
  assert.ok(waitMs(0, 1) + waitMs(1, 1) + waitMs(2, 1) < 2000);
  for (let attempt = 1; attempt < 7; attempt++) assert.ok(waitMs(attempt, 0.5) > waitMs(attempt - 1, 0.5));
  assert.equal(waitMs(50, 0.5), waitMs(6, 0.5));
  assert.ok(waitMs(1000, 1) <= 13000);
});

test('waits are spread, so that clients do not return in step', () => {
  assert.ok(waitMs(3, 1) / waitMs(3, 0) > 1.5);
});
