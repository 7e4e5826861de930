// Tooltips of values name the meaning of their unit.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { UNITS, titleOf } from '../../../src/web/inspector/frame/value-title.js';

test('a unit is explained, a plain value is not', () => {
  assert.equal(titleOf('16384 turn16 = 90°'), '16384 turn16 = 90°\nturn16: 1/65,536 of a turn; 0 is right, a quarter is down.');
  assert.equal(titleOf('-3.5 fix4'), '-3.5 fix4\nfix4: 1/16 pixel.');
  assert.match(titleOf('nil'), /no value/);
  for (const plain of ['7', '"7 turn16"', '"nil"', 'constructor', '7 constructor', '']) assert.equal(titleOf(plain), plain);
});

test('the meanings are those of the packet tables', () => {
  const grammar = readFileSync(new URL('../../../src/packet/grammar.rs', import.meta.url), 'utf8');
  for (const [unit, meaning] of Object.entries(UNITS)) assert.ok(grammar.includes(`"${unit}" "${meaning}";`), unit);
});
