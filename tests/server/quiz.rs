//! `tickwire quiz`: a dialogue, questions and answers of a class, and the page's files.

use std::io::Write;
use std::process::Output;

use serde_json::{Value, json};

use crate::program::{said_at_its_end, tickwire};

/// Runs `tickwire quiz` with these lines on standard input.
fn quiz(arguments: &[&str], input: &str) -> Output {
    let mut child = tickwire(&[&["quiz"], arguments].concat()).spawn().expect("the program starts");
    child.stdin.take().expect("piped").write_all(input.as_bytes()).expect("written");
    said_at_its_end(child)
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn lines(output: &Output) -> Vec<Value> {
    let of_line = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    text(output).lines().map(of_line).collect()
}

#[test]
fn a_wrong_bit_is_named_and_the_exit_status_is_1() {
    let output = quiz(&["--lesson", "1", "--seed", "7"], "?\n81 05 72 69 76 65 72\n");
    let printed = text(&output);
    for part in [
        "1-text_frame-7  A client sends the text \"river\"",
        "a client sets the mask bit",
        "byte 1, bit 0 (mask): is 0, must be 1: A client's frame has no mask (mask_missing, RFC 6455 section 5.1)",
        "one right answer: 81 85 be 3f da 0d cc 56 ac 68 cc",
        "0 of 1 right",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    assert_eq!(output.status.code(), Some(1), "{printed}");
    let right = quiz(&["--lesson", "1", "--seed", "7"], "0x81 0x85 be3fda0d cc56ac68cc\n");
    assert!(text(&right).ends_with("right\n\n1 of 1 right\n"), "{}", text(&right));
    assert_eq!(right.status.code(), Some(0));
}

#[test]
fn each_line_of_a_file_answers_one_question_also_after_text_that_is_no_answer() {
    let asked = text(&quiz(&["--lesson", "3", "--seed", "2", "--count", "3", "--answers"], ""));
    let answers: Vec<&str> = asked.lines().filter_map(|line| line.strip_prefix("    ")).collect();
    let input = format!("{}\n81 0\n{}\n", answers[0], answers[2]);
    let printed = text(&quiz(&["--lesson", "3", "--seed", "2", "--count", "3"], &input));
    assert!(printed.contains("odd number of digits"), "{printed}");
    assert!(printed.contains(&format!("one right answer: {}", answers[1])), "{printed}");
    assert!(printed.ends_with("2 of 3 right\n"), "{printed}");
}

#[test]
fn without_a_seed_the_printed_command_asks_the_same_questions() {
    let first = text(&quiz(&["--count", "3", "--answers"], ""));
    let command =
        first.lines().next().and_then(|line| line.split("tickwire quiz ").nth(1)).expect("a command");
    let again: Vec<&str> = command.split(' ').chain(["--answers"]).collect();
    let again = text(&quiz(&again, ""));
    assert!(!again.is_empty() && first.ends_with(&again), "{first}{again}");
    let end = quiz(&["--lesson", "2", "--seed", "1"], "");
    assert_eq!((text(&end).lines().count(), end.status.code()), (1, Some(1)), "no answer, no score");
}

#[test]
fn a_class_receives_questions_and_its_answers_are_checked() {
    let asked = quiz(&["--seed", "11", "--count", "60", "--json", "--answers"], "");
    assert_eq!(asked.status.code(), Some(0));
    let questions = lines(&asked);
    assert_eq!(questions.len(), 60);
    let hidden = lines(&quiz(&["--seed", "11", "--count", "60", "--json"], ""));
    assert!(hidden.iter().all(|question| question["answer"].is_null() && question["task"].is_string()));

    let right: String = questions
        .iter()
        .map(|question| format!("{}\n", json!({ "id": question["id"], "answer": question["answer"] })))
        .collect();
    let checked = quiz(&["--check", "-"], &right);
    assert_eq!(checked.status.code(), Some(0), "{}", text(&checked));
    for (verdict, question) in lines(&checked).iter().zip(&questions) {
        assert_eq!((&verdict["id"], &verdict["right"]), (&question["id"], &json!(true)), "{verdict}");
    }

    let wrong = "{\"id\":\"3-mask-2\",\"answer\":\"d5 b4 a8 e8 d3\"}\n\nnonsense\n{\"id\":\"3-mask-2\"}\n\
                 {\"id\":\"3-none-2\",\"answer\":\"00\"}\n{\"id\":\"mask\",\"answer\":\"00\"}\n{\"id\":\"3-mask-2\",\"answer\":\"d\"}\n";
    let checked = quiz(&["--check", "-"], wrong);
    assert_eq!(checked.status.code(), Some(1));
    let verdicts = lines(&checked);
    let expected = [
        "byte 4, bit 7 (masked_byte): is 1, must be 0",
        "no JSON object",
        "needs the texts",
        "no question \"3-none-2\"",
        "LESSON-KIND-SEED",
        "odd number",
    ];
    assert_eq!(verdicts.len(), expected.len(), "{verdicts:?}");
    for (verdict, part) in verdicts.iter().zip(expected) {
        assert_eq!(verdict["right"], false);
        assert!(verdict["verdict"].as_str().is_some_and(|text| text.contains(part)), "{part}: {verdict}");
    }
    assert_eq!(verdicts[0]["bits"], json!([39, 40]));
}

#[test]
fn a_missing_file_and_a_wrong_lesson_are_errors() {
    for (arguments, part) in [
        (&["--check", "none.jsonl"][..], "none.jsonl: "),
        (&["--lesson", "15"], "15 is not in 1..=14"),
        (&["--count", "0"], "0 is not in 1..=10000"),
        (&["--check", "-", "--seed", "1"], "cannot be used with"),
    ] {
        let output = quiz(arguments, "");
        let error = String::from_utf8(output.stderr.clone()).expect("UTF-8");
        assert!(error.contains(part), "{part}: {error}");
        assert!(!output.status.success());
    }
}
