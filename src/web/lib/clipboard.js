/**
 * Access to the clipboard.
 *
 * @module lib/clipboard
 */

/**
 * Copies a text, by a hidden text area if the Clipboard API is denied. Returns whether it was
 * copied.
 * @param {string} text
 */
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
