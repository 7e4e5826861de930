// What the connection panel draws: the last 30 seconds of round trips and of gaps between updates.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NetHistory, HISTORY_MS } from '../../../src/web/lib/net-history.js';

test('gaps are those between the updates of one connection, and old ones are forgotten', () => {
  const history = new NetHistory();
  assert.equal(history.longestGapMs(0), null);
  for (const at of [100, 133, 203]) history.addUpdateGap(at);
  assert.deepEqual(history.gaps.map(({ ms }) => ms), [33, 70]);
  history.begin();
  history.addUpdateGap(9000);
  assert.equal(history.longestGapMs(9000), 70, 'the time without a connection is no gap');
  history.addUpdateGap(203 + HISTORY_MS);
  history.addUpdateGap(204 + HISTORY_MS);
  assert.equal(history.gaps[0].atMs, 203 + HISTORY_MS);
  assert.equal(history.longestGapMs(204 + 2 * HISTORY_MS), 1);
  assert.equal(history.longestGapMs(205 + 2 * HISTORY_MS), null, 'too old by now');
});

test('the scale shows every round trip and every gap but the quiet ones', () => {
  const history = new NetHistory();
  assert.equal(history.scaleMaxMs, 50);
  history.addRoundTrip(51, 1);
  assert.equal(history.scaleMaxMs, 100);
  history.addUpdateGap(1);
  history.addUpdateGap(300);
  assert.equal(history.scaleMaxMs, 500);
  history.addUpdateGap(5000);
  assert.equal(history.scaleMaxMs, 500, 'nothing changed for a while');
  history.addRoundTrip(60_000, 5001);
  assert.equal(history.scaleMaxMs, 1000, 'the last one');
});
