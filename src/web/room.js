/**
 * The room of a page, by its address: a room's page is at `/r/NAME/`, that of the default room is not.
 *
 * @module room
 */

const PATH = /\/r\/([a-z0-9-]{1,32})\/[^/]*$/;

/** @param {string} pathname of the page @returns {string} the room's name, empty for the default room */
export const roomOf = (pathname) => PATH.exec(pathname)?.[1] ?? '';
