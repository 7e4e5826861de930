//! A frame in the fragment of a URL, so that any inspector page can explain it:
//!
//! ```text
//!   #frame=828a37fa…&dialect=native&from=client&format=msgpack&server=tickwire
//! ```
//!
//! `format` and `server` are omitted if unknown. `before` has the earlier frames of the message,
//! and `head=1` marks the head of a handshake. `tables` has the hash of the dialect's packets if
//! they differ from the built-in ones; the link then works only in a page with the same tables.
//! `kind=message` marks the payload of a message without a frame header, and `kind=datagram` an
//! opened datagram of a lane.

use crate::limits;
use crate::packet::PacketTables;
use crate::tools::explain::hex;
use crate::ws::Side;
use crate::ws::frame::Header;

/// The kind of the bytes in a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkKind {
    /// Frames.
    Frame,
    /// The head of a handshake.
    Head,
    /// The payload of a message, without a frame header.
    Message,
    /// An opened datagram of a lane.
    Datagram,
}

/// A frame in a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareLink {
    /// The frame as sent.
    pub bytes: Vec<u8>,
    /// The earlier frames of the message.
    pub before: Vec<u8>,
    /// The dialect.
    pub dialect: String,
    /// The sender.
    pub from: Side,
    /// Whether packets are JSON; `None` if unknown.
    pub json: Option<bool>,
    /// Whether the limits of a tickwire server apply.
    pub is_own_server: bool,
    /// The kind of the bytes.
    pub kind: LinkKind,
    /// The [hash](PacketTables::dialect_hash) of the dialect's packets; `None` if they are the
    /// built-in ones.
    pub tables: Option<String>,
}

/// Returns [`ShareLink::tables`] for a dialect of these tables.
pub fn tables(codes: &PacketTables, dialect: &str) -> Option<String> {
    let hash = codes.dialect_hash(dialect);
    (hash != PacketTables::builtin_ref().dialect_hash(dialect)).then(|| format!("{hash:016x}"))
}

impl ShareLink {
    /// Formats the fragment, without `#`.
    ///
    /// # Errors
    /// The frame is too long for a link.
    pub fn print(&self) -> Result<String, String> {
        let bytes = self.bytes.len() + self.before.len();
        if bytes > limits::INSPECTOR_LINK_BYTES {
            let max_bytes = limits::INSPECTOR_LINK_BYTES;
            return Err(format!(
                "A link would need {bytes} bytes, but can hold only {max_bytes}. Save the capture instead."
            ));
        }
        let mut out = format!("frame={}&dialect={}", hex::digits(&self.bytes), self.dialect);
        out += &format!("&from={}", super::frame_json::side(self.from));
        if let Some(json) = self.json {
            out += if json { "&format=json" } else { "&format=msgpack" };
        }
        if self.is_own_server {
            out += "&server=tickwire";
        }
        if !self.before.is_empty() {
            out += &format!("&before={}", hex::digits(&self.before));
        }
        out += match self.kind {
            LinkKind::Frame => "",
            LinkKind::Head => "&head=1",
            LinkKind::Message => "&kind=message",
            LinkKind::Datagram => "&kind=datagram",
        };
        if let Some(tables) = &self.tables {
            out += &format!("&tables={tables}");
        }
        Ok(out)
    }

    /// Parses a fragment, without `#`.
    ///
    /// # Errors
    /// One sentence that describes the problem.
    pub fn read(text: &str) -> Result<ShareLink, String> {
        let find = |name: &str| {
            text.split('&')
                .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
                .filter(|value| !value.is_empty())
        };
        let bytes = |name: &str| match find(name) {
            Some(digits) if digits.len() > 4 * limits::INSPECTOR_LINK_BYTES => {
                Err(format!("the link has more than {} bytes", limits::INSPECTOR_LINK_BYTES))
            }
            Some(digits) => hex::parse(digits).map_err(|error| format!("{name} of the link: {error}")),
            None => Ok(Vec::new()),
        };
        let (whole, before) = (bytes("frame")?, bytes("before")?);
        if whole.is_empty() {
            return Err("the link has no bytes; example: #frame=818537fa213d7f9f4d5158".to_owned());
        }
        let from = match find("from") {
            Some("client") => Side::Client,
            Some("server") => Side::Server,
            Some(other) => {
                return Err(format!("the sender in the link, {other:?}, must be client or server"));
            }
            None => crate::tools::explain::guess_side(&whole),
        };
        let json = find("format").map(|format| format == "json");
        let kind = match (find("kind"), find("head")) {
            (Some("message"), _) => LinkKind::Message,
            (Some("datagram"), _) => LinkKind::Datagram,
            (Some(other), _) => {
                return Err(format!("the kind in the link, {other:?}, must be message or datagram"));
            }
            (None, Some("1")) => LinkKind::Head,
            (None, _) => LinkKind::Frame,
        };
        Ok(ShareLink {
            bytes: whole,
            before,
            dialect: find("dialect").unwrap_or("native").to_owned(),
            from,
            json,
            is_own_server: find("server") == Some("tickwire"),
            kind,
            tables: find("tables").map(str::to_owned),
        })
    }
}

/// The frames of the unfinished message at the end of `frames`.
pub fn of_message(frames: &[u8], from: Side) -> Vec<u8> {
    let mut begin = frames.len();
    for (at, end) in super::client_log::frames_of(frames, from) {
        match Header::decode_with(&frames[at..end], from, true) {
            Ok(Some((header, _))) if header.opcode.is_control() => {}
            Ok(Some((header, _))) if header.fin => begin = frames.len(),
            _ => begin = begin.min(at),
        }
    }
    frames[begin..].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_reads_back() {
        let link = ShareLink {
            bytes: vec![0x80, 0x00],
            before: vec![0x01, 0x00],
            dialect: "letters-2024".to_owned(),
            from: Side::Server,
            json: Some(true),
            is_own_server: true,
            kind: LinkKind::Frame,
            tables: None,
        };
        let text = link.print().expect("short");
        assert_eq!(
            text,
            "frame=8000&dialect=letters-2024&from=server&format=json&server=tickwire&before=0100"
        );
        assert_eq!(ShareLink::read(&text), Ok(link.clone()));
        let tables = Some("0123456789abcdef".to_owned());
        for kind in [LinkKind::Head, LinkKind::Message, LinkKind::Datagram] {
            let (tables, link) = (tables.clone(), link.clone());
            let other =
                ShareLink { json: None, is_own_server: false, kind, before: Vec::new(), tables, ..link };
            assert_eq!(ShareLink::read(&other.print().expect("short")), Ok(other));
        }
        let hello = ShareLink::read("frame=818537fa213d7f9f4d5158").expect("bytes");
        assert_eq!((hello.from, hello.dialect.as_str(), hello.json), (Side::Client, "native", None));
    }

    #[test]
    fn a_link_that_is_wrong_or_too_long_is_refused() {
        for (text, words) in [
            ("frame=", "no bytes"),
            ("frame=81g5", "not a hexadecimal digit"),
            ("frame=818", "each byte needs two"),
            ("frame=8100&from=above", "sender"),
            ("frame=8100&kind=packet", "message or datagram"),
        ] {
            let error = ShareLink::read(text).expect_err(text);
            assert!(error.contains(words), "{text}: {error}");
        }
        let long = "00".repeat(4 * limits::INSPECTOR_LINK_BYTES);
        assert!(ShareLink::read(&format!("frame={long}")).is_err());
        let mut link = ShareLink::read("frame=8100").expect("bytes");
        link.bytes = vec![0; limits::INSPECTOR_LINK_BYTES + 1];
        assert!(link.print().expect_err("too long").contains("Save the capture"));
    }

    #[test]
    fn of_the_bytes_before_a_frame_only_its_own_message_is_needed() {
        let (begun, ping, goes_on, ends, whole) =
            ([0x02, 0x01, 0x07], [0x89, 0x00], [0x00, 0x00], [0x80, 0x00], [0x82, 0x00]);
        for (frames, wanted) in [
            ([&whole[..], &begun].concat(), &[&begun[..]][..]),
            ([&begun[..], &ends, &whole].concat(), &[]),
            ([&whole[..], &begun, &ping, &goes_on].concat(), &[&begun[..], &ping, &goes_on]),
            (vec![], &[]),
        ] {
            assert_eq!(of_message(&frames, Side::Server), wanted.concat(), "{frames:02x?}");
        }
    }
}
