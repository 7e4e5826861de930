// The page's table against packet_codes/native.tsv: the same packets, codes, arguments, groups and units.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { encode as toMsgpack } from '../../../src/web/msgpack.js';
import {
  CHAT_CHARS, GROUPS, NAME_CHARS, TO_CLIENT, TO_SERVER, UNIT, cut, decode, eachGroup, encode, toAngle16,
} from '../../../src/web/protocol.js';

const [heading, ...lines] = readFileSync(new URL('../../../packet_codes/native.tsv', import.meta.url), 'utf8').trim().split('\n');
const columns = heading.split('\t');
const rows = lines.map((line) => Object.fromEntries(line.split('\t').map((cell, i) => [columns[i], cell])));
const splitArgs = (text) => (text === '-' ? [] : text.split(' ').map((arg) => {
  const colon = arg.indexOf(':');
  return { name: arg.slice(0, colon), type: arg.slice(colon + 1) };
}));

for (const [direction, table] of [['to_server', TO_SERVER], ['to_client', TO_CLIENT]]) {
  test(`${direction}: names, codes and arguments are those of the code table`, () => {
    const expected = Object.fromEntries(rows.filter((row) => row.direction === direction)
      .map((row) => [row.name, { code: Number(row['native:int']), args: splitArgs(row.arguments).map((arg) => arg.name) }]));
    assert.ok(Object.keys(expected).length > 0);
    assert.deepEqual(structuredClone(table), expected);
  });
}

/** Flat lists of the code table: name, fields, units. */
const groups = rows.filter((row) => row.direction === 'to_client').flatMap((row) => splitArgs(row.arguments))
  .filter((arg) => arg.type.startsWith('['))
  .map(({ name, type }) => ({ name, fields: type.slice(1, type.indexOf(']')).split(',') }))
  .filter(({ fields }) => fields[0].includes(':'));

test('flat lists have the groups of the code table', () => {
  const expected = Object.fromEntries(groups.map(({ name, fields }) => [name, fields.map((field) => field.split(':')[0])]));
  assert.deepEqual(structuredClone(GROUPS), expected);
});

test('fields have the units that the page reckons with', () => {
  const unit = (list, field) => groups.find((group) => group.name === list)?.fields
    .find((text) => text.startsWith(`${field}:`))?.match(/\.(\w+)/)?.[1];
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
  const bound = (name, arg) => Number(splitArgs(rows.find((row) => row.direction === 'to_server' && row.name === name).arguments)
    .find((one) => one.name === arg).type.match(/str<=(\d+)/)[1]);
  assert.equal(NAME_CHARS, bound('hello', 'name'));
  assert.equal(CHAT_CHARS, bound('chat', 'text'));
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
  assert.deepEqual(packet.values, { tick: 90, own: null, leaves: [4], enters: null, full: null, moved: null, turned: null });
  assert.equal(decode(toMsgpack([99, []])), null);
  assert.throws(() => decode(toMsgpack(5)), RangeError);
  assert.throws(() => decode(toMsgpack([2])), RangeError);
});

test('groups are walked whole; a torn last one is left out', () => {
  const seen = [];
  eachGroup('moved', [1, 2, 3, 4, 5, 6, 7], (...fields) => seen.push(fields));
  eachGroup('moved', null, (...fields) => seen.push(fields));
  assert.deepEqual(seen, [[1, 2, 3], [4, 5, 6]]);
});

test('angles wrap into a turn; text is cut between characters', () => {
  assert.equal(toAngle16(0), 0);
  assert.equal(toAngle16(Math.PI / 2), 16384);
  assert.equal(toAngle16(-Math.PI / 2), 49152);
  assert.equal(toAngle16(2 * Math.PI), 0);
  assert.equal(cut('  ab🙂cd ', 3), 'ab🙂');
});
