//! `tickwire connect` on a terminal.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};
use tickwire::internal::server::net::EchoServer;

use crate::program::tickwire;
use crate::support::PATIENCE;

/// Both ends of a terminal.
fn terminal() -> (File, File) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&master).expect("granted");
    unlockpt(&master).expect("unlocked");
    let name = ptsname(&master, Vec::new()).expect("a name").into_string().expect("text");
    let end = OpenOptions::new().read(true).write(true).open(name).expect("the program's end");
    (File::from(master), end)
}

fn ended(child: &mut Child) -> Option<i32> {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait().expect("its state") {
            return status.code();
        }
        thread::sleep(Duration::from_millis(20));
    }
    let _ = child.kill();
    None
}

#[test]
fn a_signal_while_a_line_is_edited_restores_the_mode_of_the_terminal() {
    let any = "127.0.0.1:0".parse().expect("an address");
    let server = EchoServer::start(any, 1 << 20, false).expect("a free port");
    let url = format!("ws://{}", server.address());
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let (mut master, end) = terminal();
        let before = tcgetattr(&end).expect("a mode").local_modes;
        assert!(before.contains(LocalModes::ICANON | LocalModes::ECHO));
        let stream = || Stdio::from(end.try_clone().expect("a copy"));
        let mut command = tickwire(&["connect", "--no-history", &url]);
        let mut child =
            command.env("TERM", "xterm").stdin(stream()).stdout(stream()).stderr(stream()).spawn();
        let child = child.as_mut().expect("the program starts");
        let mut input = master.try_clone().expect("a copy");
        // A program whose output is not read would wait. The thread ends with the terminal.
        thread::spawn(move || io::copy(&mut master, &mut io::sink()));
        let deadline = Instant::now() + PATIENCE;
        while tcgetattr(&end).expect("a mode").local_modes.contains(LocalModes::ICANON) {
            assert!(Instant::now() < deadline, "the line is edited");
            thread::sleep(Duration::from_millis(20));
        }
        input.write_all(b"text hel").expect("typed");
        kill_process(Pid::from_raw(child.id().cast_signed()).expect("a process"), signal).expect("it runs");
        assert_eq!(ended(child), Some(0), "{signal:?}");
        assert_eq!(tcgetattr(&end).expect("a mode").local_modes, before, "{signal:?}");
    }
    server.stop();
}
