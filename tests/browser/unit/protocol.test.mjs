// The page's packets: codes and arguments of the tables in force, and the units of packet_codes/moo/native.tsv.
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { encode as toMsgpack } from '../../../src/web/lib/msgpack.js';
import {
  CHAT_CHARS, CLAN_CHARS, NAME_CHARS, UNIT, cut, decode, forEachGroup, encode, loadTables, toAngle16, setTables,
} from '../../../src/web/game/net/protocol.js';
import { parse, rows } from '../lib/tables.mjs';

const HEADING = 'direction\tname\tlane\tnative:int\targuments\tmeaning';
afterEach(() => setTables({ tables: [{ rows }] }));

/** Makes a table of these lines the one in force. @param {string[]} lines */
const use = (...lines) => setTables({ tables: [{ rows: parse([HEADING, ...lines].join('\n')) }] });

test('codes, the order of arguments and the stride of lists are those of the tables in force', () => {
  use(
    'to_server\tmove\treliable\t77\tdirection:u16.turn16|nil tick:u32.tick|nil sequence:u32\t',
    'to_client\tmoved\tlatest\t9\ttick:u32 list:[player:u16,dx:i32,dy:i32,dz:i32]|nil\t',
  );
  const move = encode('move', { sequence: 7, direction: 16384 });
  assert.equal(Buffer.from(move).toString('hex'), '924d93' + 'cd4000' + 'c0' + '07');
  assert.deepEqual(decode(toMsgpack([9, [90, [1, 2, 3, 4]]])), { name: 'moved', values: { tick: 90, list: [1, 2, 3, 4] } });
  const seen = [];
  forEachGroup('list', [1, 2, 3, 4, 5], (...fields) => seen.push(fields));
  assert.deepEqual(seen, [[1, 2, 3, 4]]);
});

test('a packet that the tables in force do not have is not sent, and its code is nothing', () => {
  use('to_client\tnotice\treliable\t30\ttext:str\t');
  assert.equal(encode('map_ping', { sequence: 1 }), null);
  assert.equal(decode(toMsgpack([29, [1, 2, 3]])), null);
  assert.equal(decode(toMsgpack([30, ['hello']])).name, 'notice');
});

test('a dialect with text for its codes is read as well', () => {
  const text = HEADING.replace(':int', ':str');
  setTables({ tables: [{ rows: parse(`${text}\nto_server\tping\treliable\tpp\tnonce:u32\t\nto_client\tpong\treliable\tpp\tnonce:u32\t`) }] });
  assert.deepEqual(decode(encode('ping', { nonce: 5 })), { name: 'pong', values: { nonce: 5 } });
});

test('the tables come from the server, and a refusal is an error', async () => {
  const own = globalThis.fetch;
  let answer = new Response(JSON.stringify({ tables: [{ rows: parse(`${HEADING}\nto_server\tping\treliable\t99\tnonce:u32\t`) }] }));
  globalThis.fetch = async (url) => {
    assert.match(String(url), /\/src\/web\/codes\.json$/);
    return answer;
  };
  try {
    await loadTables();
    assert.equal(Buffer.from(encode('ping', { nonce: 5 })).toString('hex'), '92639105');
    answer = new Response('no', { status: 503 });
    await assert.rejects(loadTables(), /status 503/);
  } finally {
    globalThis.fetch = own;
  }
});

test('fields have the units that the page reckons with', () => {
  const lists = rows.filter((row) => row.direction === 'to_client').flatMap((row) => row.arguments);
  const unit = (list, field) => lists.find((one) => one.name === list)?.members?.find((one) => one.name === field)?.type.match(/\.(\w+)/)?.[1];
  for (const [list, field, name] of [
    ['own', 'x', 'fix16'], ['own', 'vy', 'fix16'], ['own', 'heading', 'turn16'], ['enters', 'x', 'hpx'],
    ['enters', 'heading', 'turn8'], ['full', 'y', 'hpx'], ['moved', 'dx', 'hpx'], ['turned', 'heading', 'turn8'],
    ['objects', 'x', 'px'], ['objects', 'scale', 'px'],
  ]) assert.equal(unit(list, field), name, `${list}.${field}`);
  assert.equal(UNIT.hpx * 2, 1);
  assert.equal(UNIT.fixed * 65536, 1);
  assert.equal(UNIT.angle16 * 65536, 2 * Math.PI);
  assert.equal(UNIT.angle8 * 256, 2 * Math.PI);
});

test('lengths of names and chat lines are those of the code table', () => {
  const bound = (name, arg) => Number(rows.find((row) => row.direction === 'to_server' && row.name === name)
    ?.arguments.find((one) => one.name === arg)?.type.match(/str<=(\d+)/)?.[1]);
  assert.equal(NAME_CHARS, bound('hello', 'name'));
  assert.equal(CHAT_CHARS, bound('chat', 'text'));
  assert.equal(CLAN_CHARS, bound('clan_create', 'name'));
});

test('a packet for the server has its arguments in order, nil where there is none', () => {
  const move = encode('move', { direction: 16384, sequence: 7 });
  assert.equal(Buffer.from(move).toString('hex'), '920393' + '07' + 'c0' + 'cd4000');
  const stop = encode('move', { direction: null, sequence: 8, tick: 300 });
  assert.equal(Buffer.from(stop).toString('hex'), '920393' + '08' + 'cd012c' + 'c0');
});

test('what is taken into the hand and what is chosen are numbers', () => {
  assert.equal(Buffer.from(encode('select', { sequence: 3, tick: 9, id: 6, is_weapon: 0 })).toString('hex'), '92099403090600');
  assert.equal(Buffer.from(encode('upgrade', { sequence: 4, tick: null, choice: 31 })).toString('hex'), '920a9304c01f');
});

test('a packet of the server comes by names; missing arguments are null, unknown codes are nothing', () => {
  const packet = decode(toMsgpack([2, [90, null, [4]]]));
  assert.equal(packet.name, 'update');
  assert.deepEqual(packet.values, { tick: 90, own: null, leaves: [4], enters: null, full: null, moved: null, turned: null, animals: null, animals_gone: null });
  assert.equal(decode(toMsgpack([99, []])), null);
  assert.throws(() => decode(toMsgpack(5)), RangeError);
  assert.throws(() => decode(toMsgpack([2, 5])), RangeError);
});

test('groups are walked whole; a torn last one is left out', () => {
  const seen = [];
  forEachGroup('moved', [1, 2, 3, 4, 5, 6, 7], (...fields) => seen.push(fields));
  forEachGroup('moved', null, (...fields) => seen.push(fields));
  assert.deepEqual(seen, [[1, 2, 3], [4, 5, 6]]);
});

test('angles wrap into a turn; text is cut between characters', () => {
  assert.equal(toAngle16(0), 0);
  assert.equal(toAngle16(Math.PI / 2), 16384);
  assert.equal(toAngle16(-Math.PI / 2), 49152);
  assert.equal(toAngle16(2 * Math.PI), 0);
  assert.equal(cut('  ab🙂cd ', 3), 'ab🙂');
});
