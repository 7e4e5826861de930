"""Walks in a circle in moo, with a lane for datagrams (PROTOCOL.md). Loses PERCENT of them, in both directions.

    cargo run --release -- --lane udp
    python3 -m pip install msgpack websockets cryptography
    python3 examples/clients/lane.py ws://localhost:3000/play [PERCENT]
"""

import random
import socket
import struct
import sys
import time
from contextlib import suppress

import msgpack
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from websockets.sync.client import connect

# Codes of the native dialect.
HELLO, MOVE, LANE_REQUEST = 1, 3, 126
UPDATE, SPAWNED, ERROR, LANE_OFFER = 2, 3, 8, 126
# Kinds of messages in a datagram.
PACKET, COMMANDS, RECEIVED = 1, 2, 3
NO_TICK, HEADER = 0xFFFFFFFF, struct.Struct(">IHHI")
# A datagram is sent in each turn, a command in every second one. The WebSocket carries it too after PATIENCE turns.
TURN_S, TURNS, PATIENCE = 0.05, 100, 8


class Lane:
    """The client's end of a lane: numbers, seals, opens and acknowledges datagrams."""

    def __init__(self, address, connection, key, port, loss):
        self.connection, self.cipher, self.loss = connection, ChaCha20Poly1305(key), loss
        self.socket = socket.socket(address.family, socket.SOCK_DGRAM)
        self.socket.connect((address.getpeername()[0], port))
        self.socket.setblocking(False)
        # The last sequence number sent, the newest received, and all received.
        self.sequence, self.newest, self.received = 0, 0, set()

    def send(self, messages):
        self.sequence += 1
        bits = sum(1 << bit for bit in range(32) if self.newest - 1 - bit in self.received)
        header = HEADER.pack(self.connection, self.sequence & 0xFFFF, self.newest & 0xFFFF, bits)
        if random.random() >= self.loss:
            with suppress(OSError):
                self.socket.send(header + self.cipher.encrypt(struct.pack(">IQ", 0, self.sequence), messages, header))

    def received_messages(self):
        with suppress(OSError):
            while True:
                datagram = self.socket.recv(2048)
                if len(datagram) >= HEADER.size and random.random() >= self.loss:
                    with suppress(InvalidTag):
                        yield from self.open(datagram[:HEADER.size], datagram[HEADER.size:])

    def open(self, header, sealed):
        connection, low, _, _ = HEADER.unpack(header)
        # The number nearest to the newest one with these lower 16 bits.
        sequence = self.newest + ((low - self.newest + 0x8000) & 0xFFFF) - 0x8000
        if connection != self.connection or sequence in self.received or sequence < max(1, self.newest - 64):
            return
        messages = self.cipher.decrypt(struct.pack(">IQ", 1, sequence), sealed, header)
        self.received.add(sequence)
        self.newest = max(self.newest, sequence)
        while messages:
            kind, length = struct.unpack_from(">BH", messages)
            yield kind, messages[3:3 + length]
            messages = messages[3 + length:]


def direction_of(sequence):
    return sequence // 3 * 4096 & 0xFFFF  # An angle as u16, the same for three commands.


def command_block(sequences):
    """A message with commands without target ticks. A repeated command is one bit."""
    bits, bodies, previous = "", b"", None
    for direction in map(direction_of, sequences):
        bits += "01"[direction == previous]
        if direction != previous:
            body = msgpack.packb(MOVE) + msgpack.packb([direction])
            bodies += bytes([0, len(body)]) + body
        previous = direction
    same = bytes(int(bits[at:at + 8].ljust(8, "0"), 2) for at in range(0, len(bits), 8))
    content = struct.pack(">IIBB", sequences[0], NO_TICK, 0, len(sequences)) + same + bodies
    return struct.pack(">BH", COMMANDS, len(content)) + content


class Player:
    """Sends commands by datagram and, where necessary, in the WebSocket. Follows its position."""

    def __init__(self, websocket, loss):
        self.websocket, self.loss, self.lane = websocket, loss, None
        # Sequence numbers: of the last command, the last in the WebSocket, the last acknowledged.
        self.sequence, self.streamed, self.known = 0, 0, 0
        self.tick, self.position, self.by_datagram = -1, None, 0
        self.send(HELLO, 1, 1, "lane.py", None)

    def send(self, code, *arguments):
        self.websocket.send(msgpack.packb([code, arguments]))

    def on_packet(self, packet, is_datagram):
        code, arguments = msgpack.unpackb(packet)
        if code == SPAWNED:
            self.send(LANE_REQUEST)
        elif code == LANE_OFFER:  # Later versions append arguments.
            self.lane = Lane(self.websocket.socket, *arguments[:3], self.loss)
        elif code == ERROR:
            raise SystemExit(": ".join(arguments))
        elif code == UPDATE:
            self.by_datagram += is_datagram
            tick, own = (*arguments, None)[:2]
            if own and tick > self.tick:
                self.tick, self.position = tick, (own[2] >> 16, own[3] >> 16)

    def receive(self):
        with suppress(TimeoutError):
            while True:
                self.on_packet(self.websocket.recv(timeout=0), is_datagram=False)
        for kind, content in self.lane.received_messages() if self.lane else ():
            if kind == PACKET:
                self.on_packet(content, is_datagram=True)
            elif kind == RECEIVED:
                self.known = max(self.known, *struct.unpack(">I", content))

    def flush(self, turn):
        """Sends all commands without an acknowledgement by datagram, and some in the WebSocket."""
        pending = range(self.known + 1, self.sequence + 1)[:64]
        self.lane.send(command_block(pending) if pending else b"")
        # The WebSocket carries all commands until the first one is acknowledged, and overdue ones.
        last = (turn - PATIENCE) // 2 if self.known else self.sequence
        for sequence in range(max(self.streamed, self.known) + 1, min(last, self.sequence) + 1):
            self.send(MOVE, sequence, None, direction_of(sequence))
            self.streamed = sequence


turn = 0
with connect(sys.argv[1], compression=None) as opened:
    player = Player(opened, float(sys.argv[2]) / 100 if len(sys.argv) > 2 else 0)
    while turn < TURNS or player.known < player.sequence and turn < 3 * TURNS:
        player.receive()
        if player.lane:
            player.sequence = min(turn, TURNS) // 2
            player.flush(turn)
            turn += 1
        time.sleep(TURN_S)
    player.lane.socket.close()
print(f"{player.known} of {player.sequence} commands acknowledged, updates by datagram: {player.by_datagram}")
print(f"{len(player.lane.received)} of {player.lane.newest} datagrams received, position: {player.position} px")
