// Clans as packets bring them, what the panel makes of them, and what the page asks of the server.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PING_MS } from '../../../src/web/game/world/clans.js';
import { Commands } from '../../../src/web/game/net/commands.js';
import { clanPanel } from '../../../src/web/game/hud/clan-panel.js';
import { encode as toMsgpack } from '../../../src/web/lib/msgpack.js';
import { CLAN_CHARS, decode, encode } from '../../../src/web/game/net/protocol.js';
import { TO_CLIENT } from '../lib/tables.mjs';
import { World } from '../../../src/web/game/world/world.js';

const ME = 9;
const ADA = 5;
const BO = 6;

/** A world in which one plays as 9, with two clans: OAK of Ada, ASH of somebody far away. */
function village() {
  const world = new World();
  let now = 1000;
  const take = (name, ...args) => world.apply(decode(toMsgpack([TO_CLIENT[name].code, args])), (now += 33));
  take('welcome', 1, '00000000000000ff', 7, 14400, 30, 30, 'e1', 100);
  take('spawned', ME);
  take('update', 101, null, null, [ME, 'Me', 2, 1800, 2000, 0, ADA, 'Ada', 3, 2000, 2000, 0, BO, 'Bo', 3, 2000, 2000, 0]);
  take('clans', [1, 'OAK', ADA, 2, 'ASH', 77]);
  take('clan_tags', [ADA, 1]);
  world.events.length = 0;
  return { world, clans: world.clans, take, now: () => now };
}

const acts = (rows) => rows.map(({ name, note, acts: list }) => [name, note, list.map(({ act }) => act).join(' ')]);

test('without a clan one may found one, or ask; asked once one waits', () => {
  const { clans } = village();
  const before = clanPanel(clans, ME);
  assert.deepEqual([before.title, before.mayFound, before.leave], ['Clans', true, '']);
  assert.deepEqual(acts(before.list), [['[ASH]', '', 'ask'], ['[OAK]', '', 'ask']]);
  clans.requestToJoin('OAK');
  assert.deepEqual(acts(clanPanel(clans, ME).list), [['[ASH]', '', 'ask'], ['[OAK]', 'asked', '']]);
});

test('who has no body can only read', () => {
  const { clans } = village();
  const { mayFound, list } = clanPanel(clans, null);
  assert.equal(mayFound, false);
  assert.deepEqual(acts(list), [['[ASH]', '', ''], ['[OAK]', '', '']]);
});

test('a member sees the others and may leave, nothing more', () => {
  const { clans, take } = village();
  clans.requestToJoin('OAK');
  take('clan', 1, 0, [ADA, 'Ada', ME, 'Me'], []);
  const panel = clanPanel(clans, ME);
  assert.deepEqual([panel.title, panel.leave, panel.mayFound, panel.list], ['[OAK]', 'Leave the clan', false, []]);
  assert.deepEqual(acts(panel.members), [['Ada', 'owner', ''], ['Me', 'you', '']]);
  assert.equal(clans.requested, null);
});

test('an owner puts others out and answers those who ask', () => {
  const { clans, take } = village();
  take('clan_changes', [], [3, 'ELM', ME]);
  take('clan', 3, 1, [ME, 'Me', BO, ''], [ADA, 'Ada']);
  const panel = clanPanel(clans, ME);
  assert.equal(panel.leave, 'Dissolve the clan');
  assert.deepEqual(acts(panel.members), [['Me', 'you, owner', ''], [`guest ${BO}`, '', 'kick']]);
  assert.deepEqual(acts(panel.asks), [['Ada', '', 'yes no']]);
  assert.deepEqual(panel.asks[0].player, ADA);
});

test('names have their clan before them, one\'s own too; who leaves view is told of anew', () => {
  const { world, clans, take } = village();
  assert.deepEqual([ADA, BO, ME].map((id) => clans.tagOf(id, ME)), ['OAK', '', '']);
  take('clan', 1, 0, [ADA, 'Ada', ME, 'Me'], []);
  assert.equal(clans.tagOf(ME, ME), 'OAK');
  take('clan_tags', [ADA, null]);
  assert.equal(clans.tagOf(ADA, ME), '');
  take('clan_tags', [ADA, 1]);
  take('update', 102, null, [ADA]);
  take('update', 103, null, null, [ADA, 'Ada', 3, 2000, 2000, 0]);
  assert.equal(clans.tagOf(ADA, ME), '');
  assert.equal(world.players.has(ADA), true);
});

test('mates are those of one\'s own clan, by tag or by roll, and never oneself', () => {
  const { clans, take } = village();
  assert.equal(clans.isMate(ADA, ME), false);
  take('clan', 1, 0, [ADA, 'Ada', ME, 'Me'], []);
  assert.deepEqual([ADA, BO, ME].map((id) => clans.isMate(id, ME)), [true, false, false]);
  take('clan_tags', [BO, 1]);
  assert.equal(clans.isMate(BO, ME), true);
  take('clan', null, 0, [], []);
  assert.equal(clans.isMate(ADA, ME), false);
});

test('places of mates come anew each time and grow old', () => {
  const { clans, take, now } = village();
  take('clan', 1, 0, [ADA, 'Ada', ME, 'Me', BO, 'Bo'], []);
  take('clan_mates', [ADA, 4000, 5000, BO, 100, 200]);
  take('clan_mates', [ADA, 4010, 5000]);
  assert.deepEqual(clans.matesAt(now()), [{ player: ADA, x: 4010, y: 5000 }]);
  assert.deepEqual(clans.matesAt(now() + 3100), []);
  take('clan', null, 0, [], []);
  assert.deepEqual(clans.matesAt(now()), []);
});

test('a place that is shown stays for 2.2 s; shown again it begins anew', () => {
  const { world, clans, take, now } = village();
  take('map_ping', ADA, 4000, 5000);
  assert.deepEqual(world.events.map(({ kind, id, x }) => [kind, id, x]), [['pinged', ADA, 4000]]);
  take('map_ping', ADA, 4100, 5000);
  const [first] = clans.pingsAt(now() + PING_MS / 2);
  assert.deepEqual([first.x, first.part], [4100, 0.5]);
  assert.equal(clans.pingsAt(now()).length, 1);
  assert.deepEqual(clans.pingsAt(now() + PING_MS), []);
  assert.equal(PING_MS, 2200);
});

test('changes add to the clans that are known, and a name may come again at once', () => {
  const { clans, take } = village();
  take('clan_changes', [2], [3, 'ELM', BO, 4, 'ASH', ADA]);
  assert.deepEqual([...clans.all.values()], [{ id: 1, name: 'OAK', owner: ADA }, { id: 3, name: 'ELM', owner: BO }, { id: 4, name: 'ASH', owner: ADA }]);
  const { version } = clans;
  take('clan_changes', [3]);
  assert.deepEqual([...clans.all.keys()], [1, 4]);
  assert.ok(clans.version > version, 'the panel is drawn anew');
});

test('an ended clan is asked no more; a new connection knows none', () => {
  const { clans, take } = village();
  clans.requestToJoin('OAK');
  take('clan_changes', [1]);
  assert.equal(clans.requested, null);
  take('welcome', 1, '00000000000000ff', 7, 14400, 30, 30, 'e2', 1);
  assert.deepEqual([clans.all.size, clans.tags.size, clans.own], [0, 0, null]);
});

test('what the operator says is shown and stays in the chat', () => {
  const { world, take, now } = village();
  take('notice', 'The river rises.');
  assert.deepEqual(world.notice, { text: 'The river rises.', atMs: now() });
  assert.deepEqual(world.chat.at(-1), { player: null, name: 'Operator', text: 'The river rises.', atMs: now() });
});

test('each wish is one packet', () => {
  const { world } = village();
  const sent = [];
  const commands = new Commands({ send: (name, values) => { sent.push([name, [...encode(name, values)].at(-1), values.name ?? values.player]); return true; } }, world);
  commands.createClan('  REDWOODS ');
  commands.requestClan('OAK');
  commands.answer(ADA, true);
  commands.answer(ADA, false);
  commands.kick(BO);
  commands.ping();
  commands.leaveClan();
  assert.deepEqual(sent.map(([name, , value]) => [name, value]), [['clan_create', 'REDWOOD'], ['clan_request', 'OAK'], ['clan_answer', ADA],
    ['clan_answer', ADA], ['clan_kick', BO], ['map_ping', undefined], ['clan_leave', undefined]]);
  assert.deepEqual([sent[2][1], sent[3][1]], [1, 0]);
  assert.equal(CLAN_CHARS, 7);
  world.ownId = null;
  assert.equal(commands.createClan('ELM'), false, 'without a body nothing is asked');
});
