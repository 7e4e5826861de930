//! The operator commands of this game.

use tickwire_sim::Action as _;

use crate::game::{OperatorCommand, OperatorCommandError as No, ParsedCommand, PlayerLookup};
use crate::games::moo::world::rules::{ANIMALS, Group, ITEMS};
use crate::games::moo::world::{Action, Resource, Spawned};

/// The operator commands that this game adds to the built-in commands.
pub const OPERATOR_COMMANDS: [OperatorCommand; 3] = [
    OperatorCommand::new("announce TEXT", "send a message to everyone", announce),
    OperatorCommand::new(
        "spawn TYPE X Y",
        "spawn an animal or an object at X, Y, in pixels from the top left",
        spawn,
    ),
    OperatorCommand::new("grant PLAYER RESOURCE N", "give a player wood, food, stone or gold", grant),
];

fn usage(expected: impl Into<String>) -> No {
    No::Usage(expected.into())
}

fn announce(rest: &str, _: PlayerLookup<'_>) -> ParsedCommand {
    if rest.is_empty() {
        return Err(usage(""));
    }
    Ok((Action::Announce { text: rest.to_owned() }.encoded(), "announced".to_owned()))
}

fn spawn(rest: &str, _: PlayerLookup<'_>) -> ParsedCommand {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [kind, x, y] = words[..] else { return Err(usage("")) };
    let (what, x_px, y_px) = (parse_spawned(kind)?, parse_px("X", x)?, parse_px("Y", y)?);
    Ok((Action::Spawn { what, x_px, y_px }.encoded(), format!("placed at {x_px}, {y_px}")))
}

fn grant(rest: &str, find: PlayerLookup<'_>) -> ParsedCommand {
    // The line is split from its end, because a player name may contain spaces.
    let mut words = rest.rsplitn(3, char::is_whitespace);
    let (Some(amount), Some(resource), Some(player_text)) = (words.next(), words.next(), words.next()) else {
        return Err(usage(""));
    };
    let names = ["wood", "food", "stone", "gold"];
    let resource = names.iter().position(|name| *name == resource).map(|at| Resource::ALL[at]);
    let resource = resource.ok_or_else(|| usage(format!("RESOURCE must be one of {}", names.join(", "))))?;
    let max = u32::MAX;
    let amount = amount.parse().map_err(|_| usage(format!("N must be a whole number, 0 to {max}")))?;
    let player = find(player_text)?;
    let done = format!("player {} received {amount}", player.0);
    Ok((Action::Grant { player, resource, amount }.encoded(), done))
}

/// An animal, or an item that can stand on the map. Its name has `_` for spaces.
fn parse_spawned(kind: &str) -> Result<Spawned, No> {
    let animals = ANIMALS.iter().map(|animal| (animal.name.to_owned(), Spawned::Animal(animal.kind)));
    let items = ITEMS.iter().filter(|item| item.group != Group::Food);
    let items = items.map(|item| (item.name.replace(' ', "_"), Spawned::Item(item.id)));
    let (names, kinds): (Vec<String>, Vec<Spawned>) = animals.chain(items).unzip();
    let known = names.iter().position(|name| name == kind).map(|at| kinds[at]);
    known.ok_or_else(|| usage(format!("TYPE must be one of {}", names.join(", "))))
}

fn parse_px(name: &str, digits: &str) -> Result<u16, No> {
    let expected = || usage(format!("{name} must be a whole number of pixels, 0 to {}", u16::MAX));
    digits.parse().map_err(|_| expected())
}
