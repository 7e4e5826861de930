//! What the inspector keeps of one client: its handshake, its newest frames, and their list.

use std::sync::Arc;
use std::time::Duration;

use super::entry::{EntryKind, FrameEntry};
use super::list::FrameList;
use super::observed_format::Handshake;
use super::ping_pairs::PingPairs;
use super::ring::{RetainedFrame, Ring};
use crate::limits;
use crate::packet::{Dialect, PacketTables};
use crate::tools::explain::{Conversation, Explanation};
use crate::ws::Side;
use crate::ws::frame::Header;

/// See the [module](self).
#[derive(Debug)]
pub struct ClientLog {
    /// The client's number; 0 for frames that came with a link.
    pub client: u64,
    /// How the conversation began.
    pub start: Option<LogStart>,
    /// The client's bytes of an unfinished message.
    unfinished: Vec<u8>,
    pub ring: Ring,
    pub list: FrameList,
    pairs: PingPairs,
    /// When the last bytes came.
    last: Duration,
    /// Whether it was not watched since.
    is_away: bool,
}

/// How a conversation began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogStart {
    /// With this handshake, at this time.
    Handshake(Handshake, Duration),
    /// Before the frames that are there: this is all that is known of it.
    Frames {
        /// The dialect.
        dialect: String,
        /// Whether packets are JSON, if known.
        json: Option<bool>,
        /// Whether the server is one of ours, so that its limits apply.
        is_ours: bool,
    },
}

impl ClientLog {
    /// Nothing was seen of this client.
    pub fn new(client: u64) -> ClientLog {
        ClientLog {
            client,
            start: None,
            unfinished: Vec::new(),
            ring: Ring::default(),
            list: FrameList::default(),
            pairs: PingPairs::default(),
            last: Duration::ZERO,
            is_away: false,
        }
    }

    /// It is no longer watched.
    pub fn leave(&mut self) {
        self.is_away = !self.ring.is_empty();
        self.forget_unfinished();
    }

    /// Bytes are missing before those that come next.
    pub fn forget_unfinished(&mut self) {
        self.unfinished.clear();
        self.pairs.clear();
    }

    /// A piece, behind the unfinished message that it goes on with; and where the piece begins.
    pub fn piece(&mut self, from: Side, bytes: &[u8]) -> (Arc<[u8]>, usize) {
        if from == Side::Server {
            return (Arc::from(bytes), 0);
        }
        let begin = self.unfinished.len();
        self.unfinished.extend_from_slice(bytes);
        let piece = Arc::from(&self.unfinished[..]);
        if !is_unfinished(&self.unfinished) || self.unfinished.len() > limits::INSPECTOR_RING_BYTES {
            self.unfinished.clear();
        }
        (piece, begin)
    }

    /// The gap before bytes of this time, if it was not watched in between.
    pub fn come_back(&mut self, n: u64, from: Side, at: Duration) -> bool {
        let is_resumed = std::mem::take(&mut self.is_away);
        if is_resumed {
            let away_us = at.saturating_sub(self.last).as_micros() as u64;
            self.list.push(
                FrameEntry::gap(
                    n,
                    self.client as u32,
                    from,
                    EntryKind::NotInspected(away_us),
                    at.as_micros() as u64,
                ),
                None,
            );
        }
        is_resumed
    }

    /// Keeps a frame; says how many lines of the list had to go.
    pub fn keep(&mut self, kept: RetainedFrame, explained: &Explanation<'_>) -> usize {
        let at_us = kept.at.as_micros() as u64;
        let entry = FrameEntry::new(kept.n, self.client as u32, explained, &mut self.list.names);
        let pair = self.pairs.take(kept.n, at_us, explained);
        self.list.push(
            FrameEntry { at_us, tick: kept.tick, is_injected: kept.is_injected, ..entry },
            Some(explained),
        );
        if let Some(pair) = pair {
            self.list.pair(kept.n, pair);
        }
        self.last = self.last.max(kept.at);
        let mut gone = 0;
        self.ring.push(kept, |n| gone += self.list.remove(n));
        gone
    }

    /// The client's bytes of an unfinished message.
    pub fn unfinished(&self) -> &[u8] {
        &self.unfinished
    }

    /// The dialect of the connection; `None` before the server has told it.
    pub fn dialect<'c>(&self, codes: &'c PacketTables) -> Option<&'c Dialect> {
        let name = match self.start.as_ref()? {
            LogStart::Handshake(opened, _) => &opened.dialect,
            LogStart::Frames { dialect, .. } => dialect,
        };
        codes.dialects().find(|dialect| dialect.name() == name).map(|dialect| &**dialect)
    }

    /// The conversation before its handshake; `None` before the server has told it.
    pub fn begin<'c>(&self, codes: &'c PacketTables) -> Option<Conversation<'c>> {
        let dialect = self.dialect(codes)?;
        Some(match self.start {
            Some(LogStart::Frames { .. }) => Conversation::in_dialect(dialect),
            _ => Conversation::new(codes, dialect),
        })
    }

    /// The conversation after its handshake.
    pub fn conversation<'c>(&self, codes: &'c PacketTables) -> Option<Conversation<'c>> {
        let mut talk = self.begin(codes)?;
        match self.start.as_ref()? {
            LogStart::Handshake(opened, _) => {
                talk.receive_each(Side::Client, &opened.request, |_| ());
                talk.receive_each(Side::Server, &opened.response, |_| ());
                talk.start_after_upgrade(opened.json);
                talk.set_own_server();
            }
            LogStart::Frames { json, is_ours, .. } => {
                if let Some(json) = json {
                    talk.start_after_upgrade(*json);
                }
                if *is_ours {
                    talk.set_own_server();
                }
            }
        }
        Some(talk)
    }

    /// A frame that is still kept, explained after the earlier frames of its message.
    pub fn explanation<'c>(
        &self,
        n: u64,
        codes: &'c PacketTables,
    ) -> Option<(&RetainedFrame, Explanation<'c>)> {
        let kept = self.ring.get(n)?;
        let mut talk = if kept.is_head { self.begin(codes) } else { self.conversation(codes) }?;
        if let (true, Side::Server, Some(LogStart::Handshake(opened, _))) =
            (kept.is_head, kept.from, &self.start)
        {
            talk.receive_each(Side::Client, &opened.request, |_| ());
        }
        talk.receive_each(kept.from, &kept.piece[..kept.begin], |_| ());
        Some((kept, talk.explain(kept.from, kept.bytes())))
    }
}

/// Whether a message of a client goes on behind these frames.
fn is_unfinished(frames: &[u8]) -> bool {
    let places = frames_of(frames, Side::Client).into_iter();
    let mut headers = places.filter_map(|(at, _)| Header::decode(&frames[at..], Side::Client).ok().flatten());
    headers.rfind(|(header, _)| !header.opcode.is_control()).is_some_and(|(header, _)| !header.fin)
}

/// The frames of a piece, each as its begin and its end: bytes that are no whole frame are the last.
pub fn frames_of(bytes: &[u8], from: Side) -> Vec<(usize, usize)> {
    let (mut frames, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let size = match Header::decode(&bytes[at..], from) {
            Ok(Some((header, head))) => {
                usize::try_from(header.length).ok().and_then(|size| size.checked_add(head))
            }
            Ok(None) | Err(_) => None,
        };
        let end = size.and_then(|size| at.checked_add(size)).map_or(bytes.len(), |end| end.min(bytes.len()));
        frames.push((at, end));
        at = end;
    }
    frames
}
