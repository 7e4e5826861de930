//! The rules as JSON for the web page, served as `rules.json`.

use serde_json::{Value as Json, json};

use crate::games::moo::world::Controller;
use crate::games::moo::world::rules::{
    self, ANIMALS, AnimalSpecies, CHOICE_ITEMS, Group, ITEMS, Item, PROJECTILES, Projectile, WEAPONS, Weapon,
};

/// Weapons, items and their groups, projectiles and animals, one per line, and some constants.
pub fn rules_json() -> String {
    let tables = [
        ("groups", lines(&Group::ALL, group)),
        ("weapons", lines(&WEAPONS, weapon)),
        ("items", lines(&ITEMS, item)),
        ("projectiles", lines(&PROJECTILES, projectile)),
        ("animals", lines(&ANIMALS, animal)),
    ];
    let tables = tables.map(|(name, lines)| format!("\"{name}\":[\n{lines}\n]")).join(",\n");
    let figures = [
        ("first_item_choice", i64::from(CHOICE_ITEMS)),
        ("player_radius_px", i64::from(rules::PLAYER_RADIUS_PX)),
        ("player_health", i64::from(rules::PLAYER_HEALTH)),
        ("leaf_radius_percent", i64::from(rules::LEAF_RADIUS_PERCENT)),
    ];
    let figures = figures.map(|(name, value)| format!("\"{name}\":{value}")).join(",");
    format!("{{{figures},\n{tables}}}\n")
}

fn lines<T>(rows: &[T], row: fn(&T) -> Json) -> String {
    rows.iter().map(|one| row(one).to_string()).collect::<Vec<_>>().join(",\n")
}

fn group(group: &Group) -> Json {
    json!({ "id": *group as u8, "name": name(*group), "limit": group.limit(), "is_solid": group.is_solid() })
}

/// The name of a group, in lower case.
fn name(group: Group) -> String {
    format!("{group:?}").to_lowercase()
}

fn weapon(weapon: &Weapon) -> Json {
    let Weapon { id, name, does, period_ms, shoots, shot_cost, .. } = weapon;
    let is_melee = shoots.is_none() && weapon.shield_percent == 100;
    json!({
        "id": id, "name": name, "description": does, "interval_ms": period_ms, "is_melee": is_melee, "projectile": shoots,
        "cost": shot_cost,
    })
}

fn item(item: &Item) -> Json {
    let Item { id, name: called, does, group, cost, scale_px, health, damage, .. } = item;
    let figures = [("{health}", health.to_string()), ("{damage}", damage.to_string())];
    let does = figures.iter().fold((*does).to_owned(), |text, (word, figure)| text.replace(word, figure));
    // Converts thirds of a millisecond to milliseconds.
    let duration_ms = Controller::built(item).ends_in().map(|time| time / 3);
    json!({
        "id": id, "name": called, "description": does, "group": name(*group), "cost": cost, "radius_px": scale_px,
        "duration_ms": duration_ms,
    })
}

fn projectile(projectile: &Projectile) -> Json {
    json!({ "kind": projectile.kind, "name": projectile.name, "speed_px_per_s": projectile.speed_px_per_s })
}

fn animal(animal: &AnimalSpecies) -> Json {
    let AnimalSpecies { kind, name, health, radius_px, speed_px_per_s, .. } = animal;
    json!({ "kind": *kind as u8, "name": name, "health": health, "radius_px": radius_px, "speed_px_per_s": speed_px_per_s })
}
