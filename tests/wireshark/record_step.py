#!/usr/bin/env python3
"""Records docs/lessons/one-step.pcapng anew: a player joins, walks down for a second, stops and leaves. Needed when the rules of the
world change, since a capture can be run again only by the rules by which it was made.

    tests/wireshark/record_step.py PROGRAM
"""

import subprocess
import sys
from pathlib import Path

from record_samples import serve

COMMITTED = Path(__file__).resolve().parents[2] / "docs/lessons/one-step.pcapng"
SAID = """hello version=1 mode=1 name=Ada
expect spawned
wait 0.2
move sequence=1 direction=16384
wait 1
move sequence=2
wait 0.5
close 1000 bye
wait 0.3
"""


def main():
    program = sys.argv[1]
    COMMITTED.unlink(missing_ok=True)
    server, port = serve(program, "127.0.0.1:0", "--map-size", "1440", "--capture", str(COMMITTED))
    try:
        subprocess.run([program, "connect", f"ws://127.0.0.1:{port}/play"], input=SAID, text=True, check=True, timeout=60)
    finally:
        server.terminate()
        server.wait(60)


if __name__ == "__main__":
    main()
