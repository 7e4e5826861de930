//! Files that are not whole captures: truncated packets, packed files, names that are not UTF-8.

use std::fs;
use std::process::Command;

use tickwire::capture;

use crate::replay::{BEFORE_PACKET, File, offset, one_step, replay};

/// The capture with packets of at most so many bytes from a packet on, as `editcap -s` writes them.
fn truncated(bytes: &[u8], max: usize, from: usize) -> Vec<u8> {
    let (mut out, mut at) = (Vec::new(), 0);
    for packet in capture::read(bytes).expect("a capture").packets {
        let begin = offset(bytes, packet.bytes);
        let block = begin - BEFORE_PACKET;
        let length = u32::from_le_bytes(*bytes[block + 4..].first_chunk().expect("a length")) as usize;
        let kept = if packet.number < from { packet.bytes.len() } else { packet.bytes.len().min(max) };
        out.extend_from_slice(&bytes[at..block]);
        at = block + length;
        let padded = kept.next_multiple_of(4);
        let size = (BEFORE_PACKET + padded + 4) as u32;
        out.extend([&bytes[block..block + 4], &size.to_le_bytes(), &bytes[block + 8..begin - 8]].concat());
        out.extend([&(kept as u32).to_le_bytes(), &bytes[begin - 4..begin + kept]].concat());
        out.resize(out.len() + padded - kept, 0);
        out.extend(size.to_le_bytes());
    }
    [&out, &bytes[at..]].concat()
}

#[test]
fn a_capture_with_truncated_packets_is_explained_and_replayed_as_far_as_it_is_whole() {
    let bytes = one_step();
    let packets = capture::read(&bytes).expect("a capture").packets.len();
    let all = truncated(&bytes, 96, 1);
    let file = File::new("truncated");
    fs::write(&file.0, &all).expect("written");
    let output = Command::new(env!("CARGO_BIN_EXE_tickwire")).arg("explain").arg(&file.0).output();
    let output = output.expect("the program runs");
    let text = String::from_utf8([output.stdout, output.stderr].concat()).expect("text");
    for words in [
        &*format!("of {packets} packets truncated by the capture (snapshot length)"),
        "the packet tables in it are not complete, so others are used",
        "move",
    ] {
        assert!(output.status.success() && text.contains(words), "{words}: {text}");
    }
    let (text, status) = replay(&all, "truncated-all", &[]);
    assert!(status == 2 && text.contains("truncated the packet tables (snapshot length)"), "{text}");
    // The last third: the ticks before it are replayed.
    let from = packets * 2 / 3;
    let late = truncated(&bytes, 60, from);
    let (text, status) = replay(&late, "truncated-late", &[]);
    assert!(status == 0 && text.ends_with("same\n"), "{text}");
    assert!(text.contains(
        " is truncated by the capture (snapshot length): this report covers the packets before it"
    ));
    let (text, status) = bisect_with(&late, &bytes);
    assert!(
        status == 0 && text.starts_with("the first has truncated packets (snapshot length) from packet "),
        "{text}"
    );
}

/// What `--bisect` says of two files.
fn bisect_with(ours: &[u8], theirs: &[u8]) -> (String, i32) {
    let other = File::new("truncated-other");
    fs::write(&other.0, theirs).expect("written");
    replay(ours, "truncated-bisect", &["--bisect", other.0.to_str().expect("text")])
}

#[test]
fn packed_files_are_named_with_the_command_that_unpacks_them_by_every_command() {
    for (magic, name, unpack) in [
        (&b"\x1f\x8b\x08\0"[..], "gzip", "gzip -dc"),
        (b"\x28\xb5\x2f\xfd", "zstd", "zstd -dc"),
        (b"\xfd7zXZ\0", "xz", "xz -dc"),
        (b"BZh91AY", "bzip2", "bzip2 -dc"),
        (b"PK\x03\x04", "zip", "unzip -p"),
    ] {
        let file = File::new(&format!("packed-{name}"));
        fs::write(&file.0, [magic, &[0; 40]].concat()).expect("written");
        let path = file.0.to_str().expect("text");
        for command in [
            &["explain", path][..],
            &["replay", path],
            &["replay", path, "--bisect", path],
            &["replay", path, "--serve", "--bind", "127.0.0.1:0"],
            &["codes", "--codes", path],
        ] {
            let output = Command::new(env!("CARGO_BIN_EXE_tickwire")).args(command).output();
            let output = output.expect("the program runs");
            let text = String::from_utf8(output.stderr).expect("text");
            let words = format!("compressed with {name}: decompress it first, for example with {unpack} ");
            // `explain` decompresses gzip; these bytes are damaged.
            let is_read = name == "gzip" && command[0] == "explain";
            let words = if is_read { "the gzip data is damaged or incomplete" } else { &words };
            assert!(!output.status.success() && text.contains(words), "{command:?}: {text}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_not_utf_8_are_names_of_files() {
    use std::os::unix::ffi::OsStringExt as _;
    let mut name = File::new("not-utf-8").0.clone().into_os_string().into_vec();
    name.extend(b"-\xff");
    let file = File(std::ffi::OsString::from_vec(name).into());
    fs::write(&file.0, one_step()).expect("written");
    for command in ["explain", "replay"] {
        let output = Command::new(env!("CARGO_BIN_EXE_tickwire")).arg(command).arg(&file.0).output();
        let output = output.expect("the program runs");
        assert!(output.status.success(), "{command}: {output:?}");
    }
}
