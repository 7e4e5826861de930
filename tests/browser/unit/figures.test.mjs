// Figures that fit their place.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatCompact } from '../../../src/web/game/hud/player-stats.js';

test('whole as long as they fit, then thousands, then millions; never more than one has', () => {
  for (const [value, text] of [[0, '0'], [999, '999'], [1500, '1,500'], [9999, '9,999'], [10000, '10.0k'], [12399, '12.3k'], [99999, '99.9k'],
    [100000, '100k'], [999999, '999k'], [1000000, '1.0M'], [4294967295, '4294M']]) assert.equal(formatCompact(value), text);
});

test('where it is narrow they are shorter', () => {
  for (const [value, text] of [[999, '999'], [1500, '1.5k'], [9999, '9.9k'], [12399, '12k'], [999999, '999k'], [1000000, '1.0M']]) {
    assert.equal(formatCompact(value, true), text);
  }
});
