//! Relations between the limits, checked when the program is compiled.

use super::*;

const _: () = {
    assert!(CONTROL_PAYLOAD_BYTES < 126, "RFC 6455 5.5: a control frame has a 7-bit length");
    assert!(TARGET_BYTES < HEAD_BYTES);
    assert!(MESSAGE_BYTES < CLIENT_BYTES_BURST as usize, "the longest message must fit the byte budget");
    assert!(READ_BYTES < CLIENT_STACK_BYTES / 8);
    assert!(
        PING_EVERY.as_secs() <= 25,
        "nginx and HAProxy drop idle tunnels after 60 s: two pings must fit in that time"
    );
    assert!(SILENCE.as_secs() > 3 * PING_EVERY.as_secs());
    assert!(HEADS_PENDING_PER_ADDRESS < HEADS_PENDING);
    assert!(
        DISPLACED_TIME.as_millis() < STOP_TIME.as_millis(),
        "shutdown waits for the listener, which may wait this long"
    );
    assert!(
        ADDRESS_CLIENTS_BURST as usize > CLIENTS_PER_ADDRESS
            && ADDRESS_JOINS_BURST as usize > CLIENTS_PER_ADDRESS
    );
    assert!(ADDRESS_CLIENTS_BURST < ADDRESS_CONNECTIONS_BURST, "every new client is also a new connection");
    assert!(PLAYER_NUMBER_REST_LEAST.as_millis() > COMMAND_AHEAD_MS as u128);
    assert!(PLAYER_NUMBER_REST_LEAST.as_millis() < PLAYER_NUMBER_REST.as_millis());
    assert!(HEAD_TIME.as_secs() < HELLO_TIME.as_secs());
    assert!(OPERATOR_LINE_BYTES < ADMIN_BODY_BYTES);
    assert!(
        ECHO_COPIES * ECHO_MESSAGE_BYTES_MOST <= ECHO_MEMORY_BYTES,
        "at least one client must fit in memory"
    );
    assert!(
        (COMMANDS_PER_PLAYER_TICK as u32) * COMMAND_AHEAD_MS * 15 / 1000 >= CLIENT_MESSAGES_BURST,
        "at any tick rate from 15 Hz, the ticks ahead hold what a line delivers at once after a stall"
    );
    assert!(
        COMMAND_BYTES_PER_PLAYER_TICK >= PACKET_VALUES * 8 && MESSAGE_BYTES <= COMMAND_BYTES_PER_PLAYER_TICK
    );
    assert!(PRIVATE_NAME_CHARS <= ROOM_NAME_CHARS);
    assert!(
        (PRIVATE_NAME_CHARS - "p-".len() - PRIVATE_NAME_SHOWN) * 5 >= 96,
        "what logs hide of a private name, at 5 bits a character, cannot be guessed"
    );
    assert!(EXPLAIN_PASTED_BYTES < EXPLAIN_BYTES);
    assert!(TALK_LINE_BYTES > 4 * MESSAGE_BYTES, "the longest message can be typed in hexadecimal");
    assert!(TOKEN_CHARS_MOST * 4 < HEAD_BYTES);
    assert!(TOKENS < u32::MAX as usize, "a token has a number of 32 bits");
    assert!(TOKEN_WRONG_DELAY.as_secs() < HELLO_TIME.as_secs());
    assert!(CAPTURE_SEGMENT_BYTES + 128 < 65_535, "an IP packet has 16 bits for its length");
    assert!(OUTBOX_BYTES < INSPECTOR_RING_BYTES);
    assert!(SNAPSHOT_PART_BYTES / 3 * 4 + 1024 < CLIENT_MESSAGE_BYTES, "a part fits a message as base64");
    assert!(SNAPSHOT_MOST_BYTES <= SNAPSHOT_REASSEMBLED_BYTES);
    assert!(LINK_SEGMENT_BYTES < RELAY_READ_BYTES && RELAY_READ_BYTES < LINK_QUEUE_BYTES);
    assert!(LINK_QUEUE_BYTES < LINK_WINDOW_BYTES);
    assert!(LINK_TIMEOUT_LEAST.as_millis() < LINK_TIMEOUT_MOST.as_millis());
    assert!(WIRE_TAP_BYTES / 2 * (2 + 17) < INSPECTOR_MESSAGE_BYTES);
};
