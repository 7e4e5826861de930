// The packet tables of packet_codes/ for tests without a server: importing this makes them the tables in force of the page's modules.
import { readFileSync } from 'node:fs';
import './rules.mjs';
import { setTables } from '../../../src/web/game/net/protocol.js';

/** Parts of a text between separators that are not within brackets. @param {string} text @param {string} separator */
function split(text, separator) {
  const parts = [''];
  let depth = 0;
  for (const sign of text) {
    if ('[({'.includes(sign)) depth += 1;
    if ('])}'.includes(sign)) depth -= 1;
    if (sign === separator && depth === 0) parts.push('');
    else parts[parts.length - 1] += sign;
  }
  return parts;
}

/** @param {string} text `name:type` @returns {import('../../../src/web/game/net/protocol.js').Argument} */
function argument(text) {
  const colon = text.indexOf(':');
  const [name, type] = [text.slice(0, colon), text.slice(colon + 1)];
  const members = type.match(/^[[({]([a-z][a-z0-9_]*:.*)[\])}]/)?.[1];
  return { name, type, ...(members && { members: split(members, ',').map(argument) }) };
}

/** Rows of a table's text, as in `codes.json`. @param {string} text of a `.tsv` file */
export function parse(text) {
  const [heading, ...lines] = text.split('\n').filter((line) => line !== '').map((line) => line.split('\t'));
  const dialects = heading.slice(3, -2).map((cell) => cell.split(':'));
  return lines.map((cells) => {
    const codes = dialects.flatMap(([dialect, kind], at) => (cells[3 + at] === '-' ? [] : [[dialect, kind === 'int' ? Number(cells[3 + at]) : cells[3 + at]]]));
    const written = cells.at(-2) ?? '-';
    const args = written === '-' ? [] : split(written, ' ').map(argument);
    return { direction: cells[0], name: cells[1], lane: cells[2], codes: Object.fromEntries(codes), arguments: args, meaning: cells.at(-1) };
  });
}

/** Rows of the native dialect. */
export const rows = parse(readFileSync(new URL('../../../packet_codes/moo/native.tsv', import.meta.url), 'utf8'));

/** The code of each packet to a client, by name. @type {Record<string, { code: number }>} */
export const TO_CLIENT = Object.fromEntries(rows.filter((row) => row.direction === 'to_client').map((row) => [row.name, { code: row.codes.native }]));

setTables({ tables: [{ rows }] });
