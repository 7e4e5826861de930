//! The inspector without I/O: its input is the observed bytes of one client, its output everything
//! that the page shows of them.
//!
//! ```text
//!  server: tap ─► observed ─► WebSocket ─► observed ─┬─► frames ─► ring ─► explain ─┬─► entries of the list
//!                                                    │               │              └─► bytes by packet and field
//!                                                    │               └─► one frame explained, a capture of all
//!                                                    └─► lost, ended
//! ```
//!
//! The server only writes [`observed`] messages. The rest runs in the browser, as WebAssembly
//! (`src/tab/`), so that each frame is explained by the server's own code and the server spends
//! nothing on it. Each frame is explained together with the handshake and the earlier frames of its
//! message, so the inspector reports the same violations as the connection itself.

mod edit;
mod fields;
pub mod observed;
mod ring;
mod save;
mod shown;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::explain::{Conversation, Explanation};
use crate::limits;
use crate::packet::{Codes, Dialect};
use crate::ws::Side;
use crate::ws::frame::Header;
use fields::Fields;
use observed::{Opened, What};
use ring::{Kept, Ring};
pub use save::Whose;

/// See the [module](self).
#[derive(Debug)]
pub struct Inspector {
    codes: Arc<Codes>,
    /// The time of day at which the server's clock stood at zero.
    began: Duration,
    watched: Option<u64>,
    /// The handshake, and when it was.
    opened: Option<(Opened, Duration)>,
    /// The client's bytes of an unfinished message.
    unfinished: Vec<u8>,
    ring: Ring,
    next_n: u64,
    /// While paused, frames are counted and not kept.
    missed: Option<u64>,
    fields: Fields,
}

impl Inspector {
    /// An inspector that watches no client. `welcome` is the server's first message: it has the code
    /// tables in force.
    ///
    /// # Errors
    /// One line that says what is wrong with the message.
    pub fn new(welcome: &str) -> Result<Inspector, String> {
        let message: Json = serde_json::from_str(welcome).map_err(|error| error.to_string())?;
        let welcome = &message["welcome"];
        let (Some(tables), Some(began_us)) = (welcome["codes"].as_array(), welcome["began_us"].as_u64())
        else {
            return Err("welcome: codes or began_us is missing".to_owned());
        };
        let text = |json: &Json| json.as_str().unwrap_or_default().to_owned();
        let tables: Vec<_> = tables.iter().map(|table| (text(&table[0]), text(&table[1]))).collect();
        let codes = Codes::from_texts(&tables).map_err(|error| error.to_string())?;
        Ok(Inspector {
            codes: Arc::new(codes),
            began: Duration::from_micros(began_us),
            watched: None,
            opened: None,
            unfinished: Vec::new(),
            ring: Ring::default(),
            next_n: 1,
            missed: None,
            fields: Fields::default(),
        })
    }

    /// From now on this client is watched. Everything of another one is forgotten, and messages about
    /// another one are skipped.
    pub fn watch(&mut self, client: Option<u64>) {
        (self.watched, self.opened) = (client, None);
        self.unfinished.clear();
        self.ring = Ring::default();
        self.fields = Fields::default();
    }

    /// Pauses: the frames that come are counted and not kept. Or goes on.
    pub fn pause(&mut self, is_paused: bool) {
        self.missed = is_paused.then(|| self.missed.unwrap_or(0));
    }

    /// Takes a message of the server: `{"frames":[…]}` of the frames that are new, with `lost`,
    /// `missed` and `ended` if there is something to tell.
    ///
    /// # Errors One line that says where the message is invalid.
    pub fn receive(&mut self, message: &[u8]) -> Result<String, String> {
        let (client, records) =
            observed::read(message).map_err(|at| format!("a message is invalid at byte {at}"))?;
        if self.watched != Some(client) {
            return Ok(json!({}).to_string());
        }
        let mut told = json!({});
        let (codes, mut lost, mut frames) = (Arc::clone(&self.codes), 0, Vec::new());
        let mut talk = self.conversation(&codes);
        for record in records {
            let is_injected = matches!(record.what, What::Injected(_));
            let kept = |from, piece, begin, end| Kept {
                n: 0,
                from,
                at: record.at,
                tick: record.tick,
                piece,
                begin,
                end,
                is_head: false,
                is_injected,
            };
            if let Some((from, bytes)) = record.what.bytes() {
                let (piece, begin) = self.piece(from, bytes);
                let ends = frames_of(&piece[begin..], from).into_iter();
                let cut = ends.map(|(at, end)| kept(from, Arc::clone(&piece), begin + at, begin + end));
                let mut talk = talk.clone();
                if let Some(talk) = &mut talk {
                    talk.receive_each(from, &piece[..begin], |_| ());
                }
                self.keep(cut, talk.as_mut(), &mut frames);
            }
            match record.what {
                What::Opened(opened) => {
                    let heads = [(Side::Client, &opened.request), (Side::Server, &opened.response)];
                    let heads = heads.map(|(from, head)| Kept {
                        is_head: true,
                        ..kept(from, Arc::from(&head[..]), 0, head.len())
                    });
                    self.opened = Some((opened, record.at));
                    talk = self.conversation(&codes);
                    let mut greeting = self.begin(&codes);
                    self.keep(heads, greeting.as_mut(), &mut frames);
                }
                What::Lost(pieces) => {
                    lost += pieces;
                    self.unfinished.clear();
                }
                What::Ended(rule) => told["ended"] = Json::from(rule),
                What::Bytes(..) | What::Injected(_) => {}
            }
        }
        told["frames"] = Json::from(frames);
        if lost > 0 {
            told["lost"] = Json::from(lost);
        }
        if let Some(missed) = self.missed {
            told["missed"] = Json::from(missed);
        }
        Ok(told.to_string())
    }

    /// A piece, behind the unfinished message that it goes on with; and where the piece begins.
    fn piece(&mut self, from: Side, bytes: &[u8]) -> (Arc<[u8]>, usize) {
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

    /// Keeps the frames of a piece, and adds an entry for each.
    fn keep(
        &mut self,
        cut: impl IntoIterator<Item = Kept>,
        talk: Option<&mut Conversation<'_>>,
        entries: &mut Vec<Json>,
    ) {
        let (Some(talk), Some(client)) = (talk, self.watched) else { return };
        for mut kept in cut {
            if let Some(missed) = &mut self.missed {
                *missed += 1;
                continue;
            }
            kept.n = self.next_n;
            self.next_n += 1;
            let explained = talk.explain(kept.from, kept.bytes());
            entries.push(shown::entry(client, &kept, &explained));
            if !kept.is_head {
                self.fields.add(&explained);
            }
            self.ring.push(kept);
        }
    }

    /// The conversation before its handshake; `None` before the server has told it.
    fn begin<'c>(&self, codes: &'c Codes) -> Option<Conversation<'c>> {
        Some(Conversation::new(codes, self.dialect(codes)?))
    }

    /// The dialect of the connection; `None` before the server has told it.
    fn dialect<'c>(&self, codes: &'c Codes) -> Option<&'c Dialect> {
        let (opened, _) = self.opened.as_ref()?;
        codes.dialects().find(|dialect| dialect.name() == opened.dialect).map(|dialect| &**dialect)
    }

    /// The conversation after its handshake.
    fn conversation<'c>(&self, codes: &'c Codes) -> Option<Conversation<'c>> {
        let (opened, _) = self.opened.as_ref()?;
        let mut talk = self.begin(codes)?;
        talk.receive_each(Side::Client, &opened.request, |_| ());
        talk.receive_each(Side::Server, &opened.response, |_| ());
        talk.begin_with_frames(opened.json);
        talk.with_our_server();
        Some(talk)
    }

    /// The frame with this number as JSON: the explainer's, with the frame's bytes as they travelled;
    /// or `gone` if it is no longer kept.
    pub fn explain(&self, n: u64) -> String {
        let explained = self.ring.get(n).and_then(|kept| Some((kept, self.explanation(kept)?)));
        explained.map_or_else(|| shown::gone(n), |(kept, explained)| shown::explained(kept, &explained))
    }

    fn explanation(&self, kept: &Kept) -> Option<Explanation<'_>> {
        let mut talk = if kept.is_head { self.begin(&self.codes) } else { self.conversation(&self.codes) }?;
        if kept.is_head && kept.from == Side::Server {
            talk.receive_each(Side::Client, &self.opened.as_ref()?.0.request, |_| ());
        }
        talk.receive_each(kept.from, &kept.piece[..kept.begin], |_| ());
        Some(talk.explain(kept.from, kept.bytes()))
    }

    /// The bytes by packet and field since the last call, as a JSON list.
    pub fn fields(&mut self) -> String {
        self.fields.take()
    }

    /// The frames that are kept, as a pcapng file; `None` without a handshake.
    pub fn save(&self, whose: &Whose) -> Option<Vec<u8>> {
        let (opened, at) = self.opened.as_ref()?;
        Some(save::capture((opened, *at), whose, self.ring.iter(), self.began))
    }
}

/// Whether a message of a client goes on behind these frames.
fn is_unfinished(frames: &[u8]) -> bool {
    let places = frames_of(frames, Side::Client).into_iter();
    let mut headers = places.filter_map(|(at, _)| Header::decode(&frames[at..], Side::Client).ok().flatten());
    headers.rfind(|(header, _)| !header.opcode.is_control()).is_some_and(|(header, _)| !header.fin)
}

/// The frames of a piece, each as its begin and its end: bytes that are no whole frame are the last.
fn frames_of(bytes: &[u8], from: Side) -> Vec<(usize, usize)> {
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

#[cfg(test)]
mod tests;
