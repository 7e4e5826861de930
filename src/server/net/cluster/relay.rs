//! Relays: passes the bytes of a client through to the process that has its room.
//!
//! ```text
//!  client ═══ this process ═══ owner      the request head gets one more line:
//!         bytes        bytes              Tickwire-Relay: KEY CLIENT-ADDRESS
//! ```
//!
//! The owner trusts the address because of the key, a secret of its own that only the lease store
//! contains. A request with this line is never relayed again, and never counts as local. A relayed
//! client has a client slot in both processes. A relay stores at most
//! [`limits::CLUSTER_RELAY_BYTES`] in each direction: it reads only after it has written, so a slow
//! end slows the other one.

use std::io;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream, ToSocketAddrs as _};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use tracing::debug;

use crate::limits;
use crate::server::admission::refusal::Refusal;
use crate::server::cluster::Holder;
use crate::server::net::blocking_io::{read, write_all};
use crate::server::net::server_state::ServerState;
use crate::util::address_prefix::AddressPrefix;
use crate::util::os::{self, threads};
use crate::ws::http::RequestHead;

/// Header of a relayed request: the key of the owner, and the address of the client.
const HEADER: &str = "Tickwire-Relay";

/// Returns the client's address of a relayed request; `None` for any other request.
///
/// # Errors
/// The key is not the one of this process: the store has an old address, or the client is not a
/// process of the cluster.
pub fn client_address(host: &ServerState, head: &RequestHead) -> Result<Option<IpAddr>, Refusal> {
    let Some(cluster) = &host.cluster else { return Ok(None) };
    let Some(value) = head.headers.get_all(HEADER).next() else { return Ok(None) };
    let refused = || Refusal::from_rule(503, "relay_key_wrong");
    let (key, address) = value.split_once(' ').ok_or_else(refused)?;
    if !cluster.relay_key.matches(key) {
        return Err(refused());
    }
    address.parse().map(|address: IpAddr| Some(address.to_canonical())).map_err(|_| refused())
}

/// Removes the line of a relayed request, which contains the key, from the bytes of its head.
pub fn remove_header(head: &mut Vec<u8>) {
    let name = format!("\r\n{HEADER}:").into_bytes();
    if let Some(start) = head.windows(name.len()).position(|bytes| bytes.eq_ignore_ascii_case(&name)) {
        let rest = &head[start + 2..];
        let length = rest.windows(2).position(|bytes| bytes == b"\r\n").unwrap_or(rest.len());
        head.drain(start..start + 2 + length);
    }
}

/// Adds the line to the bytes of a request head, after the request line.
fn add_header(head: &[u8], owner: &Holder, client: IpAddr) -> Vec<u8> {
    let end = head.windows(2).position(|bytes| bytes == b"\r\n").map_or(head.len(), |end| end + 2);
    let line = format!("{HEADER}: {} {client}\r\n", owner.relay_key);
    [&head[..end], line.as_bytes(), &head[end..]].concat()
}

/// Connects to the process that has a room.
///
/// # Errors
/// The process cannot be reached.
pub fn connect(owner: &Holder) -> io::Result<TcpStream> {
    let address = owner.address.to_socket_addrs()?.next();
    let address: SocketAddr = address.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    let stream = TcpStream::connect_timeout(&address, limits::CLUSTER_CONNECT_TIMEOUT)?;
    os::configure_accepted(&stream)?;
    Ok(stream)
}

/// Passes bytes in both directions until one end closes. `head` and `early_bytes` are the bytes of
/// the request and after it, `number` and `client` the number of the connection and the address of
/// the client.
pub fn run(
    host: &Arc<ServerState>,
    stream: &Arc<TcpStream>,
    (owner, owner_stream): (&Holder, TcpStream),
    (head, early_bytes): (&[u8], &[u8]),
    (number, client): (u64, IpAddr),
) {
    let Some(cluster) = &host.cluster else { return };
    let owner_stream = Arc::new(owner_stream);
    let request = [&add_header(head, owner, client), early_bytes].concat();
    if write_all(&owner_stream, &request, limits::HEAD_TIMEOUT).is_err() {
        return;
    }
    host.metrics.cluster_relays.inc();
    cluster.add_relay(number, AddressPrefix::from_ip(client));
    let ((ended, has_ended), (back_ended, has_back_ended)) = (channel(), channel());
    let for_thread = (Arc::clone(host), Arc::clone(&owner_stream), Arc::clone(stream));
    let back = move || {
        let (host, from, to) = for_thread;
        pass(&host, &from, &to, &back_ended, &has_ended);
    };
    let stack_bytes = limits::CLUSTER_RELAY_STACK_BYTES;
    match threads::spawn_with_stack("relay", stack_bytes, back) {
        Ok(thread) => {
            pass(host, stream, &owner_stream, &ended, &has_back_ended);
            let _ = thread.join();
        }
        Err(error) => debug!(%error, "a relayed client has no thread"),
    }
    cluster.remove_relay(number);
    host.metrics.cluster_relays.dec();
}

/// Passes bytes in one direction until its source ends, then closes the sending side of the other
/// end. The other direction may continue for [`limits::CLOSE_TIMEOUT`], for the last frames.
fn pass(host: &ServerState, from: &TcpStream, to: &TcpStream, ended: &Sender<()>, other: &Receiver<()>) {
    let mut buffer = vec![0; limits::CLUSTER_RELAY_BYTES];
    // Both ends send within this time: pings, and their answers.
    while let Ok(Some(count @ 1..)) = read(from, &mut buffer, limits::IDLE_TIMEOUT) {
        if write_all(to, &buffer[..count], limits::SEND_STALL_TIME).is_err() {
            break;
        }
        host.metrics.cluster_relayed_bytes.inc_by(count as u64);
    }
    let _ = to.shutdown(Shutdown::Write);
    let _ = ended.send(());
    let _ = other.recv_timeout(limits::CLOSE_TIMEOUT);
    let _ = to.shutdown(Shutdown::Both);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_relayed_request_follows_the_request_line_and_is_removed_again() {
        let head = b"GET /r/a/play HTTP/1.1\r\nHost: x\r\n\r\n";
        let [process, address, public_url] = [const { String::new() }; 3];
        let owner = Holder { process, address, relay_key: "secret".to_owned(), public_url };
        let mut relayed = add_header(head, &owner, [203, 0, 113, 7].into());
        let text = String::from_utf8(relayed.clone()).expect("text");
        assert_eq!(text, "GET /r/a/play HTTP/1.1\r\nTickwire-Relay: secret 203.0.113.7\r\nHost: x\r\n\r\n");
        remove_header(&mut relayed);
        assert_eq!(relayed, head);
        remove_header(&mut relayed);
        assert_eq!(relayed, head);
    }
}
