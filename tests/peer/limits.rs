//! The limits of one connection: rates, deadlines, and what a client that is closed gets.

use std::time::Duration;

use tickwire::game::{CloseReason, SavedReader};
use tickwire::internal::connection::deadlines::DueAction;
use tickwire::internal::connection::pauses::Pauses;
use tickwire::internal::connection::rate_limits::MessageRateLimits;
use tickwire::internal::connection::{Deadlines, DisconnectReason, WireFormat};
use tickwire::internal::limits;
use tickwire::internal::server::admission::address_rate_limits::{
    AddressRateLimits as Addresses, LimitedAction,
};
use tickwire::internal::server::room::lockstep::LockstepAccess;
use tickwire::internal::util::address_prefix::AddressPrefix;
use tickwire::packet::{PacketTables, Value};

use crate::hall::Hall;
use crate::session::shared;

const START: Duration = Duration::from_secs(100);

fn spend(address_limits: &mut MessageRateLimits, messages: u32, now: Duration) {
    (0..messages).for_each(|_| address_limits.charge(0, now, Duration::ZERO).expect("within the budget"));
}

#[test]
fn budgets_allow_a_burst_then_the_rate() {
    let mut address_limits = MessageRateLimits::new(START);
    spend(&mut address_limits, limits::CLIENT_MESSAGES_BURST, START);
    assert_eq!(address_limits.charge(0, START, Duration::ZERO), Err(CloseReason::MessageRate));
    let later = START + Duration::from_secs(1);
    spend(&mut address_limits, limits::CLIENT_MESSAGES_PER_SECOND, later);
    assert_eq!(address_limits.charge(0, later, Duration::ZERO), Err(CloseReason::MessageRate));
    let mut bytes = MessageRateLimits::new(START);
    bytes.charge(limits::CLIENT_BYTES_BURST as usize, START, Duration::ZERO).expect("within the budget");
    assert_eq!(bytes.charge(1, START, Duration::ZERO), Err(CloseReason::ByteRate));
}

#[test]
fn a_client_that_spends_half_of_a_budget_is_warned_once_until_it_was_full_again() {
    let (half, full) = (limits::CLIENT_MESSAGES_BURST / 2, Duration::from_secs(10));
    let mut address_limits = MessageRateLimits::new(START);
    spend(&mut address_limits, half, START);
    assert_eq!(address_limits.take_warning(), None);
    spend(&mut address_limits, 1, START);
    assert_eq!(address_limits.take_warning(), Some(CloseReason::MessageRate));
    spend(&mut address_limits, half - 1, START);
    assert_eq!(address_limits.take_warning(), None, "the client knows");
    spend(&mut address_limits, half + 1, START + full);
    assert_eq!(address_limits.take_warning(), Some(CloseReason::MessageRate));
    address_limits
        .charge(limits::CLIENT_BYTES_BURST as usize / 2 + 1, START + full, Duration::ZERO)
        .expect("within the budget");
    assert_eq!(
        [address_limits.take_warning(), address_limits.take_warning()],
        [Some(CloseReason::ByteRate), None]
    );
}

#[test]
fn restored_budgets_continue_with_their_warnings() {
    let (later, elsewhere) = (START + Duration::from_millis(300), Duration::from_secs(1_000_000));
    let save = |address_limits: &MessageRateLimits, now| {
        let mut out = Vec::new();
        address_limits.save(now, &mut out);
        out
    };
    for spent in [0, 10, limits::CLIENT_MESSAGES_BURST / 2 + 1] {
        let mut address_limits = MessageRateLimits::new(START);
        spend(&mut address_limits, spent, START);
        let _ = address_limits.take_warning();
        let saved = save(&address_limits, later);
        let mut restored =
            MessageRateLimits::restore(&mut SavedReader::new(&saved, elsewhere)).expect("what was saved");
        assert_eq!(save(&restored, elsewhere), saved);
        for after in [0, 100, 250].map(Duration::from_millis) {
            assert_eq!(
                address_limits.charge(9, later + after, Duration::ZERO),
                restored.charge(9, elsewhere + after, Duration::ZERO)
            );
            assert_eq!(address_limits.take_warning(), restored.take_warning());
        }
        assert_eq!(save(&address_limits, later), save(&restored, elsewhere));
        for end in 0..saved.len() {
            assert!(MessageRateLimits::restore(&mut SavedReader::new(&saved[..end], elsewhere)).is_none());
        }
    }
}

#[test]
fn deadlines_expire_in_order_and_report_the_next_check() {
    let (at, ms) = (Duration::from_secs, Duration::from_millis(1));
    let deadlines = Deadlines::new(true, at(100));
    let due = |now| deadlines.poll(now, limits::IDLE_TIMEOUT, Duration::ZERO);
    let hello_by = at(100) + limits::HELLO_TIMEOUT;
    assert_eq!(due(at(101)), DueAction::Nothing(hello_by.min(at(100) + limits::PING_INTERVAL)));
    assert_eq!(due(hello_by), DueAction::Close(CloseReason::HelloLate));
    deadlines.on_hello();
    deadlines.alive(at(200));
    for ping in [at(200) + limits::PING_INTERVAL, at(200) + 2 * limits::PING_INTERVAL] {
        assert_eq!([due(ping - ms), due(ping)], [DueAction::Nothing(ping), DueAction::Ping]);
    }
    assert_eq!(due(at(201) + limits::IDLE_TIMEOUT), DueAction::Close(CloseReason::IdleTimeout));
    deadlines.alive(at(900));
    assert!(matches!(due(at(901)), DueAction::Nothing(_)), "a sign of life ends the silence");
    assert!(!deadlines.is_closing());
    deadlines.on_close_sent(at(1_000));
    deadlines.on_close_sent(at(1_001));
    assert!(deadlines.is_closing());
    let cut = at(1_000) + limits::CLOSE_TIMEOUT;
    assert_eq!([due(cut), due(cut + ms)], [DueAction::Nothing(cut), DueAction::Abort]);
}

#[test]
fn a_client_closed_without_fault_gets_disconnect_before_the_close_frame() {
    let frames = |name: &str, is_json, breach| {
        let dialect = PacketTables::builtin().dialect(name).expect("built in");
        DisconnectReason::Closed(breach).frames(&WireFormat::new(dialect, is_json))
    };
    let kicked = [&[0x88, 8][..], &1008_u16.to_be_bytes(), b"kicked"].concat();
    for (dialect, is_json, disconnect) in [
        ("letters", false, &b"\x82\x0b\x92\xa1B\x91\xa6kicked"[..]),
        ("legacy", false, b"\x82\x0b\x92\xa1d\x91\xa6kicked"),
        ("letters-2023", true, b"\x81\x10[\"B\",[\"kicked\"]]"),
        ("native", false, b""),
    ] {
        assert_eq!(
            frames(dialect, is_json, CloseReason::Kicked),
            [disconnect, &kicked].concat(),
            "{dialect}"
        );
    }
    for breach in CloseReason::ALL {
        let (code, opcode) = (breach.close_code(), frames("letters", false, breach)[0]);
        assert_eq!(opcode == 0x82, !breach.is_client_fault(), "{breach}");
        assert!((1000..1016).contains(&code) && ![1005, 1006, 1015].contains(&code), "{breach}");
    }
    let of_the_server = CloseReason::ALL.into_iter().filter(|breach| !breach.is_client_fault());
    let names: Vec<&str> = of_the_server.map(CloseReason::name).collect();
    assert_eq!(
        names,
        [
            "world_full",
            "kicked",
            "banned",
            "going_away",
            "overloaded",
            "taken_over",
            "token_missing",
            "token_wrong",
            "too_many_token_attempts",
            "room_token_missing",
            "no_room_fits",
            "lockstep_off",
            "lockstep_too_large",
            "internal_error"
        ]
    );
}

/// Messages of a client in five seconds at 60 a second: more than a burst.
const KEPT_PLAYING: u32 = 5 * 60;

#[test]
fn a_client_that_kept_playing_while_the_server_was_paused_is_not_closed() {
    keeps_playing_in(|hall, _| hall.now += Duration::from_secs(5));
}

#[test]
fn a_client_that_kept_playing_while_the_machine_was_suspended_is_not_closed() {
    // The server's clock stands still meanwhile.
    keeps_playing_in(|hall, at| {
        hall.ends[at].client.transport.suspended_ms.store(5_000, std::sync::atomic::Ordering::Relaxed)
    });
}

fn keeps_playing_in(pause: impl Fn(&mut Hall, usize)) {
    const { assert!(KEPT_PLAYING > limits::CLIENT_MESSAGES_BURST, "otherwise this shows nothing") };
    for is_noted_first in [false, true] {
        let mut hall = Hall::new(LockstepAccess::Off);
        let at = hall.client(1, false);
        hall.ticks(60);
        hall.say(at, "ping", &[6.into()]);
        pause(&mut hall, at);
        if is_noted_first {
            hall.tick();
        }
        let ping = |hall: &Hall| hall.say(at, "ping", &[7.into()]);
        (0..KEPT_PLAYING).for_each(|_| ping(&hall));
        assert_eq!(hall.ends[at].client.sender.disconnect_reason(), None, "noted first: {is_noted_first}");
        hall.ticks(2);
        assert_eq!(hall.ends[at].client.sender.disconnect_reason(), None);
        // The pause allows no more than its own length.
        (0..limits::CLIENT_MESSAGES_BURST + 5 * limits::CLIENT_MESSAGES_PER_SECOND).for_each(|_| ping(&hall));
        assert_eq!(
            hall.ends[at].client.sender.disconnect_reason(),
            Some(DisconnectReason::Closed(CloseReason::MessageRate))
        );
    }
}

#[test]
fn commands_that_waited_during_a_pause_of_the_server_are_not_rejected() {
    for (name, count) in [("move", KEPT_PLAYING), ("chat", 10)] {
        let mut hall = Hall::new(LockstepAccess::Off);
        let at = hall.client(1, false);
        hall.ticks(60);
        hall.now += Duration::from_secs(5);
        // The client's ticks went on. Its sequences are above those of the hall's earlier commands, and
        // below those of its later ones, which the world would reject as repeated otherwise.
        let ahead = hall.room.handle().tick() + 3;
        for sent in 0..count {
            let tick = ahead + 150 * sent / count;
            let value = if name == "chat" { "hello".into() } else { Value::Nil };
            hall.say(at, name, &[(1_000 + sent).into(), tick.into(), value]);
        }
        hall.ends[at].others.clear();
        hall.sequence = (1_000 + count).into();
        hall.ticks(40);
        let heard = |name: &str| hall.ends[at].others.iter().filter(|other| *other == name).count();
        assert_eq!([heard("command_rejected"), heard("error")], [0, 0], "{name}");
        assert!(heard("command_accepted") > 0, "{name}");
    }
}

#[test]
fn a_paused_server_finds_no_client_silent_or_slow_until_it_has_read_what_waits() {
    let (start, pause, ms) = (START, limits::PAUSE_SLACK_MOST, Duration::from_millis(1));
    let paused = || {
        let pauses = Pauses::default();
        pauses.note(start);
        pauses
    };
    let (deadlines, pauses) = (Deadlines::new(true, start), paused());
    pauses.note(start + pause);
    let due = |now| deadlines.poll(now, limits::IDLE_TIMEOUT, pauses.recorded_slack(now));
    assert_eq!(due(start + pause), DueAction::Ping, "not hello_late");
    assert!(
        !matches!(due(start + pause + limits::HELLO_TIMEOUT - ms), DueAction::Close(_)),
        "its hello may wait"
    );
    assert_eq!(due(start + pause + limits::PAUSE_SLACK_TIME + ms), DueAction::Close(CloseReason::HelloLate));

    let (deadlines, pauses) = (Deadlines::new(false, start), paused());
    (1..=60).for_each(|half| pauses.note(start + Duration::from_millis(500) * half));
    let end = start + Duration::from_secs(30) + pause;
    pauses.note(end);
    let due = |now| deadlines.poll(now, limits::IDLE_TIMEOUT, pauses.recorded_slack(now));
    assert_eq!(due(end), DueAction::Ping, "its pong and its messages may wait");
    assert!(!matches!(due(end + limits::PAUSE_SLACK_TIME), DueAction::Close(_)));
    assert_eq!(
        due(end + limits::PAUSE_SLACK_TIME + ms),
        DueAction::Close(CloseReason::IdleTimeout),
        "nothing came"
    );

    let (deadlines, pauses) = (Deadlines::new(false, start), paused());
    deadlines.on_close_sent(start);
    pauses.note(start + pause);
    let slack = pauses.recorded_slack(start + pause);
    assert!(
        matches!(deadlines.poll(start + pause, limits::IDLE_TIMEOUT, slack), DueAction::Nothing(_)),
        "its answer may wait"
    );
}

#[test]
fn slack_is_the_length_of_a_pause_bounded_in_length_and_time() {
    let (ms, seconds) = (Duration::from_millis, Duration::from_secs);
    let pauses = Pauses::default();
    assert_eq!(pauses.slack(START), Duration::ZERO, "no pause before the first note");
    pauses.note(START);
    pauses.note(START + ms(999));
    assert_eq!(pauses.slack(START + ms(999)), Duration::ZERO, "a gap of less than a second is none");
    let end = START + ms(999) + seconds(3);
    assert_eq!(
        [pauses.recorded_slack(end), pauses.slack(end)],
        [Duration::ZERO, seconds(3)],
        "not noted yet"
    );
    pauses.note(end);
    assert_eq!([pauses.recorded_slack(end), pauses.slack(end)], [seconds(3); 2]);
    pauses.note(end + ms(100));
    let again = end + ms(100) + seconds(2);
    pauses.note(again);
    assert_eq!(pauses.slack(again), seconds(5), "two pauses in a row add up");
    for at in (0..100).map(|tenth| again + ms(100) * tenth) {
        pauses.note(at);
    }
    assert_eq!(pauses.slack(again + limits::PAUSE_SLACK_TIME), seconds(5));
    pauses.note(again + limits::PAUSE_SLACK_TIME + ms(1));
    assert_eq!(pauses.slack(again + limits::PAUSE_SLACK_TIME + ms(1)), Duration::ZERO);
    assert_eq!(pauses.slack(again + seconds(86_400)), limits::PAUSE_SLACK_MOST);
}

#[test]
fn suspended_time_counts_as_a_pause_once_and_makes_nobody_silent() {
    let (seconds, deadlines, pauses) = (Duration::from_secs, Deadlines::new(false, START), Pauses::default());
    pauses.note(START);
    pauses.note_suspended(seconds(3_600));
    assert_eq!(
        [pauses.recorded_slack(START), pauses.slack(START)],
        [Duration::ZERO, limits::PAUSE_SLACK_MOST]
    );
    pauses.note(START);
    assert!(
        !matches!(
            deadlines.poll(START, limits::IDLE_TIMEOUT, pauses.recorded_slack(START)),
            DueAction::Close(_)
        ),
        "an hour, and nobody is silent"
    );
    (1..=20).for_each(|second| {
        pauses.note_suspended(seconds(3_600));
        pauses.note(START + Duration::from_millis(900) * second);
    });
    assert_eq!(pauses.slack(START + seconds(18)), Duration::ZERO, "the same suspended time is no new pause");
    pauses.note_suspended(seconds(3_604));
    assert_eq!(pauses.slack(START + seconds(18)), seconds(4), "another one, as long as it has grown");
}

#[test]
fn an_address_may_spend_after_a_pause_what_the_pause_has_brought() {
    let address = AddressPrefix::from_ip(std::net::Ipv4Addr::LOCALHOST.into());
    let chat = LimitedAction::Shared(shared()[0]);
    let at_once = |slack| {
        let address_limits = Addresses::new(true);
        (0..).take_while(|_| address_limits.take_late(address, chat, START, slack).is_ok()).count()
    };
    let (rate, pause) = (chat.rate(), Duration::from_secs(5));
    assert_eq!(at_once(Duration::ZERO), rate.burst as usize);
    assert_eq!(at_once(pause), rate.burst as usize + pause.div_duration_f64(rate.every) as usize);
}
