//! `tickwire quiz`: exercises for the lessons, whose answers are checked bit by bit.
//!
//! On a terminal it is a dialogue. For a class, `--json` prints the questions, and `--check` reads
//! the answers. The exit status is 0 if all answers are right, otherwise 1.

use std::fs::File;
use std::io::{self, BufRead, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use super::game_list::GameList;
use super::output::{CliError, check_written, print, print_error};
use crate::limits;
use crate::tools::quiz::{LESSONS, Question, Quiz, Verdict};
use crate::util::os;

/// The name of standard input on the command line.
const STDIN: &str = "-";

/// Options of `quiz`.
#[derive(Debug, Args)]
pub struct QuizArgs {
    /// Lesson of docs/lessons whose exercises to ask. Default: all lessons, one question each.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u8).range(1..=i64::from(LESSONS)))]
    lesson: Option<u8>,
    /// Seed of the first question; the next questions have the next seeds. The same seed gives the
    /// same questions. Default: random, and printed.
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u32>,
    /// Number of questions. Default: 1 with --lesson, otherwise one for each lesson.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    count: Option<u32>,
    /// Print the questions and read no answers: one JSON object per line, with its id.
    #[arg(long)]
    json: bool,
    /// Print a right answer with each question, and read no answers.
    #[arg(long)]
    answers: bool,
    /// Check answers in a file, or - for standard input: a JSON object per line, such as
    /// {"id":"1-text_frame-7","answer":"81 85 …"}. Prints a line with id, right and verdict for
    /// each.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["lesson", "seed", "count", "json", "answers"])]
    check: Option<PathBuf>,
}

/// Asks the questions, or checks the answers of a file.
pub fn run(args: &QuizArgs, games: &GameList) -> ExitCode {
    let done = Quiz::new(&games.codes).ok_or_else(|| "the packet tables have no dialect".to_owned());
    let done = done.and_then(|quiz| match &args.check {
        Some(file) => check_file(quiz, file),
        None => run_questions(quiz, args),
    });
    match done.and_then(|is_right| check_written().map(|()| is_right)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(line) => {
            print_error(&line);
            ExitCode::FAILURE
        }
    }
}

/// Prints the questions. Unless only they are wanted, reads the answers. Returns whether all are
/// right.
fn run_questions(quiz: Quiz<'_>, args: &QuizArgs) -> Result<bool, CliError> {
    let lessons: Vec<u8> =
        quiz.lessons().filter(|lesson| args.lesson.is_none_or(|only| only == *lesson)).collect();
    if lessons.is_empty() {
        return Err("the exercises of lesson 8 need the dialect native, which this program lacks".to_owned());
    }
    let first = args.seed.unwrap_or_else(|| u32::from_be_bytes(os::random()));
    let count = args.count.unwrap_or(lessons.len() as u32);
    let questions = lessons.iter().cycle().zip(0..count);
    let questions = questions.filter_map(|(lesson, at)| quiz.question(*lesson, first.wrapping_add(at)));
    if args.json {
        questions.for_each(|question| print(&format!("{}\n", question.json(args.answers))));
        return Ok(true);
    }
    if args.seed.is_none() {
        let lesson = args.lesson.map_or_else(String::new, |lesson| format!(" --lesson {lesson}"));
        print(&format!("The same questions again: tickwire quiz{lesson} --seed {first} --count {count}\n\n"));
    }
    if args.answers {
        questions.for_each(|question| {
            print(&format!("{}  {}\n", question.id(), question.task));
            print(&format!("    {}\n", question.answer()));
        });
        return Ok(true);
    }
    let mut dialogue = Dialogue { quiz, input: io::stdin().lock(), is_terminal: io::stdin().is_terminal() };
    dialogue.run(questions, count)
}

/// Questions and answers, one after the other.
struct Dialogue<'c, R> {
    quiz: Quiz<'c>,
    input: R,
    is_terminal: bool,
}

impl<R: BufRead> Dialogue<'_, R> {
    /// Asks all questions, and prints the score. Without any answer there is no score.
    fn run(&mut self, questions: impl Iterator<Item = Question>, count: u32) -> Result<bool, CliError> {
        if self.is_terminal {
            print("Type the answer; ? for a hint, an empty line to skip the question.\n\n");
        }
        let (mut right, mut answered) = (0, 0);
        for question in questions {
            print(&format!("{}  {}\n", question.id(), question.task));
            let Some(verdict) = self.answer(&question)? else { break };
            answered += 1;
            right += u32::from(verdict.is_right);
            print(&format!("{}\n", verdict.text));
            if !verdict.is_right {
                print(&format!("one right answer: {}\n", question.answer()));
            }
            print("\n");
        }
        if answered > 0 {
            print(&format!("{right} of {count} right\n"));
        }
        Ok(right == count)
    }

    /// Reads lines until one is an answer. `None` at the end of the input. Text that is no answer
    /// is wrong, unless the input is a terminal, which has another attempt.
    fn answer(&mut self, question: &Question) -> Result<Option<Verdict>, CliError> {
        loop {
            if self.is_terminal {
                print("> ");
            }
            let Some(line) = read_line(&mut self.input)? else { return Ok(None) };
            match line.trim() {
                "" => {
                    return Ok(Some(Verdict { is_right: false, text: "skipped".to_owned(), bits: None }));
                }
                "?" => print(&format!("{}\n", question.hint())),
                answer => match self.quiz.check(question, answer) {
                    Ok(verdict) => return Ok(Some(verdict)),
                    // The lines of a file answer one question each.
                    Err(text) if !self.is_terminal => {
                        return Ok(Some(Verdict { is_right: false, text, bits: None }));
                    }
                    Err(reason) => print(&format!("{reason}\n")),
                },
            }
        }
    }
}

/// Reads a line of at most [`limits::QUIZ_LINE_BYTES`] bytes; `None` at the end of the input.
fn read_line(input: &mut impl BufRead) -> Result<Option<String>, CliError> {
    let mut line = Vec::new();
    let max = limits::QUIZ_LINE_BYTES;
    input.take(max).read_until(b'\n', &mut line).map_err(|error| format!("standard input: {error}"))?;
    if line.len() as u64 == max && line.last() != Some(&b'\n') {
        return Err(format!("standard input: a line is longer than {max} bytes"));
    }
    Ok((!line.is_empty()).then(|| String::from_utf8_lossy(&line).into_owned()))
}

/// Checks the answers of a file, and prints a line of JSON for each. Returns whether all are right.
fn check_file(quiz: Quiz<'_>, file: &Path) -> Result<bool, CliError> {
    let failed = |error: io::Error| format!("{}: {error}", file.display());
    let (max, mut text) = (limits::QUIZ_CHECK_BYTES, String::new());
    let source: Box<dyn Read> = if file == Path::new(STDIN) {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(file).map_err(failed)?)
    };
    source.take(max + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > max {
        return Err(format!("{}: longer than the maximum of {} MiB", file.display(), max >> 20));
    }
    let mut is_all_right = true;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let (id, checked) = check_line(quiz, line);
        let (is_right, verdict, bits) = match checked {
            Ok(Verdict { is_right, text, bits }) => (is_right, text, bits),
            Err(reason) => (false, reason, None),
        };
        is_all_right &= is_right;
        let bits = bits.map(|bits| [bits.start, bits.end]);
        print(&format!("{}\n", json!({ "id": id, "right": is_right, "verdict": verdict, "bits": bits })));
    }
    Ok(is_all_right)
}

/// Checks the answer of a line. Returns its id, as given, and the verdict.
fn check_line(quiz: Quiz<'_>, line: &str) -> (Value, Result<Verdict, String>) {
    let object: Value = match serde_json::from_str(line) {
        Ok(object) => object,
        Err(error) => return (Value::Null, Err(format!("the line is no JSON object: {error}"))),
    };
    let (Some(id), Some(answer)) = (object["id"].as_str(), object["answer"].as_str()) else {
        let reason = "the line needs the texts \"id\" and \"answer\"".to_owned();
        return (object["id"].clone(), Err(reason));
    };
    let no_question =
        || format!("there is no question {id:?}: an id is LESSON-KIND-SEED, such as 1-text_frame-7");
    let question = quiz.find(id).ok_or_else(no_question);
    (object["id"].clone(), question.and_then(|question| quiz.check(&question, answer)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_bounded_and_the_last_one_needs_no_end() {
        let mut input = &b"81 00\nlast"[..];
        for line in [Some("81 00\n"), Some("last"), None] {
            assert_eq!(read_line(&mut input), Ok(line.map(str::to_owned)));
        }
        let long = vec![b'8'; limits::QUIZ_LINE_BYTES as usize];
        assert!(read_line(&mut &long[..]).is_err_and(|error| error.contains("longer than")));
    }
}
