/**
 * Buttons that hide the most frequent packets of the list. A button adds a term to the filter, or
 * removes it.
 *
 * @module inspector/list/hide-bar
 */

/** Number of the newest visible frames that are counted. */
const COUNTED_FRAMES = 400;
/** A shorter list needs no buttons. */
const MIN_FRAMES = 12;
/** Minimum share of the counted frames for a button. */
const MIN_SHARE = 0.1;
/** Maximum number of packets with a button that are not hidden. */
const MAX_PACKETS = 3;

/** Terms of the filter that hide one packet. */
const HIDING = /(^|\s)-packet=([\w-]+)(?=\s|$)/g;

/** Returns the packets that a filter hides. @param {string} text */
export const hiddenBy = (text) => [...text.matchAll(HIDING)].map(([, , packet]) => packet);

/**
 * Adds or removes the term that hides a packet.
 * @param {string} text filter
 * @param {string} packet
 */
export function toggled(text, packet) {
  if (!hiddenBy(text).includes(packet)) return `${text} -packet=${packet}`.trim();
  return text.replace(HIDING, (term, before, name) => (name === packet ? before : term)).replace(/\s+/g, ' ').trim();
}

/**
 * Returns the packets that fill a list, the most frequent first.
 * @param {{ packet: string | null }[]} entries
 */
export function frequentPackets(entries) {
  if (entries.length < MIN_FRAMES) return [];
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { packet } of entries) if (packet !== null) counts.set(packet, (counts.get(packet) ?? 0) + 1);
  const frequent = [...counts].filter(([, count]) => count >= MIN_SHARE * entries.length);
  return frequent.sort(([a, one], [b, other]) => other - one || (a < b ? -1 : 1)).slice(0, MAX_PACKETS).map(([packet]) => packet);
}

/** Buttons next to *Hide pings*. */
export class HideBar {
  /**
   * @param {HTMLElement} box
   * @param {{ explainer: import('../explainer.js').Explainer, visible: number }} frames
   * @param {{ text: string, set: (text: string) => void }} filter
   */
  constructor(box, frames, filter) {
    this.box = box;
    this.frames = frames;
    this.filter = filter;
    /** Packets with a button. A button keeps its place. @type {string[]} */
    this.packets = [];
    /** Hidden packets, as drawn. */
    this.pressed = '';
    box.addEventListener('click', (event) => {
      const { packet } = /** @type {HTMLElement} */ (event.target).dataset;
      if (packet === undefined) return;
      this.filter.set(toggled(this.filter.text, packet));
      this.update();
    });
  }

  /** Updates the buttons. */
  update() {
    const { explainer, visible } = this.frames;
    const counted = Math.min(visible, COUNTED_FRAMES);
    const frequent = frequentPackets(explainer.rows(visible - counted, counted));
    const hidden = hiddenBy(this.filter.text);
    const kept = this.packets.filter((packet) => hidden.includes(packet) || frequent.includes(packet));
    const packets = [...new Set([...kept, ...hidden, ...frequent])].slice(0, MAX_PACKETS + hidden.length);
    if (packets.join() === this.packets.join() && this.pressed === hidden.join()) return;
    Object.assign(this, { packets, pressed: hidden.join() });
    this.box.replaceChildren(...packets.map((packet) => buttonOf(packet, hidden.includes(packet))));
  }

  /** Removes the buttons, for another source. */
  clear() {
    this.packets = [];
    this.pressed = '';
    this.box.replaceChildren();
  }
}

/** @param {string} packet @param {boolean} isHidden */
function buttonOf(packet, isHidden) {
  const made = document.createElement('button');
  made.type = 'button';
  made.dataset.packet = packet;
  made.textContent = `Hide ${packet}`;
  made.title = isHidden ? `Show the packets ${packet} again` : `Hide the packets ${packet}`;
  made.setAttribute('aria-pressed', String(isHidden));
  return made;
}
