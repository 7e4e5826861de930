//! Compares the verdicts of all readers on mutated datagrams of a lane: opened ones in a capture of
//! the server, and sealed ones in a capture of a network, with a key log.
//!
//! ```text
//!   datagrams ─┬─► opened  ─► explain ────────────┬── dissector (tshark): the same rule, header, messages, packets
//!              └─► sealed  ─► server's end, explain ┘
//! ```

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value as Json, json};
use tickwire::capture::{self, TcpSide};
use tickwire::explain::capture_walk::{self, CaptureItemKind};
use tickwire::internal::datagram::endpoint::MESSAGES_BYTES;
use tickwire::internal::datagram::header::{DatagramHeader, HEADER_BYTES};
use tickwire::internal::datagram::{DatagramError, LaneEndpoint, LaneKey, Message, message};
use tickwire::internal::limits;
use tickwire::internal::tools::capture::writer::{CaptureWriter, TcpFlow};
use tickwire::packet::msgpack::read_head;
use tickwire::packet::{Dialect, Direction, PacketError, PacketTables};
use tickwire::ws::{Side, handshake};

use crate::mutants::{Dice, Packets};

/// Number of datagrams in each capture.
const DATAGRAMS: usize = 1_500;
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const CONNECTION: u32 = 0xc0ff_ee07;

fn end(port: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, if port == 3000 { 1 } else { 7 }], port))
}

/// Makes mutated datagrams of both directions.
struct Maker<'a> {
    packets: &'a Packets,
    rng: Dice,
}

impl Maker<'_> {
    fn number(&mut self) -> u32 {
        let edges = [0, 1, 7, 254, 65_535, 1_000_000, u32::MAX - 3, u32::MAX - 1, u32::MAX];
        self.rng.pick(&edges)
    }

    /// Messages of a datagram. About half of the datagrams break a rule.
    fn messages(&mut self, to: Direction) -> Vec<u8> {
        let mut out = Vec::new();
        for _ in 0..self.rng.below(4) {
            match (self.rng.below(8), to) {
                (0..4, Direction::ToServer) => message::write_commands(&mut out, |out| self.block(out)),
                (0..2, Direction::ToClient) => message::write_received(&mut out, self.number()),
                _ => {
                    let packet = self.packets.pick(&mut self.rng, "native", to).to_vec();
                    message::write_packet(&mut out, &self.changed(packet));
                }
            }
        }
        out = self.changed(out);
        out.truncate(MESSAGES_BYTES);
        out
    }

    /// Mutates the bytes with a probability of a third.
    fn changed(&mut self, mut bytes: Vec<u8>) -> Vec<u8> {
        if bytes.is_empty() {
            return bytes;
        }
        let at = self.rng.below(bytes.len());
        match self.rng.below(18) {
            0 => bytes[at] ^= 1 << self.rng.below(8),
            1 => {
                bytes[at] = self.rng.pick(&[0, 1, 2, 3, 0x7f, 0x80, 0x90, 0x92, 0xa1, 0xc1, 0xcb, 0xdc, 0xff])
            }
            2 => bytes.truncate(at),
            3 => bytes.insert(at, self.rng.below(256) as u8),
            4 => drop(bytes.remove(at)),
            5 => bytes.extend(vec![self.rng.below(4) as u8; 1 + self.rng.below(20)]),
            _ => {}
        }
        bytes
    }

    /// Appends the content of a message with commands.
    fn block(&mut self, out: &mut Vec<u8>) {
        let count = self.rng.pick(&[0, 1, 2, 3, 8, 9, 17]);
        let has_ticks = !self.rng.is_one_of(3);
        out.extend(self.number().to_be_bytes());
        out.extend(if has_ticks { self.number() } else { u32::MAX }.to_be_bytes());
        out.extend([self.rng.below(4) as u8, count as u8]);
        let first_same = self.rng.is_one_of(10);
        let same: Vec<bool> =
            (0..count).map(|at| if at == 0 { first_same } else { !self.rng.is_one_of(3) }).collect();
        for eight in same.chunks(8) {
            out.push((0..).zip(eight).fold(0, |byte, (bit, same)| byte | u8::from(*same) << (7 - bit)));
        }
        for _ in same.iter().filter(|same| !**same) {
            let body = self.body();
            let body = self.changed(body);
            out.extend([self.rng.below(3) as u8, body.len() as u8]);
            out.extend(body);
        }
        if self.rng.is_one_of(12) {
            out.push(0);
        }
    }

    /// Code and arguments of a command, from a packet whose first arguments are sequence and tick.
    fn body(&mut self) -> Vec<u8> {
        let packet = self.packets.pick(&mut self.rng, "native", Direction::ToServer);
        let code = read_head(packet, 1).expect("a packet");
        let code_end = 1 + code.head + code.length;
        let Ok(list) = read_head(packet, code_end) else { return packet[1..].to_vec() };
        let mut at = code_end + list.head;
        for _ in 0..2 {
            let Ok(value) = read_head(packet, at) else { break };
            at += value.head + value.length;
        }
        let mut body = packet[1..code_end].to_vec();
        body.push(0x90 | (list.length.saturating_sub(2) as u8 & 0x0f));
        body.extend_from_slice(packet.get(at..).unwrap_or_default());
        body.truncate(limits::LANE_COMMAND_BYTES);
        body
    }

    fn header(&mut self) -> DatagramHeader {
        let mut word = || self.rng.below(65_536) as u32;
        let (connection, sequence, newest) = (word() << 16 | word(), word() as u16, word() as u16);
        let newest = if word() % 4 == 0 { newest % 40 } else { newest };
        DatagramHeader { connection, sequence, newest, received: word() << 16 | word() }
    }
}

/// A capture of one connection and its lane.
struct Capture {
    writer: CaptureWriter,
    client: SocketAddr,
    /// The expected verdict of each datagram, as a line of JSON.
    expected: String,
}

impl Capture {
    fn begin(has_connection: bool) -> Capture {
        let (mut writer, client) = (CaptureWriter::new(Duration::from_secs(1_700_000_000)), end(40_001));
        writer.begin(false);
        if has_connection {
            let at = (Duration::ZERO, "");
            let mut flow = TcpFlow::open(&mut writer, [client, end(3000)], [1000, 5000], at);
            let request = handshake::request("localhost:3000", "/play", KEY, &[]);
            flow.bytes(&mut writer, TcpSide::Client, &request, at);
            let accept = handshake::accept_key(KEY);
            let response = format!(
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                 Sec-WebSocket-Accept: {accept}\r\n\r\n"
            );
            flow.bytes(&mut writer, TcpSide::Server, response.as_bytes(), at);
        }
        Capture { writer, client, expected: String::new() }
    }

    fn add(&mut self, to: Direction, bytes: &[u8], comment: &str) {
        let is_inbound = to == Direction::ToServer;
        let ends = if is_inbound { [end(40_002), end(3000)] } else { [end(3000), end(40_002)] };
        self.writer.datagram(ends, is_inbound, bytes, (Duration::from_secs(1), comment));
    }

    /// Adds an opened datagram.
    fn add_opened(&mut self, to: Direction, bytes: &[u8]) {
        let comment = format!("tick=1 tcp={}", self.client);
        self.add(to, bytes, &comment);
    }

    fn expect(&mut self, line: &Json) {
        let _ = writeln!(self.expected, "{line}");
    }
}

/// The broken rules of the packets in a datagram: a list for each message, with a rule for each
/// packet or command.
fn packet_rules(bytes: &[u8], to: Direction, dialect: &Dialect) -> Vec<Vec<Option<&'static str>>> {
    let rule = |packet: &[u8]| match dialect.decode(to, packet) {
        Ok(_) => None,
        Err(PacketError::Malformed(error)) => Some(error.rule.name()),
        Err(PacketError::WrongArguments { .. }) => Some("wrong_arguments"),
        Err(PacketError::UnknownCode { .. }) => Some("unknown_code"),
    };
    let messages = message::read(bytes.get(HEADER_BYTES..).unwrap_or_default());
    let rules = messages.filter_map(Result::ok).map(|message| match message {
        Message::Packet(packet) => vec![rule(packet)],
        Message::Commands(block) => block
            .iter()
            .map(|command| {
                let mut packet = Vec::new();
                command.write_packet(&mut packet);
                rule(&packet)
            })
            .collect(),
        Message::Received(_) => Vec::new(),
    });
    rules.collect()
}

/// The verdict of explain on each datagram of a capture.
fn explained(file: &[u8]) -> Vec<Json> {
    let (codes, capture) = (PacketTables::builtin(), capture::read(file).expect("a capture"));
    let native = codes.dialect("native").expect("built in");
    let datagrams = capture_walk::datagrams(&capture);
    let mut found = Vec::new();
    capture_walk::walk((&capture.connections(), &datagrams), &codes, (None, &native), None, |one| {
        let CaptureItemKind::Item(item) = one.what else { return };
        let json: Json = serde_json::from_str(&item.json()).expect("JSON");
        let mut frame = json["frames"][0].clone();
        if frame["tree"]["name"] == "datagram" {
            let to = if item.from == Side::Client { Direction::ToServer } else { Direction::ToClient };
            frame["packet_rules"] = json!(packet_rules(&item.bytes, to, &native));
            found.push(frame);
        }
    });
    found
}

/// Compares the dissector's verdicts on a capture with the expected ones. Returns the output.
fn in_wireshark(directory: &Path, name: &str, capture: &Capture, key_log: Option<&Path>) -> String {
    let [file, lines] = ["pcapng", "jsonl"].map(|end| directory.join(format!("{name}.{end}")));
    std::fs::write(&file, &capture.writer.blocks).expect("written");
    std::fs::write(&lines, &capture.expected).expect("written");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wireshark/datagram_verdicts.py");
    let mut command = Command::new("python3");
    let done = command.arg("-B").arg(script).args([&file, &lines]).args(key_log).output().expect("python");
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{name}: {text}{}", String::from_utf8_lossy(&done.stderr));
    text
}

fn counts_of(explained: &[Json]) -> (usize, std::collections::BTreeSet<String>) {
    let rules = explained.iter().filter_map(|frame| frame["problem"]["rule"].as_str());
    (explained.len(), rules.map(str::to_owned).collect())
}

#[test]
fn dissector_and_explain_agree_on_opened_datagrams() {
    let packets = Packets::read();
    let mut maker = Maker { packets: &packets, rng: Dice(super::number("TICKWIRE_SEED", 1)) };
    let mut capture = Capture::begin(true);
    for at in 0..DATAGRAMS {
        let to = if at % 2 == 0 { Direction::ToServer } else { Direction::ToClient };
        let mut bytes = maker.header().bytes().to_vec();
        bytes.extend(maker.messages(to));
        if maker.rng.is_one_of(50) {
            bytes.truncate(1 + maker.rng.below(HEADER_BYTES));
        }
        capture.add_opened(to, &bytes);
    }
    let explained = explained(&capture.writer.blocks);
    let (count, rules) = counts_of(&explained);
    assert_eq!(count, DATAGRAMS);
    let of_messages = DatagramError::ALL.map(DatagramError::name);
    let missing: Vec<_> = of_messages[7..].iter().filter(|rule| !rules.contains(**rule)).collect();
    assert!(missing.is_empty() && rules.contains("datagram_too_short"), "no datagram breaks {missing:?}");
    explained.iter().for_each(|frame| capture.expect(frame));
    if std::env::var_os(super::TOOLS).is_some() {
        let directory = super::directory("datagrams-opened");
        let text = in_wireshark(&directory, "opened", &capture, None);
        assert!(text.ends_with(&format!("{DATAGRAMS} datagrams, 0 differences\n")), "{text}");
        let _ = std::fs::remove_dir_all(&directory);
    }
}

/// Passes a sealed datagram through a network that changes, repeats, delays or truncates some.
fn through_network(rng: &mut Dice, sent: &mut Vec<Vec<u8>>, sealed: Vec<u8>) -> Vec<u8> {
    let mut one = sealed.clone();
    sent.push(sealed);
    let at = rng.below(one.len());
    match rng.below(24) {
        0 => one[at] ^= 1 << rng.below(8),
        1 => one.truncate(at.max(1)),
        2 => one.resize(limits::DATAGRAM_BYTES + 1, 0),
        3 => one = sent[sent.len() - 1 - rng.below(sent.len().min(20))].clone(),
        4 => one = sent[rng.below(sent.len())].clone(),
        _ => {}
    }
    one
}

#[test]
fn dissector_with_key_log_and_server_agree_on_sealed_datagrams() {
    let packets = Packets::read();
    let seed = super::number("TICKWIRE_SEED", 1);
    let mut maker = Maker { packets: &packets, rng: Dice(seed.wrapping_add(77)) };
    let key = LaneKey(std::array::from_fn(|n| (n as u8).wrapping_mul(37) ^ seed as u8));
    let mut client = LaneEndpoint::new(Direction::ToServer, CONNECTION, Some(&key));
    let mut server = LaneEndpoint::new(Direction::ToClient, CONNECTION, Some(&key));
    let (mut network, mut opened) = (Capture::begin(true), Capture::begin(true));
    let (mut sent, mut verdicts) = (Vec::new(), Vec::new());
    for _ in 0..DATAGRAMS {
        let messages = maker.messages(Direction::ToServer);
        let sealed = client.seal(&messages, None, Duration::ZERO);
        if maker.rng.is_one_of(10) {
            sent.push(sealed);
            continue;
        }
        let datagram = through_network(&mut maker.rng, &mut sent, sealed);
        network.add(Direction::ToServer, &datagram, "");
        let verdict = server.open(&datagram, Duration::ZERO).map(|opened| opened.messages);
        if let Ok(messages) = &verdict {
            opened.add_opened(Direction::ToServer, &[&datagram[..HEADER_BYTES], messages].concat());
        }
        verdicts.push(verdict.map(drop));
    }
    let mut explained = explained(&opened.writer.blocks).into_iter();
    for verdict in &verdicts {
        let line = match verdict {
            Ok(()) => explained.next().expect("it was opened"),
            Err(rule) => json!({ "problem": { "rule": rule.name() } }),
        };
        network.expect(&line);
    }
    assert_eq!(explained.next(), None);
    for rule in
        [DatagramError::TooLong, DatagramError::WrongTag, DatagramError::Repeated, DatagramError::TooOld]
    {
        assert!(verdicts.contains(&Err(rule)), "no datagram is {rule:?}");
    }
    if std::env::var_os(super::TOOLS).is_some() {
        let directory = super::directory("datagrams-sealed");
        let log = directory.join("keys.log");
        let digits = tickwire::explain::hex::digits(&key.0);
        let line = format!("# a remark\nTICKWIRE_LANE {CONNECTION:08x} {digits} {}\n", network.client);
        std::fs::write(&log, line).expect("written");
        let text = in_wireshark(&directory, "sealed", &network, Some(&log));
        assert!(text.ends_with(&format!("{} datagrams, 0 differences\n", verdicts.len())), "{text}");
        let _ = std::fs::remove_dir_all(&directory);
    }
}
