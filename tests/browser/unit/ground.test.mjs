// Where the biomes lie, and the chance that decorates the ground.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { biomeAt, hash, noise } from '../../../src/web/game/rules/palette.js';

test('biomes lie where the rules put them', () => {
  const rows = [[0, 'snow'], [2400, 'snow'], [2401, 'grass'], [6837, 'grass'], [6838, 'river'], [7562, 'river'], [7563, 'grass'],
    [11999, 'grass'], [12000, 'desert'], [14400, 'desert']];
  for (const [y, biome] of rows) assert.equal(biomeAt(y, 14400), biome, `y = ${y}`);
  assert.equal(biomeAt(1200, 7200), 'snow');
});

test('the same place looks the same each time, and places differ', () => {
  assert.equal(hash(3, 4, 5), hash(3, 4, 5));
  const values = new Set(Array.from({ length: 1000 }, (_, i) => hash(i, 7)));
  assert.ok(values.size > 990);
  assert.ok([...values].every((value) => value >= 0 && value < 1));
  for (let x = 0; x < 50; x += 0.1) assert.ok(Math.abs(noise(x + 0.1, 3) - noise(x, 3)) < 0.4);
});
