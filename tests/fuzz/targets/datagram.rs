//! Datagrams of lanes: arbitrary messages, and two ends whose network loses, repeats, reorders and changes datagrams.
//!
//! Commands that a block contains are queued and written again, and the new block contains the same packets. Of a
//! script of sent and delivered datagrams, each end opens every datagram once, none that was changed, and a tick
//! counts as acknowledged only if its datagram was opened.

use std::collections::BTreeSet;
use std::time::Duration;

use tickwire::datagram::commands::{CommandBlock, CommandQueue};
use tickwire::datagram::{DatagramError, LaneEndpoint, LaneKey, Message, message};
use tickwire::packet::Direction;

const NOW: Duration = Duration::ZERO;

/// See the [module](self).
pub fn run(bytes: &[u8]) {
    for message in message::read(bytes) {
        if let Ok(Message::Commands(block)) = message {
            again(&block);
        }
    }
    script(bytes);
}

/// The packets of a block, queued and written again.
fn again(block: &CommandBlock<'_>) {
    let mut queue = CommandQueue::default();
    let mut packets = Vec::new();
    // The queue is open once the server has the first command.
    queue.push(block.first(), None, b"", NOW);
    queue.acknowledge(block.first());
    for command in block.iter() {
        let mut packet = Vec::new();
        command.write_packet(&mut packet);
        queue.push(command.sequence, command.tick, &packet, NOW);
        packets.push(packet);
    }
    let mut written = Vec::new();
    let count = queue.write(usize::MAX, &mut written);
    if count == 0 {
        return;
    }
    let read = CommandBlock::read(&written).expect("a written block is right");
    for (at, command) in read.iter().enumerate() {
        let mut packet = Vec::new();
        command.write_packet(&mut packet);
        assert_eq!(packet, packets[at], "command {at} of {count}");
    }
    assert_eq!(read.iter().count(), count);
}

/// A datagram in flight to one end.
struct Sent {
    bytes: Vec<u8>,
    to: usize,
    sequence: u64,
}

/// Each byte is a step: its lower two bits choose what happens, the others to which datagram.
fn script(bytes: &[u8]) {
    let key = LaneKey([7; 32]);
    let mut ends =
        [Direction::ToServer, Direction::ToClient].map(|direction| LaneEndpoint::new(direction, 9, &key));
    let (mut sent, mut opened) = (Vec::<Sent>::new(), [BTreeSet::new(), BTreeSet::new()]);
    for byte in bytes.iter().take(200) {
        let (action, which) = (byte & 3, usize::from(byte >> 2));
        if action < 2 || sent.is_empty() {
            let from = usize::from(action & 1);
            let sequence = ends[from].sequence() + 1;
            let bytes = ends[from].seal(&[*byte], Some(sequence as u32), NOW);
            sent.push(Sent { bytes, to: 1 - from, sequence });
            continue;
        }
        let Sent { bytes, to, sequence } = &sent[sent.len() - 1 - which % sent.len()];
        let (to, before) = (*to, ends[*to].stats());
        if action == 2 {
            let is_new = !opened[to].contains(sequence);
            match ends[to].open(bytes, NOW) {
                Ok(one) => {
                    assert!(is_new && one.sequence == *sequence, "{sequence} was opened before");
                    opened[to].insert(*sequence);
                }
                Err(DatagramError::Repeated) => assert!(!is_new, "{sequence} is new"),
                Err(DatagramError::TooOld) => assert!(opened[to].range(sequence + 65..).next().is_some()),
                Err(other) => panic!("{other:?}"),
            }
        } else {
            let mut changed = bytes.clone();
            let at = which % changed.len();
            changed[at] ^= 1 << (byte & 7);
            assert!(ends[to].open(&changed, NOW).is_err(), "byte {at} was changed");
            assert_eq!(ends[to].stats().received, before.received);
        }
        for (end, other) in [(0, 1), (1, 0)] {
            if let Some(tick) = ends[end].acked_tick() {
                assert!(opened[other].contains(&u64::from(tick)), "{tick} was not opened");
            }
        }
    }
}
