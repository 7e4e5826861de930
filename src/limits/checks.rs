//! Relations between the limits, checked at compile time.

use super::*;

const _: () = {
    assert!(CONTROL_PAYLOAD_BYTES < 126, "RFC 6455 5.5: a control frame has a 7-bit length");
    assert!(TARGET_BYTES < HEAD_BYTES);
    assert!(MESSAGE_BYTES < CLIENT_BYTES_BURST as usize, "the longest message must fit the byte budget");
    assert!(READ_BYTES < CLIENT_STACK_BYTES / 8);
    assert!(
        PING_INTERVAL.as_secs() <= 25,
        "nginx and HAProxy drop idle tunnels after 60 s: two pings must fit in that time"
    );
    assert!(IDLE_TIMEOUT.as_secs() > 3 * PING_INTERVAL.as_secs());
    assert!(MAX_PENDING_REQUESTS_PER_ADDRESS < MAX_PENDING_REQUESTS);
    assert!(
        DISPLACED_WAIT.as_millis() < SHUTDOWN_CLOSE_TIMEOUT.as_millis(),
        "shutdown waits for the listener, which may wait this long"
    );
    assert!(
        ADDRESS_CLIENTS_BURST as usize > CLIENTS_PER_ADDRESS
            && ADDRESS_JOINS_BURST as usize > CLIENTS_PER_ADDRESS
    );
    assert!(ADDRESS_CLIENTS_BURST < ADDRESS_CONNECTIONS_BURST, "every new client is also a new connection");
    assert!(MIN_PLAYER_ID_COOLDOWN.as_millis() > MAX_COMMAND_LEAD_MS as u128);
    assert!(MIN_PLAYER_ID_COOLDOWN.as_millis() < PLAYER_ID_COOLDOWN.as_millis());
    assert!(HEAD_TIMEOUT.as_secs() < HELLO_TIMEOUT.as_secs());
    assert!(MAX_OPERATOR_LINE_BYTES < ADMIN_BODY_BYTES);
    assert!(
        ECHO_COPIES * MAX_ECHO_MESSAGE_BYTES <= ECHO_MEMORY_BYTES,
        "at least one client must fit in memory"
    );
    assert!(
        (COMMANDS_PER_PLAYER_TICK as u32) * MAX_COMMAND_LEAD_MS * 15 / 1000 >= CLIENT_MESSAGES_BURST,
        "at any tick rate from 15 Hz, the ticks ahead hold what a line delivers at once after a stall"
    );
    assert!(
        COMMAND_BYTES_PER_PLAYER_TICK >= PACKET_VALUES * 8 && MESSAGE_BYTES <= COMMAND_BYTES_PER_PLAYER_TICK
    );
    assert!(PRIVATE_NAME_CHARS <= ROOM_NAME_CHARS);
    assert!(
        (PRIVATE_NAME_CHARS - "p-".len() - PRIVATE_NAME_VISIBLE_CHARS) * 5 >= 96,
        "what logs hide of a private name, at 5 bits a character, cannot be guessed"
    );
    assert!(EXPLAIN_PASTED_BYTES < EXPLAIN_HAR_BYTES && EXPLAIN_HAR_BYTES < EXPLAIN_BYTES);
    assert!(CONNECT_MAX_LINE_BYTES > 4 * MESSAGE_BYTES, "the longest message can be typed in hexadecimal");
    assert!(MAX_TOKEN_CHARS * 4 < HEAD_BYTES);
    assert!(TOKENS < u32::MAX as usize, "a token has a number of 32 bits");
    assert!(WRONG_TOKEN_DELAY.as_secs() < HELLO_TIMEOUT.as_secs());
    assert!(CAPTURE_SEGMENT_BYTES + 128 < 65_535, "an IP packet has 16 bits for its length");
    assert!(SEND_QUEUE_BYTES < INSPECTOR_RING_BYTES);
    assert!(SNAPSHOT_PART_BYTES / 3 * 4 + 1024 < CLIENT_MESSAGE_BYTES, "a part fits a message as base64");
    assert!(SNAPSHOT_MOST_BYTES <= SNAPSHOT_REASSEMBLED_BYTES);
    assert!(NETEM_MSS_BYTES < RELAY_READ_BYTES && RELAY_READ_BYTES < NETEM_QUEUE_BYTES);
    assert!(NETEM_QUEUE_BYTES < LINK_WINDOW_BYTES);
    assert!(NETEM_MIN_RTO.as_millis() < NETEM_MAX_RTO.as_millis());
    assert!(INSPECTOR_QUEUE_BYTES / 2 * (2 + 17) < INSPECTOR_MESSAGE_BYTES);
};

#[cfg(not(target_family = "wasm"))]
const _: () = {
    let (lease, timeout) = (CLUSTER_LEASE.as_millis(), CLUSTER_STORE_TIMEOUT.as_millis());
    assert!(
        CLUSTER_RENEW_INTERVAL.as_millis() * 2 + timeout * 2 + CLUSTER_LEASE_MARGIN.as_millis() <= lease,
        "a lease outlasts a renewal that is lost and the one after it"
    );
    assert!(lease < CLUSTER_ROOM_WAIT.as_millis(), "a request outlasts the lease of a dead process");
    assert!(CLUSTER_MAX_OUTAGE.as_secs() * 2 < CLUSTER_RECORD_TIME.as_secs());
};
