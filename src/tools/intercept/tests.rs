//! Tests of the interceptor: what is sent, and what is observed.

use super::fault::OutgoingMessage;
use super::*;
use crate::packet::PacketTables;
use crate::tools::explain::color::ColorMode;
use crate::ws::frame;
use crate::ws::frame::Opcode;

/// A message of a side.
fn text(from: Side, text: &str) -> Vec<u8> {
    OutgoingMessage { from, opcode: Opcode::Text, key: Some([1, 2, 3, 4]), payload: text.as_bytes() }.encode()
}

/// An interceptor with these rules, its clock, and what it observed: outcome and sent bytes.
struct Bench<'c> {
    interceptor: Interceptor<'c>,
    now: Duration,
    observed: Vec<(Side, Outcome, Vec<u8>)>,
}

impl Bench<'_> {
    fn receive(&mut self, from: Side, bytes: &[u8]) {
        let Bench { interceptor, now, observed } = self;
        interceptor.receive(from, bytes, *now, &mut |seen| {
            observed.push((seen.from, seen.outcome, seen.sent.to_vec()));
        });
    }

    fn advance(&mut self, ms: u64) -> Option<Duration> {
        self.now += Duration::from_millis(ms);
        let Bench { interceptor, now, observed } = self;
        interceptor.poll(*now, &mut |seen| observed.push((seen.from, seen.outcome, seen.sent.to_vec())))
    }

    fn decide(&mut self, id: u64, decision: &Decision) -> bool {
        let Bench { interceptor, now, observed } = self;
        interceptor.decide(id, decision, *now, &mut |seen| {
            observed.push((seen.from, seen.outcome, seen.sent.to_vec()))
        })
    }

    fn sent(&mut self, from: Side) -> Vec<u8> {
        std::mem::take(self.interceptor.output(from))
    }

    fn outcomes(&mut self) -> Vec<Outcome> {
        self.observed.drain(..).map(|(_, outcome, _)| outcome).collect()
    }
}

fn with_rules(rules: &[&str], test: impl FnOnce(Bench<'_>)) {
    let codes = PacketTables::builtin();
    let dialect = codes.dialect("native").expect("built in");
    let heads = UpgradeHeads {
        request: b"GET /chat HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                   Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
            .to_vec(),
        response: b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                    Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
            .to_vec(),
        early_bytes: [Vec::new(), Vec::new()],
    };
    let rules = Rule::parse_all(rules).expect("rules").into();
    let interceptor = Interceptor::new(Conversation::foreign(&dialect), &heads, rules);
    test(Bench { interceptor, now: Duration::from_secs(9), observed: Vec::new() });
}

#[test]
fn without_rules_each_byte_is_forwarded_at_once() {
    with_rules(&["client: drop"], |mut bench| {
        let hello = text(Side::Server, "hello");
        for (at, byte) in hello.iter().enumerate() {
            bench.receive(Side::Server, &[*byte]);
            assert_eq!(bench.sent(Side::Server), [*byte]);
            assert_eq!(bench.observed.len(), usize::from(at + 1 == hello.len()));
        }
        assert_eq!(bench.outcomes(), [Outcome::Forwarded]);
    });
}

#[test]
fn a_held_message_holds_what_follows_it_but_no_ping() {
    with_rules(&["client buy: hold", "client \"buy\": hold"], |mut bench| {
        let (buy, next, ping) = (text(Side::Client, "buy 1"), text(Side::Client, "next"), {
            let mut bytes = Vec::new();
            frame::write(&mut bytes, Opcode::Ping, Some([0; 4]), b"");
            bytes
        });
        bench.receive(Side::Client, &[&buy[..], &next, &ping].concat());
        assert_eq!(bench.sent(Side::Client), ping);
        assert_eq!(bench.outcomes(), [Outcome::Held(1), Outcome::Forwarded]);
        assert_eq!(bench.advance(500), None, "no time decides");
        assert!(!bench.decide(2, &Decision::Forward), "it is not held, but waits behind");
        assert!(bench.decide(1, &Decision::Forward));
        assert_eq!(bench.sent(Side::Client), [buy, next].concat());
        assert_eq!(bench.outcomes(), [Outcome::Delayed(Duration::from_millis(500)); 2]);
        assert!(!bench.decide(1, &Decision::Forward), "it was decided");
    });
}

#[test]
fn decisions_drop_repeat_and_replace() {
    with_rules(&["server: hold"], |mut bench| {
        let price = text(Side::Server, "price 9");
        for decision in [
            (Decision::Drop, Vec::new(), Outcome::Dropped),
            (Decision::Repeat(2), price.repeat(3), Outcome::Repeated(2)),
            (
                Decision::Replace(Substitute::Text("price 7".to_owned())),
                text(Side::Server, "price 7"),
                Outcome::Changed,
            ),
            (Decision::Replace(Substitute::Wire(vec![0xff])), vec![0xff], Outcome::Changed),
        ] {
            let (decision, sent, outcome) = decision;
            bench.receive(Side::Server, &price);
            let Some((_, Outcome::Held(id), _)) = bench.observed.pop() else { panic!("held") };
            assert!(bench.decide(id, &decision), "{decision:?}");
            assert_eq!(bench.sent(Side::Server), sent, "{decision:?}");
            assert_eq!(bench.outcomes(), [outcome]);
        }
    });
}

#[test]
fn rules_change_delay_and_break_messages_in_order() {
    let rules = [
        "client \"slow\": delay 200ms",
        "client \"old\": replace \"old\" \"new\"",
        "client \"bad\": break opcode",
    ];
    with_rules(&rules, |mut bench| {
        let message = |words| text(Side::Client, words);
        bench.receive(
            Side::Client,
            &[message("slow"), message("old"), message("bad"), message("end")].concat(),
        );
        assert_eq!(bench.sent(Side::Client), b"");
        assert_eq!(bench.advance(199), Some(Duration::from_millis(9_200)));
        assert_eq!(bench.sent(Side::Client), b"");
        assert_eq!(bench.advance(1), None);
        let mut broken = message("bad");
        broken[0] = 0x83;
        assert_eq!(
            bench.sent(Side::Client),
            [message("slow"), message("new"), broken, message("end")].concat()
        );
        let delayed = Outcome::Delayed(Duration::from_millis(200));
        assert_eq!(bench.outcomes(), [delayed, Outcome::Changed, Outcome::Changed, delayed]);
    });
}

#[test]
fn an_injected_message_never_cuts_another_one() {
    with_rules(&[], |mut bench| {
        let long = text(Side::Server, "a long message");
        bench.receive(Side::Server, &long[..5]);
        let Bench { interceptor, observed, .. } = &mut bench;
        let injected = Substitute::Text("me".to_owned());
        interceptor.inject(Side::Server, &injected, &mut |seen| {
            observed.push((seen.from, seen.outcome, seen.sent.to_vec()));
        });
        assert_eq!(bench.sent(Side::Server), long[..5]);
        bench.receive(Side::Server, &long[5..]);
        assert_eq!(bench.sent(Side::Server), [&long[5..], &text(Side::Server, "me")].concat());
        assert_eq!(bench.outcomes(), [Outcome::Forwarded, Outcome::Injected]);
    });
}

#[test]
fn the_end_of_a_side_follows_its_unfinished_message_and_ends_delays() {
    with_rules(&["client: delay 5s"], |mut bench| {
        let whole = text(Side::Client, "whole");
        bench.receive(Side::Client, &[&whole[..], &whole[..3]].concat());
        let Bench { interceptor, now, observed } = &mut bench;
        interceptor.receive_eof(Side::Client, *now, &mut |seen| {
            observed.push((seen.from, seen.outcome, seen.sent.to_vec()));
        });
        assert_eq!(bench.sent(Side::Client), [&whole[..], &whole[..3]].concat());
        assert!(bench.interceptor.is_finished(Side::Client));
        assert!(!bench.interceptor.accepts(Side::Client) && bench.interceptor.accepts(Side::Server));
    });
}

#[test]
fn a_message_that_is_too_long_passes_a_rule_for_all() {
    with_rules(&["all: drop"], |mut bench| {
        let mut head = vec![0x82, 127];
        head.extend_from_slice(&(1_u64 << 40).to_be_bytes());
        bench.receive(Side::Server, &head);
        bench.receive(Side::Server, &[1; 1000]);
        assert_eq!(bench.sent(Side::Server).len(), 1010);
        assert_eq!(
            bench.outcomes(),
            [Outcome::Oversized { begins: true }, Outcome::Oversized { begins: false }]
        );
    });
}

#[test]
fn a_rule_may_be_for_one_connection_and_holding_everything_lets_pings_pass() {
    let explained = |opcode, payload: &[u8]| {
        let mut bytes = Vec::new();
        frame::write(&mut bytes, opcode, Some([0; 4]), payload);
        let codes = PacketTables::builtin_ref();
        let dialect = codes.default_dialect().expect("built in");
        let mut conversation = Conversation::foreign(dialect);
        conversation.start_after_upgrade(false);
        conversation.explain(Side::Client, &bytes)
    };
    let (text, ping) = (explained(Opcode::Text, b"hello"), explained(Opcode::Ping, b""));
    for (rule, connection, expected) in [
        ("client connection = 2: drop", 2, [true, true]),
        ("client connection = 2: drop", 1, [false, false]),
        ("client connection = 2 \"hello\": drop", 2, [true, false]),
        ("client: hold", 1, [true, false]),
        ("all: hold", 1, [true, false]),
        ("client ping: hold", 1, [false, true]),
        ("client: drop", 1, [true, true]),
    ] {
        let parsed = Rule::parse(rule).expect("a rule");
        assert_eq!([&text, &ping].map(|one| parsed.matches(one, connection)), expected, "{rule}");
    }
}

#[test]
fn a_misspelt_sender_is_an_error_and_other_words_are_texts() {
    for word in ["clinet", "cleint", "clients", "clien", "slient", "sever", "servers", "serwer"] {
        let error = Rule::parse(&format!("{word} \"buy\": hold")).expect_err(word);
        assert!(error.contains(&format!("write {word:?} to match this text")), "{error}");
        assert!(Rule::parse(&format!("{word:?}: hold")).is_ok(), "{word}");
    }
    for word in ["client", "server", "all", "cloud", "line", "item", "move"] {
        assert_eq!(Rule::parse(&format!("{word}: hold")).err(), None, "{word}");
    }
}

#[test]
fn a_message_edited_before_a_held_close_frame_is_explained_without_it() {
    with_rules(&["client: hold"], |bench| {
        let Bench { mut interceptor, now, .. } = bench;
        let mut close = Vec::new();
        frame::write(&mut close, Opcode::Close, Some([0; 4]), &[3, 232]);
        interceptor.receive(Side::Client, &[text(Side::Client, "buy 1"), close].concat(), now, &mut |_| ());
        let mut lines = Vec::new();
        let mut observe = |seen: &Observation<'_, '_>| {
            lines.extend(seen.sent_explained.iter().map(|one| one.one_line(ColorMode::Plain)));
        };
        let edited = |text: &str| Substitute::Text(text.to_owned());
        interceptor.inject(Side::Client, &edited("hi"), &mut observe);
        assert!(interceptor.decide(1, &Decision::Replace(edited("buy 2")), now, &mut observe));
        let substitute = Substitute::Wire(vec![0x88, 0x80, 0, 0, 0, 0]);
        assert!(interceptor.decide(2, &Decision::Replace(substitute), now, &mut observe));
        interceptor.inject(Side::Client, &edited("late"), &mut observe);
        let expected = [
            "> text, masked, 2 bytes: \"hi\"\n",
            "> text, masked, 5 bytes: \"buy 2\"\n",
            "> close, masked, 0 bytes: close without a code\n",
            "> 10 bytes not decoded, after the close\n",
        ];
        assert_eq!(lines, expected);
    });
}
