//! The program itself on a free port, with its standard streams.
#![allow(dead_code, reason = "each test file uses its part")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::support::PATIENCE;

/// The program with these arguments, all streams piped. Its server has no bots, unless `--bots` is among the arguments.
pub fn tickwire(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tickwire"));
    command
        .env("TICKWIRE_BOTS", "0")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// What a program said that ends by itself; one that does not is ended.
pub fn said_at_its_end(mut child: Child) -> Output {
    let deadline = Instant::now() + PATIENCE;
    while child.try_wait().expect("its state").is_none() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(20));
    }
    let _ = child.kill();
    child.wait_with_output().expect("it has ended")
}

/// The first warning or error in a log, if there is one. That ticks were left out says how loaded the machine is, and is none.
pub fn complaint(log: &str) -> Option<&str> {
    let is_complaint = |line: &&str| line.contains("WARN") || line.contains("ERROR");
    log.lines().filter(is_complaint).find(|line| !line.contains("the world fell behind and skipped ticks"))
}

/// A program that serves; ended when dropped, whatever happened.
pub struct Program {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    log: Option<JoinHandle<String>>,
    /// What it printed at the start.
    pub banner: String,
    /// Where it serves.
    pub address: SocketAddr,
}

impl Program {
    /// Starts it, and waits for the banner.
    pub fn start(command: &mut Command) -> Program {
        let mut child = command.spawn().expect("the program starts");
        let (stdout, mut stderr) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
        let (line, lines) = channel();
        thread::spawn(move || {
            BufReader::new(stdout).lines().map_while(Result::ok).try_for_each(|text| line.send(text))
        });
        let log = thread::spawn(move || {
            let mut log = String::new();
            stderr.read_to_string(&mut log).expect("text");
            log
        });
        let mut banner = String::new();
        while !banner.contains("this machine supports") {
            banner.push_str(&lines.recv_timeout(PATIENCE).expect("the whole banner"));
            banner.push('\n');
        }
        assert_eq!(lines.recv_timeout(PATIENCE).as_deref(), Ok(""), "the banner ends with an empty line");
        let (_, rest) = banner.split_once("http://").expect("the page's URL");
        let address = rest.split('/').next().unwrap_or_default().parse().expect("an address and port");
        let stdin = child.stdin.take();
        Program { child, stdin, lines, log: Some(log), banner, address }
    }

    /// Its number among the processes.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Types a line, and gives the line that answers it.
    pub fn type_line(&mut self, line: &str) -> String {
        self.type_only(line);
        self.answer()
    }

    /// Types a line.
    pub fn type_only(&mut self, line: &str) {
        self.type_text(&format!("{line}\n"));
    }

    /// Types what is not a whole line.
    pub fn type_text(&mut self, text: &str) {
        let stdin = self.stdin.as_mut().expect("piped and open");
        stdin.write_all(text.as_bytes()).expect("the program reads");
    }

    /// The next line of standard output.
    pub fn answer(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("an answer")
    }

    /// Ends the input.
    pub fn end_input(&mut self) {
        self.stdin = None;
    }

    /// Waits for the end by itself; gives the status and the log.
    pub fn wait(&mut self) -> (ExitStatus, String) {
        let status = self.child.wait().expect("the program ends");
        (status, self.log.take().expect("asked once").join().expect("text"))
    }

    /// Types `stop` and waits for the end, which has to be a clean one; gives the log.
    pub fn stop(&mut self) -> String {
        self.type_only("stop");
        let (status, log) = self.wait();
        assert!(status.success(), "{status}\n{log}");
        log
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
