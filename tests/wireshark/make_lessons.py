#!/usr/bin/env python3
"""Makes the captures of the lessons, in docs/lessons/: the frames that they explain.

    tests/wireshark/make_lessons.py [--check]

`--check` compares with the committed file instead.
"""

import sys
import tempfile
from pathlib import Path

from capture_file import ACK, CLIENT, FIN, SERVER, CaptureFile, Connection, frame

RST = 0x04

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs/lessons"


def lessons():
    """Some server on port 8080 that repeats what it hears; then a game."""
    file = CaptureFile()
    echo = Connection(file, server=("192.0.2.1", 8080))
    echo.upgrade("/")
    for side in (CLIENT, SERVER):
        echo.say(side, b"Hello", opcode=1)
    for length in (125, 126):
        echo.say(SERVER, bytes(length))
    echo.segment(SERVER, frame(SERVER, b"Hel", opcode=1, fin=False))
    echo.say(SERVER, b"", opcode=9)
    echo.say(CLIENT, b"", opcode=10)
    echo.segment(SERVER, frame(SERVER, b"lo", opcode=0))
    for side in (CLIENT, SERVER):
        echo.say(side, b"\x03\xe8", opcode=8)
    echo.close()
    game = Connection(file, client=("192.0.2.7", 40002))
    game.upgrade("/play", subprotocol="tickwire.v1")
    game.say(CLIENT, bytes.fromhex("92 05 93 01 c0 a26869"))
    game.say(CLIENT, bytes.fromhex("92 03 93 11 cd04b0 cd4000"))
    game.close()
    return file


def segments():
    """Frames and segments: three frames in one, one frame in three, a header in two, a repeated and a missing one."""
    file = CaptureFile()
    echo = Connection(file, server=("192.0.2.1", 8080))
    echo.upgrade("/")
    echo.segment(SERVER, b"".join(frame(SERVER, text, opcode=1) for text in (b"one", b"two", b"three")))
    long = frame(SERVER, b"a message of 62 bytes, which the network carries in 3 segments", opcode=1)
    for part in (long[:1], long[1:20], long[20:]):
        echo.segment(SERVER, part)
    again = echo.next[CLIENT]
    echo.say(CLIENT, b"Hello", opcode=1)
    echo.next[CLIENT] = again
    echo.say(CLIENT, b"Hello", opcode=1)
    whole = frame(SERVER, b"0123456789", opcode=1)
    echo.segment(SERVER, whole[:4])
    echo.next[SERVER] += 4
    echo.segment(SERVER, whole[8:])
    echo.say(SERVER, b"after", opcode=1)
    echo.close()
    return file


def closings():
    """Six connections that end: properly, without a close frame, with a reset, by a rule, with bytes afterwards, and by the server."""
    file = CaptureFile()

    def begin(port):
        connection = Connection(file, client=("192.0.2.7", port), server=("192.0.2.1", 8080))
        connection.upgrade("/")
        connection.say(CLIENT, b"Hello", opcode=1)
        return connection

    proper = begin(40001)
    proper.say(CLIENT, b"\x03\xe8", opcode=8)
    proper.say(SERVER, b"\x03\xe8", opcode=8)
    proper.segment(SERVER, flags=FIN | ACK)
    proper.segment(CLIENT, flags=FIN | ACK)
    begin(40002).close()
    begin(40003).segment(CLIENT, flags=RST | ACK)
    rule = begin(40004)
    rule.segment(CLIENT, bytes.fromhex("810548656c6c6f"))
    rule.say(SERVER, b"\x03\xeamask_missing", opcode=8)
    rule.segment(SERVER, flags=FIN | ACK)
    rule.segment(CLIENT, flags=FIN | ACK)
    late = begin(40005)
    late.say(CLIENT, b"\x03\xe8", opcode=8)
    late.say(CLIENT, b"too late", opcode=1)
    late.say(SERVER, b"\x03\xe8", opcode=8)
    late.segment(SERVER, flags=FIN | ACK)
    late.segment(CLIENT, flags=FIN | ACK)
    away = begin(40006)
    away.say(SERVER, b"\x03\xe9going_away", opcode=8)
    away.say(CLIENT, b"\x03\xe9", opcode=8)
    away.segment(SERVER, flags=FIN | ACK)
    away.segment(CLIENT, flags=FIN | ACK)
    return file


FILES = {"lessons.pcapng": lessons, "segments.pcapng": segments, "closings.pcapng": closings}


def main():
    check = sys.argv[1:] == ["--check"]
    with tempfile.TemporaryDirectory() as folder:
        for name, make in FILES.items():
            committed = FOLDER / name
            path = Path(folder) / name if check else committed
            make().write(path)
            if check and path.read_bytes() != committed.read_bytes():
                sys.exit(f"{committed.relative_to(ROOT)} is stale; make it again with tests/wireshark/make_lessons.py")


if __name__ == "__main__":
    main()
