// The forms in which a held message is edited.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { substitute, titleOf, valueIn } from '../../../src/web/inspector/proxy-panel.js';
import { inflatedBytes, markOf, sizeOf } from '../../../src/web/inspector/list/list.js';

test('an edited message is a text, a payload or a frame, and digits come in pairs', () => {
  assert.deepEqual(substitute('text', 'price 9'), { text: 'price 9' });
  assert.deepEqual(substitute('binary', '00 ff, 0x1A'), { binary: '00ff1A' });
  assert.deepEqual(substitute('wire', ''), { wire: '' });
  for (const wrong of ['0', '0g', 'hello']) assert.equal(substitute('binary', wrong), null, wrong);
});

test('a held message is shown in each form', () => {
  const held = { client: 1, id: 2, from: 'client', at_ms: 0, line: '', text: 'hi', payload: '6869', wire: '81026869' };
  assert.equal(valueIn(held, 'text'), 'hi');
  assert.equal(valueIn(held, 'binary'), '68 69');
  assert.equal(valueIn(held, 'wire'), '81 02 68 69');
  assert.equal(valueIn({ ...held, text: null }, 'text'), '');
});

test('the title of a held message names the sides that have left', () => {
  const held = { client: 8, id: 2, from: 'client', at_ms: 0, line: 'text, 2 bytes: "hi"', text: 'hi', payload: '6869', wire: '81026869' };
  assert.equal(titleOf(held), '↑ #8: text, 2 bytes');
  assert.equal(titleOf({ ...held, from: 'server', has_left: ['client'] }), '↓ #8: text, 2 bytes · the client has left');
});

test('a row says what the proxy did', () => {
  const entry = (more) => ({ n: 1, client: 1, at_ms: 0, tick: 0, from: 'client', opcode: 'text', packet: null, rule: null, bytes: 4, ...more });
  assert.deepEqual(markOf(entry({})), []);
  assert.deepEqual(markOf(entry({ mark: { name: 'delayed', ms: 200 } })), ['after 200 ms']);
  assert.deepEqual(markOf(entry({ mark: { name: 'repeated', copies: 2 }, compressed: 9 })), ['and 2 more']);
  assert.deepEqual(markOf(entry({ mark: { name: 'dropped' } })), ['dropped']);
  assert.deepEqual(markOf(entry({ mark: { name: 'substitute' } })), ['sent instead']);
  assert.deepEqual(markOf(entry({ injected: true })), ['injected']);
});

test('the size of a compressed message is the size of its content, without the header that was never on the wire', () => {
  const entry = (from, bytes, compressed) => ({ n: 1, client: 1, at_ms: 0, tick: 0, from, opcode: 'text', packet: null, rule: null, bytes, compressed });
  for (const [payload, header] of [[0, 2], [1, 2], [65, 2], [125, 2], [126, 4], [65_535, 4], [65_536, 10]]) {
    assert.equal(inflatedBytes(entry('server', payload + header, 9)), payload);
    assert.equal(inflatedBytes(entry('client', payload + header + 4, 9)), payload);
  }
  assert.equal(sizeOf(entry('client', 71, 68)), '65 bytes, 68 on the wire');
  assert.equal(sizeOf(entry('client', 71, undefined)), '71 bytes');
  assert.equal(sizeOf(entry('server', 3, 8)), '1 byte, 8 on the wire');
});
