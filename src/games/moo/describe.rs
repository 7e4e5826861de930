//! A one-line description of a command of the world: the packet's name in PROTOCOL.md and its
//! arguments, as `tickwire explain` prints them.
//!
//! For example `move direction=16384 (90°)`. Text is quoted and escaped.

use crate::games::moo::world::{Action, Angle, Selection, Spawned, rules};

/// A whole turn in degrees, and in units of an [`Angle`].
const TURN: (f64, f64) = (360.0, 65_536.0);

/// Describes a command.
pub fn describe(action: &Action) -> String {
    match action {
        Action::Join { player, name, skin } => format!("join player={} name={name:?} skin={skin}", player.0),
        Action::Leave { player } => format!("leave player={}", player.0),
        Action::Move { direction: Some(angle) } => format!("move direction={}", degrees(*angle)),
        Action::Move { direction: None } => "move direction=null (stop)".to_owned(),
        Action::Aim { heading } => format!("aim heading={}", degrees(*heading)),
        Action::Chat { text } => format!("chat text={text:?}"),
        Action::Attack { on } => format!("attack state={on}"),
        Action::Respawn { name, skin } => format!("enter name={name:?} skin={skin}"),
        Action::Grant { player, resource, amount } => {
            let resource = format!("{resource:?}").to_lowercase();
            format!("grant player={} resource={resource} amount={amount}", player.0)
        }
        Action::Upgrade { choice } => format!("upgrade choice={choice}{}", describe_choice(*choice)),
        Action::Select { what: Selection::Weapon(id) } => {
            format!("select id={id} is_weapon=true{}", weapon(*id))
        }
        Action::Select { what: Selection::Item(id) } => {
            format!("select id={id} is_weapon=false{}", item(*id))
        }
        Action::ClanCreate { name } => format!("clan_create name={name:?}"),
        Action::ClanLeave => "clan_leave".to_owned(),
        Action::ClanRequest { name } => format!("clan_request name={name:?}"),
        Action::ClanAnswer { player, accept } => format!("clan_answer player={} accept={accept}", player.0),
        Action::ClanKick { player } => format!("clan_kick player={}", player.0),
        Action::Ping => "map_ping".to_owned(),
        Action::Spawn { what: Spawned::Animal(kind), x_px, y_px } => {
            format!("spawn animal={} x_px={x_px} y_px={y_px}", format!("{kind:?}").to_lowercase())
        }
        Action::Spawn { what: Spawned::Item(id), x_px, y_px } => {
            format!("spawn item={id}{} x_px={x_px} y_px={y_px}", item(*id))
        }
        Action::Announce { text } => format!("announce text={text:?}"),
        Action::Disconnect { player } => format!("disconnect player={}", player.0),
    }
}

/// An angle as on the wire, and in degrees with one decimal.
fn degrees(Angle(parts): Angle) -> String {
    let degrees = f64::from(parts) * TURN.0 / TURN.1;
    format!("{parts} ({}°)", (degrees * 10.0).round() / 10.0)
}

/// The name of an upgrade: weapons first, then items.
fn describe_choice(choice: u8) -> String {
    choice.checked_sub(rules::CHOICE_ITEMS).map_or_else(|| weapon(choice), item)
}

fn weapon(id: u8) -> String {
    bracketed(rules::WEAPONS.iter().find(|weapon| weapon.id == id).map(|weapon| weapon.name))
}

fn item(id: u8) -> String {
    bracketed(rules::ITEMS.iter().find(|item| item.id == id).map(|item| item.name))
}

fn bracketed(name: Option<&str>) -> String {
    name.map(|name| format!(" ({name})")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::games::moo::world::{AnimalKind, PlayerId, Resource};

    #[test]
    fn a_command_has_the_names_of_the_packet_tables_and_angles_in_degrees() {
        let (player, name) = (PlayerId(7), || "a\"n\n".to_owned());
        for (action, expected) in [
            (Action::Move { direction: Some(Angle(16_384)) }, "move direction=16384 (90°)"),
            (Action::Move { direction: Some(Angle(1)) }, "move direction=1 (0°)"),
            (Action::Move { direction: None }, "move direction=null (stop)"),
            (Action::Aim { heading: Angle(65_500) }, "aim heading=65500 (359.8°)"),
            (Action::Chat { text: name() }, r#"chat text="a\"n\n""#),
            (Action::Attack { on: true }, "attack state=true"),
            (Action::Respawn { name: name(), skin: 3 }, r#"enter name="a\"n\n" skin=3"#),
            (Action::Upgrade { choice: 200 }, "upgrade choice=200"),
            (Action::Select { what: Selection::Weapon(0) }, "select id=0 is_weapon=true (tool hammer)"),
            (Action::Select { what: Selection::Item(0) }, "select id=0 is_weapon=false (apple)"),
            (Action::ClanAnswer { player, accept: false }, "clan_answer player=7 accept=false"),
            (Action::Ping, "map_ping"),
            (
                Action::Grant { player, resource: Resource::Gold, amount: 5 },
                "grant player=7 resource=gold amount=5",
            ),
            (
                Action::Spawn { what: Spawned::Animal(AnimalKind::Wolf), x_px: 1, y_px: 2 },
                "spawn animal=wolf x_px=1 y_px=2",
            ),
        ] {
            assert_eq!(describe(&action), expected);
        }
    }
}
