// The halves of scripts/again.sh that need Node.
//
//   node tests/wasm/again.mjs trace FILE              runs a trace of `tickwire synctest --trace` in src/web/wasm/tickwire.wasm
//   node tests/wasm/again.mjs counts FILE yes|no      adds up the lines of `tickwire synctest --json`; whether a count of 0 is a failure
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runTrace } from './games.mjs';

// Players that must have acted in each 300 ticks.
const ACTING = 8;
// What must come in a game of this project. Others may have more.
const COMMANDS = {
  moo: ['aim', 'announce', 'attack', 'chat', 'clan_answer', 'clan_create', 'clan_kick', 'clan_leave', 'clan_request', 'disconnect', 'enter', 'grant', 'join',
    'leave', 'map_ping', 'move', 'select', 'spawn', 'upgrade'],
  tanks: ['Control', 'Disconnect', 'Join', 'Leave'],
};
const DEEDS = {
  moo: ['animals', 'builds', 'clans', 'commands_accepted', 'commands_rejected', 'deaths', 'gathered', 'hits', 'kills', 'respawns', 'shots', 'upgrades'],
  tanks: ['commands_accepted', 'commands_rejected', 'hits_seen', 'kills_seen', 'shots_seen'],
};
const plural = (count, name) => `${count} ${name}${count === 1 ? '' : 's'}`;

async function trace(file) {
  const built = fileURLToPath(new URL('../../src/web/wasm/tickwire.wasm', import.meta.url));
  const module = await WebAssembly.instantiate(readFileSync(built), {});
  const { worlds, ticks, checksums } = runTrace(module.instance.exports, readFileSync(file, 'utf8'));
  console.log(`${plural(worlds, 'world')}, ${plural(ticks, 'tick')}: the same in ${plural(checksums, 'checksum')}`);
}

function counts(file, mustCome) {
  const lines = readFileSync(file, 'utf8').trim().split('\n').map((line) => JSON.parse(line));
  const sums = { commands: {}, deeds: {} };
  for (const name of COMMANDS[lines[0].game] ?? []) sums.commands[name] = 0;
  for (const name of DEEDS[lines[0].game] ?? []) sums.deeds[name] = 0;
  let [copies, least] = [0, Infinity];
  for (const line of lines) {
    if (line.least_acting === null) throw new Error(`seed ${line.seed}: too few ticks to see how many players act`);
    least = Math.min(least, line.least_acting);
    copies += line.copies;
    for (const kind of ['commands', 'deeds']) {
      for (const [name, count] of Object.entries(line[kind])) sums[kind][name] = (sums[kind][name] ?? 0) + count;
    }
  }
  console.log(`${lines[0].game}: ${plural(copies, 'copy').replace('copys', 'copies')} from snapshots; in each 300 ticks at least ${plural(least, 'player')} acted`);
  if (least < ACTING) throw new Error(`only ${plural(least, 'player')} acted in some 300 ticks: ${ACTING} must`);
  const never = [];
  for (const kind of ['commands', 'deeds']) {
    const names = Object.keys(sums[kind]).sort();
    console.log(`  ${kind}: ${names.map((name) => `${name} ${sums[kind][name]}`).join(', ')}`);
    never.push(...names.filter((name) => sums[kind][name] === 0));
  }
  if (mustCome && never.length > 0) throw new Error(`never came: ${never.join(', ')}`);
}

const [what, file, mustCome] = process.argv.slice(2);
if (what === 'trace') await trace(file);
else counts(file, mustCome === 'yes');
