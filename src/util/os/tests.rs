//! Tests of every implementation that this system can run.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::readiness::{PollInterest, Readiness};

/// Timeout for events that must happen.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time to wait for events that must not happen.
const A_MOMENT: Duration = Duration::from_millis(50);

fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address");
    (listener, address)
}

/// Returns both ends of a connection. Both block.
fn pair() -> (TcpStream, TcpStream) {
    let (listener, address) = listener();
    let near = TcpStream::connect(address).expect("a connection");
    (near, listener.accept().expect("the same").0)
}

/// The tests of one implementation.
macro_rules! tests {
    ($name:ident) => {
        mod $name {
            use super::*;
            use crate::util::os::$name as system;

            #[test]
            fn a_send_takes_what_fits_and_waits_for_no_reader() {
                let (near, mut far) = pair();
                system::configure_accepted(&near).expect("a socket");
                let (block, mut taken) = ([7; 100_000], 0);
                loop {
                    let began = Instant::now();
                    let pieces = [&block[..60_000], &block[60_000..]];
                    let count = system::try_send(&near, pieces.into_iter()).expect("the peer is there");
                    assert!(began.elapsed() < PATIENCE / 4, "it waited");
                    taken += count;
                    if count == 0 {
                        break;
                    }
                }
                drop(near);
                let mut all = Vec::new();
                far.read_to_end(&mut all).expect("a clean end");
                assert_eq!((all.len(), all.iter().all(|byte| *byte == 7)), (taken, true));
            }

            #[test]
            fn a_send_reports_a_lost_peer() {
                let (near, far) = pair();
                drop(far);
                let began = Instant::now();
                while system::try_send(&near, [&b"x"[..]].into_iter()).is_ok() {
                    assert!(began.elapsed() < PATIENCE, "it was never said");
                }
            }

            #[test]
            fn a_reader_is_undisturbed_by_sends_on_its_socket() {
                const BYTES: usize = 2_000;
                let (near, mut far) = pair();
                let (near, is_over) = (Arc::new(near), Arc::new(AtomicBool::new(false)));
                let (sends, ends) = (Arc::clone(&near), Arc::clone(&is_over));
                let sender = thread::spawn(move || {
                    while !ends.load(Ordering::Acquire) {
                        system::try_send(&sends, [&b"tick"[..]].into_iter()).expect("the peer is there");
                    }
                });
                let mut drains = far.try_clone().expect("a clone");
                let drain = thread::spawn(move || io::copy(&mut drains, &mut io::sink()));
                let writer = thread::spawn(move || {
                    for number in 0..BYTES {
                        far.write_all(&[number as u8]).expect("sent");
                    }
                    far.shutdown(Shutdown::Write).expect("open");
                });
                let (mut received, mut buffer) = (Vec::new(), [0; 64]);
                loop {
                    match system::read(&near, &mut buffer).expect("bytes or the end") {
                        0 => break,
                        count => received.extend_from_slice(&buffer[..count]),
                    }
                }
                assert!(received.into_iter().eq((0..BYTES).map(|number| number as u8)));
                is_over.store(true, Ordering::Release);
                sender.join().expect("it ends");
                drop(near);
                writer.join().expect("it ends");
                drain.join().expect("it ends").expect("a clean end");
            }

            #[test]
            fn a_read_ends_at_its_timeout_and_keeps_the_timeout() {
                let (near, _far) = pair();
                near.set_read_timeout(Some(A_MOMENT)).expect("a timeout");
                for _ in 0..2 {
                    let began = Instant::now();
                    let kind = system::read(&near, &mut [0; 8]).expect_err("silence").kind();
                    assert!(matches!(kind, io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock), "{kind}");
                    assert!(began.elapsed() >= A_MOMENT / 2 && began.elapsed() < PATIENCE);
                    // The kernel rounds the timeout up.
                    let timeout = near.read_timeout().expect("a socket").expect("a timeout");
                    assert!((A_MOMENT..2 * A_MOMENT).contains(&timeout), "{timeout:?}");
                }
            }

            #[test]
            fn a_shutdown_by_another_thread_ends_a_read() {
                let (near, _far) = pair();
                let near = Arc::new(near);
                let reads = Arc::clone(&near);
                let reader = thread::spawn(move || system::read(&reads, &mut [0; 8]));
                thread::sleep(A_MOMENT);
                near.shutdown(Shutdown::Both).expect("open");
                assert!(matches!(reader.join().expect("it ends"), Ok(0) | Err(_)));
            }

            #[test]
            fn an_accept_is_woken() {
                for host in ["127.0.0.1:0", "0.0.0.0:0"] {
                    let listener = Arc::new(TcpListener::bind(host).expect("a free port"));
                    system::widen_backlog(&listener).expect("a listener");
                    let accepts = Arc::clone(&listener);
                    let waiting = thread::spawn(move || drop(accepts.accept()));
                    thread::sleep(A_MOMENT);
                    system::wake_acceptor(&listener);
                    waiting.join().expect("it ends");
                }
            }

            #[test]
            fn the_end_of_the_peer_ends_the_wait_for_it() {
                let (near, far) = pair();
                let began = Instant::now();
                system::wait_until_closed(&near, A_MOMENT);
                assert!(began.elapsed() >= A_MOMENT / 2, "the peer is there");
                near.shutdown(Shutdown::Write).expect("open");
                drop(far);
                system::wait_until_closed(&near, PATIENCE);
                assert!(began.elapsed() < PATIENCE, "the peer is gone");
            }

            #[test]
            fn a_connection_is_made_or_refused() {
                let (listener, address) = listener();
                let stream = system::connect(address, None, Some(16_384)).expect("a connection");
                let (_far, from) = listener.accept().expect("it");
                assert_eq!(from, stream.local_addr().expect("its address"));
                let kind = (&stream).read(&mut [0]).expect_err("nothing yet").kind();
                assert_eq!(kind, io::ErrorKind::WouldBlock, "it does not block");
                // Port 1 is privileged, so no parallel test binds it.
                let address = (Ipv4Addr::LOCALHOST, 1).into();
                let kind = system::connect(address, None, None).expect_err("nobody listens").kind();
                assert_eq!(kind, io::ErrorKind::ConnectionRefused);
                let from = Some(IpAddr::from(Ipv4Addr::LOCALHOST));
                let kind = system::connect(address, from, None).expect_err("nobody listens").kind();
                assert_eq!(kind == io::ErrorKind::Unsupported, !system::CAN_BIND_SOURCE);
            }

            #[test]
            fn sockets_are_ready_when_bytes_or_the_end_have_come() {
                let (listener, address) = listener();
                let near = system::connect(address, None, None).expect("a connection");
                let other = system::connect(address, None, None).expect("a connection");
                let (mut far, _other) =
                    (listener.accept().expect("one").0, listener.accept().expect("two").0);
                let both = [PollInterest::readable(&near), PollInterest::readable(&other)];
                let silence = system::poll(&both, A_MOMENT).expect("sockets");
                assert_eq!(silence, [Readiness::default(); 2]);
                far.write_all(b"x").expect("sent");
                let ready = system::poll(&both, PATIENCE).expect("sockets");
                assert!(ready[0].is_readable && !ready[0].is_closed && !ready[1].is_ready(), "{ready:?}");
                let ready = system::poll(&[PollInterest::writable(&other)], PATIENCE).expect("a socket");
                assert!(ready[0].is_writable && !ready[0].is_readable, "{ready:?}");
                assert_eq!((&near).read(&mut [0; 8]).expect("a byte"), 1);
                drop(far);
                let ready = system::poll(&both, PATIENCE).expect("sockets");
                assert!(ready[0].is_closed && !ready[1].is_ready(), "{ready:?}");
            }

            #[test]
            fn a_poller_names_the_sockets_that_can_be_read_and_forgets_dropped_ones() {
                let (listener, address) = listener();
                let mut poller = system::Poller::new().expect("a poller");
                let mut ends = Vec::new();
                for number in 0..3 {
                    let near = Arc::new(system::connect(address, None, None).expect("a connection"));
                    poller.add(&near, number).expect("added");
                    ends.push((near, listener.accept().expect("it").0));
                }
                assert_eq!(poller.wait(A_MOMENT).expect("sockets"), [0; 0]);
                ends[1].1.write_all(b"x").expect("sent");
                assert_eq!(poller.wait(PATIENCE).expect("sockets"), [1]);
                let (near, mut far) = ends.remove(1);
                drop(near);
                assert_eq!(poller.wait(A_MOMENT).expect("sockets"), [0; 0]);
                far.set_read_timeout(Some(PATIENCE)).expect("a timeout");
                assert!(matches!(far.read(&mut [0]), Ok(0) | Err(_)), "the poller does not hold the socket");
            }

            #[test]
            fn a_private_file_is_new() {
                let name = format!("tickwire-platform-{}-{}", stringify!($name), std::process::id());
                let path = std::env::temp_dir().join(name);
                system::create_private(&path).expect("a file").write_all(b"x").expect("written");
                let again = system::create_private(&path).expect_err("it exists").kind();
                let metadata = path.metadata().expect("it is there");
                std::fs::remove_file(&path).expect("removed");
                assert_eq!(again, io::ErrorKind::AlreadyExists);
                assert!(!system::is_named_pipe(&metadata) && metadata.len() == 1);
                #[cfg(unix)]
                assert_eq!(std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o777, 0o600);
            }

            #[test]
            fn an_open_file_is_at_its_path_until_another_one_takes_its_place() {
                let name = format!("tickwire-open-{}-{}", stringify!($name), std::process::id());
                let path = std::env::temp_dir().join(name);
                let mut file = system::open_private(&path).expect("created");
                file.write_all(b"x").expect("written");
                let mut text = String::new();
                let mut same = system::open_private(&path).expect("opened, not cut");
                same.read_to_string(&mut text).expect("text");
                let before = [&file, &same].map(|file| system::is_at(file, &path));
                std::fs::remove_file(&path).expect("removed");
                let after = system::is_at(&file, &path);
                assert_eq!((&*text, before, after), ("x", [true, true], false));
            }

            #[test]
            fn random_bytes_differ_and_the_ceilings_suffice() {
                assert_ne!(system::random::<32>(), system::random::<32>());
                let ceilings = system::ceilings();
                assert!(ceilings.check().expect("a server starts") >= 64, "{ceilings}");
            }
        }
    };
}

#[cfg(all(target_os = "linux", not(tickwire_plain)))]
tests!(linux);
tests!(portable);

#[test]
fn an_input_is_read_as_it_comes_up_to_its_end() {
    let (reader, mut writer) = io::pipe().expect("a pipe");
    let mut input = super::portable::PollableStdin::of(reader).expect("a thread");
    assert!(!input.wait(A_MOMENT).expect("an input"), "nothing yet");
    writer.write_all(b"one\ntwo\n").expect("written");
    assert!(input.wait(PATIENCE).expect("an input"));
    let (mut received, mut buffer) = (Vec::new(), [0; 3]);
    drop(writer);
    loop {
        assert!(input.wait(PATIENCE).expect("an input"));
        match input.read(&mut buffer).expect("bytes or the end") {
            0 => break,
            count => received.extend_from_slice(&buffer[..count]),
        }
    }
    assert_eq!(received, b"one\ntwo\n");
    assert_eq!(input.read(&mut buffer).expect("still the end"), 0);
}

/// `/proc/uptime` counts suspended time. A machine that was never suspended has none; a time
/// namespace (`unshare --time --boottime 5000`) has some.
#[cfg(target_os = "linux")]
#[test]
fn suspended_time_is_the_part_of_the_uptime_that_an_instant_does_not_count() {
    let uptime = std::fs::read_to_string("/proc/uptime").expect("a Linux machine");
    let uptime: f64 = uptime.split(' ').next().and_then(|seconds| seconds.parse().ok()).expect("seconds");
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let expected = uptime - (now.tv_sec as f64 + now.tv_nsec as f64 / 1e9);
    let suspended = super::linux::suspended_time().as_secs_f64();
    assert!((suspended - expected).abs() < 1.0, "{suspended} s, not {expected} s");
}
