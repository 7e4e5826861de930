/**
 * Hotbar and upgrade offers: the weapons and items of the local player with their costs, and the
 * upgrade choices above them. It reads state and writes the page. Requests go to the callbacks.
 *
 * @module game/hud/hotbar
 */

import { drawIcon } from '../draw/icons.js';
import { drawItem } from '../draw/items.js';
import { ghostOf } from '../draw/structures.js';
import { drawToolIcon } from '../draw/tools.js';
import { byId, setText } from './dom.js';
import { canAfford, choiceOf, groupOf, itemOf, mayBuild, rules, weaponOf } from '../rules/rules.js';
import { RESOURCES } from '../world/events.js';

const REDRAW_INTERVAL_MS = 80;
/** Side of an icon, device px. It suffices for the sharpest screen. */
const ICON_PX = 116;
const COIN_PX = 36;

/** @typedef {{ id: number, isWeapon: boolean }} Slot */

export class Hotbar {
  /**
   * @param {import('../world/world.js').World} world
   * @param {(slot: Slot) => void} select
   * @param {(choice: number) => void} choose
   */
  constructor(world, select, choose) {
    this.world = world;
    this.select = select;
    this.choose = choose;
    this.drawnAt = 0;
    this.drawnKitVersion = -1;
    this.drawnOffersVersion = -1;
    /** Button whose tooltip is shown; null without a tooltip. @type {HTMLElement | null} */
    this.pointed = null;
    /** @type {{ button: HTMLButtonElement, slot: Slot }[]} */
    this.slots = [];
  }

  /** Selects a slot by number. @param {number} index from 0 */
  selectSlot(index) {
    const slot = this.world.built.slots[index];
    if (slot && this.world.ownId !== null) this.select(slot);
  }

  /** Chooses an upgrade by number. @param {number} index from 0 */
  chooseUpgrade(index) {
    const choice = this.world.built.offers.choices[index];
    if (choice !== undefined && this.world.ownId !== null) this.choose(choice);
  }

  /** Switches from an item to the weapon, or from the weapon to food. */
  swap() {
    const slot = swapTarget(this.world);
    if (slot) this.select(slot);
  }

  /** Redraws the hotbar. Called once per frame. @param {number} nowMs */
  draw(nowMs) {
    if (nowMs - this.drawnAt < REDRAW_INTERVAL_MS) return;
    this.drawnAt = nowMs;
    const { built, ownId } = this.world;
    if (built.kitVersion !== this.drawnKitVersion) this.build();
    if (built.offersVersion !== this.drawnOffersVersion) this.buildOffers();
    const { choices, age, points } = built.offers;
    const choosing = ownId !== null && choices.length > 0;
    byId('offers').hidden = !choosing;
    document.body.classList.toggle('choosing', choosing);
    setText('offers-text', `Age ${age}: choose one${points > 1 ? ` · ${points} upgrades to choose` : ''}`);
    byId('hotbar').hidden = ownId === null || this.slots.length === 0;
    this.updateStates();
    if (this.pointed && !this.pointed.isConnected) this.showTooltip(null);
  }

  build() {
    this.drawnKitVersion = this.world.built.kitVersion;
    const { built } = this.world;
    this.slots = built.slots.map((slot, index) => {
      const button = this.button(slot, () => this.selectSlot(index), index < 10 ? String((index + 1) % 10) : '');
      button.dataset.slot = `${slot.isWeapon ? 'weapon' : 'item'}-${slot.id}`;
      const item = slot.isWeapon ? undefined : itemOf(slot.id);
      button.append(price(item ?? weaponOf(slot.id)));
      if (item) button.append(count(item, built.inventory.counts));
      return { button, slot };
    });
    const hotbar = byId('hotbar');
    // Narrow windows shrink the slots; many slots hide the prices.
    hotbar.style.setProperty('--slots', String(this.slots.length));
    hotbar.classList.toggle('many', this.slots.length > 7);
    hotbar.replaceChildren(...this.slots.map(({ button }) => button));
  }

  buildOffers() {
    this.drawnOffersVersion = this.world.built.offersVersion;
    const buttons = this.world.built.offers.choices.map((number, index) => {
      const choice = choiceOf(number);
      if (!choice) return document.createElement('span');
      const slot = { isWeapon: choice.isWeapon, id: choice.isWeapon ? choice.weapon.id : choice.item.id };
      const button = this.button(slot, () => this.chooseUpgrade(index), index < 9 ? `⇧${index + 1}` : '');
      button.dataset.choice = String(number);
      const name = document.createElement('span');
      name.textContent = choice.isWeapon ? choice.weapon.name : choice.item.name;
      // The button's label begins with the name.
      name.setAttribute('aria-hidden', 'true');
      const offer = document.createElement('div');
      offer.className = 'offer';
      offer.append(button, name);
      return offer;
    });
    byId('offers-row').replaceChildren(...buttons);
  }

  /**
   * Creates a button with a picture and a key hint. It acts on `pointerdown`, because a browser
   * sends no `click` for a second finger while a thumb is steering.
   * @param {Slot} slot
   * @param {() => void} act
   * @param {string} key
   */
  button(slot, act, key) {
    const button = document.createElement('button');
    button.type = 'button';
    button.setAttribute('aria-label', tooltip(slot));
    button.addEventListener('pointerdown', (event) => {
      // The button gets no focus, so that Space still attacks.
      event.preventDefault();
      if (event.button === 0) act();
    });
    button.addEventListener('click', (event) => { if (event.detail === 0) act(); });
    button.addEventListener('pointerenter', (event) => { if (event.pointerType === 'mouse') this.showTooltip(button, slot); });
    button.addEventListener('pointerleave', () => this.showTooltip(null));
    button.addEventListener('focus', () => this.showTooltip(button, slot));
    button.addEventListener('blur', () => this.showTooltip(null));
    const hint = document.createElement('kbd');
    hint.textContent = key;
    button.append(picture(ICON_PX, (ctx) => {
      if (slot.isWeapon) drawToolIcon(ctx, slot.id, ICON_PX * 0.8);
      else drawItem(ctx, slot.id, ICON_PX * 0.9);
    }), hint);
    return button;
  }

  /** @param {HTMLElement | null} button @param {Slot} [slot] */
  showTooltip(button, slot) {
    this.pointed = button;
    byId('kit-tip').hidden = button === null;
    if (slot) setText('kit-tip', tooltip(slot));
  }

  /** Marks the slot in the hand and the slots that cannot be used. */
  updateStates() {
    const { world } = this;
    const own = world.ownId === null ? undefined : world.players.get(world.ownId);
    const { counts } = world.built.inventory;
    for (const { button, slot } of this.slots) {
      const held = own !== undefined && (slot.isWeapon ? own.item === null && own.weapon === slot.id : own.item === slot.id);
      const item = slot.isWeapon ? undefined : itemOf(slot.id);
      button.classList.toggle('held', held);
      const usable = item ? canAfford(item, world.resources) && mayBuild(item, counts) : canAfford(weaponOf(slot.id), world.resources);
      button.classList.toggle('poor', !usable);
      button.setAttribute('aria-pressed', String(held));
    }
  }
}

/**
 * Returns the slot that Q selects: the weapon if an item is in the hand, otherwise food.
 * @param {import('../world/world.js').World} world
 * @returns {Slot | null}
 */
export function swapTarget(world) {
  const own = world.ownId === null ? undefined : world.players.get(world.ownId);
  if (!own) return null;
  if (own.item !== null) return { id: own.weapon, isWeapon: true };
  const food = world.built.inventory.items.find((id) => itemOf(id)?.group === 'food');
  return food === undefined ? null : { id: food, isWeapon: false };
}

/**
 * Returns why the item in the hand cannot be used now. The server rejects such a use without a
 * message.
 * @param {import('../world/world.js').World} world
 * @param {number | null} heading direction of view, radians
 * @returns {string} sentence; '' if it can be used
 */
export function unusableReason(world, heading) {
  const own = world.ownId === null ? undefined : world.players.get(world.ownId);
  if (!own) return '';
  const item = itemOf(own.item);
  const { cost } = item ?? weaponOf(own.weapon);
  const missing = RESOURCES.filter((_, resource) => world.resources[resource] < cost[resource]);
  if (missing.length > 0) return `Not enough ${missing.join(' and ')}`;
  if (!item) return '';
  if (item.group === 'food') return own.health < rules.player_health ? '' : 'You are at full health';
  if (!mayBuild(item, world.built.inventory.counts)) return 'You have the maximum number of these';
  return ghostOf(world, heading)?.possible ? '' : 'There is no space for it here';
}

/** Describes a slot: name, effect and cost. @param {Slot} slot */
export function tooltip({ id, isWeapon }) {
  const { name, description, cost } = isWeapon ? weaponOf(id) : itemOf(id) ?? { name: `item ${id}`, description: '', cost: [] };
  const parts = cost.flatMap((amount, resource) => (amount > 0 ? [`${amount} ${RESOURCES[resource]}`] : []));
  const title = name[0].toUpperCase() + name.slice(1);
  return `${title}. ${description}${parts.length > 0 ? ` ${isWeapon ? 'A shot costs' : 'Costs'} ${parts.join(' and ')}.` : ''}`;
}

/**
 * Creates a picture.
 * @param {number} size side, device px
 * @param {(ctx: CanvasRenderingContext2D) => void} draw draws around the centre
 */
function picture(size, draw) {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = size;
  canvas.setAttribute('aria-hidden', 'true');
  const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  ctx.translate(size / 2, size / 2);
  draw(ctx);
  return canvas;
}

/**
 * Creates the list of the resources that an item or a shot costs: each amount with the icon of its
 * resource.
 * @param {{ cost: readonly number[] }} item
 */
function price(item) {
  const list = document.createElement('span');
  list.className = 'price';
  list.classList.toggle('long', item.cost.filter((amount) => amount >= 50).length > 1);
  item.cost.forEach((amount, resource) => {
    if (amount === 0) return;
    const one = document.createElement('span');
    one.append(String(amount), picture(COIN_PX, (ctx) => drawIcon(ctx, RESOURCES[resource], 0, 0, COIN_PX)));
    list.append(one);
  });
  return list;
}

/**
 * Creates the badge with the number of standing structures in the group of an item. It is hidden at
 * 0.
 * @param {import('../rules/rules.js').Item} item
 * @param {ReadonlyMap<number, number>} counts
 */
function count(item, counts) {
  const badge = document.createElement('span');
  badge.className = 'count';
  const standing = counts.get(groupOf(item).id) ?? 0;
  badge.textContent = standing > 0 ? String(standing) : '';
  badge.hidden = standing === 0;
  return badge;
}
