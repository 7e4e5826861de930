// The parts of a watched capture that need no page: words, times, and what is found in a list.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clockOf, noteOf, tickOf, wordsOf } from '../../../src/web/watch-bar.js';
import { lastBefore } from '../../../src/web/wire-frames.js';

test('a time is minutes and seconds, and never rounds up to sixty', () => {
  assert.deepEqual([0, 9.96, 59.99, 60, 601.1].map((seconds) => clockOf(seconds)), ['0:00', '0:09', '0:59', '1:00', '10:01']);
  assert.deepEqual([0, 9.94, 59.94, 59.99, 61.25].map((seconds) => clockOf(seconds, 1)), ['0:00.0', '0:09.9', '0:59.9', '0:59.9', '1:01.2']);
});

test('the address names a tick, among others or alone, or none', () => {
  assert.deepEqual(['#tick=4711', '#a=1&tick=7', '#tick=7&b', '', '#tick=', '#tick=x', '#tock=5', '#tick=99999999999'].map(tickOf), [4711, 7, 7, null, null, null, null, null]);
});

test('a mark says who did what', () => {
  const words = [[1, 'joined', 'Ann', ''], [1, 'left', '', ''], [1, 'away', 'Bo', ''], [1, 'killed', 'Ann', 'Bo'], [1, 'killed', 'Ann', '']].map(wordsOf);
  assert.deepEqual(words, ['Ann joined', 'a guest left', 'Bo lost the connection', 'Bo killed Ann', 'Ann died']);
});

test('what is not as it was recorded is always said, before anything else', () => {
  const status = { differs: null, ended: null, last: 900 };
  const watch = (more) => ({ why: '', file: { end: { whole: true } }, status, wanted: null, ...more });
  assert.equal(noteOf(watch({})), '');
  assert.match(noteOf(watch({ status: null })), /^Reading/);
  assert.match(noteOf(watch({ status: { ...status, ended: 'a loss', differs: { tick: 7, recorded: 'aa', replayed: 'bb' } } })), /^From tick 7 on .* bb, and aa was recorded/);
  assert.match(noteOf(watch({ status: { ...status, ended: 'a loss' } })), /up to tick 900: a loss\.$/);
  assert.match(noteOf(watch({ file: { end: { cut_at: 12 } } })), /at byte 12/);
  assert.match(noteOf(watch({ file: { end: { why: 'at byte 9: a block' } } })), /damaged at byte 9/);
  assert.equal(noteOf(watch({ why: 'No.' })), 'No.');
});

test('the last row at a time is found, whatever the length of the list', () => {
  for (let count = 0; count < 40; count += 1) {
    const rows = Array.from({ length: count }, (_, at) => Math.floor(at / 3) * 10);
    for (let ms = -5; ms < 140; ms += 5) {
      assert.equal(lastBefore(count, (at) => rows[at], ms), rows.findLastIndex((at) => at <= ms), `${count} rows, ${ms} ms`);
    }
  }
});
