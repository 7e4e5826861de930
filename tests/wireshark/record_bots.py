#!/usr/bin/env python3
"""Records what bots of three dialects of one game, and of another game, say in a few seconds, as the server captures it.

    tests/wireshark/record_bots.py PROGRAM FILE
"""

import subprocess
import sys
from pathlib import Path

from record_samples import serve

BOTS, TANKS, PLAYED_S, PATIENCE_S = "12", "3", "5", 60


def main():
    program, path = sys.argv[1], Path(sys.argv[2])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    server, port = serve(program, "127.0.0.1:0", "--capture", str(path), "--room", "arena=tanks")
    url = f"ws://127.0.0.1:{port}"
    command = [program, "bots", "--play", "--seconds", PLAYED_S, "--count"]
    try:
        tanks = subprocess.Popen([*command, TANKS, url + "/r/arena/"], stdout=subprocess.DEVNULL)
        subprocess.run([*command, BOTS, "--dialect", "native,legacy,letters", url],
                       check=True, stdout=subprocess.DEVNULL, timeout=PATIENCE_S)
        if tanks.wait(PATIENCE_S) != 0:
            sys.exit("the bots of the other game failed")
    finally:
        server.terminate()
        server.wait(PATIENCE_S)


if __name__ == "__main__":
    main()
