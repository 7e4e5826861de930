/**
 * Descriptions of close codes and close reasons, and which of them are final. PROTOCOL.md, "Rules
 * and close codes", lists the reasons of the server.
 *
 * @module lib/close-reasons
 */

/** Reason that the page sets if the server does not respond. */
export const NO_ANSWER = 'no answer';
/** Reason that the page sets if the packet tables are missing or do not fit. */
export const NO_TABLES = 'no packet tables';
/** Reason that the page sets if the player leaves the game. */
export const LEFT_PAGE = 'left';
/** Reason that the server sends if another page has taken over the player. */
export const TAKEN_OVER = 'taken_over';
/** Reason that the server sends if it requires a token and the player has none. */
export const TOKEN_MISSING = 'token_missing';
/** Reason that the server sends if the token is invalid. */
export const TOKEN_WRONG = 'token_wrong';
/** Close reasons after which a page falls back to a stream. */
export const NO_LOCKSTEP = ['lockstep_off', 'lockstep_too_large'];

/** @type {Record<string, string>} */
const BY_REASON = {
  [NO_ANSWER]: 'The server does not answer.',
  [LEFT_PAGE]: 'You have left the game.',
  [TAKEN_OVER]: 'The game goes on in another tab.',
  [TOKEN_MISSING]: 'To play here you need a token: open the link from the operator of this server.',
  [TOKEN_WRONG]: 'The server does not know your token: ask its operator for a new link.',
  room_token_missing: 'This room is not open. Only players with a token open one: open the link from the operator of this server.',
  no_room_fits: 'No room is free now, or none fits: this page tries again.',
  too_many_token_attempts: 'Too many wrong tokens came from your address: wait a minute.',
  lockstep_off: 'This server does not offer lockstep, or not without a token.',
  lockstep_too_large: 'The world of this server is too large for lockstep.',
  kicked: 'The operator has removed you from the game.',
  banned: 'The operator has banned your address.',
  hello_version: 'This page and the server have different versions: reload the page.',
  hello_first: 'This page has sent a packet before hello.',
  wrong_arguments: 'This page has sent a hello that the server does not understand.',
  message_rate: 'This page has sent too many messages.',
  byte_rate: 'This page has sent too much.',
  slow_client: 'The connection is too slow.',
  idle_timeout: 'The connection went silent.',
  world_full: 'The game is full.',
  overloaded: 'The server is overloaded.',
  internal_error: 'The server has failed.',
};

/** @type {Record<number, string>} */
const BY_CODE = {
  1001: 'The server is shutting down.',
  1002: 'The server could not read what this page sent.',
  1003: 'The server could not read what this page sent.',
  1007: 'The server could not read what this page sent.',
  1009: 'This page has sent a message that is too long.',
  1011: 'The server has failed.',
  1013: 'The server is full.',
};

/** Close reasons after which a reconnect would fail in the same way. */
const FINAL_REASONS = [LEFT_PAGE, NO_TABLES, TAKEN_OVER, TOKEN_MISSING, TOKEN_WRONG, 'kicked', 'banned', 'hello_version', 'hello_first', 'wrong_arguments'];
/** Close codes after which a reconnect would fail in the same way. */
const FINAL_CODES = [1002, 1003, 1007, 1009];

/** Returns the rule at the start of a reason, before the colon. @param {string} reason */
const ruleOf = (reason) => reason.split(':')[0];

/**
 * Describes a close code and reason to the player.
 * @param {number} code
 * @param {string} reason
 * @returns {string} a sentence
 */
export function describeClose(code, reason) {
  return BY_REASON[ruleOf(reason)] ?? BY_CODE[code] ?? 'The connection was lost.';
}

/** Whether a page should not reconnect by itself. @param {number} code @param {string} reason */
export function isFinal(code, reason) {
  return FINAL_REASONS.includes(ruleOf(reason)) || FINAL_CODES.includes(code);
}
