/**
 * The button *Follow*. It is lit only while the newest frame is followed. An edited frame or the
 * log of a sent one pauses following.
 *
 * @module inspector/follow-button
 */

const HELD = 'Waits for the edited frame or its story; a press closes that and follows';

/** Follow button. */
export class FollowButton {
  /**
   * @param {{ title: string, setAttribute: (name: string, value: string) => void }} button
   * @param {{ follow: boolean }} list
   * @param {{ isOpen: boolean, log: { isActive: boolean }, close: () => void, closeLog: () => void
   *   }} editor
   */
  constructor(button, list, editor) {
    this.button = button;
    this.list = list;
    this.editor = editor;
    this.shown = '';
  }

  get isHeld() {
    return this.editor.isOpen || this.editor.log.isActive;
  }

  show() {
    const [pressed, title] = [String(this.list.follow && !this.isHeld), this.list.follow && this.isHeld ? HELD : ''];
    if (this.shown === pressed + title) return;
    this.shown = pressed + title;
    this.button.setAttribute('aria-pressed', pressed);
    this.button.title = title;
  }

  /**
   * Handles a press: closes what pauses following.
   * @returns {boolean} whether to follow the newest frame
   */
  toggles() {
    const wanted = !this.list.follow || this.isHeld;
    if (wanted) {
      this.editor.close();
      this.editor.closeLog();
    }
    return wanted;
  }
}
