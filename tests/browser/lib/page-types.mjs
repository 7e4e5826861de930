// Checks the inline module of a game's page with TypeScript, against `tickwire.d.ts` and the types of the game's packet table.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { Dialect, defaultDialect } from '../../../src/web/lib/codec.js';
import { parse } from './tables.mjs';

/** @typedef {import('../../../src/web/lib/codec.js').Field} Field */

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const DECLARATIONS = `${ROOT}src/web/tickwire.d.ts`;
/** The module of a page is checked as a file of this name, so that its imports resolve. */
const MODULE = `${ROOT}src/web/inline-module.js`;
const GLOBALS = `${ROOT}src/web/inline-module.globals.d.ts`;
const MODULE_TAG = /<script type="module">\n([^]*?)<\/script>/;
const SIGNATURE = 'connect<ToServer = Packets, ToClient = Packets>';

/** Elements by id have the properties of all kinds that the pages use. */
const GLOBALS_TEXT = `
type PageElement = HTMLInputElement & HTMLCanvasElement & HTMLAnchorElement;
interface Document { getElementById(id: string): PageElement }
declare var game: unknown, own: unknown, hand: unknown;
`;

/** @type {ts.CompilerOptions} */
const OPTIONS = { allowJs: true, checkJs: true, noEmit: true, strict: false, skipLibCheck: true, types: [],
  target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler,
  lib: ['lib.esnext.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts', 'lib.dom.asynciterable.d.ts'] };

const SCALARS = { text: 'string', bytes: 'Uint8Array', truth: 'boolean | 0 | 1', number: 'number', any: 'unknown' };

/** Parsed library files, which all pages share. @type {Map<string, ts.SourceFile | undefined>} */
const libraries = new Map();

/** The lines of a page's inline module, at the line numbers of the page. @param {string} html */
export function inlineModule(html) {
  const found = MODULE_TAG.exec(html);
  if (!found) throw new Error('the page has no inline module');
  const before = html.slice(0, found.index + found[0].indexOf('\n') + 1);
  return before.replace(/[^\n]+/g, '') + found[1];
}

/** @param {Field} field @returns {string} */
function typeOf({ shape, members, each, nil }) {
  const entry = () => `{ ${members.map((member) => `${member.name}: ${typeOf(member)}`).join('; ')} }`;
  const containers = { groups: () => `${entry()}[]`, list: () => `(${each && typeOf(each)})[]`, tuple: entry, map: entry };
  const type = shape in containers ? containers[/** @type {keyof containers} */ (shape)]() : SCALARS[/** @type {keyof SCALARS} */ (shape)];
  return nil ? `${type} | null` : type;
}

/** @param {string} name @param {Iterable<import('../../../src/web/lib/codec.js').Packet>} packets */
const interfaceOf = (name, packets) => `interface ${name} {\n${[...packets].map((packet) => (
  `  ${packet.name}: { ${packet.fields.map((field) => `${field.name}${field.nil ? '?' : ''}: ${typeOf(field)}`).join('; ')} };\n`)).join('')}}\n`;

/** `tickwire.d.ts` for a page that speaks the packets of a table. @param {string} table text of a `.tsv` file */
function declarations(table) {
  const codes = { tables: [{ rows: parse(table) }] };
  const dialect = new Dialect(codes, defaultDialect(codes));
  const text = readFileSync(DECLARATIONS, 'utf8');
  if (!text.includes(SIGNATURE)) throw new Error(`tickwire.d.ts has no \`${SIGNATURE}\``);
  return text.replace(SIGNATURE, 'connect<ToServer = PageToServer, ToClient = PageToClient>')
    + interfaceOf('PageToServer', dialect.serverPackets.values()) + interfaceOf('PageToClient', dialect.clientPackets.values());
}

/**
 * Type errors of a page's inline module, each with its line in the page.
 * @param {string} html @param {string} table text of the game's `.tsv` file
 */
export function typeErrors(html, table) {
  const host = ts.createCompilerHost(OPTIONS);
  const texts = new Map([[MODULE, inlineModule(html)], [GLOBALS, GLOBALS_TEXT], [DECLARATIONS, declarations(table)]]);
  const { getSourceFile, fileExists, readFile } = host;
  host.fileExists = (file) => texts.has(file) || fileExists(file);
  host.readFile = (file) => texts.get(file) ?? readFile(file);
  host.getSourceFile = (file, version, ...rest) => {
    const text = texts.get(file);
    if (text !== undefined) return ts.createSourceFile(file, text, version);
    if (!libraries.has(file)) libraries.set(file, getSourceFile(file, version, ...rest));
    return libraries.get(file);
  };
  const program = ts.createProgram([MODULE, GLOBALS], OPTIONS, host);
  const module = program.getSourceFile(MODULE);
  return [...program.getSyntacticDiagnostics(module), ...program.getSemanticDiagnostics(module)].map(({ start = 0, messageText }) => {
    const { line } = ts.getLineAndCharacterOfPosition(/** @type {ts.SourceFile} */ (module), start);
    return `line ${line + 1}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
  });
}
