//! A client's world computes the same as the server's world as long as no other player interferes.

use crate::client_world::{is_predicted, ClientWorld, OwnRecord};
use crate::controller::kit::Choice;
use crate::rng::Rng;
use crate::rules::{Group, Item};
use crate::tests::*;

/// Plenty of resources, random items and a random weapon.
fn equip(player: &mut Player, rng: &mut Rng) {
    player.resources = [60_000; 4];
    for _ in 0..20 {
        let item = &rules::ITEMS[rng.below(rules::ITEMS.len() as u32) as usize];
        player.kit.replace_with(Choice::Item(item));
    }
    let weapon = &rules::WEAPONS[rng.below(rules::WEAPONS.len() as u32) as usize];
    player.kit.replace_with(Choice::Weapon(weapon));
}

fn any_action(player: &Player, rng: &mut Rng) -> Action {
    let angle = Angle(rng.below(65_536) as u16);
    match rng.below(8) {
        0..=2 => Action::Move { direction: Some(angle).filter(|_| rng.below(6) > 0) },
        3 => Action::Aim { heading: angle },
        4 => Action::Attack { on: rng.below(2) == 0 },
        5 => {
            let weapons: Vec<u8> = player.kit.weapons.iter().flatten().copied().collect();
            Action::Select { what: Selection::Weapon(weapons[rng.below(weapons.len() as u32) as usize]) }
        }
        _ => {
            let items: Vec<u8> = player.kit.items.iter().flatten().copied().collect();
            Action::Select { what: Selection::Item(items[rng.below(items.len() as u32) as usize]) }
        }
    }
}

fn exact(world: &World) -> OwnRecord {
    let (body, player) = (body(world, 1), player(world, 1));
    OwnRecord {
        sequence: player.sequence,
        at: (body.x, body.y),
        velocity: (body.vx, body.vy),
        heading: body.heading,
        direction: player.direction,
    }
}

/// Puts structures of another player around a position, including traps, boost pads and spikes.
fn strew(world: &mut World, rng: &mut Rng) {
    for _ in 0..40 {
        let item = &rules::ITEMS[rng.below(rules::ITEMS.len() as u32) as usize];
        let near = |at: Fixed, rng: &mut Rng| Fixed::from_px(at.to_px() + rng.between(-500, 500));
        let (x, y) = (near(body(world, 1).x, rng), near(body(world, 1).y, rng));
        if item.group != Group::Food && item.group != Group::Turret && world.check_space(x, y, item).is_ok() {
            let heading = Angle((rng.below(256) as u16) << 8);
            let owner = PlayerId(9);
            let (vx, vy) = (Fixed::ZERO, Fixed::ZERO);
            let Item { radius_px, health, .. } = *item;
            world.build(Body { x, y, vx, vy, heading, radius_px, health, owner }, item);
        }
    }
}

#[test]
fn a_client_computes_what_the_server_does_with_its_player() {
    let (mut swings, mut built, mut held, mut moved) = (0, 0, 0, 0);
    for seed in 0..12 {
        let mut rng = Rng::new(seed, 77);
        let mut world = without_animals(world(seed));
        let identity = *world.identity();
        put(&mut world, 1, 4_000 + 500 * seed as i32, 4_800);
        equip(player_mut(&mut world, 1), &mut rng);
        strew(&mut world, &mut rng);
        wait(&mut world, 2);
        let mut local = ClientWorld::new(identity);
        let mut own = local.appear(PlayerId(1), world.tick(), &exact(&world));
        *own.player_mut().expect("a player") = player(&world, 1).clone();
        for tick in 0..900 {
            for built in &world.state.structures {
                if let Some(at) = built.standing() {
                    local.add_structure(at.id.0, at.item.id, at.owner, (at.x, at.y), at.heading);
                }
            }
            local.correct(&mut own, &exact(&world));
            body_mut(&mut world, 1).health = rules::PLAYER_HEALTH - 1;
            own.set_health(rules::PLAYER_HEALTH - 1);
            let sequence = player(&world, 1).sequence + 1;
            let action = any_action(player(&world, 1), &mut rng);
            assert!(is_predicted(&action));
            let commands =
                || if tick % 3 == 0 { vec![command(1, sequence, action.clone())] } else { Vec::new() };
            let count = world.state.structures.len();
            let swung = local.step(world.tick(), &mut own, &mut commands());
            world.step(&mut commands());
            let predicted = events(&world).iter().find_map(|event| match event {
                WorldEvent::Swung { weapon, hit, .. } => Some((*weapon, *hit)),
                _ => None,
            });
            assert_eq!(swung, predicted, "seed {seed}, tick {tick}");
            swings += usize::from(predicted.is_some());
            let grown = world.state.structures.len().saturating_sub(count);
            if world.state.structures.len() >= count {
                assert_eq!(own.built.len(), grown, "seed {seed}, tick {tick}");
            }
            built += grown;
            held += usize::from(player(&world, 1).ground.held);
            moved += usize::from(body(&world, 1).vx != Fixed::ZERO);
            assert_eq!(
                own.at(),
                (body(&world, 1).x, body(&world, 1).y),
                "seed {seed}, tick {tick}, {action:?}"
            );
            assert_eq!(own.player_mut().map(|own| own.hand.clone()), Some(player(&world, 1).hand.clone()));
            // The server informs the client of destroyed structures.
            let stands = |id: &u32| world.find_structure(EntityId(*id)).is_some();
            local
                .known_numbers()
                .into_iter()
                .filter(|id| !stands(id))
                .for_each(|id| local.remove_structure(id));
            if let Some(own) = own.player_mut() {
                own.kit = player(&world, 1).kit.clone();
                own.resources = player(&world, 1).resources;
            }
        }
    }
    assert!(swings > 100 && built > 20 && held > 100 && moved > 3_000, "{swings} {built} {held} {moved}");
}

#[test]
fn an_extrapolated_player_goes_on_and_stops_at_a_tree() {
    let world = without_animals(world(1));
    let local = ClientWorld::new(*world.identity());
    let velocity = (Fixed::from_px(9), Fixed::ZERO);
    let free = |at: &i32| world.terrain.is_free(Fixed::from_px(*at), Fixed::from_px(5_000), 200);
    let at = (Fixed::from_px((1_000..13_000).find(free).expect("a clearing")), Fixed::from_px(5_000));
    let (x, y) = local.extrapolate(at, velocity, 20);
    let (slow, _) = local.extrapolate(at, (Fixed::from_px(2), Fixed::ZERO), 60);
    assert!(px(slow) - px(at.0) < 12.0, "one that lets go rests after {} px", px(slow) - px(at.0));
    let far = px(x) - px(at.0);
    assert!(far > 150.0 && far <= 190.0 && (px(y) - 5_000.0).abs() < 1.0, "{far} px, and {} px", px(y));
    assert_eq!(local.extrapolate(at, (Fixed::ZERO, Fixed::ZERO), 10), at);
    let tree = world.scenery().find(|it| it.scale_px > 140).expect("a tree");
    let before = (Fixed::from_px(tree.x_px - 250), Fixed::from_px(tree.y_px));
    for ticks in 0..60 {
        let (x, y) = local.extrapolate(before, (Fixed::from_px(9), Fixed::ZERO), ticks);
        let apart = (px(x) - f64::from(tree.x_px)).hypot(px(y) - f64::from(tree.y_px));
        assert!(
            apart >= f64::from(tree.radius_px + rules::PLAYER_RADIUS_PX) - 0.1,
            "{ticks} ticks: {apart} px"
        );
    }
}
