"""Capture files made of bytes that somebody said: pcapng, IP, TCP, WebSocket.

Comes in: what each end of a connection said, and when. Goes out: the packets of a file that Wireshark reads. Never: a
socket. Written apart from the server's own writer, so that the two can disagree.
"""

import base64
import hashlib
import ipaddress
import struct

RAW_IP, USER0 = 101, 147
CLIENT, SERVER = "client", "server"


def block(kind, body):
    body += bytes(-len(body) % 4)
    length = len(body) + 12
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)


def option(code, value):
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


class CaptureFile:
    """Packets in the order in which they are added. Interface 0 holds IP, interface 1 the records of a world."""

    def __init__(self):
        self.blocks = [block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))]
        nanoseconds = option(9, b"\x09") + option(0, b"")
        for link, name in ((RAW_IP, b"clients"), (USER0, b"world")):
            self.blocks.append(block(1, struct.pack("<HHI", link, 0, 0) + option(2, name) + nanoseconds))
        self.packets = 0

    def add(self, at_ns, data, interface=0):
        head = struct.pack("<IIIII", interface, at_ns >> 32, at_ns & 0xFFFFFFFF, len(data), len(data))
        self.blocks.append(block(6, head + data))
        self.packets += 1

    def write(self, path):
        with open(path, "wb") as file:
            file.write(b"".join(self.blocks))


def checksum(data):
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


SYN, FIN, PUSH, ACK = 0x02, 0x01, 0x08, 0x10


class Connection:
    """One TCP connection of a capture. Each call adds packets; sequence numbers follow from what was said."""

    STEP_NS = 1_000_000

    def __init__(self, file, client=("192.0.2.7", 40001), server=("192.0.2.1", 3000), at_ns=1_700_000_000_000_000_000):
        self.file, self.at_ns = file, at_ns
        self.ends = {CLIENT: client, SERVER: server}
        self.next = {CLIENT: 1000, SERVER: 5000}

    def segment(self, side, data=b"", flags=ACK | PUSH, at_ns=None):
        self.at_ns = at_ns if at_ns is not None else self.at_ns + self.STEP_NS
        other = SERVER if side == CLIENT else CLIENT
        (source, source_port), (target, target_port) = self.ends[side], self.ends[other]
        source, target = ipaddress.ip_address(source).packed, ipaddress.ip_address(target).packed
        acknowledged = self.next[other] if flags & ACK else 0
        head = struct.pack(">HHIIBBHHH", source_port, target_port, self.next[side], acknowledged, 0x50, flags, 65535, 0, 0)
        length = len(head) + len(data)
        pseudo = source + target + struct.pack(">HH" if len(source) == 4 else ">II", *((6, length) if len(source) == 4 else (length, 6)))
        tcp = head[:16] + struct.pack(">H", checksum(pseudo + head + data)) + head[18:] + data
        if len(source) == 4:
            ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + length, 0, 0x4000, 64, 6, 0) + source + target
            ip = ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:]
        else:
            ip = struct.pack(">IHBB", 0x60000000, length, 6, 64) + source + target
        self.file.add(self.at_ns, ip + tcp)
        self.next[side] = (self.next[side] + len(data) + bool(flags & (SYN | FIN))) & 0xFFFFFFFF

    def open(self):
        self.segment(CLIENT, flags=SYN)
        self.segment(SERVER, flags=SYN | ACK)
        self.segment(CLIENT, flags=ACK)

    def upgrade(self, target, subprotocol=None):
        self.open()
        key = base64.b64encode(b"tickwire-samples")
        accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
        asks = f"Sec-WebSocket-Protocol: {subprotocol}\r\n".encode() if subprotocol else b""
        self.segment(CLIENT, b"GET " + target.encode() + b" HTTP/1.1\r\nHost: localhost:3000\r\nUpgrade: websocket\r\n"
                     b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + key + b"\r\n" + asks + b"\r\n")
        self.segment(SERVER, b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                     b"Sec-WebSocket-Accept: " + accept + b"\r\n" + asks + b"\r\n")

    def say(self, side, payload, opcode=2):
        self.segment(side, frame(side, payload, opcode))

    def close(self):
        self.segment(CLIENT, flags=FIN | ACK)
        self.segment(SERVER, flags=FIN | ACK)
        self.segment(CLIENT, flags=ACK)


KEY = bytes.fromhex("37fa213d")


def frame(side, payload, opcode=2, fin=True):
    """A WebSocket frame; a client's is masked with a key that is always the same, so that files can be made again."""
    mask = 0x80 if side == CLIENT else 0
    head = bytes([(0x80 if fin else 0) | opcode])
    if len(payload) < 126:
        head += bytes([mask | len(payload)])
    elif len(payload) < 65536:
        head += bytes([mask | 126]) + struct.pack(">H", len(payload))
    else:
        head += bytes([mask | 127]) + struct.pack(">Q", len(payload))
    if not mask:
        return head + payload
    return head + KEY + bytes(value ^ KEY[place % 4] for place, value in enumerate(payload))
