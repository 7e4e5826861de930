/**
 * The room of a page, and how the inspector names a client of a room.
 *
 * @module room.test
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { urlFromRoot, isPrivate, newPrivateName, roomOf } from '../../../src/web/lib/address.js';
import { nameOfClient } from '../../../src/web/inspector/list/source-menu.js';

test('a page below /r/NAME/ is of that room, wherever a proxy puts the server', () => {
  for (const [path, room] of [['/', ''], ['/wire', ''], ['/r/two/', 'two'], ['/r/two/wire', 'two'], ['/games/r/class-7/', 'class-7'],
    ['/r/two', ''], ['/r/Two/', ''], ['/r//', ''], ['/r/two/deep/er', ''], [`/r/${'a'.repeat(33)}/`, '']]) {
    assert.equal(roomOf(path), room, path);
  }
});

test('a private name is new each time, fits the rules of names, and is known as private', () => {
  const names = Array.from({ length: 100 }, newPrivateName);
  for (const name of names) {
    assert.match(name, /^p-[a-z2-7]{24}$/);
    assert.equal(roomOf(`/r/${name}/`), name);
    assert.ok(isPrivate(name));
  }
  assert.equal(new Set(names).size, names.length);
  for (const name of ['', 'arena', 'p-', `p-${'a'.repeat(23)}`, `q-${'a'.repeat(24)}`]) assert.ok(!isPrivate(name), name);
});

test('a page of any room finds what is at the server\'s root', () => {
  for (const [page, found] of [['http://h/', 'http://h/rooms'], ['http://h/?inspector#x', 'http://h/rooms'], ['http://h/r/two/', 'http://h/rooms'],
    ['https://h/games/r/two/?inspector', 'https://h/games/rooms']]) assert.equal(urlFromRoot(page, 'rooms'), found, page);
});

test('a client is named with its room, unless that is the default one', () => {
  const client = { id: 3, player: 1, name: 'Ann', room: '', dialect: 'native', address: '127.0.0.1:9' };
  assert.equal(nameOfClient(client), '#3 · Ann · native · 127.0.0.1:9');
  assert.equal(nameOfClient({ ...client, room: 'two' }), '#3 · Ann · room two · native · 127.0.0.1:9');
});
