//! The summary of `simulate`: the comparisons that found no difference, the injected faults, and
//! the server's reactions.

use std::fmt::Write as _;

use crate::testing::simulate::SimulationCounts;

/// The parts of the summary: title, and the counts of the part. A count is a name, or a prefix
/// that ends with a space, and a sentence. The rest of a name with this prefix follows the
/// sentence.
const PARTS: [(&str, &[(&str, &str)]); 3] = [
    (
        "compared; a single difference would have ended the run",
        &[
            (
                "clients compared with the published state",
                "times, the state that a bot has received with the state that its room published: a bot has exactly what the game shows it",
            ),
            (
                "clients with a lane compared with the published state",
                "times of these, with a lane whose datagrams are lost, repeated and reordered: the client has the same state as without a lane",
            ),
            (
                "commands executed",
                "commands that rooms have executed with the commands that they had queued: each ran once and in order, even if several datagrams contained it",
            ),
            (
                "events compared",
                "events that bots have received with the events that the room sent them: each arrived once and in order",
            ),
            (
                "worlds compared",
                "times, the world of a room with a second world that executed the same commands: the rules depend on nothing but state and commands",
            ),
            (
                "server compared with its models",
                "times, the server's seats, limits and queues with a model of them: nothing leaked, and every limit was kept",
            ),
            (
                "lockstep: worlds compared",
                "times, the world of a client in lockstep with the one of its room: the same, unless the simulation had changed a field of it",
            ),
            ("resume: came back", "clients that resumed: each got its own player again"),
            (
                "resume: came back after a restart",
                "clients that resumed after a restart of the room: the same",
            ),
            ("resume: came back from another address", "clients that resumed from another address: the same"),
            (
                "resume: took its player over",
                "clients that resumed while their earlier connection was open: the same",
            ),
            (
                "resume: things compared",
                "times, the possessions of a resumed player with those before its absence: it kept them",
            ),
        ],
    ),
    (
        "injected faults and events",
        &[
            ("bot: ", "bots by the format of their packets:"),
            ("burst of joins", "times, several clients joined in one tick"),
            ("cut: ", "connections lost while their client has a resume key:"),
            ("half open", "connections of which only one direction was closed"),
            ("hostile: ", "misbehaving clients:"),
            ("lane: granted", "lanes granted"),
            ("lane: datagrams", "datagrams sent"),
            ("lane: datagrams ", "datagrams"),
            ("lane: outages", "outages of the path of a client's datagrams"),
            ("lane: addresses changed", "changes of the address of a client's datagrams"),
            ("lane: packets received by datagram", "packets that bots have received by datagram"),
            ("left ", "clients that left"),
            ("line stalled", "connections stalled for a while"),
            ("lockstep: worlds changed", "worlds of clients in lockstep with a changed field"),
            ("messages split at any byte", "messages split at any byte"),
            ("operator: ", "actions of the operator:"),
            ("room restarted from its snapshot", "restarts of a room from its snapshot"),
            ("segments", "segments sent"),
            ("segments ", "segments"),
            ("slow reader", "clients that read slowly"),
            ("tick missed by a worker", "ticks during which a thread of the server did not run"),
            ("vanished", "clients that vanished without closing their connection"),
        ],
    ),
    (
        "reactions of the server, as they should be",
        &[
            ("command rejected by the world", "commands that the rules of the game rejected"),
            ("ended: ", "connections that ended:"),
            ("lockstep: ", "in lockstep:"),
            ("partial sends", "sends of which the kernel accepted only a part"),
            ("refused: ", "connections refused:"),
            ("resume: began with a key", "clients that received a resume key"),
            (
                "resume: its time was over",
                "absent players removed because their client did not resume in time",
            ),
            (
                "resume: too many absent players of an address",
                "players removed at once because their address had too many absent ones",
            ),
            ("state held back", "updates without state, because the connection was behind"),
            ("turn not due", "ticks without an update, because the update rate is lower than the tick rate"),
            ("turn written", "updates sent"),
        ],
    ),
];

/// Formats the counts of a run in which nothing differed.
pub fn format(all: &SimulationCounts) -> String {
    let mut parts = PARTS.map(|(title, _)| format!("\n{title}\n"));
    let messages =
        "messages that bots have received with the packet table and the rules that a client can check";
    let _ = writeln!(parts[0], "{:>12}  {messages}: none breaks one", all.messages);
    for (name, count) in all.rows() {
        let (part, sentence) = describe(name);
        let _ = writeln!(parts[part], "{count:>12}  {sentence}");
    }
    let stats: Vec<String> = all.stats.0.iter().map(|(_, words, count)| format!("{words} {count}")).collect();
    if !stats.is_empty() {
        parts[2] += &format!("\nthe bots played: {}\n", stats.join(", "));
    }
    parts.concat()
}

/// Returns the index of a count's part, and its sentence.
fn describe(name: &str) -> (usize, String) {
    let rows = PARTS.iter().zip(0..).flat_map(|((_, rows), part)| rows.iter().map(move |row| (row, part)));
    let exact = rows.clone().find(|((own, _), _)| *own == name);
    let exact = exact.map(|((_, sentence), part)| (part, (*sentence).to_owned()));
    let with_prefix = || {
        let mut found = rows.filter_map(|((prefix, sentence), part)| {
            Some((part, prefix.len(), format!("{sentence} {}", name.strip_prefix(prefix)?.trim_start())))
        });
        let first = found.next()?;
        let longest = found.fold(first, |one, next| if next.1 > one.1 { next } else { one });
        Some((longest.0, longest.2))
    };
    exact.or_else(with_prefix).unwrap_or_else(|| (1, name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_count_is_in_its_part_with_a_sentence() {
        let mut counts = SimulationCounts::new(60);
        counts.messages = 1_234;
        for (name, count) in [
            ("resume: came back", 3),
            ("resume: came back from another address", 4),
            ("cut: half open", 5),
            ("left without a close frame", 6),
            ("operator: grant", 7),
            ("lockstep: worlds compared", 8),
            ("lockstep: snapshots", 9),
            ("a new count", 10),
        ] {
            counts.add_many(name, count);
        }
        let text = format(&counts);
        let parts: Vec<&str> = text.split("\n\n").collect();
        for (part, line) in [
            (0, "        1234  messages that bots have received with"),
            (0, "           3  clients that resumed: each got its own player again"),
            (0, "           4  clients that resumed from another address: the same"),
            (0, "           8  times, the world of a client in lockstep"),
            (1, "           5  connections lost while their client has a resume key: half open"),
            (1, "           6  clients that left without a close frame"),
            (1, "           7  actions of the operator: grant"),
            (1, "          10  a new count"),
            (2, "           9  in lockstep: snapshots"),
        ] {
            assert!(parts[part].contains(line), "{line}: {text}");
        }
    }
}
