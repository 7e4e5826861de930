/**
 * Checks the settings in the address of a page, such as `?netem=wifi&mode=lockstep`.
 *
 * @module lib/address
 */

/** Query parameters of the game's page. The inspector's page also has `embedded` and `capture`. */
export const SETTINGS = ['capture', 'inspector', 'mode', 'netem', 'room', 'second', 'token'];
/** Modes in which a page receives the world. */
export const MODES = ['stream', 'lockstep'];

/**
 * Returns a sentence if the mode is unknown, otherwise ''.
 * @param {string | null | undefined} mode
 */
export function wrongMode(mode) {
  return mode === null || mode === undefined || mode === '' || MODES.includes(mode) ? '' : `mode=${mode}: must be ${MODES.join(' or ')}. This page follows as a stream.`;
}

/**
 * Checks the settings in the address of the game's page.
 * @param {string} search
 * @param {'server' | 'tab'} edition
 * @returns {{ wrong: string[], unknown: string[] }} `wrong`: sentences; `unknown`: names of unknown
 *   settings
 */
export function wrongIn(search, edition) {
  const given = new URLSearchParams(search);
  const isWatching = given.has('capture');
  const wrong = [wrongMode(given.get('mode'))];
  if (given.has('room') && !isWatching) wrong.push(`room=${given.get('room')}: chooses a room of a capture. The page of a room is at r/NAME/, and this is the page of another room.`);
  if (given.has('second') && edition !== 'tab') wrong.push('second: only the tab edition, at tab/, shows two clients.');
  for (const name of ['mode', 'netem'].filter((one) => isWatching && given.has(one))) wrong.push(`${name}: has no effect on a capture.`);
  return { wrong: wrong.filter((text) => text !== ''), unknown: [...given.keys()].filter((name) => !SETTINGS.includes(name)) };
}
