// Figures that fit their place.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { short } from '../../../src/web/hud-play.js';

test('whole as long as they fit, then thousands, then millions', () => {
  for (const [value, text] of [[0, '0'], [999, '999'], [12345, '12,345'], [99999, '99,999'], [100000, '100k'], [999499, '999k'],
    [1000000, '1.0M'], [4294967295, '4295.0M']]) assert.equal(short(value), text);
});
