// The parts of a watched capture that need no page: words, times, and what is found in a list.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatTime, statusText, tickFromHash, describeMarker } from '../../../src/web/playback/bar.js';
import { Playback } from '../../../src/web/playback/playback.js';
import { requestedRoom, withRoom } from '../../../src/web/playback/page.js';
import { lastBefore } from '../../../src/web/inspector/list/frames.js';

test('a time is minutes and seconds, and never rounds up to sixty', () => {
  assert.deepEqual([0, 9.96, 59.99, 60, 601.1].map((seconds) => formatTime(seconds)), ['0:00', '0:09', '0:59', '1:00', '10:01']);
  assert.deepEqual([0, 9.94, 59.94, 59.99, 61.25].map((seconds) => formatTime(seconds, 1)), ['0:00.0', '0:09.9', '0:59.9', '0:59.9', '1:01.2']);
});

test('a page of an own program, which does not know its game by name, shows the rooms of that game', () => {
  const file = { own_game: 'coins', bytes: 1, end: { whole: true }, why: null, rooms: [{ name: 'a', game: 'moo' }, { name: 'b', game: 'coins' }] };
  const shown = (game) => {
    const watch = new Playback(async () => null, { onMessage: () => {}, onSeekDone: () => {}, onChange: () => {} });
    watch.wasm = { json: (value) => value, setInputText: () => {}, wasm: { watch_file: () => file, watch_open: () => ({}) } };
    Object.assign(watch, { refreshStatus: () => {}, seek: () => {} });
    watch.openRoomWhenReady({ game, dialect: 'd', table: '', room: '', tick: null });
    return watch.room ?? watch.why;
  };
  assert.deepEqual(['', 'moo', 'tanks'].map(shown), ['b', 'a', 'This capture is of the game moo, and this is the page of tanks.']);
});

test('the address names a tick, among others or alone, or none', () => {
  assert.deepEqual(['#tick=4711', '#a=1&tick=7', '#tick=7&b', '', '#tick=', '#tick=x', '#tock=5', '#tick=99999999999'].map(tickFromHash), [4711, 7, 7, null, null, null, null, null]);
});

test('at 16 times the speed as many ticks are played, however long the frames are', () => {
  for (const [speed, frameMs, ticks] of [[16, 25, 480], [1, 25, 30], [0.25, 100, 7], [64, 250, 1920]]) {
    const playback = new Playback(async () => null, { onMessage: () => {}, onSeekDone: () => {}, onChange: () => {} });
    playback.play = () => {};
    Object.assign(playback, { status: { tick_hz: 30, first: 0, last: 1e6 }, playing: true, tick: 1, speed });
    for (let frame = 1; frame <= 1000 / frameMs; frame += 1) playback.advance(frame * frameMs);
    assert.equal(Math.round(playback.ms), 1000 * speed);
    assert.ok(Math.abs(playback.tick - 1 - ticks) <= 1, `${speed}: ${playback.tick}`);
  }
});

test('a mark says who did what', () => {
  const words = [[1, 'joined', 'Ann', ''], [1, 'left', '', ''], [1, 'away', 'Bo', ''], [1, 'back', 'Bo', ''], [1, 'killed', 'Ann', 'Bo'], [1, 'killed', 'Ann', '']].map(describeMarker);
  assert.deepEqual(words, ['Ann joined', 'a guest left', 'Bo lost the connection', 'Bo came back', 'Bo killed Ann', 'Ann died']);
});

test('what is not as it was recorded is always said, before anything else', () => {
  const status = { differs: null, ended: null, last: 900 };
  const watch = (more) => ({ why: '', file: { end: { whole: true } }, status, wanted: null, ...more });
  assert.equal(statusText(watch({})), '');
  assert.match(statusText(watch({ status: null })), /^Reading/);
  assert.match(statusText(watch({ status: { ...status, ended: 'a loss', differs: { tick: 7, recorded: 'aa', replayed: 'bb' } } })), /^From tick 7 on .* bb, and aa was recorded/);
  assert.match(statusText(watch({ status: { ...status, ended: 'a loss' } })), /up to tick 900: a loss\.$/);
  assert.match(statusText(watch({ file: { end: { cut_at: 12 } } })), /at byte 12/);
  assert.match(statusText(watch({ file: { end: { why: 'at byte 9: a block' } } })), /damaged at byte 9/);
  assert.equal(statusText(watch({ why: 'No.' })), 'No.');
});

test('the last row at a time is found, whatever the length of the list', () => {
  for (let count = 0; count < 40; count += 1) {
    const rows = Array.from({ length: count }, (_, at) => Math.floor(at / 3) * 10);
    for (let ms = -5; ms < 140; ms += 5) {
      assert.equal(lastBefore(count, (at) => rows[at], ms), rows.findLastIndex((at) => at <= ms), `${count} rows, ${ms} ms`);
    }
  }
});

test('a link has the room that is watched, beside whatever else it asks for', () => {
  const rows = [
    ['?capture=a.pcapng', '/', 'arena', '?room=arena&capture=a.pcapng'],
    ['?room=arena&capture=a.pcapng', '/', '', '?capture=a.pcapng'],
    ['?capture=a.pcapng', '/r/arena/', '', '?room=&capture=a.pcapng'],
    ['?capture=a.pcapng&netem=wifi', '/', 'a b', '?room=a%20b&capture=a.pcapng&netem=wifi'],
  ];
  for (const [search, pathname, room, expected] of rows) {
    const found = withRoom({ search, pathname }, room);
    assert.equal(found, expected);
    assert.equal(requestedRoom({ search: found, pathname }), room, 'as a reload reads it');
  }
});

/** A world that says of itself what it is told to, and traps when it is to work. */
function trapping(parts) {
  const wasm = { watch_work: () => { throw new Error('unreachable'); }, watch_play: () => { throw new Error('unreachable'); }, watch_seek: () => {}, watch_tick: () => 7, ...parts };
  return { wasm, outputBytes: (out) => out, json: (out) => out };
}

test('a world that cannot be run any further ends with words, not with a picture that stands still', async () => {
  for (const begin of [(watch) => watch.seek(5), (watch) => watch.step(1)]) {
    let changed = 0;
    const watch = new Playback(async () => { throw new Error('not loaded'); }, { onMessage: () => {}, onSeekDone: () => {}, onChange: () => { changed += 1; } });
    Object.assign(watch, { wasm: trapping({ watch_status: () => ({ marks: [], indexed: 9, last: 9, first: 0 }) }), room: '', tick: 7, status: { first: 0, last: 9, indexed: 0, tick_hz: 30 } });
    begin(watch);
    await new Promise((done) => { setTimeout(done, 5); });
    assert.equal(watch.why, 'The recording cannot be run any further: unreachable.');
    assert.deepEqual([watch.wasm, watch.seeking, watch.playing, watch.isWorking], [null, null, false, false]);
    assert.ok(changed > 0);
  }
});
