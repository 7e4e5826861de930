//! Tests of every kind of exercise: the model answer, each flipped bit, and arbitrary answers.

use super::*;
use crate::packet::PacketTables;
use crate::tools::explain::tree::BYTE;
use crate::ws::deflate::{Inflater, MAX_WINDOW_BITS};

/// Seeds of each kind.
const SEEDS: u32 = 40;

fn quiz() -> Quiz<'static> {
    Quiz::new(PacketTables::builtin_ref()).expect("the built-in tables have a dialect")
}

/// Questions of each kind.
fn questions() -> impl Iterator<Item = Question> {
    let kinds = KINDS.iter().flat_map(|kind| (0..SEEDS).map(move |seed| (kind, seed)));
    kinds.map(|(kind, seed)| {
        let id = format!("{}-{}-{seed}", kind.lesson, kind.name);
        quiz().find(&id).expect("each kind has questions")
    })
}

fn check(question: &Question, answer: &str) -> Verdict {
    quiz().check(question, answer).unwrap_or_else(|error| panic!("{}: {answer}: {error}", question.id()))
}

#[test]
fn model_answer_is_right_and_the_id_gives_the_same_question() {
    for question in questions() {
        let verdict = check(&question, &question.answer());
        assert!(verdict.is_right, "{}: {}: {}", question.id(), question.answer(), verdict.text);
        let again = quiz().find(&question.id()).expect("the same question");
        assert_eq!(again.json(true), question.json(true));
        assert!(serde_json::from_str::<Value>(&question.json(true)).is_ok(), "{}", question.json(true));
    }
}

#[test]
fn each_flipped_bit_of_the_only_right_answer_is_named() {
    let mut flips = 0;
    for question in questions() {
        let Expected::Bytes { model, freedom: check::Freedom::None, .. } = &question.expected else {
            continue;
        };
        for bit in 0..model.len() * BYTE {
            let mut bytes = model.clone();
            bytes[bit / BYTE] ^= 0x80 >> (bit % BYTE);
            let verdict = check(&question, &hex::print(&bytes));
            let start = format!("byte {}, bit {} (", bit / BYTE, bit % BYTE);
            assert!(!verdict.is_right && verdict.text.starts_with(&start), "{}: {verdict:?}", question.id());
            assert_eq!(verdict.bits, Some(bit..bit + 1), "{}", question.id());
            flips += 1;
        }
    }
    assert!(flips > 10_000, "{flips}");
}

#[test]
fn missing_and_extra_bytes_are_counted() {
    for question in questions() {
        let Expected::Bytes { model, freedom: check::Freedom::None, .. } = &question.expected else {
            continue;
        };
        let longer = check(&question, &hex::print(&[&model[..], &[0]].concat()));
        assert!(longer.text.starts_with("right so far; 1 byte too many"), "{}: {longer:?}", question.id());
        if let Some((_, shorter)) = model.split_last().filter(|(_, rest)| !rest.is_empty()) {
            let verdict = check(&question, &hex::print(shorter));
            assert!(
                verdict.text.starts_with("right so far; 1 byte missing"),
                "{}: {verdict:?}",
                question.id()
            );
        }
    }
}

fn find(id: &str) -> Question {
    quiz().find(id).expect("a question")
}

#[test]
fn any_key_and_any_cut_are_right() {
    let question = find("1-any_key-3");
    let Expected::Bytes { model, .. } = &question.expected else { panic!("bytes") };
    let mut bytes = model.clone();
    for at in 2..bytes.len() {
        bytes[at] ^= [1, 2, 3, 4][(at - 2) % 4];
    }
    assert!(check(&question, &hex::print(&bytes)).is_right);
    bytes[1] &= 0x7f;
    let verdict = check(&question, &hex::print(&bytes));
    let reason = "A client's frame has no mask (mask_missing, RFC 6455 section 5.1)";
    assert_eq!(verdict.text, format!("byte 1, bit 0 (mask): is 0, must be 1: {reason}"));

    let question = find("4-between-1");
    let Expected::Bytes { freedom: check::Freedom::Cut(word), .. } = &question.expected else {
        panic!("a cut")
    };
    for first in 0..=word.len() {
        let bytes = hex::print(&encode::with_ping(word, first));
        assert!(check(&question, &bytes).is_right, "{bytes}");
    }
    assert!(!check(&question, "01 ff").is_right);
}

#[test]
fn other_deflate_data_is_right_if_it_inflates_to_the_text() {
    for question in questions().filter(|question| question.kind.name == "stored") {
        let Expected::Bytes { freedom: check::Freedom::Deflate(word), .. } = &question.expected else {
            panic!("DEFLATE data")
        };
        let block = encode::fixed_block(word);
        assert!(check(&question, &hex::print(&block)).is_right, "{word}");
        let mut out = Vec::new();
        assert_eq!(Inflater::new(MAX_WINDOW_BITS, false).inflate(&block, 100, &mut out), Ok(()));
        assert_eq!(out, word.as_bytes());
    }
    assert_eq!(hex::print(&encode::fixed_block("Hello")), "f2 48 cd c9 c9 07 00");
    let verdict = check(&find("11-stored-1"), "01");
    assert!(verdict.text.starts_with("byte 0, bit 7 (bfinal): is 1, must be 0"), "{verdict:?}");
}

#[test]
fn another_rule_and_no_rule_are_wrong() {
    let rule = |wanted: &str| {
        let questions = questions().filter(|question| question.kind.name == "break");
        questions
            .into_iter()
            .find(|question| question.task.contains(wanted))
            .expect("some seed has this rule")
    };
    let question = rule("mask_missing");
    assert_eq!(check(&question, "81 00").text, "right: mask_missing at byte 1, bit 0 (mask)");
    let verdict = check(&question, "c1 00");
    assert_eq!(
        verdict.text,
        "byte 0, bit 1 (rsv1): breaks reserved_bit first (RFC 6455 section 5.2), not mask_missing"
    );
    assert_eq!(verdict.bits, Some(1..2));
    assert!(check(&question, "81 80 00 00 00 00").text.starts_with("no rule is broken so far"));
    assert!(check(&question, "81 85").text.starts_with("no rule is broken so far"));
}

#[test]
fn text_and_numbers_name_what_is_wrong() {
    let question = find("6-accept-1");
    let answer = question.answer();
    assert!(check(&question, &format!("  {answer}\n")).is_right);
    let verdict = check(&question, &answer.to_lowercase());
    assert!(!verdict.is_right && verdict.text.starts_with("character "), "{verdict:?}");
    let question = find("10-lost-1");
    let numbers: Vec<String> = question.answer().split(' ').rev().map(str::to_owned).collect();
    assert!(check(&question, &numbers.join(", ")).is_right, "{numbers:?}");
    let reason = "is the datagram ";
    assert!(check(&question, "7").text.starts_with("7 is wrong: bit n of "), "{:?}", check(&question, "7"));
    assert!(check(&question, "0x7").text.starts_with("0x7 is wrong: bit n of "));
    assert!(check(&question, "7").text.contains(reason));
    for text in ["some", "0x", "0xfg", "--7", "-+7", "+7", "7.5", ","] {
        let refused = quiz().check(&question, text).expect_err("no answer");
        assert!(
            refused.ends_with("an answer is whole numbers, such as 7, 0x07 or 7 12"),
            "{text}: {refused}"
        );
    }
}

#[test]
fn a_number_may_be_hexadecimal_and_a_wrong_one_has_a_reason() {
    for (id, part) in [
        ("2-length-3", "byte 1, "),
        ("7-number-1", " is the "),
        ("10-lost-2", "counted from the lowest"),
        ("12-complete_frames-1", "the frames end after the bytes "),
        ("12-next_frame-1", "with 2 bytes of header each, the frames have "),
        ("13-close_code-1", " closes with 10"),
        ("14-panel_length-1", "the header has "),
    ] {
        let question = find(id);
        let numbers: Vec<i64> =
            question.answer().split(' ').map(|number| number.parse().expect("a number")).collect();
        let digits =
            |number: &i64| format!("{}0x{:X}", if *number < 0 { "-" } else { "" }, number.unsigned_abs());
        let answer = numbers.iter().map(digits).collect::<Vec<_>>().join(" ");
        assert!(check(&question, &answer).is_right, "{id}: {answer}");
        let verdict = check(&question, "123456789");
        assert!(!verdict.is_right && verdict.text.starts_with("123456789 is wrong: "), "{verdict:?}");
        assert!(verdict.text.contains(part), "{id}: {verdict:?}");
        if let [first, second, ..] = &numbers[..] {
            let text = check(&question, &first.to_string()).text;
            let start = format!("right so far; {second} is missing: ");
            assert!(text.starts_with(&start) && text.contains(part), "{id}: {text}");
        }
    }
}

#[test]
fn text_that_is_no_answer_is_refused_with_its_rule() {
    let question = find("1-text_frame-1");
    for (text, rule) in [
        ("", "no bytes to explain"),
        ("81 8", "odd number of digits"),
        ("81 zz", "hexadecimal digit"),
        ("Grüße", "no bytes"),
        ("{\"a\": 1}", "no bytes"),
        (&"81".repeat(3000), "6000 characters: an answer has at most 4096"),
    ] {
        let error = quiz().check(&question, text).expect_err(text);
        assert!(error.contains(rule), "{text}: {error}");
    }
    let bytes = question.answer();
    let digits = bytes.replace(' ', "");
    let escaped: String = bytes.split(' ').map(|byte| format!("\\x{byte}")).collect();
    let prefixed: String = bytes.split(' ').map(|byte| format!("0x{byte}, ")).collect();
    for form in [&bytes, &digits, &escaped, &prefixed, &format!("[{prefixed}]")] {
        assert!(check(&question, form).is_right, "{form}");
    }
}

#[test]
fn no_answer_panics() {
    let mut random = Rng::new(1, 1);
    for question in questions() {
        let model = match &question.expected {
            Expected::Bytes { model, .. } | Expected::Rule { model, .. } => model.clone(),
            _ => question.answer().into_bytes(),
        };
        for round in 0..20 {
            let mut bytes: Vec<u8> = if round % 2 == 0 { model.clone() } else { Vec::new() };
            bytes.truncate(random.below(bytes.len() as u32 + 1) as usize);
            bytes.extend((0..random.below(24)).map(|_| random.below(256) as u8));
            let text = hex::print(&bytes);
            let _ = quiz().check(&question, &text);
            let _ = quiz().explain(&question, &text);
            let _ = quiz().check(&question, &String::from_utf8_lossy(&bytes));
        }
    }
}

#[test]
fn each_kind_is_drawn_and_the_names_are_unique() {
    for lesson in 1..=LESSONS {
        let mut drawn: Vec<&str> = (0..200)
            .filter_map(|seed| quiz().question(lesson, seed))
            .map(|question| question.kind.name)
            .collect();
        drawn.sort_unstable();
        drawn.dedup();
        let mut names: Vec<&str> = quiz().kinds(lesson).map(|kind| kind.name).collect();
        names.sort_unstable();
        assert_eq!(drawn, names, "lesson {lesson}");
    }
    let mut names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), KINDS.len());
    assert!(quiz().question(0, 1).is_none() && quiz().question(LESSONS + 1, 1).is_none());
    for text in [
        "",
        "1",
        "1-text_frame",
        "1-text_frame-x",
        "999-text_frame-1",
        "1-text_frame-4294967296",
        "1-none-1",
        "2-text_frame-1",
    ] {
        assert!(quiz().find(text).is_none(), "{text}");
    }
}

#[test]
fn without_the_table_of_moo_the_lesson_about_packets_is_skipped() {
    let table = "direction\tname\tlane\town:int\targuments\tmeaning\nto_server\tgo\treliable\t1\tway:u8\tgo";
    let tables = PacketTables::from_texts(&[("own.tsv", table)]).expect("a table");
    let own = Quiz::new(&tables).expect("a dialect");
    assert_eq!(own.lessons().count(), usize::from(LESSONS) - 1);
    assert!(own.question(PACKET_LESSON, 1).is_none());
    let empty = PacketTables::from_texts::<&str, &str>(&[]).expect("no table");
    assert!(Quiz::new(&empty).is_none());
}
