//! Prediction with a lane for datagrams, beside the stream alone, on the same lines.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tickwire::game::DynTick;
use tickwire::game::bots::{AgentOutput, BotSpec};
use tickwire::game::prediction::LocalWorld as _;
use tickwire::game::simple::{Simple, SimpleLocalWorld};
use tickwire::internal::server::embedded::{self, game};
use tickwire::internal::util::netem::Conditions;
use tickwire::packet::{DecodedPacket, Lane};

use crate::corrections::measure_walk;
use crate::fog_example::Fog;
use crate::line::{Client, bad, play, server};

/// A tick of moo.
const TICK: Duration = Duration::from_nanos(1_000_000_000 / 30);

#[test]
fn a_lane_halves_the_lead_and_leaves_nothing_to_correct() {
    for (percent, seed) in [(2, 3), (2, 4), (5, 3), (5, 4)] {
        let line = Conditions { loss_ppm: percent * 10_000, ..bad() };
        let [stream, lane] = [false, true].map(|has_lane| {
            let name = format!("{percent} % loss, {}", if has_lane { "lane" } else { "stream" });
            measure_walk(&name, line, seed, 60, has_lane)
        });
        assert_eq!(lane.px, [0.0; 2], "{percent} %, seed {seed}");
        let max = line.delay * 2 + line.jitter * 3 / 2 + TICK * 2;
        assert!(lane.lead <= max, "{percent} %, seed {seed}: a lead of {:?}", lane.lead);
        assert!(stream.lead >= lane.lead * 3 / 2, "{:?} and {:?}", stream.lead, lane.lead);
        let lost = lane.stats.sent - lane.stats.acknowledged;
        assert!(lost * 200 > lane.stats.sent, "the line lost datagrams: {:?}", lane.stats);
        assert!(lane.stats.reordered > 20, "the line reordered datagrams: {:?}", lane.stats);
    }
}

/// A soldier in the fog among bots and wolves, whose entity lists, state rows and own state come by datagram. After
/// every update, what its client has is what it may see, whatever was lost. For some seconds, the lane is dead.
#[test]
fn entities_by_datagram_are_those_that_the_client_sees() {
    embedded::register::<Simple<Fog>>();
    let net = Conditions { loss_ppm: 100_000, ..bad() };
    let mut server = server("fog", 3, 8, net);
    server.record();
    let game = game(Some("fog")).expect("it is registered").info;
    let mut players = [Client::<SimpleLocalWorld<Fog>>::new(&mut server, "fog", "fog").with_lane()];
    let mut spec = BotSpec::new(Arc::clone(&players[0].dialect), 1);
    spec.is_checking = true;
    let mut agent = game.agent(&spec).expect("a bot");
    let (mut now, mut leaves, mut compared) = (Duration::ZERO, 0, 0);
    let (mut partial, mut in_a_row) = (0, 0);
    let mut group = None;
    let published = RefCell::new(BTreeMap::<u32, Arc<dyn DynTick>>::new());
    for part in 0..6 {
        players[0].is_lane_up = part % 2 == 0;
        let act = |players: &mut [Client<_>], server: &mut _, now, frame: u64| {
            let server: &mut embedded::EmbeddedServer = server;
            let ticks =
                server.take_recorded().into_iter().map(|tick| (tick.published.tick(), tick.published));
            published.borrow_mut().extend(ticks);
            if players[0].shown.is_some() && frame.is_multiple_of(9) {
                let way = [1, 2, 3, 1, 7, 8, 4, 0, 5, 6][(frame / 30 % 10) as usize];
                players[0].command(server, "control", &[way.into(), 0.into(), false.into()], now);
            }
        };
        let see =
            |_: usize, client: &Client<SimpleLocalWorld<Fog>>, packet: &DecodedPacket<'_>, now: Duration| {
                let tick = packet
                    .integer::<u32>("tick")
                    .filter(|_| !["welcome", "pong"].contains(&&*packet.row.name));
                // All packets of the update before have been seen.
                let published = published.borrow();
                let before = group.filter(|before| tick.is_some_and(|tick| tick != *before));
                if let Some((before, published)) =
                    before.and_then(|before| Some((before, published.get(&before)?)))
                {
                    let player = client.prediction().world().and_then(|world| world.own_player());
                    // Of an update in several datagrams, one may be lost.
                    match game.compare_view(&*agent, player, &**published) {
                        Ok(is_compared) => (compared, in_a_row) = (compared + u32::from(is_compared), 0),
                        Err(mismatch) => {
                            (partial, in_a_row) = (partial + 1, in_a_row + 1);
                            assert!(in_a_row < 4, "tick {before}: {}", mismatch.0);
                        }
                    }
                }
                group = tick.or(group);
                let mut out = AgentOutput::default();
                // The agent has sent nothing, so it gets no answers.
                if packet.row.lane == Lane::Latest || packet.row.name == "welcome" {
                    agent.on_packet(packet, now, &mut out);
                }
                let is_repeated = |fault: &str| fault.contains("leaves, and is not known");
                leaves += out.faults.iter().filter(|fault| is_repeated(&format!("{fault:?}"))).count();
                let faults: Vec<_> =
                    out.faults.iter().filter(|fault| !is_repeated(&format!("{fault:?}"))).collect();
                assert!(faults.is_empty(), "{faults:?}");
            };
        play(&mut server, &mut players, &mut now, 12, act, see);
    }
    let stats = players[0].player.lane().expect("a lane").stats();
    assert!(
        compared > 1_200 && partial < 30,
        "{compared} updates were compared, {partial} partial, {stats:?}"
    );
    assert!(leaves > 0, "leaves are repeated until they are acknowledged");
    assert!(stats.received > 700 && stats.acknowledged > 700, "{stats:?}");
}
