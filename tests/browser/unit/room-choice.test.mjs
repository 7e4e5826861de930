// The room of a page: by its address, by the options, or by the server; the URL of the WebSocket, the link, and the name that the page finds.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, mock, test } from 'node:test';
import { RoomChoice } from '../../../src/web/lib/room-choice.js';
import { connect } from '../../../src/web/tickwire.js';
import { CODES, FakeSocket, sockets } from '../lib/fake-socket.mjs';

const ANY = { room: 'any', where: { state: 'lobby', map: 3 } };
const ANY_QUERY = '?room=any&where=state%3Alobby%2Cmap%3A3';

for (const [what, options, endpoint, page, path, link] of [
  ['the page of the default room', {}, 'http://h/play', 'http://h/', '/play', 'http://h/'],
  ['the page of a room', {}, 'http://h/r/den/play', 'http://h/r/den/', '/r/den/play', 'http://h/r/den/'],
  ['a named room', { room: 'den' }, 'http://h/play', 'http://h/', '/r/den/play', 'http://h/r/den/'],
  ['the default room from another', { room: '' }, 'http://h/r/den/play', 'http://h/r/den/', '/play', 'http://h/'],
  ['any room', ANY, 'http://h/play', 'http://h/', `/play${ANY_QUERY}`, `http://h/${ANY_QUERY}`],
  ['any room of the game of a room, in the address', {}, 'http://h/r/den/play', 'http://h/r/den/?room=any', '/r/den/play?room=any', 'http://h/r/den/?room=any'],
  ['any room, and a link that names one', ANY, 'http://h/play', 'http://h/?room=den', '/r/den/play', 'http://h/r/den/'],
  ['any room, on the page of one', ANY, 'http://h/r/den/play', 'http://h/r/den/#x', '/r/den/play', 'http://h/r/den/'],
  ['any room, after the address has changed', ANY, 'http://h/play', 'http://h/r/den/', '/r/den/play', 'http://h/r/den/'],
  ['the conditions of the address', ANY, 'http://h/play', 'http://h/?room=any&where=map:4', '/play?room=any&where=map%3A4', 'http://h/?room=any&where=map%3A4'],
  ['a wrong room in the address', {}, 'http://h/play', 'http://h/?room=Den', '/play', 'http://h/'],
  ['a capture with a room', {}, 'http://h/play', 'http://h/?capture=a&room=den', '/play', 'http://h/?capture=a'],
  ['a page of another site', ANY, 'http://h/play', 'http://other/r/x/?color=red', `/play${ANY_QUERY}`, `http://other/r/x/?color=red&${ANY_QUERY.slice(1)}`],
  ['a page of another site, by its link', ANY, 'http://h/play', 'http://other/game.html?room=den', '/r/den/play', 'http://other/game.html?room=den'],
  ['another page of the server', { room: 'den' }, 'http://h/play', 'http://h/own.html', '/r/den/play', 'http://h/own.html?room=den'],
  ['a program without a page', ANY, 'http://h/play?dialect=x', '', '/play?dialect=x&room=any&where=state%3Alobby%2Cmap%3A3', `http://h/${ANY_QUERY}`],
]) {
  test(`${what}: WebSocket and link`, () => {
    const choice = new RoomChoice(options, endpoint, page);
    assert.equal(choice.urlOf(new URL(endpoint)).href, `http://h${path}`);
    assert.equal(choice.link, link);
  });
}

test('an option that breaks a rule is an error with value, rule and remedy', () => {
  for (const [options, message] of [
    [{ room: 'Den' }, /^room=Den: must be any, or a name of 1 to 32 characters/],
    [{ room: 'any', where: { State: 1 } }, /^where=State:1: must be at most 8 of name:value/],
    [{ room: 'any', where: { state: 'a,b' } }, /^where=state:a,b: must be/],
    [{ where: { state: 'lobby' } }, /^where: needs room: 'any'/],
  ]) {
    assert.throws(() => new RoomChoice(options, 'http://h/play', 'http://h/'), { name: 'RangeError', message });
  }
});

/** The requests, and the server's answers in turn: names of rooms, or null without an answer. */
let [requests, answers] = [[], []];

beforeEach(() => {
  [sockets.length, requests, answers] = [0, [], []];
  mock.method(globalThis, 'fetch', async (url) => {
    requests.push(String(url));
    const name = answers.shift();
    if (name === null) throw new TypeError('no answer');
    return Response.json({ rooms: name === undefined ? [] : [{ name }] });
  });
  mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
});
afterEach(() => {
  mock.restoreAll();
  mock.timers.reset();
});

const settle = async () => { for (let turn = 0; turn < 40; turn += 1) await null; };
const options = { ...ANY, path: 'http://game.test/play', codes: CODES, WebSocket: FakeSocket };

test('connect resolves when the page knows its room, and an outage leads back to it', async () => {
  answers = ['room-abc'];
  const connecting = connect(options);
  await settle();
  assert.equal(new URL(sockets[0].url).searchParams.get('where'), 'state:lobby,map:3');
  sockets[0].welcome({ epoch: 'e7' });
  const game = await connecting;
  assert.deepEqual(requests, ['http://game.test/rooms?format=json&epoch=e7']);
  assert.deepEqual([game.room.name, game.room.link], ['room-abc', 'http://game.test/r/room-abc/']);
  sockets[0].end(1006);
  mock.timers.tick(1000);
  await settle();
  assert.equal(new URL(sockets[1].url).pathname, '/r/room-abc/play');
  sockets[1].welcome({ epoch: 'e7' });
  assert.equal(requests.length, 1, 'a known room is not requested again');
  game.close();
});

test('a page that cannot find the name plays on, and looks again after the next welcome', async () => {
  answers = [null, undefined, null, 'den'];
  const warned = mock.method(console, 'warn', () => {}).mock;
  const connecting = connect(options);
  await settle();
  sockets[0].welcome();
  for (let attempt = 0; attempt < 3; attempt += 1) {
    await settle();
    mock.timers.tick(1000);
  }
  const game = await connecting;
  assert.deepEqual([game.state, game.room.name, requests.length, warned.callCount()], ['open', null, 3, 1]);
  sockets[0].end(1006);
  mock.timers.tick(1000);
  await settle();
  assert.equal(new URL(sockets[1].url).searchParams.get('room'), 'any');
  sockets[1].welcome();
  await settle();
  assert.equal(game.room.name, 'den');
  game.close();
});

test('the name of a lost connection is not the name of the next one', async () => {
  answers = ['den', 'lair'];
  const connecting = connect(options);
  await settle();
  sockets[0].welcome();
  sockets[0].end(1006);
  await settle();
  mock.timers.tick(1000);
  await settle();
  assert.equal(new URL(sockets[1].url).searchParams.get('room'), 'any');
  sockets[1].welcome();
  assert.equal((await connecting).room.name, 'lair');
  (await connecting).close();
});
