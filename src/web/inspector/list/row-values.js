/**
 * Values of a row: the content of a message in one line, short enough to show its beginning.
 *
 * @module inspector/list/row-values
 */

/** Strings of JSON with the colon of a key, brackets, commas, and everything else. */
const TOKENS = /"(?:[^"\\]|\\.)*"?:?|[{}[\],]|[^"{}[\],]+/gs;
/** A key that needs no quotation marks, with its colon. */
const PLAIN_KEY = /^"([A-Za-z_$][\w$.-]*)":$/;

/**
 * Shortens the text of a JSON object: without its outer braces, and without quotation marks around
 * plain keys. The text may be cut off.
 * @param {string} text
 */
export function shortJson(text) {
  const isObject = text.startsWith('{');
  let [depth, short] = [0, ''];
  for (const token of text.match(TOKENS) ?? []) {
    if (token === '}' || token === ']') depth -= 1;
    const isOuter = isObject && depth === 0 && (token === '{' || token === '}');
    if (token === ',' && isObject && depth === 1) short += ' ';
    else if (!isOuter) short += token.replace(PLAIN_KEY, '$1:');
    if (token === '{' || token === '[') depth += 1;
  }
  return short;
}

/**
 * Returns the content of a summary line, without the packet's name and a tick at the front, which
 * have columns, without the size of an inflated message, and without the empty lists of a packet.
 * @param {string} line such as `binary, 9 bytes: scores tick=31 points=[7,4]`
 * @param {{ packet: string | null, tick: number }} entry
 */
export function valuesOf(line, { packet, tick }) {
  const [, content = ''] = /: (?:inflated \d+ bytes?: )?(.*)$/s.exec(line) ?? [];
  if (packet === null || !content.startsWith(packet)) {
    const [, json] = /^(?:JSON|MessagePack) ([[{].*)$/s.exec(content) ?? [];
    return json === undefined ? content : shortJson(json);
  }
  const [first, ...rest] = content.slice(packet.length).trimStart().split(' ');
  const values = first === `tick=${tick}` ? rest : [first, ...rest];
  return values.filter((value) => !value.endsWith('=[]')).join(' ');
}
