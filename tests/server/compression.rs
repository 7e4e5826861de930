//! `--compression`: permessage-deflate between the server and its clients, without context takeover.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::Duration;

use tickwire::internal::games;
use tickwire::internal::server::net::recorder::CaptureTarget;
use tickwire::internal::server::room::lockstep::{LockstepAccess, LockstepConfig};
use tickwire::internal::testing::load::crowd::{self, BotBehavior, CrowdPlan};
use tickwire::ws::extension::{DeflateParameters, HEADER, SenderParameters};
use tickwire::ws::{CloseCode, Connection, Event, Limits, Role};

use crate::clients::UPGRADE;
use crate::lockstep::metric;
use crate::replay::{self, File};
use crate::support::{PATIENCE, server_with};

/// Clients of three dialects and clients in lockstep play. The self-check, the replay of the capture and `explain` read what was sent.
#[test]
fn compressed_games_are_checked_replayed_and_explained() {
    let file = File::new("compression");
    let server = server_with(|config| {
        (config.compression, config.self_check, config.address_rate_limits) = (true, true, false);
        config.lockstep = LockstepConfig { access: LockstepAccess::Open, ..LockstepConfig::default() };
    });
    server.capture(CaptureTarget::File(file.0.clone())).expect("a new file");
    let crowd = |dialects: &[&str], lockstep| CrowdPlan {
        lane: false,
        late_acks: false,
        url: format!("ws://{}", server.address()).parse().expect("a URL"),
        game: games::INFO[0],
        dialects: dialects
            .iter()
            .map(|name| games::built_in_tables().dialect(name).expect("built in"))
            .collect(),
        count: 4,
        time: Duration::from_secs(3),
        source: None,
        behavior: BotBehavior::Play,
        seed: 3,
        lockstep,
        reconnects: None,
    };
    std::thread::scope(|scope| {
        let streams =
            scope.spawn(|| crowd::run(&crowd(&["native", "legacy", "letters"], false)).expect("a crowd"));
        let mut reports = crowd::run(&crowd(&["native"], true)).expect("a crowd");
        reports.extend(streams.join().expect("no panic"));
        assert!(reports.iter().all(|report| report.passed()), "{reports:?}");
    });
    assert!(metric(&server, "self_check_compared_total") > 30);
    assert_eq!(metric(&server, "self_check_faults_total"), 0);
    let (original, compressed) = ("compression_original_bytes_total", "compression_compressed_bytes_total");
    let (original, compressed) = (metric(&server, original), metric(&server, compressed));
    assert!(
        metric(&server, "messages_compressed_total") > 30 && compressed < original,
        "{compressed} of {original}"
    );
    assert_eq!(server.stop(), 0);

    let bytes = fs::read(&file.0).expect("the capture");
    let (text, status) = replay::replay(&bytes, "compressed", &[]);
    assert!(status == 0 && text.ends_with("same\n"), "{text}");
    let explained =
        Command::new(env!("CARGO_BIN_EXE_tickwire")).arg("explain").arg("--line").arg(&file.0).output();
    let explained = String::from_utf8(explained.expect("the program runs").stdout).expect("text");
    assert!(explained.contains("compressed"), "frames of compressed messages");
    assert!(!explained.contains("RFC 6455 section"), "no violation");
    assert!(!explained.contains("does not fit"), "no misfit");
}

#[test]
fn the_limits_of_a_client_hold_for_inflated_bytes() {
    let server = server_with(|config| config.compression = true);
    for (bytes, times, expected) in [
        (5_000, 1, (CloseCode::MESSAGE_TOO_BIG, "inflated_too_long")),
        (4_000, 400, (CloseCode::POLICY_VIOLATION, "byte_rate")),
    ] {
        let mut client = Peer::connect(server.address(), Some("permessage-deflate; client_max_window_bits"));
        let agreed = "permessage-deflate; server_no_context_takeover; client_no_context_takeover";
        assert!(client.response.contains(&format!("{HEADER}: {agreed}\r\n")), "{}", client.response);
        client.send(b"\x92\x01\x92\x01\x00");
        // A packet with an unknown code and a long text.
        let mut message = [b"\x92\x63\x91\xda", &u16::to_be_bytes(bytes)[..]].concat();
        message.resize(message.len() + usize::from(bytes), b'a');
        for _ in 0..times {
            client.send(&message);
        }
        let (code, reason) = client.receive_close();
        assert_eq!((code, &*reason), expected);
    }
    let plain = Peer::connect(server.address(), None);
    assert!(!plain.response.contains(HEADER), "{}", plain.response);
    server.stop();
    let server = server_with(|_| {});
    let off = Peer::connect(server.address(), Some("permessage-deflate"));
    assert!(!off.response.contains(HEADER), "{}", off.response);
    server.stop();
}

/// A client that compresses each message.
struct Peer {
    stream: TcpStream,
    response: String,
    connection: Connection,
}

impl Peer {
    fn connect(address: SocketAddr, offer: Option<&str>) -> Peer {
        let mut stream = TcpStream::connect(address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let offer = offer.map(|offer| format!("{HEADER}: {offer}\n")).unwrap_or_default();
        let request = format!("GET /play HTTP/1.1\nHost: h\n{UPGRADE}{offer}\n").replace('\n', "\r\n");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut response = Vec::new();
        while !response.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("a response");
            response.extend_from_slice(&byte);
        }
        let sender = SenderParameters { context_takeover: false, window_bits: 15 };
        let role = Role::Client { mask_key: || [1, 2, 3, 4] };
        let mut connection = Connection::new(role, Limits::default());
        connection.enable_compression(DeflateParameters { server: sender, client: sender }, 0);
        Peer { stream, response: String::from_utf8(response).expect("a head"), connection }
    }

    /// Sends a binary message, unless the server has closed already.
    fn send(&mut self, message: &[u8]) {
        let mut bytes = Vec::new();
        self.connection.send_binary(message);
        self.connection.drain_output(&mut bytes);
        let _ = self.stream.write_all(&bytes);
    }

    fn receive_close(&mut self) -> (CloseCode, String) {
        loop {
            while let Some(event) = self.connection.next_event().expect("valid frames") {
                if let Event::Close { code, reason } = event {
                    return (code.expect("a code"), reason.to_owned());
                }
            }
            let mut piece = [0; 4096];
            let count = self.stream.read(&mut piece).expect("a close frame");
            assert!(count > 0, "the connection ended without a close frame");
            self.connection.receive(&piece[..count]);
        }
    }
}
