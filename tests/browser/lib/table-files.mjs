// The files of packet_codes/: a folder for each game.
import { readFileSync, readdirSync } from 'node:fs';

const FOLDER = new URL('../../../packet_codes/', import.meta.url);
const paths = readdirSync(FOLDER, { recursive: true }).map((path) => String(path).replaceAll('\\', '/'));

/** All tables, in the order of the games: the file's name and its text. @type {[string, string][]} */
export const TABLES = paths.filter((path) => path.endsWith('.tsv')).sort()
  .map((path) => [path.split('/').at(-1), readFileSync(new URL(path, FOLDER), 'utf8')]);
