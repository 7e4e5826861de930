// What the inspector teaches, its pure parts: unmasking in steps, edited frames and the suggested flips, key presses, and what happened.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Edit, difference, suggestedFlips, findNode, hexByte, setBits } from '../../../src/web/inspector/frame/edit.js';
import { Explainer } from '../../../src/web/inspector/explainer.js';
import { FollowButton } from '../../../src/web/inspector/follow-button.js';
import { columnsFor, hasText } from '../../../src/web/inspector/frame/byte-lanes.js';
import { OwnClient } from '../../../src/web/inspector/own-client.js';
import { KeyPresses, isCommand, isRelease, keysOf } from '../../../src/web/inspector/frame/key-presses.js';
import { InjectionLog, linkOf, verdict } from '../../../src/web/inspector/frame/injection-log.js';
import { hex, flattenTree, partsOf, parseHex } from '../../../src/web/inspector/frame/tree.js';
import { XorStepper, bitsOf, keyByte } from '../../../src/web/inspector/frame/xor-stepper.js';
import { TABLES } from '../lib/table-files.mjs';

const file = (path) => readFileSync(new URL(`../../../${path}`, import.meta.url));
const MOVE = '828a37fa213da5f9b22cfafe91f077fa';
const CLIENT = 7;

/** A message of observed bytes, as PROTOCOL.md has it. @param {[number, Buffer][]} records kind and body */
function message(records) {
  const parts = records.map(([kind, body]) => {
    const head = Buffer.alloc(17);
    head.writeUInt8(kind, 0);
    head.writeUInt32BE(body.length, 13);
    return Buffer.concat([head, body]);
  });
  const front = Buffer.alloc(8);
  front.writeBigUInt64BE(BigInt(CLIENT));
  return Uint8Array.from(Buffer.concat([front, ...parts])).buffer;
}

/** An explainer that watches a client after its upgrade, and the entries of these frames. @param {string[]} frames of the client, or `<` and one of the server */
async function watching(...frames) {
  const explainer = await Explainer.from(file('src/web/wasm/tickwire.wasm'));
  explainer.welcome(JSON.stringify({ welcome: { began_us: 0, codes: TABLES } }));
  explainer.selectClient(CLIENT);
  const request = 'GET /play HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n'
    + 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
  const response = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n';
  const opened = [1, Buffer.from(`127.0.0.1:40000 127.0.0.1:3000 native msgpack ${request.length}\n${request}${response}`)];
  const records = frames.map((frame) => (frame.startsWith('<') ? [3, Buffer.from(frame.slice(1), 'hex')] : [2, Buffer.from(frame, 'hex')]));
  const entries = explainer.receive(message([opened, ...records])).frames.slice(2);
  return { explainer, entries };
}

const digits = (bytes) => [...bytes].map(hex).join('');

test('unmasking steps through the payload and ends at rest, by hand and by itself', () => {
  const stepper = new XorStepper();
  stepper.step(1);
  assert.equal(stepper.at, null, 'an empty payload has no byte at hand');
  stepper.reset(3);
  assert.ok([0, 1, 2].every((at) => stepper.isUnmasked(at)), 'at rest all is unmasked');
  const seen = [];
  for (let step = 0; step < 4; step += 1) { stepper.step(1); seen.push(stepper.at); }
  for (let step = 0; step < 4; step += 1) { stepper.step(-1); seen.push(stepper.at); }
  assert.deepEqual(seen, [0, 1, 2, null, 2, 1, 0, null]);
  stepper.toggle();
  assert.deepEqual([stepper.isPlaying, stepper.at, stepper.isUnmasked(0), stepper.isUnmasked(1)], [true, 0, true, false]);
  stepper.tick();
  stepper.step(1);
  assert.deepEqual([stepper.isPlaying, stepper.at], [false, 2], 'a step by hand stops it');
  stepper.toggle();
  stepper.tick();
  assert.deepEqual([stepper.isPlaying, stepper.at], [false, null], 'after the last byte it rests');
  stepper.selectByte(1);
  assert.equal(stepper.at, 1);
  stepper.selectByte(9);
  assert.equal(stepper.at, 1);
});

test('byte i is XORed with byte i mod 4 of the key', () => {
  const [key, sent] = [parseHex('37fa213d'), parseHex('a5f9b22cfafe91f077fa')];
  assert.equal(digits(sent.map((byte, at) => byte ^ keyByte(key, at))), '92039311cd04b0cd4000');
  assert.deepEqual(bitsOf(0xa5), [1, 0, 1, 0, 0, 1, 0, 1]);
});

test('an edit turns bits over, sets bytes, and knows what differs', () => {
  const edit = new Edit(parseHex(MOVE));
  assert.equal(edit.isChanged, false);
  edit.flip(8);
  assert.deepEqual([edit.bytes[1], edit.differing(), edit.isChanged], [0x0a, [8], true]);
  const { leaves } = flattenTree({ name: 'frame', bits: [0, 128], value: '', encoding: '', children: [{ name: 'mask', bits: [8, 9], value: '', encoding: '', children: [] }] });
  assert.match(difference(edit, leaves), /1 bit differs: bit 0 of byte 1, 1 → 0 \(mask\)/);
  edit.flip(8);
  assert.equal(edit.isChanged, false);
  edit.set(0, 0x83);
  edit.set(99, 1);
  edit.set(0, 256);
  edit.flip(-1);
  edit.flip(128);
  assert.deepEqual([edit.bytes[0], edit.differing()], [0x83, [7]]);
  edit.replace(Uint8Array.of(...edit.original, 0));
  assert.deepEqual([edit.differing(), edit.isChanged], [null, true]);
  assert.match(difference(edit, leaves), /17 bytes instead of 16/);
  edit.undo();
  assert.equal(digits(edit.bytes), MOVE);
  assert.deepEqual(['9', 'fF', '', 'g1', '123', '0x'].map(hexByte), [9, 255, null, null, null, null]);
  assert.equal(digits(setBits(parseHex('82ff'), [4, 8], 3)), '83ff');
  assert.equal(digits(setBits(parseHex('0000'), [4, 12], 0xff)), '0ff0');
});

test('each suggested flip gets the verdict that it promises', async () => {
  const { explainer, entries: [entry] } = await watching(MOVE);
  const explained = explainer.explain(entry.n);
  const all = suggestedFlips(parseHex(MOVE), explained.frames[0].tree);
  const rules = all.map(({ id, bytes, values }) => {
    const sent = bytes ? digits(bytes) : explainer.rewrite({ n: entry.n, set: values, next: true });
    const told = explainer.explainBytes({ from: 'client', bytes: sent });
    assert.equal(told.raw, sent);
    return [id, told.frames[0].problem?.rule ?? null, verdict(told).kind];
  });
  assert.deepEqual(rules, [['mask', 'mask_missing', 'broken'], ['rsv1', 'reserved_bit', 'broken'], ['opcode', 'reserved_opcode', 'broken'],
    ['long', 'message_too_long', 'broken'], ['short', 'packet_truncated', 'broken'], ['direction', null, 'fine']]);
  const turned = explainer.explainBytes({ from: 'client', bytes: explainer.rewrite({ n: entry.n, set: all.at(-1).values, next: true }) });
  assert.deepEqual(['sequence', 'direction'].map((name) => findNode(turned.frames[0].tree, name).raw), [18, 49152], 'the opposite way, as the next command');
  assert.deepEqual(explainer.explain(entry.n), explained, 'the kept frame is as it was');
  const waits = verdict(explainer.explainBytes({ from: 'client', bytes: MOVE.slice(0, 20) }));
  assert.deepEqual([waits.kind, /waits/.test(waits.text)], ['wait', true]);
  assert.throws(() => explainer.explainBytes({ from: 'client', bytes: '8' }), /digit/);
});

test('sentences about a frame name its own receiver and sender', async () => {
  const { explainer } = await watching();
  const ping = `8989${MOVE.slice(4, 12)}${MOVE.slice(12, 30)}`;
  for (const [from, receiver, sender] of [['client', 'server', 'your game'], ['server', 'your game', 'server']]) {
    const textOf = (bytes) => verdict(explainer.explainBytes({ from, bytes })).text;
    const masked = from === 'client';
    const frames = [masked ? ping : '8900', masked ? '8900' : ping, masked ? ping.slice(0, 20) : '8905', masked ? `0982${MOVE.slice(4, 16)}` : '02020102', 'c100'];
    for (const bytes of frames) {
      const text = textOf(bytes);
      for (const [verb, who] of [[/(reads|waits|answers with)/, receiver], [/(sends next|begins will)/, sender]]) {
        const [, subject] = new RegExp(`(server|your game) ${verb.source}`, 'i').exec(text) ?? [];
        if (subject) assert.equal(subject.toLowerCase(), who, `${from} ${bytes}: ${text}`);
      }
      assert.match(text, new RegExp(receiver, 'i'), `${from} ${bytes}`);
    }
    const maskOf = (bytes) => findNode(explainer.explainBytes({ from, bytes }).frames[0].tree, 'mask').value;
    assert.deepEqual([maskOf('8900'), maskOf(ping)].map((value) => / must( not)? mask$/.test(value)), masked ? [true, false] : [false, true], from);
  }
});

test('the bytes behind the header: key and masked payload, or what is not read, or a further frame', async () => {
  const { explainer } = await watching();
  const parts = (bytes, from = 'client') => {
    const told = partsOf(explainer.explainBytes({ from, bytes }).frames, false);
    return [told.header, ...told.parts.map(({ kind, start, end }) => `${kind} ${start}-${end}`)];
  };
  assert.deepEqual(parts(MOVE), [2, 'key 2-6', 'masked 6-16']);
  assert.deepEqual(parts(`020a${MOVE.slice(4)}`), [2, 'unread 2-16'], 'no mask: what was the key is not called one');
  assert.deepEqual(parts('820603000000000000', 'server'), [2, 'plain 2-8', 'next 8-9']);
  assert.deepEqual(parts(`82fe000a${MOVE.slice(4)}`).slice(0, 2), [4, 'key 4-8']);
  assert.deepEqual(partsOf([{ start: 0, end: 9, tree: { children: [] }, masked: null, line: '' }], true).parts.map((part) => part.kind), ['plain']);
});

test('rows are as wide as the payload and the room', () => {
  assert.deepEqual([columnsFor(10, 700), columnsFor(40, 700), columnsFor(10, 360), columnsFor(6, 360), columnsFor(0, 700)], [10, 16, 8, 6, 16]);
  assert.deepEqual([hasText(Buffer.from('\x92\x05Ada')), hasText(parseHex('92039311cd04b0cd4000'))], [true, false]);
});

test('a press is a command of one\'s own that begins something', async () => {
  const { explainer, entries } = await watching(MOVE);
  const [move] = entries;
  const entry = (n, packet, from = 'client') => ({ ...move, n, packet, from });
  assert.deepEqual(['move', 'attack', 'chat', 'ping', 'aim', 'hello', null].map((packet) => isCommand(entry(1, packet))), [true, true, true, false, false, false, false]);
  assert.equal(isCommand(entry(1, 'update', 'server')), false);
  assert.equal(isRelease(explainer.explain(move.n)), false);
  const released = explainer.explainBytes({ from: 'client', bytes: explainer.rewrite({ n: move.n, set: { direction: null } }) });
  assert.equal(isRelease(released), true);
  const told = { 1: explainer.explain(move.n), 2: explainer.explain(move.n), 3: released, 4: explainer.explain(move.n) };
  const presses = new KeyPresses((n) => told[n]);
  presses.add([entry(1, 'move'), entry(2, 'ping')]);
  assert.equal(presses.newest.n, 1);
  presses.add([entry(3, 'move'), entry(5, 'update', 'server')]);
  assert.equal(presses.newest.n, 1, 'a key that is let go takes no place');
  presses.add([entry(4, 'move'), entry(6, 'aim')]);
  assert.equal(presses.newest.n, 4);
  presses.clear();
  assert.equal(presses.newest, null);
});

test('a movement of the mouse and released keys are no key press, in a packet with keys and an angle', () => {
  const leaf = (name, raw, value = String(raw)) => ({ name, raw, value, bits: [0, 0], encoding: '', children: [] });
  const control = (sequence, drive, aim, isFiring) => {
    const values = [leaf('sequence', sequence), leaf('tick', 9, '9 ticks'), leaf('drive', drive), leaf('turn', 0), leaf('aim', aim, `${aim} turn16 = 3°`), leaf('is_firing', isFiring), leaf('render_tick', null, 'nil')];
    return { frames: [{ packet: 'control', tree: { ...leaf('frame'), children: [{ ...leaf('arguments'), children: values }] } }] };
  };
  assert.deepEqual(keysOf(control(1, -1, 500, true)), [-1, 0, true]);
  assert.deepEqual(keysOf({ gone: true }), []);
  const steps = [control(1, 1, 0, false), control(2, 1, 90, false), control(3, 1, 95, true), control(4, 0, 95, false), control(5, 0, 99, false)];
  const presses = new KeyPresses((n) => steps[n - 1]);
  const newest = steps.map((_, at) => {
    presses.add([{ n: at + 1, from: 'client', packet: 'control' }]);
    return presses.newest.n;
  });
  assert.deepEqual(newest, [1, 1, 3, 3, 3]);
});

test('only with the resumeKey of the game around the page is a connection one\'s own', () => {
  const said = [];
  const own = (game) => new OwnClient((wish) => said.push(wish), () => game);
  for (const game of [null, {}, { resumeKey: 7 }, { resumeKey: 'ab' }]) {
    own(game).requestOwnClient();
    assert.equal(own(game).inject('00'), false);
  }
  assert.deepEqual(said, []);
  const resumeKey = '0123456789abcdef0123456789abcdef';
  own({ resumeKey }).requestOwnClient();
  assert.equal(own({ resumeKey }).inject('8200'), true);
  assert.deepEqual(said, [{ find_own: resumeKey }, { inject: resumeKey, bytes: '8200' }]);
});

test('the story of a broken rule: what was sent, the rule, the close frame, the end, and the game that is back', async () => {
  const close = `<880e03ea${Buffer.from('mask_missing').toString('hex')}`;
  const { explainer, entries } = await watching(`820a${MOVE.slice(4)}`, close);
  const explain = (n) => explainer.explain(n);
  const story = new InjectionLog();
  assert.equal(story.observed({ ...entries[0], injected: true }, explain), false, 'nothing was sent from here');
  story.begin(MOVE, '1 bit differs.');
  story.answered({ injected: CLIENT });
  assert.equal(story.observed(entries[1], explain), false, 'before the bytes are read nothing is an answer to them');
  for (const entry of [{ ...entries[0], injected: true }, entries[1]]) assert.equal(story.observed(entry, explain), true);
  story.ended('mask_missing');
  story.onReconnected(CLIENT);
  story.onReconnected(8);
  story.onReconnected(8);
  assert.deepEqual(story.lines.map((line) => line.kind), ['sent', 'broken', 'close', 'over', 'back']);
  assert.deepEqual([story.lines[1].rule, story.lines[1].address], ['mask_missing', 'RFC 6455 section 5.1']);
  assert.match(story.lines[2].text, /1002 protocol error, reason "mask_missing"/);
  assert.match(story.lines[4].text, /client 8/);
  assert.equal(linkOf('RFC 6455 section 5.1'), 'https://www.rfc-editor.org/rfc/rfc6455#section-5.1');
  assert.equal(linkOf('PROTOCOL.md'), null);
  const next = (packet, client = 8) => story.observed({ ...entries[0], packet, client }, explain);
  assert.deepEqual(['join', 'ping', 'aim'].map((packet) => next(packet)), [false, false, false]);
  assert.equal(next('move', 3), false, 'another client');
  assert.equal(next('move'), true, 'the next key press ends it');
  assert.deepEqual([story.isActive, story.lines], [false, []]);
});

test('the story of a frame that breaks nothing, and of one that the server did not take', async () => {
  const { explainer, entries: [entry] } = await watching(MOVE);
  const story = new InjectionLog();
  story.begin(MOVE, '1 bit differs.');
  story.answered({ injected: CLIENT });
  story.observed({ ...entry, injected: true }, (n) => explainer.explain(n));
  assert.match(story.lines[1].text, /Nothing was broken: the server read move sequence=17/);
  const refusal = { frames: [{ tree: { name: 'frame', children: [{ name: 'rule', raw: 'repeated', children: [] }, { name: 'detail', raw: 'a sequence number', children: [] }] } }] };
  story.observed({ ...entry, from: 'server', packet: 'error' }, () => refusal);
  assert.equal(story.lines[2].text, 'The server dropped it: repeated, a sequence number.');
  story.begin(MOVE, '');
  story.observed({ ...entry, injected: true }, (n) => explainer.explain(n));
  const answer = { frames: [{ tree: { name: 'frame', children: [{ name: 'sequence', raw: 17, children: [] }, { name: 'reason', raw: 'repeated', children: [] }] } }] };
  story.observed({ ...entry, from: 'server', packet: 'command_rejected' }, () => answer);
  assert.equal(story.lines.at(-1).text, 'The server dropped it: repeated.');
  story.begin(MOVE, '');
  story.answered({ injected: null, error: 'no such client' });
  assert.deepEqual([story.lines[1].kind, story.lines[1].text], ['no', 'Not sent: no such client.']);
  story.ended('idle_timeout');
  assert.equal(story.lines.length, 2, 'the end of another connection is another story');
});

test('Follow is lit only while nothing holds the view, and a press closes what does', () => {
  const [button, list] = [{ title: '', pressed: '', setAttribute(_, value) { this.pressed = value; } }, { follow: true }];
  const flip = { isOpen: false, log: { isActive: false }, close() { this.isOpen = false; }, closeLog() { this.log.isActive = false; } };
  const follow = new FollowButton(button, list, flip);
  const press = () => { list.follow = follow.toggles(); follow.show(); };
  follow.show();
  assert.deepEqual([button.pressed, button.title], ['true', '']);
  for (const hold of [() => { flip.isOpen = true; }, () => { flip.log.isActive = true; }]) {
    hold();
    follow.show();
    assert.equal(button.pressed, 'false');
    assert.match(button.title, /follows/);
    press();
    assert.deepEqual([button.pressed, follow.isHeld], ['true', false]);
  }
  press();
  assert.equal(button.pressed, 'false');
});
