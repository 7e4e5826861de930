#!/usr/bin/env python3
"""Records what bots of three dialects say in a few seconds, as the server captures it.

    tests/wireshark/record_bots.py PROGRAM FILE
"""

import subprocess
import sys
from pathlib import Path

from record_samples import serve

BOTS, PLAYED_S, PATIENCE_S = "12", "5", 60


def main():
    program, path = sys.argv[1], Path(sys.argv[2])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    server, port = serve(program, "127.0.0.1:0", "--capture", str(path))
    try:
        subprocess.run([program, "bots", "--play", "--count", BOTS, "--seconds", PLAYED_S, "--dialect", "native,legacy,letters",
                        f"ws://127.0.0.1:{port}"], check=True, stdout=subprocess.DEVNULL, timeout=PATIENCE_S)
    finally:
        server.terminate()
        server.wait(PATIENCE_S)


if __name__ == "__main__":
    main()
