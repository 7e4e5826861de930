#!/usr/bin/env python3
"""Makes the sample captures that need no server: scripts/wireshark/samples/{packets,odd,mid-stream,broken,world}.pcapng.

    tests/wireshark/make_samples.py [--check]

Bytes of the packets are those of tests/fixtures/packets.tsv, which another MessagePack library made; those of `broken` and
`world` are written here by hand. `--check` compares with the committed files instead. The other samples are conversations
with a real server: record_samples.py makes those.
"""

import struct
import sys
import tempfile
from pathlib import Path

from capture_file import CLIENT, SERVER, CaptureFile, Connection, frame

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "scripts/wireshark/samples"
TARGETS = {
    "native": "/play",
    "legacy": "/",
    "letters": "/server",
    "letters-2024": "/server?dialect=letters-2024",
    "letters-2023": "/moomoo?x=1&dialect=letters-2023",
}


def fixtures():
    """Rows of dialect, direction, name, what, bytes, arguments as JSON."""
    for line in (ROOT / "tests/fixtures/packets.tsv").read_text().splitlines()[1:]:
        dialect, direction, name, what, payload, arguments = line.split("\t")
        yield dialect, direction, name, what, bytes.fromhex(payload), arguments


def sender(direction):
    return CLIENT if direction == "to_server" else SERVER


def packets():
    """Every fixture as one message, in one connection a dialect."""
    file = CaptureFile()
    for place, (dialect, target) in enumerate(TARGETS.items()):
        connection = Connection(file, client=("192.0.2.7", 40001 + place))
        connection.upgrade(target, "tickwire.v1" if dialect == "native" else None)
        for _, direction, _, _, payload, _ in (row for row in fixtures() if row[0] == dialect):
            connection.say(sender(direction), payload)
        connection.close()
    return file


# [3, [sequence, nil, direction]]: move, in the native dialect.
MOVE_4 = bytes.fromhex("920393 04 c0 cd4000")
MOVE_5 = bytes.fromhex("920393 05 cd0100 c0")
AIM_6 = bytes.fromhex("920493 06 c0 cd8000")
CHAT_7 = bytes.fromhex("920593 07 c0 a6 737072697465")
PONG = bytes.fromhex("920792 2a ce00010000")


def odd():
    """What TCP and WebSocket do to messages: several in a segment, one across segments, fragments, no subprotocol."""
    file = CaptureFile()
    connection = Connection(file)
    connection.upgrade("/play")
    connection.segment(CLIENT, frame(CLIENT, MOVE_4) + frame(CLIENT, MOVE_5) + frame(CLIENT, AIM_6))
    whole = frame(CLIENT, CHAT_7)
    connection.segment(CLIENT, whole[:3])
    connection.segment(CLIENT, whole[3:11])
    connection.segment(CLIENT, whole[11:] + frame(CLIENT, MOVE_4))
    connection.segment(CLIENT, frame(CLIENT, AIM_6[:4], fin=False))
    connection.segment(CLIENT, frame(CLIENT, AIM_6[4:], opcode=0))
    connection.say(CLIENT, b"are you there?", opcode=9)
    connection.say(SERVER, b"are you there?", opcode=10)
    connection.say(SERVER, PONG)
    connection.say(CLIENT, b"\x03\xe8bye", opcode=8)
    connection.say(SERVER, b"\x03\xe8bye", opcode=8)
    connection.close()
    other = Connection(file, client=("192.0.2.7", 40002), server=("192.0.2.1", 51234))
    other.upgrade("/server")
    other.say(CLIENT, bytes.fromhex("92a139 91 cb3ff921fb54442d18"))
    other.close()
    again = Connection(file, client=("192.0.2.8", 40002), server=("192.0.2.1", 51234))
    again.upgrade("/moomoo")
    again.say(SERVER, bytes.fromhex("92a131 91 07"))
    again.say(CLIENT, bytes.fromhex("92a23333 91 cb3ff921fb54442d18"))
    again.close()
    http = Connection(file, client=("192.0.2.7", 40003), server=("192.0.2.1", 8080))
    http.upgrade("/play")
    http.say(CLIENT, MOVE_4)
    http.say(SERVER, PONG)
    http.close()
    return file


def mid_stream():
    """Connections whose upgrade is not there. The first begins within a frame."""
    file = CaptureFile()
    native = Connection(file)
    native.segment(CLIENT, frame(CLIENT, CHAT_7)[9:])
    native.say(CLIENT, MOVE_4)
    native.say(SERVER, PONG)
    native.segment(SERVER, frame(SERVER, PONG) + frame(SERVER, PONG))
    legacy = Connection(file, client=("192.0.2.7", 40002))
    legacy.say(CLIENT, bytes.fromhex("92a23333 91 cb3ff921fb54442d18"))
    legacy.say(SERVER, bytes.fromhex("92a131 91 07"))
    letters = Connection(file, client=("192.0.2.7", 40003))
    letters.say(SERVER, bytes.fromhex("92a143 91 07"))
    letters.say(CLIENT, bytes.fromhex("92a139 91 cb3ff921fb54442d18"))
    return file


# What is wrong, in which dialect and direction, the rule, and the bytes. `checks.tsv` says what the tree shows.
BROKEN = [
    ("native", CLIENT, "packet_truncated", "920393 04 c0 cd40"),
    ("native", CLIENT, "packet_reserved_byte", "920393 04 c0 c1"),
    ("native", CLIENT, "packet_declared_size", "920593 07 c0 af 7370"),
    ("native", CLIENT, "packet_invalid_utf8", "920593 07 c0 a2 c328"),
    ("native", CLIENT, "packet_trailing_bytes", "920393 04 c0 cd4000 00"),
    ("letters", CLIENT, "packet_duplicate_key", "92a14d 91 82 a46e616d65 a141 a46e616d65 a142"),
    ("letters", CLIENT, "packet_key_not_text", "92a14d 91 81 01 a141"),
    ("native", CLIENT, "packet_too_deep", "920393 04 c0 91919191919191"),
    ("native", CLIENT, "packet_too_many_values", "920393 04 c0 dc0400" + "00" * 1024),
    ("native", CLIENT, "packet_ext_type", "920393 04 c0 d40100"),
    ("native", CLIENT, "packet_envelope", "01"),
    ("native", CLIENT, "packet_envelope", "91c0"),
    ("native", CLIENT, "wrong_arguments", "920393 04 c0 ce00010000"),
    ("native", CLIENT, "wrong_arguments", "920393 04 a131 00"),
    ("native", CLIENT, "wrong_arguments", "920390"),
    ("native", CLIENT, "wrong_arguments", "920305"),
    ("letters", CLIENT, "wrong_arguments", "92a139 91 cb7ff8000000000000"),
    ("letters", SERVER, "wrong_arguments", "92a161 91 92 01 02"),
    ("native", SERVER, "wrong_arguments", "920a91 93 01 02 05"),
    ("native", CLIENT, "unknown_code", "927f90"),
    ("letters", CLIENT, "unknown_code", "92a3626f6f 90"),
    ("json", CLIENT, "packet_bad_json", b'["move",[1,null'.hex()),
    ("json", CLIENT, "packet_too_deep", b"[[[[[[[[1]]]]]]]]".hex()),
    ("json", CLIENT, "packet_duplicate_key", b'[3,[1,null,{"a":1,"a":2}]]'.hex()),
    ("json", CLIENT, "unknown_code", b'["fly",[]]'.hex()),
    ("json", CLIENT, "wrong_arguments", b'["move",[1,null,0.5]]'.hex()),
    ("native in text", CLIENT, "wrong_frame_type", b'["move",[1,null,3]]'.hex()),
    ("native in text", CLIENT, "wrong_frame_type", b"Hello".hex()),
    ("native in text", SERVER, "wrong_frame_type", b'["pong",[7,1]]'.hex()),
    ("letters in text", CLIENT, "wrong_frame_type", b'["9",[1.5]]'.hex()),
    ("json in binary", CLIENT, "wrong_frame_type", b'["move",[1,null,3]]'.hex()),
    ("json in binary", CLIENT, "wrong_frame_type", "920393 04 c0 cd4000"),
    ("json in binary", SERVER, "wrong_frame_type", "920792 2a ce00010000"),
    ("native again", CLIENT, "packet_envelope", b"[".hex()),
    ("json again", CLIENT, "packet_bad_json", b"Hello".hex()),
]
# Paths of their connections, and the opcode of the messages.
BROKEN_TARGETS = {
    "native": ("/play", 2),
    "letters": ("/server", 2),
    "json": ("/play?format=json", 1),
    "native in text": ("/play", 1),
    "letters in text": ("/server?format=msgpack", 1),
    "json in binary": ("/play?format=json", 2),
    "native again": ("/play", 2),
    "json again": ("/play?format=json", 1),
}


def broken():
    """One message for each rule that a message can break."""
    file = CaptureFile()
    for place, (dialect, (target, opcode)) in enumerate(BROKEN_TARGETS.items()):
        connection = Connection(file, client=("192.0.2.7", 40001 + place))
        connection.upgrade(target)
        for _, side, _, payload in (row for row in BROKEN if row[0] == dialect):
            connection.say(side, bytes.fromhex(payload), opcode)
        connection.close()
    return file


def text(value):
    return bytes([len(value)]) + value


def command(player, sequence, kind, rest=b""):
    return struct.pack("<HQB", player, sequence, kind) + rest


COMMANDS = [
    command(0, 1, 0, struct.pack("<HB", 7, 3) + text("Anna".encode())),
    command(0, 2, 1, struct.pack("<H", 8)),
    command(7, 1, 2, b"\x00"),
    command(7, 2, 2, b"\x01" + struct.pack("<H", 16384)),
    command(7, 3, 3, struct.pack("<H", 32768)),
    command(7, 4, 4, text(b"hi")),
    command(7, 5, 5, b"\x01"),
    command(7, 6, 6, b"\x02" + text(b"Ben")),
    command(0, 3, 7, struct.pack("<HBI", 7, 1, 500)),
    command(7, 7, 8, b"\x11"),
    command(7, 8, 9, b"\x01\x03"),
    command(7, 9, 10, text(b"wolves")),
    command(7, 10, 11),
    command(7, 11, 12, text(b"bears")),
    command(7, 12, 13, struct.pack("<HB", 9, 1)),
    command(7, 13, 14, struct.pack("<H", 9)),
    command(7, 14, 15),
    command(0, 4, 16, struct.pack("<BBHH", 1, 3, 700, 800)),
    command(0, 0x1_0000_0005, 17, text(b"good evening")),
]


def record(kind, layout, *fields, room=b""):
    return bytes((3, kind)) + text(room) + struct.pack(layout, *fields)


def world():
    """The records of a world: one of each kind, and one that ends too early."""
    file = CaptureFile()
    at_ns = 1_700_000_000_000_000_000
    records = [
        record(1, "<IIIQIHH", 42, 14400, 30, 0x1122334455667788, 900, 0, 2) + b"snapshot",
        record(2, "<QIH", 0xA1B2C3D4E5F60718, 900, len(COMMANDS)) + b"".join(COMMANDS),
        record(2, "<QIH", 0xA1B2C3D4E5F60719, 901, 0),
        record(3, "<Q", 5) + text(b"192.0.2.7:40001") + text(b"native") + struct.pack("<HQB", 7, 15, 1) + b"session",
        record(4, "<IQI", 3, 4096, 880),
        record(5, "<QHH", 5, 7, 40001, room=b"two") + text(b"192.0.2.7:40001"),
        record(2, "<QIH", 1, 902, 1) + command(7, 15, 99),
        record(2, "<QI", 1, 903),
        b"\x01\x01",
    ]
    for place, payload in enumerate(records):
        file.add(at_ns + place * 33_333_333, payload, interface=1)
    return file


def main():
    made = {"packets": packets, "odd": odd, "mid-stream": mid_stream, "broken": broken, "world": world}
    check = sys.argv[1:] == ["--check"]
    with tempfile.TemporaryDirectory() as folder:
        for name, make in made.items():
            committed = SAMPLES / f"{name}.pcapng"
            path = Path(folder) / committed.name if check else committed
            make().write(path)
            if check and path.read_bytes() != committed.read_bytes():
                sys.exit(f"{committed.relative_to(ROOT)} is stale; make it again with tests/wireshark/make_samples.py")


if __name__ == "__main__":
    main()
