#!/usr/bin/env python3
"""Makes the capture of the lessons, docs/lessons/lessons.pcapng: the frames that they explain, as two conversations.

    tests/wireshark/make_lessons.py [--check]

`--check` compares with the committed file instead.
"""

import sys
import tempfile
from pathlib import Path

from capture_file import CLIENT, SERVER, CaptureFile, Connection, frame

ROOT = Path(__file__).resolve().parents[2]
COMMITTED = ROOT / "docs/lessons/lessons.pcapng"


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


def main():
    with tempfile.TemporaryDirectory() as folder:
        check = sys.argv[1:] == ["--check"]
        path = Path(folder) / COMMITTED.name if check else COMMITTED
        lessons().write(path)
        if check and path.read_bytes() != COMMITTED.read_bytes():
            sys.exit(f"{COMMITTED.relative_to(ROOT)} is stale; make it again with tests/wireshark/make_lessons.py")


if __name__ == "__main__":
    main()
