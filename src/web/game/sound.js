/**
 * Synthesizes a few sounds from tones and noise; no file is loaded. Nothing plays before the first
 * user gesture, or while the sound is off.
 *
 * @module game/sound
 */

const STORAGE_KEY = 'tickwire.sound';
/** Overall volume, 0 to 1. */
const MASTER = 0.4;
/** Maximum simultaneous sounds. Further sounds are skipped. */
const MAX_VOICES = 20;
/** Minimum interval between two starts of the same sound, ms. */
const APART_MS = 40;
/** Lowest level of an envelope, because exponential ramps cannot reach 0. */
const SILENT = 0.0001;

/**
 * One voice of a sound: a tone or a band of noise with a pitch slide and a decay.
 * @typedef {{ wave: OscillatorType | 'noise', from: number, to: number, ms: number, gain: number,
 *   delayMs?: number, attackMs?: number, width?: number }} Voice pitches in Hz; `width`: quality
 *   factor of a noise band
 */

/** @type {Readonly<Record<string, readonly Voice[]>>} */
export const SOUNDS = Object.freeze({
  swing: [{ wave: 'noise', from: 500, to: 1700, ms: 140, gain: 0.2, attackMs: 55, width: 0.9 }],
  wood: [{ wave: 'triangle', from: 205, to: 92, ms: 130, gain: 0.6 }, { wave: 'noise', from: 1100, to: 500, ms: 60, gain: 0.42, width: 0.7 }],
  bush: [{ wave: 'noise', from: 3400, to: 1700, ms: 150, gain: 0.32, attackMs: 12, width: 0.8 },
    { wave: 'triangle', from: 150, to: 90, ms: 70, gain: 0.22 }],
  stone: [{ wave: 'triangle', from: 880, to: 430, ms: 60, gain: 0.34 }, { wave: 'noise', from: 4200, to: 2600, ms: 45, gain: 0.42, width: 1.1 },
    { wave: 'sine', from: 2150, to: 2050, ms: 110, gain: 0.07 }],
  gold: [{ wave: 'sine', from: 1760, to: 1750, ms: 300, gain: 0.17 }, { wave: 'sine', from: 2637, to: 2630, ms: 380, gain: 0.1 },
    { wave: 'noise', from: 4800, to: 3000, ms: 40, gain: 0.26, width: 1.2 }],
  hurt: [{ wave: 'sawtooth', from: 240, to: 82, ms: 170, gain: 0.26 }, { wave: 'noise', from: 700, to: 260, ms: 110, gain: 0.55, width: 0.7 }],
  death: [{ wave: 'triangle', from: 430, to: 58, ms: 760, gain: 0.45, attackMs: 10 },
    { wave: 'noise', from: 620, to: 110, ms: 640, gain: 0.34, width: 0.7 }],
  place: [{ wave: 'triangle', from: 170, to: 78, ms: 140, gain: 0.5 }, { wave: 'noise', from: 420, to: 190, ms: 110, gain: 0.4, width: 0.7 }],
  crumble: [{ wave: 'noise', from: 950, to: 160, ms: 420, gain: 0.5, width: 0.6 }, { wave: 'triangle', from: 140, to: 55, ms: 300, gain: 0.4 }],
  eat: [{ wave: 'noise', from: 1900, to: 1200, ms: 60, gain: 0.36, width: 1 }, { wave: 'noise', from: 1700, to: 1000, ms: 70, gain: 0.36, width: 1, delayMs: 110 },
    { wave: 'sine', from: 520, to: 780, ms: 150, gain: 0.14, delayMs: 190 }],
  choose: [{ wave: 'triangle', from: 660, to: 660, ms: 110, gain: 0.2 }, { wave: 'triangle', from: 880, to: 880, ms: 200, gain: 0.2, delayMs: 80 }],
  age: [523, 659, 784, 1047].map((from, i) => /** @type {Voice} */ ({ wave: 'triangle', from, to: from, ms: 260, gain: 0.2, delayMs: i * 75 })),
  bow: [{ wave: 'triangle', from: 520, to: 150, ms: 110, gain: 0.3 }, { wave: 'noise', from: 2400, to: 900, ms: 130, gain: 0.24, attackMs: 10, width: 0.8 }],
  bolt: [{ wave: 'square', from: 210, to: 90, ms: 60, gain: 0.14 }, { wave: 'noise', from: 2900, to: 1100, ms: 110, gain: 0.28, width: 0.9 }],
  musket: [{ wave: 'noise', from: 1500, to: 120, ms: 380, gain: 0.62, width: 0.45 }, { wave: 'triangle', from: 160, to: 52, ms: 260, gain: 0.36 }],
  thud: [{ wave: 'triangle', from: 260, to: 120, ms: 70, gain: 0.3 }, { wave: 'noise', from: 1700, to: 700, ms: 60, gain: 0.3, width: 0.9 }],
  growl: [{ wave: 'sawtooth', from: 118, to: 74, ms: 300, gain: 0.24, attackMs: 30 }, { wave: 'noise', from: 480, to: 220, ms: 280, gain: 0.3, attackMs: 30, width: 0.8 }],
  beast: [{ wave: 'sawtooth', from: 210, to: 62, ms: 560, gain: 0.26, attackMs: 25 }, { wave: 'triangle', from: 205, to: 60, ms: 600, gain: 0.34, attackMs: 25 }],
  ping: [{ wave: 'sine', from: 988, to: 980, ms: 240, gain: 0.22 }, { wave: 'sine', from: 1480, to: 1470, ms: 420, gain: 0.18, delayMs: 110 }],
  bell: [{ wave: 'sine', from: 660, to: 655, ms: 900, gain: 0.26 }, { wave: 'sine', from: 1322, to: 1316, ms: 700, gain: 0.12 },
    { wave: 'sine', from: 880, to: 874, ms: 720, gain: 0.2, delayMs: 240 }],
  chat: [{ wave: 'sine', from: 640, to: 860, ms: 80, gain: 0.16 }, { wave: 'sine', from: 960, to: 980, ms: 120, gain: 0.12, delayMs: 65 }],
});

export class Sound {
  /**
   * @param {Pick<Storage, 'getItem' | 'setItem'>} store stores whether the sound is on
   * @param {(new () => AudioContext) | null} Context null without Web Audio
   * @param {() => number} clock ms
   */
  constructor(store, Context, clock = () => performance.now()) {
    this.store = store;
    this.Context = Context;
    this.clock = clock;
    this.on = remembered(store);
    /** Target volume, 0 to 1. */
    this.volume = 1;
    /** @type {GainNode | null} */
    this.master = null;
    /** Number of sounds started since the page was opened. */
    this.played = 0;
    /** @type {AudioContext | null} */
    this.context = null;
    /** @type {AudioNode | null} */
    this.out = null;
    /** @type {AudioBuffer | null} */
    this.noise = null;
    this.touched = false;
    this.playing = 0;
    /** Last start of each sound, ms. @type {Map<string, number>} */
    this.begunAt = new Map();
  }

  /** Allows sound after a user gesture. */
  touch() {
    this.touched = true;
    if (!this.on) return;
    if (!this.context || this.context.state === 'closed') this.open();
    else this.resume();
  }

  /**
   * Resumes after an interruption: iOS sets the state `interrupted` during a call and does not
   * leave it by itself.
   */
  resume() {
    if (this.on && this.context && !['running', 'closed'].includes(this.context.state)) this.context.resume().catch(() => {});
  }

  /** Toggles the sound and stores the choice. @returns {boolean} whether the sound is on */
  toggle() {
    this.on = !this.on;
    try {
      this.store.setItem(STORAGE_KEY, this.on ? 'on' : 'off');
    } catch {
      // Storage may be forbidden; then the choice lasts as long as the page.
    }
    if (this.on && this.touched) this.touch();
    else this.context?.suspend().catch(() => {});
    return this.on;
  }

  /** Sets the volume. @param {number} volume 0 to 1 */
  setVolume(volume) {
    this.volume = volume;
    if (this.master) this.master.gain.value = MASTER * volume;
  }

  open() {
    const context = this.make();
    if (!context) return;
    const limit = context.createDynamicsCompressor();
    const master = context.createGain();
    master.gain.value = MASTER * this.volume;
    this.master = master;
    master.connect(limit).connect(context.destination);
    const noise = context.createBuffer(1, context.sampleRate, context.sampleRate);
    const samples = noise.getChannelData(0);
    for (let i = 0; i < samples.length; i++) samples[i] = Math.random() * 2 - 1;
    this.context = context;
    this.out = master;
    this.noise = noise;
  }

  /**
   * Opens the audio context.
   * @returns {AudioContext | null} null without Web Audio, or if the browser allows no further
   *   context
   */
  make() {
    try {
      return this.Context && new this.Context();
    } catch (error) {
      console.warn('no sound:', error);
      this.Context = null;
      return null;
    }
  }

  /**
   * Plays a sound.
   * @param {string} name key of `SOUNDS`
   * @param {number} [pan] -1 left to 1 right
   * @param {number} [gain] 0 to 1
   * @returns {boolean} whether it plays
   */
  play(name, pan = 0, gain = 1) {
    const { context } = this;
    if (!this.on || !context || context.state !== 'running' || this.playing >= MAX_VOICES) return false;
    const now = this.clock();
    if (now - (this.begunAt.get(name) ?? -Infinity) < APART_MS) return false;
    this.begunAt.set(name, now);
    this.played += 1;
    const panner = context.createStereoPanner();
    panner.pan.value = pan;
    panner.connect(/** @type {AudioNode} */ (this.out));
    const voices = SOUNDS[name];
    this.playing += 1;
    let longest = 0;
    for (const voice of voices) longest = Math.max(longest, this.voice(context, voice, panner, gain));
    setTimeout(() => {
      this.playing -= 1;
      panner.disconnect();
    }, longest + 50);
    return true;
  }

  /**
   * Starts one voice.
   * @param {AudioContext} context @param {Voice} voice @param {AudioNode} out
   * @param {number} loudness factor of the voice's gain
   * @returns {number} duration of the voice, ms
   */
  voice(context, { wave, from, to, ms, gain, delayMs = 0, attackMs = 3, width = 1 }, out, loudness) {
    const begin = context.currentTime + delayMs / 1000;
    const end = begin + ms / 1000;
    const envelope = context.createGain();
    envelope.gain.setValueAtTime(SILENT, begin);
    envelope.gain.exponentialRampToValueAtTime(Math.max(SILENT * 2, gain * loudness), begin + attackMs / 1000);
    envelope.gain.exponentialRampToValueAtTime(SILENT, end);
    envelope.connect(out);
    const { source, pitch, into } = wave === 'noise' ? this.band(context, width) : tone(context, wave);
    pitch.setValueAtTime(from, begin);
    pitch.exponentialRampToValueAtTime(to, end);
    into.connect(envelope);
    source.start(begin);
    source.stop(end + 0.02);
    return delayMs + ms;
  }

  /**
   * Returns a source of band-limited noise. It loops a shared buffer from a random offset.
   * @param {AudioContext} context @param {number} width quality factor
   */
  band(context, width) {
    const source = context.createBufferSource();
    source.buffer = this.noise;
    source.loop = true;
    source.loopStart = Math.random() * 0.5;
    const filter = context.createBiquadFilter();
    filter.type = 'bandpass';
    filter.Q.value = width;
    source.connect(filter);
    return { source, pitch: filter.frequency, into: filter };
  }
}

/** @param {AudioContext} context @param {OscillatorType} wave */
function tone(context, wave) {
  const source = context.createOscillator();
  source.type = wave;
  return { source, pitch: source.frequency, into: source };
}

/** @param {Pick<Storage, 'getItem'>} store */
function remembered(store) {
  try {
    return store.getItem(STORAGE_KEY) !== 'off';
  } catch {
    return true;
  }
}
