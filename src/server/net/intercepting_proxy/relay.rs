//! One connection of the intercepting proxy: two sockets, an interceptor, one thread.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tickwire_sim::rng::Rng;

use super::proxy_state::{ProxyEventKind, ProxyState};
use super::traffic_log::PageCommand;
use crate::client::stream::Stream;
use crate::client::tls::TlsStream;
use crate::connection::head_secrets;
use crate::limits;
use crate::server::net::blocking_io::write_all;
use crate::server::net::request::finish;
use crate::tools::explain::{Conversation, NO_DIALECT};
use crate::tools::inspector::observed_format::Handshake;
use crate::tools::intercept::upgrade::{HeadRewrite, UpgradeEvent, UpgradeHeads, UpgradeRelay};
use crate::tools::intercept::{Interceptor, Observation};
use crate::util::netem::{Arrival, DelayedStream, DuplexLink};
use crate::util::os::{self, PollInterest};
use crate::ws::{Side, http};

/// Both sides, in the order of [`Relay::ways`].
const SIDES: [Side; 2] = [Side::Client, Side::Server];

/// Connects to the server, and relays until both sides have ended.
///
/// # Errors
/// A socket fails, or a head does not arrive in time.
pub fn serve(proxy: &ProxyState, client: &TcpStream, address: SocketAddr, number: u64) -> io::Result<()> {
    let config = &proxy.config;
    let server = match Stream::open(&config.to, config.to_tls.as_ref()) {
        Ok(server) => server,
        Err(error) => {
            let why = format!("cannot connect to {}: {error}", config.to);
            proxy.emit(number, ProxyEventKind::Failed(&why));
            return if config.own_tls.is_some() { Ok(()) } else { refuse(client, 502, &why) };
        }
    };
    client.set_nonblocking(true)?;
    let client = client.try_clone()?;
    let client = match &config.own_tls {
        Some(tls) => Stream::Tls(Box::new(TlsStream::accept(client, Arc::clone(tls))?)),
        None => Stream::Plain(client),
    };
    proxy.servers.add(number, Arc::new(server.socket().try_clone()?));
    let link = DuplexLink::new(
        &proxy.config.conditions,
        Rng::from_state(proxy.config.seed ^ number << 32).next_u64(),
    );
    let mut relay = Relay {
        proxy,
        number,
        address,
        server_address: server.socket().peer_addr()?,
        streams: [client, server],
        ways: [Way::new(link.up), Way::new(link.down)],
        stage: Stage::Http(UpgradeRelay::new(HeadRewrite {
            forwarded_for: Some(address.ip()).filter(|ip| !ip.is_loopback()),
            ..proxy.config.rewrite.clone()
        })),
        began: Instant::now(),
    };
    let result = relay.run();
    relay.finish(&result);
    result
}

/// Sends a response and closes.
fn refuse(client: &TcpStream, status: u16, why: &str) -> io::Result<()> {
    write_all(client, &text_response(status, why), limits::PAGE_WRITE_TIMEOUT)?;
    finish(client, limits::MAX_DRAIN_BYTES);
    Ok(())
}

fn text_response(status: u16, why: &str) -> Vec<u8> {
    http::response(status, "text/plain; charset=utf-8", &[], format!("{why}\n").as_bytes())
}

struct Relay<'a> {
    proxy: &'a ProxyState,
    number: u64,
    address: SocketAddr,
    server_address: SocketAddr,
    /// Client, then server.
    streams: [Stream; 2],
    /// The direction in which each side sends.
    ways: [Way; 2],
    stage: Stage<'a>,
    began: Instant,
}

enum Stage<'a> {
    Http(UpgradeRelay),
    WebSocket(Box<Interceptor<'a>>),
}

/// One direction.
struct Way {
    /// Bytes for the link.
    pending: Vec<u8>,
    link: DelayedStream,
    /// Bytes that have left the link, and that the receiver's socket has not accepted.
    out: Vec<u8>,
    has_ended: bool,
    /// Whether the end has entered the link.
    is_ending: bool,
    is_over: bool,
}

impl Way {
    fn new(link: DelayedStream) -> Way {
        let (pending, out) = Default::default();
        Way { pending, link, out, has_ended: false, is_ending: false, is_over: false }
    }

    fn has_space(&mut self, now: Duration) -> bool {
        self.pending.len() + self.out.len() < limits::INTERCEPT_UNSENT_BYTES
            && self.link.writable_bytes(now) > 0
    }
}

impl<'a> Relay<'a> {
    fn run(&mut self) -> io::Result<()> {
        let mut buffer = vec![0; limits::RELAY_READ_BYTES];
        let mut head_deadline = Some(limits::INTERCEPT_HEAD_TIMEOUT);
        let mut half_open_since = None;
        while !self.proxy.connections.is_stopping() && self.ways.iter().any(|way| !way.is_over) {
            let now = self.began.elapsed();
            self.execute_commands(now);
            for at in 0..SIDES.len() {
                self.read(at, now, &mut buffer);
            }
            if let Some(error) = self.respond_unanswered() {
                return Err(error);
            }
            let due = self.poll(now);
            for at in 0..SIDES.len() {
                self.write(at, self.began.elapsed());
            }
            let awaits_head = matches!(&self.stage, Stage::Http(relay) if relay.awaits_head());
            head_deadline = match head_deadline.filter(|_| awaits_head) {
                Some(deadline) if deadline <= now => return Err(self.respond_late()),
                Some(deadline) => Some(deadline),
                None => awaits_head.then_some(now + limits::INTERCEPT_HEAD_TIMEOUT),
            };
            let since = half_open_since.filter(|_| self.ways.iter().any(|way| way.is_over));
            if since.is_some_and(|since| now.saturating_sub(since) > limits::INTERCEPT_HALF_OPEN_TIMEOUT) {
                return Err(io::Error::new(
                    ErrorKind::TimedOut,
                    "one side stayed open after the other had ended",
                ));
            }
            half_open_since = since.or_else(|| self.ways.iter().any(|way| way.is_over).then_some(now));
            self.wait(due)?;
        }
        Ok(())
    }

    /// Responds to a client whose head is incomplete, or whose upgrade the server has not answered
    /// in time. A client that has sent nothing gets no response. Returns the reason.
    fn respond_late(&mut self) -> io::Error {
        let seconds = limits::INTERCEPT_HEAD_TIMEOUT.as_secs();
        let Stage::Http(relay) = &self.stage else { unreachable!("a deadline applies to heads only") };
        let (status, why) = if relay.awaits_response() {
            let to = &self.proxy.config.to;
            (504, format!("upgrade_late: {to} has not answered the upgrade within {seconds} s"))
        } else {
            let status = if relay.has_partial_head() { 408 } else { 0 };
            (status, format!("head_late: no complete head within {seconds} s"))
        };
        self.fail(status, &why);
        io::Error::new(ErrorKind::TimedOut, why)
    }

    /// Responds to a client whose upgrade can have no answer any more, and returns the reason.
    /// `None` while the server can answer.
    fn respond_unanswered(&mut self) -> Option<io::Error> {
        let awaits = matches!(&self.stage, Stage::Http(relay) if relay.awaits_response());
        if !awaits || !self.ways[1].has_ended {
            return None;
        }
        let to = &self.proxy.config.to;
        let why = format!("upgrade_unanswered: {to} has closed the connection before its answer");
        self.fail(502, &why);
        Some(io::Error::new(ErrorKind::UnexpectedEof, why))
    }

    /// Ends the client's connection before an upgrade, with a response unless the status is 0. A
    /// fault of the server is reported.
    fn fail(&mut self, status: u16, why: &str) {
        if status >= 500 {
            self.proxy.emit(self.number, ProxyEventKind::Failed(why));
        }
        // Bytes of an earlier response would precede this one.
        let Way { pending, out, is_over, .. } = &self.ways[1];
        if status > 0 && pending.is_empty() && out.is_empty() && !is_over {
            let _ = self.respond(status, why);
        }
    }

    /// Sends a response of the proxy itself, and ends the client's connection.
    fn respond(&mut self, status: u16, why: &str) -> io::Result<()> {
        let client = &mut self.streams[0];
        client.write_all_within(&text_response(status, why), limits::PAGE_WRITE_TIMEOUT)?;
        client.shutdown_write()?;
        client.socket().set_nonblocking(false)?;
        finish(client.socket(), limits::MAX_DRAIN_BYTES);
        Ok(())
    }

    /// Reports the end of an upgraded connection.
    fn finish(&mut self, result: &io::Result<()>) {
        if matches!(self.stage, Stage::Http(_)) {
            return;
        }
        let at = self.proxy.began.elapsed();
        if let Some(capture) = &self.proxy.capture {
            capture.end(self.number, at);
        }
        let why = result.as_ref().map_or_else(ToString::to_string, |()| "both sides have ended".to_owned());
        self.proxy.log.record_end(self.number, &why);
        self.proxy.emit(self.number, ProxyEventKind::Ended(&why));
    }

    /// Reads once from a side, if there is space for the bytes.
    fn read(&mut self, at: usize, now: Duration, buffer: &mut [u8]) {
        if !self.accepts(at, now) {
            return;
        }
        match self.streams[at].read(buffer) {
            Ok(0) => self.receive_eof(at, now),
            Ok(count) => self.receive(at, &buffer[..count], now),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => {
                self.ways[1 - at].is_over = true;
                self.receive_eof(at, now);
            }
        }
    }

    fn accepts(&mut self, at: usize, now: Duration) -> bool {
        let accepts = match &self.stage {
            Stage::Http(relay) => at == 1 || relay.accepts(),
            Stage::WebSocket(interceptor) => interceptor.accepts(SIDES[at]),
        };
        !self.ways[at].has_ended && accepts && self.ways[at].has_space(now)
    }

    fn receive(&mut self, at: usize, bytes: &[u8], now: Duration) {
        let upgraded = match &mut self.stage {
            Stage::Http(relay) if at == 0 => {
                relay.receive_from_client(bytes, &mut self.ways[0].pending);
                None
            }
            Stage::Http(relay) => relay.receive_from_server(bytes, &mut self.ways[1].pending),
            Stage::WebSocket(interceptor) => {
                let (proxy, number) = (self.proxy, self.number);
                interceptor
                    .receive(SIDES[at], bytes, now, &mut |observation| record(proxy, number, observation));
                self.take_output(at);
                None
            }
        };
        match upgraded {
            Some(UpgradeEvent::Upgraded(heads)) => self.upgrade(heads, now),
            Some(UpgradeEvent::Refused(heads, status)) => {
                let heads = redacted(&heads);
                self.proxy.emit(self.number, ProxyEventKind::Refused(self.address, &heads, status));
            }
            None => {}
        }
    }

    /// Starts the interception after a 101 response.
    fn upgrade(&mut self, heads: UpgradeHeads, now: Duration) {
        let (proxy, number) = (self.proxy, self.number);
        let conversation = conversation(proxy, &heads);
        let early_bytes = heads.early_bytes.clone();
        let shown = redacted(&heads);
        let interceptor =
            Interceptor::new(conversation, &heads, proxy.log.rules()).with_connection(self.number);
        let (at, ends) = (proxy.began.elapsed(), [self.address, self.server_address]);
        proxy.totals.lock().upgraded += 1;
        if let Some(capture) = &proxy.capture {
            capture.open(number, ends, (&shown, interceptor.dialect().is_none()), at);
        }
        let handshake = Handshake {
            address: self.address,
            local: self.server_address,
            dialect: interceptor.dialect().unwrap_or(NO_DIALECT).to_owned(),
            json: interceptor.is_json(),
            request: shown.request.clone(),
            response: shown.response.clone(),
        };
        proxy.log.open(number, handshake);
        proxy.emit(number, ProxyEventKind::Upgraded(self.address, &shown));
        self.stage = Stage::WebSocket(Box::new(interceptor));
        for (at, bytes) in early_bytes.iter().enumerate() {
            self.receive(at, bytes, now);
        }
    }

    fn receive_eof(&mut self, at: usize, now: Duration) {
        self.ways[at].has_ended = true;
        if let Stage::WebSocket(interceptor) = &mut self.stage {
            let (proxy, number) = (self.proxy, self.number);
            interceptor.receive_eof(SIDES[at], now, &mut |observation| record(proxy, number, observation));
            proxy.log.side_ended(number, SIDES[at]);
            self.take_output(at);
        }
    }

    fn take_output(&mut self, at: usize) {
        if let Stage::WebSocket(interceptor) = &mut self.stage {
            self.ways[at].pending.append(interceptor.output(SIDES[at]));
        }
    }

    /// Executes what pages requested.
    fn execute_commands(&mut self, now: Duration) {
        let Stage::WebSocket(interceptor) = &mut self.stage else { return };
        let (proxy, number) = (self.proxy, self.number);
        for command in proxy.log.take_commands(number) {
            let observe = &mut |observation: &Observation<'_, 'a>| record(proxy, number, observation);
            match command {
                PageCommand::Decide(id, decision) => drop(interceptor.decide(id, &decision, now, observe)),
                PageCommand::Inject(from, substitute) => interceptor.inject(from, &substitute, observe),
                PageCommand::SetRules(rules) => interceptor.set_rules(rules),
            }
        }
        (0..SIDES.len()).for_each(|at| self.take_output(at));
    }

    /// Sends what was delayed. Returns the time of the next call.
    fn poll(&mut self, now: Duration) -> Option<Duration> {
        let Stage::WebSocket(interceptor) = &mut self.stage else { return None };
        let (proxy, number) = (self.proxy, self.number);
        let due = interceptor.poll(now, &mut |observation| record(proxy, number, observation));
        (0..SIDES.len()).for_each(|at| self.take_output(at));
        due
    }

    /// Moves bytes of a side through the link to the other side's socket, and passes on the end.
    fn write(&mut self, at: usize, now: Duration) {
        let is_finished = match &self.stage {
            Stage::Http(_) => self.ways[at].has_ended,
            Stage::WebSocket(interceptor) => interceptor.is_finished(SIDES[at]),
        };
        let (way, to) = (&mut self.ways[at], &mut self.streams[1 - at]);
        let count = way.pending.len().min(way.link.writable_bytes(now));
        way.link.write(&way.pending[..count], now);
        way.pending.drain(..count);
        if is_finished && way.pending.is_empty() && !way.is_ending {
            way.is_ending = true;
            way.link.end(now);
        }
        let has_arrived = way.link.read(now, &mut way.out) == Arrival::End;
        if !way.out.is_empty() && !way.is_over {
            match to.write(&way.out) {
                Ok(count) => drop(way.out.drain(..count)),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(_) => way.is_over = true,
            }
        }
        if to.wants_write() {
            let _ = to.flush();
        }
        if way.is_over {
            way.out.clear();
            way.pending.clear();
        } else if has_arrived && way.out.is_empty() {
            way.is_over = true;
            let _ = to.shutdown_write();
        }
    }

    /// Waits until a socket is ready, or bytes are due.
    fn wait(&mut self, due: Option<Duration>) -> io::Result<()> {
        let now = self.began.elapsed();
        let arrivals = self
            .ways
            .iter()
            .filter(|way| way.out.is_empty() && !way.is_over)
            .filter_map(|way| way.link.next());
        let next = arrivals.chain(due).min().map(|next| next.saturating_sub(now));
        let time = next.unwrap_or(limits::INTERCEPT_POLL_INTERVAL).min(limits::INTERCEPT_POLL_INTERVAL);
        let mut interests = Vec::with_capacity(SIDES.len());
        let mut has_unread = false;
        let reads = [self.accepts(0, now), self.accepts(1, now)];
        for (at, reads) in reads.into_iter().enumerate() {
            let way = &self.ways[1 - at];
            let writes = !way.out.is_empty() && !way.is_over || self.streams[at].wants_write();
            has_unread |= reads && self.streams[at].has_unread();
            // A closed socket is always ready, so it is polled only if needed.
            if reads || writes {
                interests.push(PollInterest { stream: self.streams[at].socket(), reads, writes });
            }
        }
        os::poll(&interests, if has_unread { Duration::ZERO } else { time }).map(drop)
    }
}

/// The conversation of a new connection. Without a requested dialect, messages are packets only if
/// the path is unique to tickwire servers.
fn conversation<'a>(proxy: &'a ProxyState, heads: &UpgradeHeads) -> Conversation<'a> {
    let codes = &*proxy.config.codes;
    let named = |name: &str| codes.dialects().find(|dialect| dialect.name() == name);
    let Some(first) = codes.dialects().next() else { unreachable!("the tables have a dialect") };
    match proxy.config.dialect.as_deref() {
        Some(name) => {
            named(name).map_or_else(|| Conversation::foreign(first), |found| Conversation::in_dialect(found))
        }
        None => {
            let mut probe = Conversation::new(codes, first);
            probe.receive_each(Side::Client, &heads.request, |_| ());
            if probe.is_ours() { Conversation::new(codes, first) } else { Conversation::foreign(first) }
        }
    }
}

/// Passes a message to the log, the capture and the program.
fn record(proxy: &ProxyState, connection: u64, observation: &Observation<'_, '_>) {
    let at = proxy.began.elapsed();
    if !observation.received.is_empty() {
        proxy.totals.lock().messages[usize::from(observation.from == Side::Server)] += 1;
    }
    if let Some(capture) = &proxy.capture {
        capture.message(connection, observation, at);
    }
    proxy.log.record(connection, observation, at);
    proxy.emit(connection, ProxyEventKind::Message(observation));
}

fn redacted(heads: &UpgradeHeads) -> UpgradeHeads {
    let mut shown = heads.clone();
    head_secrets::redact_head(&mut shown.request);
    head_secrets::redact_head(&mut shown.response);
    shown
}
