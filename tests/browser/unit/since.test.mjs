// Of which tick a page was told last.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ResumeTick } from '../../../src/web/lib/resume.js';

/** @param {ResumeTick} since @param {string} name @param {object} [values] @param {boolean} [plays] */
const take = (since, name, values = {}, plays = true) => since.onPacket(name, values, plays, () => 77);

test('packets of the game say it, or come at a known tick', () => {
  const since = new ResumeTick();
  take(since, 'state', { tick: 60 });
  assert.equal(since.tick, 60);
  take(since, 'hit', {});
  assert.equal(since.tick, 77);
  take(since, 'state', { tick: 70 });
  assert.equal(since.tick, 77);
});

test('a watcher has nothing to come back to, and answers tell nothing', () => {
  const since = new ResumeTick();
  take(since, 'state', { tick: 60 }, false);
  for (const name of ['pong', 'error', 'command_accepted', 'command_rejected']) take(since, name, { tick: 90 });
  assert.equal(since.tick, null);
});

test('once its player is gone, a page begins anew', () => {
  const since = new ResumeTick();
  take(since, 'state', { tick: 60 });
  take(since, 'error', { rule: 'address_chat_rate' });
  assert.equal(since.tick, 60);
  take(since, 'error', { rule: 'player_left' }, false);
  assert.equal(since.tick, null);
});
