//! Links to stored frames, and the frames of a link.

use std::sync::Arc;
use std::time::Duration;

use super::Inspector;
use super::client_log::{ClientLog, LogStart, frames_of};
use super::ring::RetainedFrame;
use super::share_link::{self, LinkKind, ShareLink};

impl Inspector {
    /// Returns frame `n` as a [link](share_link).
    pub fn link(&self, n: u64) -> Result<String, String> {
        let log = self.log_with(n).ok_or("this frame is no longer kept")?;
        let retained = log.ring.get(n).ok_or("this frame is no longer kept")?;
        let (dialect, json, is_ours) = match &log.start {
            Some(LogStart::Handshake(opened, _)) => (opened.dialect.clone(), Some(opened.json), true),
            Some(LogStart::Frames { dialect, json, is_ours }) => (dialect.clone(), *json, *is_ours),
            None => return Err("no handshake was seen".to_owned()),
        };
        let kind = match retained {
            RetainedFrame { datagram: Some(_), .. } => LinkKind::Datagram,
            RetainedFrame { is_head: true, .. } => LinkKind::Head,
            RetainedFrame { is_message: true, .. } => LinkKind::Message,
            _ => LinkKind::Frame,
        };
        let before = match kind {
            LinkKind::Frame | LinkKind::Head => {
                share_link::of_message(&retained.piece[..retained.begin], retained.from)
            }
            LinkKind::Message | LinkKind::Datagram => Vec::new(),
        };
        let bytes = retained.bytes().to_vec();
        let (from, tables) = (retained.from, share_link::tables(&self.codes, &dialect));
        ShareLink { bytes, before, dialect, from, json, is_own_server: is_ours, kind, tables }.print()
    }

    /// Opens a [link](share_link), and shows only its frames.
    ///
    /// # Errors
    /// One sentence that describes the problem.
    pub fn open_link(&mut self, text: &str) -> Result<(), String> {
        let link = ShareLink::read(text)?;
        let codes = Arc::clone(&self.codes);
        if link.tables.is_some() && link.tables != share_link::tables(&codes, &link.dialect) {
            return Err("the frame of the link is of a server with other packet tables than this page has; \
                        a saved capture carries its tables"
                .to_owned());
        }
        if codes.dialects().all(|dialect| dialect.name() != link.dialect) {
            return Err(format!("the link names the dialect {:?}, which no table has", link.dialect));
        }
        self.select_client(Some(0));
        let Some(log) = self.logs.last_mut() else { return Ok(()) };
        *log = ClientLog::new(0);
        log.list.apply(&self.request);
        log.start =
            Some(LogStart::Frames { dialect: link.dialect, json: link.json, is_ours: link.is_own_server });
        let is_head = link.kind == LinkKind::Head;
        let conversation =
            if is_head { log.conversation_before_handshake(&codes) } else { log.conversation(&codes) };
        let from = link.from;
        let first = link.before.len();
        let piece: Arc<[u8]> = Arc::from([link.before, link.bytes].concat());
        let Some(mut conversation) = conversation else { return Ok(()) };
        let retained = |begin: usize, end: usize| RetainedFrame {
            is_head,
            is_message: link.kind == LinkKind::Message,
            datagram: (link.kind == LinkKind::Datagram).then_some((None, None)),
            ..RetainedFrame::new(from, (Duration::ZERO, 0), Arc::clone(&piece), (begin, end))
        };
        if link.kind == LinkKind::Datagram {
            log.add_datagram(&mut self.next_n, retained(first, piece.len()), &codes);
            return Ok(());
        }
        conversation.receive_each(from, &piece[..first], |_| ());
        let ranges = match link.kind {
            LinkKind::Frame => frames_of(&piece[first..], from),
            _ => vec![(0, piece.len() - first)],
        };
        let frames = ranges.into_iter().map(|(begin, end)| retained(first + begin, first + end));
        self.add_frames(frames, Some(&mut conversation), &mut Vec::new());
        Ok(())
    }
}
