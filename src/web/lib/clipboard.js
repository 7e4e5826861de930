/**
 * Copies a text for other programs.
 *
 * @module lib/clipboard
 */

/** Copies a text; also where the page is not allowed to use the clipboard by itself. @param {string} text */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    area.className = 'unseen';
    document.body.append(area);
    area.select();
    const isDone = document.execCommand('copy');
    area.remove();
    return isDone;
  }
}
