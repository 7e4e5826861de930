// The inline modules of the games' pages call `tickwire.js` as `tickwire.d.ts` and the packet tables declare.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { typeErrors } from '../lib/page-types.mjs';

const read = (/** @type {string} */ name) => readFileSync(new URL(`../../../${name}`, import.meta.url), 'utf8');
const PAGES = [
  ...['coins', 'fog', 'kites', 'paint', 'pong', 'units'].map((name) => [`examples/${name}.html`, `examples/${name}.tsv`]),
  ['src/games/tanks/page.html', 'packet_codes/tanks/tanks.tsv'],
];

for (const [page, table] of PAGES) {
  test(`${page} has no type error`, () => assert.deepEqual(typeErrors(read(page), read(table)), []));
}

test('a wrong call in a page is a type error', () => {
  const [html, table] = [read('examples/paint.html'), read('examples/paint.tsv')];
  for (const [right, wrong, error] of [
    ["game.send('splash')", "game.send('splat')", /'"splat"' is not assignable/],
    ['{ direction: way }', '{ heading: way }', /'heading' does not exist/],
    ['{ direction: way }', "{ direction: 'up' }", /'string' is not assignable to type 'number'/],
    ["game.on('cheered'", "game.on('cheer'", /'"cheer"' is not assignable/],
    ['state.bucket_x - 8', 'state.bucket - 8', /'bucket' does not exist/],
    ["game.interpolated('state')", "game.interpolate('state')", /'interpolate' does not exist/],
  ]) {
    assert.ok(html.includes(right), right);
    assert.match(typeErrors(html.replace(right, wrong), table).join('\n'), error, wrong);
  }
});

test('the state of an entity list has the entities of its row, and its packet does not', () => {
  const table = `${read('examples/paint.tsv')}to_client\tsoldiers\tlatest\t99\ttick:u32.tick enter:[player:u16,x:u16.px]|nil leave:[u16] moved:[player:u16,dx:i8.px]\tin sight\n`;
  const errors = (/** @type {string} */ lines) => typeErrors(`<script type="module">\nimport { connect } from './tickwire.js';\nconst game = await connect();\n${lines}\n</script>`, table).join('\n');
  for (const right of [
    "game.newest('soldiers').entities[0].x.toFixed(game.newest('soldiers').tick);",
    "for (const { player, x } of game.interpolated('soldiers').entities) player.toFixed(x);",
    "game.entities('soldiers').get(3)?.x.toFixed();",
    "game.on('soldiers', ({ enter, moved }) => (enter ?? [])[0].x.toFixed(moved[0].dx));",
    "game.newest('state').tick.toFixed();",
  ]) assert.equal(errors(right), '', right);
  for (const [wrong, error] of [
    ["game.newest('soldiers').enter;", /'enter' does not exist/],
    ["game.interpolated('soldiers').entities[0].dx;", /'dx' does not exist/],
    ["game.entities('soldiers').get(3).name;", /'name' does not exist/],
    ["game.on('soldiers', ({ entities }) => entities);", /'entities' does not exist/],
    ["game.newest('state').entities;", /'entities' does not exist/],
  ]) assert.match(errors(wrong), error, wrong);
});
