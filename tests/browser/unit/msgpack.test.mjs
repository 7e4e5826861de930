// The page's MessagePack, row by row: hex, value. Each row is decoded; rows marked `short` must encode to the same bytes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decode, encode } from '../../../src/web/lib/msgpack.js';

const bytes = (hex) => Uint8Array.from(hex.replaceAll(' ', '').match(/../g) ?? [], (pair) => parseInt(pair, 16));
const hex = (array) => Buffer.from(array).toString('hex');

const SHORT = [
  ['c0', null], ['c2', false], ['c3', true],
  ['00', 0], ['7f', 127], ['cc80', 128], ['ccff', 255], ['cd0100', 256], ['cdffff', 65535], ['ce00010000', 65536],
  ['ceffffffff', 4294967295], ['ff', -1], ['e0', -32], ['d0df', -33], ['d080', -128], ['d1ff7f', -129],
  ['d18000', -32768], ['d2ffff7fff', -32769], ['d280000000', -2147483648], ['cb3ff8000000000000', 1.5],
  ['a0', ''], ['a568656c6c6f', 'hello'], ['a2c3a9', 'é'], [`d920${'61'.repeat(32)}`, 'a'.repeat(32)],
  ['90', []], ['920593c301c0', [5, [true, 1, null]]], [`dc0010${'01'.repeat(16)}`, new Array(16).fill(1)],
];

test('each value in its shortest form decodes and encodes', () => {
  for (const [row, value] of SHORT) {
    assert.deepEqual(decode(bytes(row)), value, row);
    assert.equal(hex(encode(value)), row);
  }
});

test('longer forms of the same values are accepted', () => {
  const rows = [
    ['cc05', 5], ['cd0005', 5], ['ce00000005', 5], ['cf0000000000000005', 5], ['d005', 5], ['d10005', 5],
    ['d200000005', 5], ['d3fffffffffffffffb', -5], ['ca3fc00000', 1.5], ['d90161', 'a'], ['da000161', 'a'],
    ['db0000000161', 'a'], ['dc000105', [5]], ['dd0000000105', [5]], ['81a16101', new Map([['a', 1]])],
    ['c40201ff', Uint8Array.of(1, 255)],
  ];
  for (const [row, value] of rows) assert.deepEqual(decode(bytes(row)), value, row);
});

test('every prefix of a message is refused as cut off', () => {
  const whole = encode([2, [70000, ['name', -300, 1.25], null]]);
  for (let length = 0; length < whole.length; length++) {
    assert.throws(() => decode(whole.subarray(0, length)), RangeError, `${length} bytes`);
  }
});

test('what is no single bounded value is refused', () => {
  for (const row of ['0000', 'c1', 'd40100', 'a1ff', 'ddffffffff', `${'91'.repeat(9)}c0`]) {
    assert.throws(() => decode(bytes(row)), RangeError, row);
  }
});

test('a view into a larger buffer is read from its own beginning', () => {
  assert.equal(decode(bytes('ffff cd0102 ff').subarray(2, 5)), 258);
});

test('what the dialect cannot carry is not encoded', () => {
  for (const value of [() => 1, new Map([['a', 1]]), 1n]) assert.throws(() => encode(value), TypeError);
});

test('a plain object is a map', () => {
  assert.equal(hex(encode({ a: 1, b: ['c', null] })), '82a16101a16292a163c0');
  const many = Object.fromEntries(Array.from({ length: 16 }, (_, at) => [String(at), at]));
  assert.deepEqual(decode(encode(many)), new Map(Object.entries(many)));
});
