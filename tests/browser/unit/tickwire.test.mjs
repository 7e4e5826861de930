// A game by `tickwire.js`, against a fake server and a fake clock: greeting, packets, ping, ticks, outages, what is shown between two states.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, mock, test } from 'node:test';
import { encode as toMsgpack } from '../../../src/web/lib/msgpack.js';
import { connect, newPrivateRoomUrl } from '../../../src/web/tickwire.js';
import { CODES, FakeSocket, WELCOME, packet, sockets } from '../lib/fake-socket.mjs';
import { parse } from '../lib/tables.mjs';

let now = 0;
beforeEach(() => {
  now = 1000;
  sockets.length = 0;
  mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  mock.method(performance, 'now', () => now);
  mock.method(Math, 'random', () => 0.5);
});
afterEach(() => {
  mock.timers.reset();
  mock.restoreAll();
});

/** Lets promises go on, but no time. */
const settle = async () => { for (let turn = 0; turn < 30; turn += 1) await null; };
/** @param {number} ms */
async function pass(ms) {
  now += ms;
  mock.timers.tick(ms);
  await settle();
}
const OPTIONS = { path: 'http://game.test/play', codes: CODES, WebSocket: FakeSocket };
/** A game that has begun, its socket, and all that it said of itself. */
async function begin(options = {}, welcome = {}) {
  const told = [];
  const note = (name) => (event) => told.push([name, event]);
  const pending = connect({ ...OPTIONS, on: { open: note('open'), close: note('close'), error: note('error') }, ...options });
  await settle();
  sockets[0].welcome(welcome);
  return { game: await pending, socket: sockets[0], told };
}

test('it names the dialect, offers the subprotocol, and says hello with what the row has', async () => {
  const { game, socket } = await begin({ name: 'Ann', hello: { skin: 3 } });
  assert.equal(String(socket.url), 'ws://game.test/play?dialect=native');
  assert.equal(socket.protocols.length, 2);
  assert.equal(socket.protocols[0], 'tickwire.v1');
  assert.match(socket.protocols[1], /^key\.[0-9a-f]{32}$/);
  assert.deepEqual(socket.last('hello'), { version: 1, mode: 1, name: 'Ann', skin: 3, resume_tick: null });
  assert.equal(game.state, 'open');
  assert.equal(game.welcome.map_size_px, 3600);
  game.close();
});

test('a token is offered as a subprotocol, and is in no address and no message', async () => {
  const { game, socket } = await begin({ token: 'anns+token/0123456789' });
  const [, , offered] = socket.protocols;
  assert.match(offered, /^bearer\.[A-Za-z0-9_-]+$/);
  assert.equal(Buffer.from(offered.slice(7), 'base64url').toString(), 'anns+token/0123456789');
  assert.equal('token' in socket.last('hello'), false);
  assert.doesNotMatch(String(socket.url), /anns|inspect_key/);
  game.close();
});

test('a watcher looks on until it enters, also after an outage', async () => {
  const { game, socket } = await begin({ spectate: true });
  assert.equal(socket.last('hello').mode, 0);
  assert.equal(game.player, null);
  assert.equal(game.join({ name: 'Bo' }), true);
  assert.deepEqual(socket.last('join'), { name: 'Bo', skin: null });
  socket.say('spawned', { player: 9 });
  assert.equal(game.player, 9);
  game.send('move', { direction: 1 });
  socket.end(1006);
  assert.equal(game.player, null);
  await pass(200);
  sockets[1].welcome();
  assert.deepEqual(sockets[1].last('hello'), { version: 1, mode: 1, name: 'Bo', skin: null, resume_tick: 100 });
  game.send('move', { direction: 1 });
  assert.equal(sockets[1].last('move').sequence, 1, 'a connection counts from 1');
  game.close();
});

test('a dialect whose hello has no mode enters with a packet of its own', async () => {
  const row = (direction, name, code, args) => ({ direction, name, codes: { own: code }, arguments: args.map((one) => ({ name: one, type: 'u32|nil' })) });
  const codes = { tables: [{ rows: [row('to_server', 'hello', 1, ['version']), row('to_server', 'join', 2, []), row('to_client', 'welcome', 1, [])] }] };
  const pending = connect({ ...OPTIONS, codes });
  await settle();
  sockets[0].onopen();
  sockets[0].give(toMsgpack([1, []]));
  const game = await pending;
  assert.deepEqual(sockets[0].heard, [[1, [1]], [2, []]], 'and no ping, which it does not have');
  assert.equal(game.tick, null);
  game.close();
});

test('packets come by name with all their values, to each handler until it is taken away', async () => {
  const { game, socket } = await begin();
  const heard = [];
  const off = game.on('update', (values) => heard.push(values.moved));
  game.on('update', ({ tick }) => heard.push(tick));
  socket.say('update', { tick: 101, moved: [4, 1, 2] });
  off();
  socket.say('update', { tick: 102 });
  assert.deepEqual(heard, [[{ player: 4, dx: 1, dy: 2 }], 101, 102]);
  assert.equal(game.newest('update').tick, 102);
  assert.equal(game.newest('chat'), null);
  game.close();
});

test('what cannot be read is counted and said, an unknown code is counted, and the game goes on', async () => {
  const { game, socket, told } = await begin();
  socket.give(toMsgpack([99, []]));
  socket.give(Uint8Array.of(0x92));
  socket.say('error', { rule: 'chat_empty', detail: 'the chat line is empty' });
  assert.deepEqual([game.counts.unknown, game.counts.unreadable, game.counts.messagesIn], [1, 1, 4]);
  assert.deepEqual(told.filter(([name]) => name === 'error').map(([, { rule }]) => rule), ['unreadable', 'chat_empty']);
  assert.equal(game.state, 'open');
  game.close();
});

test('a handler that fails is reported, and the others still hear', async () => {
  const { game, socket } = await begin();
  const reported = [];
  mock.method(globalThis, 'queueMicrotask', (report) => reported.push(report));
  let heard = 0;
  game.on('notice', () => { throw new Error('mine'); });
  game.on('notice', () => { heard += 1; });
  socket.say('notice', { text: 'a' });
  assert.equal(heard, 1);
  assert.throws(() => reported[0](), /mine/);
  game.close();
});

test('a name that no packet has is warned of', async () => {
  const warned = mock.method(console, 'warn', () => {}).mock;
  const { game } = await begin({ on: { sate: () => {} } });
  game.on('open', () => {});
  game.on('upate', () => {});
  assert.deepEqual(warned.calls.map(({ arguments: [text] }) => /packet (\w+)/.exec(text)?.[1]), ['sate', 'upate']);
  game.close();
});

test('sequence and tick are filled in, in order, and an error names what is wrong', async () => {
  const { game, socket } = await begin();
  now += 60;
  socket.say('pong', { nonce: 1, tick: 101 });
  assert.equal(game.ping, 60);
  socket.say('update', { tick: 103 });
  // A round trip of 60 ms is almost two ticks: it will have completed 104 when this arrives.
  assert.equal(game.send('move', { direction: 0 }), true);
  assert.deepEqual(socket.last('move'), { sequence: 1, tick: 104, direction: 0 });
  game.send('move');
  assert.deepEqual(socket.last('move'), { sequence: 2, tick: 104, direction: null });
  game.join();
  game.send('chat', { text: 'a', tick: null });
  assert.deepEqual(socket.last('chat'), { sequence: 4, tick: null, text: 'a' }, 'join is a command as well');
  const errors = [];
  const off = game.on('error', (error) => errors.push(error));
  socket.say('command_rejected', { commands: [4, 'repeated'] });
  game.send('aim', { heading: 1 });
  assert.equal(socket.last('aim').sequence, 6);
  assert.deepEqual(errors, [{ rule: 'repeated', detail: 'command 4 was rejected' }]);
  off();
  assert.throws(() => game.send('move', { angle: 1 }), /move has no argument angle/);
  assert.throws(() => game.send('fly'), /no packet fly to the server/);
  game.send('aim', { heading: 1 });
  assert.equal(socket.last('aim').sequence, 7, 'what is refused uses up no number');
  // The server has lost ticks.
  for (let late = 0; late < 20; late += 1) socket.say('update', { tick: 90 });
  game.send('move');
  assert.equal(socket.last('move').tick, 104, 'commands never go back');
  game.close();
  assert.equal(game.send('move'), false);
});

test('the ping is the median of the last five, and the tick runs on', async () => {
  const { game, socket } = await begin();
  assert.deepEqual([game.ping, game.tick], [null, 100]);
  for (const ms of [40, 900, 42, 44, 46]) {
    const { nonce } = socket.last('ping');
    now += ms;
    socket.say('pong', { nonce, tick: 100 + Math.floor((now - 1000) * 0.03) });
    await pass(2000);
  }
  assert.equal(game.ping, 44);
  assert.ok(Math.abs(game.tick - (100 + (now - 1000 + 22) * 0.03)) < 2, String(game.tick));
  game.close();
});

test('after an outage it tries again with growing waits, and tells each', async () => {
  const { game, socket, told } = await begin();
  await pass(6000);
  told.length = 0;
  socket.end(1001, 'going_away');
  assert.deepEqual(game.closed, { code: 1001, reason: 'going_away', text: 'The server is shutting down.', retryMs: 150 });
  assert.equal(game.state, 'reconnecting');
  const waits = [];
  for (let attempt = 0; attempt < 8; attempt += 1) {
    const { retryMs } = game.closed;
    waits.push(retryMs);
    await pass(retryMs - 1);
    assert.equal(sockets.length, attempt + 1, 'not before its time');
    await pass(1);
    assert.equal(sockets.length, attempt + 2);
    sockets.at(-1).end(1006);
  }
  assert.deepEqual(waits, [150, 400, 800, 1500, 3000, 6000, 10000, 10000]);
  assert.equal(told.length, 9);
  await pass(10000);
  sockets.at(-1).welcome();
  assert.deepEqual(told.at(-1), ['open', { welcome: game.welcome, isReconnect: true, isNewWorld: false }]);
  assert.deepEqual([game.closed, game.state], [null, 'open']);
  // It did not hold: the next outage goes on where this one was.
  await pass(100);
  sockets.at(-1).end(1006);
  assert.equal(game.closed.retryMs, 10000);
  game.close();
});

test('what an earlier connection still brings is void', async () => {
  const { game, socket, told } = await begin();
  socket.end(1006);
  await pass(150);
  sockets[1].welcome({ tick: 500 });
  told.length = 0;
  socket.say('error', { rule: 'late', detail: '' });
  socket.end(1008, 'kicked');
  assert.deepEqual([told, game.state], [[], 'open']);
  game.close();
});

test('it does not come back where it is not wanted, or wrong', async () => {
  for (const [code, reason, words] of [
    [1008, 'kicked', /operator has removed you/], [1008, 'banned', /banned/], [1008, 'hello_version', /reload the page/],
    [1007, 'packet_envelope', /could not read/], [1002, 'mask_missing', /could not read/], [1009, '', /too long/],
  ]) {
    sockets.length = 0;
    const { game, socket } = await begin();
    socket.end(code, reason);
    assert.equal(game.state, 'closed', reason);
    assert.match(game.closed.text, words);
    await pass(60000);
    assert.equal(sockets.length, 1, reason);
  }
  for (const [code, reason] of [[1008, 'slow_client'], [1013, 'world_full'], [1011, 'internal_error'], [1000, '']]) {
    sockets.length = 0;
    const { game, socket } = await begin();
    socket.end(code, reason);
    assert.equal(game.state, 'reconnecting', reason);
    game.close();
  }
});

test('once it has played, it waits for tables that are gone for a while', async () => {
  const answers = [new Response(JSON.stringify(CODES)), new Response('', { status: 404 }), new Response(JSON.stringify(CODES))];
  mock.method(globalThis, 'fetch', async () => answers.shift());
  const { game, socket } = await begin({ codes: undefined });
  socket.end(1006);
  await pass(150);
  assert.deepEqual([sockets.length, game.state], [1, 'reconnecting']);
  await pass(400);
  assert.equal(sockets.length, 2);
  game.close();
});

test('a pong, which may come up to a tick after its tick, does not set the clock while updates do', async () => {
  const { game, socket } = await begin();
  socket.say('update', { tick: 100 });
  await pass(100);
  const { nonce } = socket.last('ping');
  socket.say('pong', { nonce, tick: 200 });
  assert.equal(game.tick, 104, 'a hundred ms and half a round trip');
  game.close();
});

test('a connection that came back is not given up for the pings of the one before', async () => {
  const { game, socket } = await begin();
  for (let beat = 0; beat < 3; beat += 1) await pass(2000);
  socket.end(1006);
  await pass(150);
  sockets[1].welcome();
  const { nonce } = sockets[1].last('ping');
  sockets[1].say('pong', { nonce: nonce - 1, tick: 1 });
  assert.equal(game.ping, null, 'the answer to a ping of another connection');
  game.close();
});

test('leaving is for good', async () => {
  const { game, socket, told } = await begin();
  game.close();
  assert.equal(socket.closed, 1000);
  assert.deepEqual([game.state, told.at(-1)[1].retryMs], ['closed', null]);
  await pass(60000);
  assert.equal(sockets.length, 1);
});

test('a connection that answers nothing is given up, and so is a try', async () => {
  const { game, socket } = await begin();
  for (let beat = 0; beat < 6; beat += 1) await pass(2000);
  assert.equal(socket.closed, undefined, 'without a code, which would be a leave');
  assert.equal(game.closed.text, 'The server does not answer.');
  assert.equal(sockets.length, 2);
  await pass(8000);
  assert.equal(sockets[1].closed, undefined);
  game.close();
  assert.equal(sockets.length, 2);
});

test('packets without pongs keep a connection', async () => {
  const { game, socket } = await begin();
  for (let beat = 0; beat < 8; beat += 1) {
    await pass(2000);
    socket.say('notice', { text: 'a' });
  }
  assert.equal(game.state, 'open');
  game.close();
});

test('a new epoch drops what was known; the same one keeps it', async () => {
  const { game, socket, told } = await begin();
  socket.say('update', { tick: 120 });
  socket.end(1006);
  await pass(150);
  sockets[1].welcome({ tick: 130 });
  assert.equal(game.newest('update').tick, 120);
  sockets[1].end(1006);
  await pass(400);
  sockets[2].welcome({ epoch: 'b', tick: 0 });
  assert.equal(game.newest('update'), null);
  assert.equal(game.interpolated('update'), null);
  assert.equal(game.tick, 0);
  assert.deepEqual(told.filter(([name]) => name === 'open').map(([, { isReconnect, isNewWorld }]) => [isReconnect, isNewWorld]), [[false, true], [true, false], [true, true]]);
  game.close();
});

test('connect fails where there is no such dialect, no tables, or no welcome for this page', async () => {
  await assert.rejects(connect({ ...OPTIONS, dialect: 'klingon' }), /no dialect klingon/);
  const answers = [new Response('no', { status: 404 }), new Response('<html>')];
  mock.method(globalThis, 'fetch', async () => answers.shift());
  await assert.rejects(connect({ ...OPTIONS, codes: undefined }), /status 404/);
  await assert.rejects(connect({ ...OPTIONS, codes: undefined }), /no packet tables/);
  const pending = connect(OPTIONS);
  await settle();
  sockets[0].onopen();
  sockets[0].end(1008, 'hello_version');
  await assert.rejects(pending, /reload the page/);
  assert.equal(sockets.length, 1);
});

test('the tables are fetched beside the endpoint for each connection, and connect waits for a server that is away', async () => {
  const asked = [];
  const answers = [new TypeError('refused'), new Response('', { status: 502 }), new Response(JSON.stringify(CODES)), new Response(JSON.stringify(CODES))];
  mock.method(globalThis, 'fetch', async (url) => {
    asked.push(String(url));
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  });
  const tries = [];
  const pending = connect({ ...OPTIONS, codes: undefined, path: 'http://game.test/r/arena/play', on: { close: ({ retryMs }) => tries.push(retryMs) } });
  await settle();
  await pass(150);
  await pass(400);
  assert.deepEqual(tries, [150, 400]);
  sockets[0].welcome();
  const game = await pending;
  assert.equal(String(sockets[0].url), 'ws://game.test/r/arena/play?dialect=native');
  sockets[0].end(1006);
  await pass(game.closed.retryMs);
  assert.deepEqual(asked, new Array(4).fill('http://game.test/r/arena/codes.json'));
  assert.equal(sockets.length, 2);
  game.close();
});

test('between two updates players move evenly, two updates late, and angles turn the short way', async () => {
  const { game, socket } = await begin();
  const full = (x, heading) => ({ full: [4, x, 50, heading] });
  for (const [tick, x, heading] of [[100, 0, 250], [101, 60, 250], [102, 120, 4], [103, 180, 4]]) {
    socket.say('update', { tick, ...full(x, heading) });
    await pass(1000 / 30);
  }
  // Tick 104 has just begun; 2.25 updates before it is 101.75.
  const [shown] = game.interpolated('update').full;
  assert.ok(Math.abs(shown.x - 105) < 0.01, String(shown.x));
  assert.ok(Math.abs(shown.heading - 257.5) < 0.01, String(shown.heading));
  assert.deepEqual([shown.player, shown.y], [4, 50]);
  assert.deepEqual(game.newest('update').full[0].x, 180);
  assert.equal(game.interpolated('update', { now: now - 1000 }).full[0].x, 0, 'not before the first');
  assert.equal(game.interpolated('update', { now: now + 1000 }).full[0].x, 180, 'not beyond the last');
  game.close();
});

test('after a rest a movement begins where it began, and not at the last packet before', async () => {
  const { game, socket } = await begin();
  socket.say('update', { tick: 100, full: [4, 0, 0, 0] });
  await pass(2000);
  socket.say('update', { tick: 160, full: [4, 60, 0, 0] });
  const at = (tick) => game.interpolated('update', { now: 1000 + ((tick - 100 + 2.25) * 1000) / 30 }).full[0].x;
  assert.equal(at(158.9), 0);
  assert.ok(Math.abs(at(159.5) - 30) < 0.1, String(at(159.5)));
  assert.equal(at(160), 60);
  game.close();
});

const SOLDIERS = 'tick:u32.tick enter:[player:u16,name:str,x:u16.hpx,aim:u8.turn8] leave:[u16] moved:[player:u16,dx:i8.hpx] turned:[player:u16,aim:u8.turn8]';
/** The built-in tables with an entity list. */
const WITH_SOLDIERS = { tables: [...CODES.tables, { rows: parse(`direction\tname\tlane\tnative:int\targuments\tmeaning\nto_client\tsoldiers\tlatest\t120\t${SOLDIERS}\t`) }] };
/** The server sends a packet of the entity list. */
const giveSoldiers = (socket, values) => socket.give(packet('soldiers', values, 'native', WITH_SOLDIERS));

test('an entity list is a state with all entities, and its handlers receive the packet', async () => {
  const { game, socket } = await begin({ codes: WITH_SOLDIERS });
  assert.deepEqual([game.newest('soldiers'), game.interpolated('soldiers'), game.entities('soldiers').size], [null, null, 0]);
  const received = [];
  game.on('soldiers', (values) => received.push([values, game.newest('soldiers')]));
  giveSoldiers(socket, { tick: 101, enter: [5, 'Bo', 40, 0, 3, 'Ann', 100, 250] });
  const first = game.newest('soldiers');
  giveSoldiers(socket, { tick: 102, moved: [3, -4] });
  const [ann, bo] = [{ player: 3, name: 'Ann', x: 96, aim: 250 }, { player: 5, name: 'Bo', x: 40, aim: 0 }];
  assert.deepEqual(game.newest('soldiers'), { tick: 102, entities: [ann, bo] });
  assert.deepEqual([...game.entities('soldiers')], [[3, ann], [5, bo]]);
  assert.equal(game.entities('soldiers'), game.entities('soldiers'));
  assert.deepEqual(first, { tick: 101, entities: [{ ...ann, x: 100 }, bo] }, 'an earlier state stays');
  const packetOf = (tick, more) => ({ tick, enter: null, leave: null, moved: null, turned: null, ...more });
  assert.deepEqual(received, [[packetOf(101, { enter: [bo, { ...ann, x: 100 }] }), first], [packetOf(102, { moved: [{ player: 3, dx: -4 }] }), game.newest('soldiers')]]);
  assert.equal(game.entities('update').size, 0, 'no entity list');
  game.close();
});

test('the entities of an entity list are interpolated in pixels and radians', async () => {
  const { game, socket } = await begin({ codes: WITH_SOLDIERS, units: true });
  const turn8 = (2 * Math.PI) / 256;
  for (const values of [{ tick: 100, enter: [3, 'Ann', 0, 250] }, { tick: 101, moved: [3, 61] }, { tick: 102, moved: [3, 60], turned: [3, 4], enter: [4, 'Bo', 8, 0] }, { tick: 103, leave: [3] }]) {
    giveSoldiers(socket, values);
    await pass(1000 / 30);
  }
  // Tick 104 has just begun; 2.25 updates before it is 101.75.
  const shown = game.interpolated('soldiers');
  assert.deepEqual([shown.tick, shown.entities.map(({ name }) => name)], [101, ['Ann']]);
  assert.ok(Math.abs(shown.entities[0].x - 53) < 0.01, String(shown.entities[0].x));
  assert.ok(Math.abs(shown.entities[0].aim - 257.5 * turn8) < 0.001, String(shown.entities[0].aim));
  assert.deepEqual(game.interpolated('soldiers', { now: now + 20 }).entities.map(({ name, x }) => [name, x]), [['Ann', 60.5], ['Bo', 4]]);
  assert.deepEqual(game.interpolated('soldiers', { now: now + 1000 }).entities, [{ player: 4, name: 'Bo', x: 4, aim: 0 }]);
  assert.deepEqual(game.newest('soldiers').entities.map(({ name }) => name), ['Bo']);
  game.close();
});

test('after each welcome an entity list is empty, and a new world forgets its states', async () => {
  const { game, socket } = await begin({ codes: WITH_SOLDIERS });
  giveSoldiers(socket, { tick: 101, enter: [3, 'Ann', 100, 250, 4, 'Bo', 0, 0] });
  socket.end(1006);
  assert.equal(game.entities('soldiers').size, 2, 'during the outage');
  await pass(150);
  sockets[1].welcome({ tick: 106 });
  assert.deepEqual([game.newest('soldiers'), game.entities('soldiers').size], [{ tick: 106, entities: [] }, 0]);
  giveSoldiers(sockets[1], { tick: 107, enter: [3, 'Ann', 110, 250], moved: [4, 9] });
  assert.deepEqual([...game.entities('soldiers').keys()], [3]);
  assert.deepEqual(game.interpolated('soldiers').entities.map(({ player }) => player), [3, 4], 'an outage interrupts no movement');
  sockets[1].end(1006);
  await pass(400);
  sockets[2].welcome({ epoch: 'b', tick: 0 });
  assert.deepEqual([game.newest('soldiers'), game.interpolated('soldiers'), game.entities('soldiers').size], [null, null, 0]);
  giveSoldiers(sockets[2], { tick: 1, moved: [3, 1], enter: [7, 'Cy', 1, 0] });
  assert.deepEqual(game.newest('soldiers'), { tick: 1, entities: [{ player: 7, name: 'Cy', x: 1, aim: 0 }] });
  // A resync in lockstep, or a seek in a playback.
  sockets[2].say('welcome', { ...WELCOME, epoch: 'b', tick: 50 });
  assert.deepEqual([game.newest('soldiers'), game.entities('soldiers').size], [null, 0]);
  giveSoldiers(sockets[2], { tick: 50, enter: [8, 'Di', 2, 0] });
  assert.deepEqual([...game.entities('soldiers').keys()], [8]);
  game.close();
});

test('a welcome without rates and ticks will do', async () => {
  const { game, socket } = await begin({}, { tick_hz: null, update_hz: null, tick: null });
  socket.give(packet('notice', { text: 'a' }));
  assert.equal(game.interpolated('notice').text, 'a');
  assert.equal(WELCOME.tick_hz, 30);
  game.close();
});

test('a private room is offered where the server makes rooms of this game, and this room is not private itself', async () => {
  const rooms = (on_demand) => ({ on_demand, rooms: [{ name: '', game: 'tanks' }, { name: 'a', game: 'tanks' }, { name: 'b', game: 'moo' }] });
  const asked = [];
  const offered = async (path, list) => {
    const page = new URL(path, 'http://game.test');
    mock.method(globalThis, 'fetch', async (url) => { asked.push(url); return { json: async () => list }; });
    Object.defineProperty(globalThis, 'location', { value: page, configurable: true });
    try { return await newPrivateRoomUrl(); } finally { delete globalThis.location; }
  };
  for (const path of ['/', '/r/a/']) assert.match(await offered(path, rooms(true)), /^http:\/\/game\.test\/r\/p-[a-z2-7]{24}\/$/);
  assert.deepEqual(asked, Array(2).fill('http://game.test/rooms?format=json'));
  assert.equal(await offered('/', rooms(false)), null);
  assert.equal(await offered('/r/b/', rooms(true)), null);
  assert.equal(await offered(`/r/p-${'a'.repeat(24)}/`, rooms(true)), null);
  assert.equal(asked.length, 4);
});

test('switches are those of the page, and without interpolation a state is shown as it comes', async () => {
  const { game, socket } = await begin();
  const all = { prediction: true, reconciliation: true, interpolation: true, deadReckoning: true };
  assert.deepEqual(game.features, all);
  socket.say('leaderboard', { rows: [], place: null, players: 1 });
  game.setFeatures({ interpolation: false });
  assert.deepEqual(game.features, { ...all, interpolation: false });
  assert.deepEqual(game.interpolated('leaderboard'), game.newest('leaderboard'));
  game.close();
});

test('with the option net the socket is at the end of a line, which is perfect at first', async () => {
  const { game, socket } = await begin({ net: '' });
  socket.readyState = 1;
  assert.equal(game.state, 'open');
  assert.equal(game.send('chat', { text: 'hello' }), true);
  assert.equal(socket.last('chat').text, 'hello');
  assert.ok(game.history.gaps.length === 0 && game.interpolationDelay > 0);
  game.close();
});
