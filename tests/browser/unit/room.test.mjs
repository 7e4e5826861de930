/**
 * The room of a page, and how the inspector names a client of a room.
 *
 * @module room.test
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { roomOf } from '../../../src/web/room.js';
import { nameOfClient } from '../../../src/web/wire-source.js';

test('a page below /r/NAME/ is of that room, wherever a proxy puts the server', () => {
  for (const [path, room] of [['/', ''], ['/wire', ''], ['/r/two/', 'two'], ['/r/two/wire', 'two'], ['/games/r/class-7/', 'class-7'],
    ['/r/two', ''], ['/r/Two/', ''], ['/r//', ''], ['/r/two/deep/er', ''], [`/r/${'a'.repeat(33)}/`, '']]) {
    assert.equal(roomOf(path), room, path);
  }
});

test('a client is named with its room, unless that is the default one', () => {
  const client = { id: 3, player: 1, name: 'Ann', room: '', dialect: 'native', address: '127.0.0.1:9' };
  assert.equal(nameOfClient(client), 'Ann · native · 127.0.0.1:9');
  assert.equal(nameOfClient({ ...client, room: 'two' }), 'Ann · room two · native · 127.0.0.1:9');
});
