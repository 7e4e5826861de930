// The buttons that hide frequent packets, and the filter that they write.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { frequentPackets, hiddenBy, toggled } from '../../../src/web/inspector/list/hide-bar.js';
import { pageOf } from '../../../src/web/inspector/proxy-address.js';
import { inflatedFrame } from '../../../src/web/inspector/frame/inflated-frame.js';

test('a press adds the term that hides one packet, and another press removes it', () => {
  assert.equal(toggled('', 'state'), '-packet=state');
  assert.equal(toggled('x > 3', 'state'), 'x > 3 -packet=state');
  assert.equal(toggled('x > 3 -packet=state -packet=own_state', 'state'), 'x > 3 -packet=own_state');
  assert.equal(toggled('-packet=own_state', 'state'), '-packet=own_state -packet=state');
  assert.deepEqual(hiddenBy('-packet=own_state move -packet=state not packet=x'), ['own_state', 'state']);
  assert.deepEqual(hiddenBy('-packet=state>3'), []);
});

test('packets that fill the list have a button, the most frequent first', () => {
  const entries = (counts) => Object.entries(counts).flatMap(([packet, count]) => Array.from({ length: count }, () => ({ packet: packet === 'none' ? null : packet })));
  assert.deepEqual(frequentPackets(entries({ state: 60, own_state: 25, roster: 2, none: 3 })), ['state', 'own_state']);
  assert.deepEqual(frequentPackets(entries({ a: 10, b: 10, c: 11, d: 10 })), ['c', 'a', 'b']);
  assert.deepEqual(frequentPackets([]), []);
});

test('the pages of a server are at the address of the proxy', () => {
  assert.deepEqual(['ws://127.0.0.1:3002/', 'wss://127.0.0.1:3002/'].map(pageOf), ['http://127.0.0.1:3002/', 'https://127.0.0.1:3002/']);
});

test('an inflated message has the header of the wire, and its own payload after it', () => {
  const node = (name, bits, children = []) => ({ name, bits, value: '', encoding: '', children });
  const frame = { start: 0, end: 7, payload: '48656c6c6f', masked: false, problem: null, tree: node('frame', [0, 56], [node('fin', [0, 1]), node('payload', [16, 56])]) };
  const wire = { raw: 'c187a1b2c3d4', frames: [{ tree: node('frame', [0, 48], [node('rsv1', [1, 2]), node('masking_key', [16, 48])]) }] };
  const { bytes, frames: [shown] } = inflatedFrame({ frames: [frame], wire });
  assert.equal(Buffer.from(bytes).toString('hex'), 'c187a1b2c3d448656c6c6f');
  assert.deepEqual(shown.tree.children.map(({ name, bits }) => [name, ...bits]), [['rsv1', 1, 2], ['masking_key', 16, 48], ['payload', 48, 88]]);
  assert.equal(Buffer.from(inflatedFrame({ frames: [frame] }).bytes).toString(), 'Hello');
});
