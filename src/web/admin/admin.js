/**
 * Admin page: sends operator commands to `/admin` as lines and shows the response lines.
 *
 * The token comes from the fragment of the link or from the form. It never appears in the address
 * bar or in a cookie, and is stored for the tab only. Text of players is inserted as text, never as
 * markup.
 *
 * @module admin/admin
 */

import { isComposing } from '../lib/held.js';
import { session } from '../lib/stored.js';

const STORAGE_KEY = 'tickwire-admin-token';
const REFRESH_MS = 2000;
/** Time within which a destructive button must be pressed again, ms. */
const SURE_MS = 3000;
const LOG_LINES = 200;
/**
 * A row of `players`: number, age, score, health, position, address, quoted name, and the token
 * name if there is one.
 */
const ROW = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(-?\d+)\s+(-?\d+)\s+(\S+)\s+(".*")(?:\s+token (\S+))?$/;

/** A row of `rooms`: players, clients, tick, state, name. */
const ROOM_ROW = /^\s*\d+\s+\d+\s+\d+\s+\S+\s+(\S+)$/;
/** A row of `memory`: part, bytes or `-`, and what they include. */
const MEMORY_ROW = /^(\S+(?: \S+)*)\s{2,}(\d+|-)\s{2,}(.+)$/;
/** A row of `traffic`: packet, frames, bytes, share of all bytes, and shares of fields or `-`. */
const TRAFFIC_ROW = /^(\S+)\s{2,}(\d+)\s{2,}(\d+)\s{2,}(\d+ %)\s{2,}(.+)$/;
/** Name of the default room in the response to `rooms`. */
const DEFAULT_ROOM = '(default)';

const byId = /** @type {import('./elements.js').ById} */ ((/** @type {string} */ id) => document.getElementById(id));

let token = session.getItem(STORAGE_KEY) ?? '';
/** Executed lines, for the arrow keys. `place` is the index of the shown line. */
const lineHistory = { lines: /** @type {string[]} */ ([]), place: 0 };
/**
 * Table rows by player number. A refresh reuses the rows, so that the row under the pointer stays
 * in place.
 * @type {Map<number, HTMLTableRowElement>}
 */
const rows = new Map();

/** Returns the command prefix of the selected room. */
const roomPrefix = () => (byId('room').value === '' ? '' : `room ${byId('room').value} `);

/**
 * Reads a token from the fragment of the address and removes it there. The token replaces the
 * stored one if the server accepts it.
 */
function readTokenFromUrl() {
  const given = location.hash.slice(1);
  if (given === '') return;
  history.replaceState(null, '', location.pathname + location.search);
  tryToken(given.trim());
}

/** Stores a token if the server accepts it. @param {string} given */
async function tryToken(given) {
  if (!await run('bans', given)) return;
  storeToken(given);
  refresh();
}

/** @param {string} given */
function storeToken(given) {
  token = given.trim();
  session.setItem(STORAGE_KEY, token);
}

/** Shows the token form with a reason. @param {string} why */
function askForToken(why) {
  token = '';
  session.removeItem(STORAGE_KEY);
  byId('token-error').textContent = why;
  show(false);
  byId('token').focus();
}

/** Shows the page or the token form. @param {boolean} inside */
function show(inside) {
  for (const part of document.querySelectorAll('[data-inside]')) /** @type {HTMLElement} */ (part).hidden = !inside;
  byId('token-form').hidden = inside;
  if (!inside) status('waiting', 'Not connected');
}

/** @param {'open' | 'waiting'} state @param {string} text */
function status(state, text) {
  byId('status').dataset.state = state;
  if (byId('status-text').textContent !== text) byId('status-text').textContent = text;
}

/**
 * Sends lines to the server. If they were not executed, shows the reason and returns null.
 * @param {string} lines
 * @param {string} usedToken token
 */
async function run(lines, usedToken = token) {
  let response;
  try {
    response = await fetch('admin', { method: 'POST', headers: { Authorization: `Bearer ${usedToken}` }, body: lines, credentials: 'omit' });
  } catch {
    status('waiting', 'No answer from the server');
    return null;
  }
  const text = await response.text();
  if (response.status === 401 && usedToken !== token && token !== '') status('waiting', 'The link has a wrong token');
  else if (response.status === 401) askForToken('This is not the token.');
  else if (response.status === 429) status('waiting', 'Too many wrong tokens');
  else if (response.status === 200 || response.status === 422) return { done: response.status === 200, text };
  else status('waiting', `Refused: ${response.status} ${text.trim()}`);
  return null;
}

/** Executes a line and shows it with its response. @param {string} line */
async function runAndShow(line) {
  const answer = await run(line);
  write('sent', line);
  write(answer?.done ? 'answer' : 'refused', answer ? answer.text.trimEnd() : 'no answer');
  refresh();
}

/** Appends to the log. @param {string} kind @param {string} text */
function write(kind, text) {
  const [entry, pre] = [document.createElement('li'), document.createElement('pre')];
  pre.className = kind;
  pre.textContent = text;
  entry.append(pre);
  byId('log').append(entry);
  while (byId('log').children.length > LOG_LINES) byId('log').firstChild?.remove();
  byId('log').scrollTop = byId('log').scrollHeight;
}

/** Refreshes statistics and players. */
async function refresh() {
  if (token === '') return;
  const room = byId('room').value;
  const answer = await run(`rooms\n${roomPrefix()}stats\n${roomPrefix()}players`);
  if (!answer) return;
  show(true);
  status('open', 'Connected');
  const all = answer.text.trimEnd().split('\n');
  const listed = all.findIndex((line) => line.startsWith('tick '));
  rooms(all.slice(1, listed).map((line) => ROOM_ROW.exec(line)?.[1] ?? '').filter((name) => name !== ''));
  // Another room was selected meanwhile. This response is dropped and a new one requested.
  if (room !== byId('room').value) return refresh();
  const lines = all.slice(listed);
  const table = lines.findIndex((line) => line.startsWith('number ') || line === 'no player is connected');
  figures(lines.slice(0, table));
  players(lines.slice(table + 1).map(player).filter((one) => one !== null));
}

/** Fills the menu of rooms, if there are several. @param {string[]} names */
function rooms(names) {
  const choice = byId('room');
  const known = [...choice.options].map((/** @type {HTMLOptionElement} */ option) => option.text);
  byId('room-choice').hidden = names.length < 2;
  const where = choice.value === '' ? 'the default room' : choice.value;
  byId('announce-title').textContent = names.length < 2 ? 'Tell everyone' : `Tell everyone in ${where}`;
  if (known.join(' ') === names.join(' ')) return;
  const chosen = choice.value;
  choice.replaceChildren(...names.map((name) => new Option(name, name === DEFAULT_ROOM ? '' : name)));
  choice.value = names.includes(chosen) ? chosen : '';
}

/** Shows the statistics. @param {string[]} lines name, at least two spaces, value */
function figures(lines) {
  const list = byId('figures');
  const pairs = lines.map((line) => line.split(/\s{2,}/));
  if (list.children.length !== 2 * pairs.length) list.replaceChildren(...pairs.flatMap(() => [document.createElement('dt'), document.createElement('dd')]));
  pairs.flat().forEach((text, i) => { list.children[i].textContent = grouped(text); });
}

/** Groups digits by three. @param {string} text */
const grouped = (text) => text.replace(/\d{5,}/g, (digits) => digits.replace(/\B(?=(\d{3})+$)/g, '\u202f'));

/** The text above a table. @param {'memory' | 'traffic'} id of the table */
const noteOf = (id) => byId(/** @type {const} */ (`${id}-note`));

/**
 * Runs a command, and shows the rows of its answer, or the error.
 * @param {'memory' | 'traffic'} id of the table
 * @param {string} command @param {RegExp} row @param {HTMLButtonElement} button
 */
async function count(id, command, row, button) {
  button.disabled = true;
  const answer = await run(command);
  button.disabled = false;
  if (!answer) return;
  const rows = answer.text.split('\n').map((line) => row.exec(line)).filter((found) => found !== null);
  showCounts(id, rows.map(([, ...texts]) => texts.map((text, i) => (i === 0 ? text : grouped(text.replace(/^-$/, '–'))))));
  if (!answer.done) noteOf(id).textContent = answer.text.trim();
}

/**
 * @param {'memory' | 'traffic'} id of the table
 * @param {string[][]} rows a name, figures, and what they include; none hides the table
 */
function showCounts(id, rows) {
  byId(/** @type {const} */ (`${id}-table`)).hidden = rows.length === 0;
  noteOf(id).textContent = noteOf(id).dataset.start ?? '';
  byId(id).replaceChildren(...rows.map((texts) => {
    const row = document.createElement('tr');
    texts.forEach((text, i) => {
      const cell = row.insertCell();
      cell.className = i === 0 ? 'name' : i === texts.length - 1 ? 'includes' : 'figure';
      cell.textContent = text;
    });
    return row;
  }));
}

/** @param {string} line */
function player(line) {
  const found = ROW.exec(line);
  if (!found) return null;
  const [, number, age, points, health, x, y, address, name, token] = found;
  return { number: Number(number), age, points, health, place: `${x}, ${y}`, address, name: unquoted(name), token };
}

/** Parses a name that the server has quoted. @param {string} text */
function unquoted(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text.slice(1, -1);
  }
}

/**
 * Shows the table of players.
 * @param {NonNullable<ReturnType<typeof player>>[]} list ordered by number
 */
function players(list) {
  byId('players-count').textContent = list.length === 0 ? '' : `· ${list.length}`;
  byId('nobody').hidden = list.length > 0;
  const here = new Set(list.map((one) => one.number));
  for (const [number, row] of rows) {
    if (here.has(number)) continue;
    row.remove();
    rows.delete(number);
  }
  list.forEach((one, i) => {
    const row = rows.get(one.number) ?? newRow(one.number);
    fill(row, one);
    if (byId('players').children[i] !== row) byId('players').insertBefore(row, byId('players').children[i] ?? null);
  });
}

/** Columns: content, class, label on a phone. */
const COLUMNS = /** @type {const} */ ([['number', 'figure', ''], ['name', 'name', ''], ['age', 'figure', 'age'], ['points', 'figure', 'points'],
  ['health', 'figure', 'health'], ['place', 'figure', 'at'], ['address', 'address', '']]);

/** @param {number} number */
function newRow(number) {
  const row = document.createElement('tr');
  for (const [, kind, label] of COLUMNS) {
    const cell = row.insertCell();
    cell.className = kind;
    if (label !== '') cell.dataset.label = label;
  }
  const deeds = row.insertCell();
  deeds.className = 'deeds';
  deeds.append(
    button('Grant', 'plain', () => grant(number, row.dataset.name ?? '')),
    confirmTwice(button('Kick', 'plain', () => runAndShow(`${roomPrefix()}kick ${number}`))),
    confirmTwice(button('Ban', 'plain', () => runAndShow(`ban ${row.dataset.address}`))),
  );
  rows.set(number, row);
  return row;
}

/** @param {HTMLTableRowElement} row @param {NonNullable<ReturnType<typeof player>>} one */
function fill(row, one) {
  row.dataset.address = one.address;
  row.dataset.name = one.name;
  COLUMNS.forEach(([field], i) => {
    const text = String(one[field]);
    if (row.cells[i].textContent !== text) row.cells[i].textContent = text;
  });
  // A bot has no address to ban.
  row.querySelector('.deeds button:last-child')?.toggleAttribute('disabled', one.address === 'bot');
  row.cells[1].title = one.token === undefined ? one.name : `${one.name}, token ${one.token}`;
}

/** @param {string} text @param {string} kind @param {() => void} act */
function button(text, kind, act) {
  const made = document.createElement('button');
  made.type = 'button';
  made.className = kind;
  made.textContent = text;
  made.onclick = act;
  return made;
}

/** Makes a button require a second press. @param {HTMLButtonElement} target */
function confirmTwice(target) {
  const [text, act] = [target.textContent, target.onclick];
  let timer = 0;
  const calm = () => {
    clearTimeout(timer);
    timer = 0;
    target.textContent = text;
    target.classList.remove('sure');
  };
  target.onclick = (event) => {
    if (timer !== 0) {
      calm();
      act?.call(target, event);
      return;
    }
    target.textContent = 'Really?';
    target.classList.add('sure');
    timer = setTimeout(calm, SURE_MS);
  };
  return target;
}

/** Opens the form for the items to grant. @param {number} number @param {string} name */
function grant(number, name) {
  byId('grant-title').textContent = `Grant to ${name}`;
  byId('grant').returnValue = '';
  byId('grant').onclose = () => {
    if (byId('grant').returnValue === 'grant') runAndShow(`${roomPrefix()}grant ${number} ${byId('grant-resource').value} ${byId('grant-amount').value}`);
  };
  byId('grant').showModal();
}

/** @param {KeyboardEvent} event */
function recallLine(event) {
  if ((event.key !== 'ArrowUp' && event.key !== 'ArrowDown') || isComposing(event)) return;
  event.preventDefault();
  lineHistory.place = Math.min(Math.max(lineHistory.place + (event.key === 'ArrowUp' ? -1 : 1), 0), lineHistory.lines.length);
  byId('line').value = lineHistory.lines[lineHistory.place] ?? '';
}

function bindEvents() {
  /** @param {'token-form' | 'announce-form' | 'line-form'} form @param {() => void} act */
  const on = (form, act) => byId(form).addEventListener('submit', (event) => { event.preventDefault(); act(); });
  on('token-form', () => { const given = byId('token').value.trim(); byId('token').value = ''; tryToken(given); });
  on('announce-form', () => { runAndShow(`${roomPrefix()}announce ${byId('announce').value}`); byId('announce').value = ''; });
  on('line-form', () => {
    const line = byId('line').value.trim();
    byId('line').value = '';
    if (line === '') return;
    lineHistory.lines.push(line);
    lineHistory.place = lineHistory.lines.length;
    runAndShow(line);
  });
  byId('line').addEventListener('keydown', recallLine);
  byId('save').onclick = () => runAndShow(`${roomPrefix()}save`);
  byId('measure').onclick = () => count('memory', `${roomPrefix()}memory`, MEMORY_ROW, byId('measure'));
  byId('count').onclick = () => count('traffic', 'traffic', TRAFFIC_ROW, byId('count'));
  byId('room').onchange = () => { showCounts('memory', []); refresh(); };
  byId('stop').onclick = () => runAndShow('stop');
  confirmTwice(byId('stop'));
  byId('forget').onclick = () => askForToken('');
  window.addEventListener('hashchange', readTokenFromUrl);
  setInterval(() => { if (!document.hidden) refresh(); }, REFRESH_MS);
}

bindEvents();
if (token === '') askForToken('');
else refresh();
readTokenFromUrl();
