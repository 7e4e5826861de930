"""Plays moo with a lane for datagrams: PROTOCOL.md, "The lane for datagrams".

    cargo run --release -- --lane udp
    python3 -m pip install msgpack websockets cryptography
    python3 examples/clients/lane.py ws://localhost:3000/play [PERCENT]

It walks in a circle for five seconds. PERCENT of the datagrams are lost, in both directions.
"""

import random
import socket
import struct
import sys
import time

import msgpack
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from websockets.sync.client import connect

# Codes of the native dialect.
HELLO, MOVE = 1, 3
WELCOME, UPDATE, SPAWNED, ERROR = 1, 2, 3, 8
LANE_REQUEST = LANE_OFFER = 126
# Kinds of messages in a datagram.
PACKET, COMMANDS, RECEIVED = 1, 2, 3
NO_TICK = 0xFFFFFFFF
HEADER = struct.Struct(">IHHI")
TAG_BYTES = 16
PLAY_S, COMMAND_EVERY_S, DATAGRAM_EVERY_S = 5, 0.1, 0.05
# A command that is not acknowledged for so long goes in the WebSocket as well.
PATIENCE_S = 0.4


def nearest(low, near):
    """The number nearest to `near` with these lower 16 bits."""
    return near + ((low - near + 0x8000) & 0xFFFF) - 0x8000


def message(kind, content):
    return struct.pack(">BH", kind, len(content)) + content


class Lane:
    """The client's end of a lane."""

    def __init__(self, address, connection, key, port, loss):
        self.connection, self.cipher, self.loss = connection, ChaCha20Poly1305(key), loss
        self.socket = socket.socket(address.family, socket.SOCK_DGRAM)
        self.socket.connect((address.getpeername()[0], port))
        self.socket.setblocking(False)
        # The last number sent, the newest received, all received, and those that the server has.
        self.sequence, self.newest, self.received, self.acked = 0, 0, set(), set()

    def send(self, messages):
        self.sequence += 1
        bits = sum(1 << bit for bit in range(32) if self.newest - 1 - bit in self.received)
        header = HEADER.pack(self.connection, self.sequence & 0xFFFF, self.newest & 0xFFFF, bits)
        datagram = header + self.cipher.encrypt(struct.pack(">IQ", 0, self.sequence), messages, header)
        if random.random() >= self.loss:
            try:
                self.socket.send(datagram)
            except OSError:
                pass  # As good as lost.

    def receive(self):
        """The messages that have arrived."""
        while True:
            try:
                datagram = self.socket.recv(2048)
            except OSError:
                return
            if random.random() >= self.loss and len(datagram) >= HEADER.size + TAG_BYTES:
                yield from self.open(datagram[:HEADER.size], datagram[HEADER.size:])

    def open(self, header, sealed):
        connection, low, acked, bits = HEADER.unpack(header)
        sequence = nearest(low, self.newest)
        if connection != self.connection or sequence in self.received or sequence < max(1, self.newest - 64):
            return
        try:
            messages = self.cipher.decrypt(struct.pack(">IQ", 1, sequence), sealed, header)
        except InvalidTag:
            return
        self.received.add(sequence)
        self.newest = max(self.newest, sequence)
        acked = nearest(acked, self.sequence)
        numbers = [acked] + [acked - 1 - bit for bit in range(32) if bits >> bit & 1]
        self.acked.update(number for number in numbers if number > 0)
        while messages:
            kind, length = struct.unpack_from(">BH", messages)
            yield kind, messages[3:3 + length]
            messages = messages[3 + length:]


def command_block(commands):
    """All commands that the server may lack, without target ticks. A repeated one is a single bit."""
    same, bodies, previous = 0, b"", None
    for _, direction, _ in commands:
        same = same << 1 | (direction == previous)
        if direction != previous:
            body = msgpack.packb(MOVE) + msgpack.packb([direction])
            bodies += bytes([0, len(body)]) + body
        previous = direction
    size = (len(commands) + 7) // 8
    same <<= 8 * size - len(commands)
    return struct.pack(">IIBB", commands[0][0], NO_TICK, 0, len(commands)) + same.to_bytes(size, "big") + bodies


class Player:
    """Sends commands, in datagrams and where necessary in the WebSocket, and follows its position."""

    def __init__(self, websocket, loss):
        self.websocket, self.loss, self.lane = websocket, loss, None
        self.can_play, self.tick, self.path = False, -1, []
        # Commands that the server may lack: sequence, direction, time. The last one that was made,
        # that went in the WebSocket, and that the server has.
        self.pending, self.sequence, self.streamed, self.known = [], 0, 0, 0
        self.in_websocket, self.updates = 0, {"datagram": 0, "WebSocket": 0}
        self.send(HELLO, 1, 1, "lane.py", None)

    def send(self, code, *arguments):
        self.websocket.send(msgpack.packb([code, arguments]))

    def on_packet(self, packet, way):
        code, arguments = msgpack.unpackb(packet)
        if code == WELCOME:
            self.send(LANE_REQUEST)
        elif code == LANE_OFFER:
            self.lane = Lane(self.websocket.socket, *arguments, self.loss)
        elif code == SPAWNED:
            self.can_play = True
        elif code == ERROR:
            raise SystemExit(": ".join(arguments))
        elif code == UPDATE:
            self.updates[way] += 1
            tick, own = (*arguments, None)[:2]
            if tick > self.tick and own:
                self.tick = tick
                self.path.append((own[2] / 65536, own[3] / 65536))

    def receive(self):
        try:
            while True:
                self.on_packet(self.websocket.recv(timeout=0), "WebSocket")
        except TimeoutError:
            pass
        for kind, content in self.lane.receive() if self.lane else ():
            if kind == PACKET:
                self.on_packet(content, "datagram")
            elif kind == RECEIVED:
                self.known = max(self.known, *struct.unpack(">I", content))
        self.pending = [command for command in self.pending if command[0] > self.known]

    def move(self, now):
        self.sequence += 1
        # An angle is a u16. Each direction is held for three commands.
        self.pending.append((self.sequence, self.sequence // 3 * 4096 & 0xFFFF, now))

    def flush(self, now):
        """Sends a datagram, and in the WebSocket what must or should not wait for the lane."""
        self.lane.send(message(COMMANDS, command_block(self.pending[:64])) if self.pending else b"")
        is_first = self.known == 0
        late = [sequence for sequence, _, made in self.pending if is_first or now - made > PATIENCE_S]
        # With all earlier ones: the server rejects a command that is older than its last one.
        for sequence, direction, _ in self.pending:
            if self.streamed < sequence <= max(late, default=0):
                self.send(MOVE, sequence, None, direction)
                self.streamed, self.in_websocket = sequence, self.in_websocket + 1

    def play(self):
        began = time.monotonic()
        end = next_command = next_datagram = None
        while end is None or time.monotonic() < end or self.pending:
            self.receive()
            now = time.monotonic()
            if now - began > 2 * PLAY_S + 10:
                raise SystemExit("the server acknowledges nothing")
            if self.lane and self.can_play:
                if end is None:
                    end, next_command, next_datagram = now + PLAY_S, now, now
                if next_command <= now < end:
                    self.move(now)
                    next_command = now + COMMAND_EVERY_S
                if next_datagram <= now:
                    self.flush(now)
                    next_datagram = now + DATAGRAM_EVERY_S
            time.sleep(0.005)
        self.lane.socket.close()

    def report(self):
        lane, (start, *_, end) = self.lane, self.path
        print(f"{self.known} of {self.sequence} commands acknowledged, {self.in_websocket} went in the WebSocket as well")
        print(f"{len(lane.received)} of {lane.newest} datagrams received, {len(lane.acked)} of {lane.sequence} acknowledged")
        print(f"updates by datagram: {self.updates['datagram']}, by WebSocket: {self.updates['WebSocket']}")
        print("from {:.0f}, {:.0f} to {:.0f}, {:.0f} px".format(*start, *end))


with connect(sys.argv[1], compression=None) as opened:
    player = Player(opened, float(sys.argv[2]) / 100 if len(sys.argv) > 2 else 0)
    player.play()
player.report()
