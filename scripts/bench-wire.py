#!/usr/bin/env python3
"""Measures what watchers of /wire cost: the gaps between the updates of bots, and the server's CPU time, with and without watchers.

    scripts/bench-wire.py [--watchers N] [--bots N] [--seconds N] [--rounds N] [--against PROGRAM]

--against is another tickwire program, such as one built from the commit before a change. Each round runs every program with and without watchers, in
changing order, each on a new server. Each watcher watches another client, has a source address of its own, and reads everything. The script has no
threshold; it exits with 1 if a bot was disconnected or found an error.
"""

import argparse
import base64
import json
import os
import random
import re
import socket
import statistics
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(HERE, "target"))
OWN = os.path.join(TARGET, "release", "tickwire")
TICKS = os.sysconf("SC_CLK_TCK")


class Watcher(threading.Thread):
    """Reads everything that the server sends to a watcher, and counts the bytes."""

    def __init__(self, port, number, client):
        super().__init__(daemon=True)
        self.number, self.client, self.bytes, self.is_watching = number, client, 0, False
        self.socket = socket.create_connection(("127.0.0.1", port), source_address=(f"127.1.0.{number + 1}", 0))
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            (
                f"GET /wire HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Protocol: tickwire.wire\r\n\r\n"
            ).encode()
        )

    def run(self):
        begin = b""
        while True:
            try:
                data = self.socket.recv(1 << 16)
            except OSError:
                return
            if not data:
                return
            self.bytes += len(data)
            if not self.is_watching:
                begin += data
                self.choose(begin)

    def choose(self, begin):
        """Once the list of clients has come, each watcher takes another one of it."""
        ids = re.findall(rb'"id":(\d+)', begin)
        if b" 101 " in begin[:20] and len(ids) > self.client:
            self.is_watching = True
            text = json.dumps({"select": int(ids[self.client])}).encode()
            mask = os.urandom(4)
            self.socket.sendall(bytes([0x81, 0x80 | len(text)]) + mask + bytes(byte ^ mask[at % 4] for at, byte in enumerate(text)))


def cpu_of(process):
    """CPU seconds of a process so far."""
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def run(program, watchers, args):
    """One server with its bots and watchers: p99 gap in ms, CPU seconds a second, kB a second to each watcher, watchers that were let in."""
    # A variable, because a program to compare with may have no such flag.
    environment = {**os.environ, "TICKWIRE_BOTS": "0"}
    server = subprocess.Popen(
        [program, "--bind", "127.0.0.1:0", "--log", "error"], env=environment, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
    )
    try:
        port = next(int(found[1]) for line in server.stdout if (found := re.search(r"bind 127\.0\.0\.1:(\d+)", line)))
        # The same bots for each program.
        bots = subprocess.Popen(
            [OWN, "bots", "--json", "--count", str(args.bots), "--seconds", str(args.seconds), f"ws://127.0.0.1:{port}"], stdout=subprocess.PIPE, text=True
        )
        time.sleep(1.5)
        here = [Watcher(port, number, number) for number in range(watchers)]
        for watcher in here:
            watcher.start()
        time.sleep(1)
        sent, cpu, at = sum(watcher.bytes for watcher in here), cpu_of(server), time.monotonic()
        out = bots.communicate()[0]
        passed = time.monotonic() - at
        report, let_in = json.loads(out), [watcher for watcher in here if watcher.is_watching]
        if report["error_count"] or report["disconnect_count"]:
            sys.exit(f"the bots found errors: {out}")
        kilobytes = (sum(watcher.bytes for watcher in here) - sent) / max(1, len(let_in)) / passed / 1000
        return report["gap_p99_ms"], (cpu_of(server) - cpu) / passed, kilobytes, len(let_in)
    finally:
        server.terminate()
        server.wait()


def main():
    words = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    words.add_argument("--watchers", type=int, default=10)
    words.add_argument("--bots", type=int, default=200)
    words.add_argument("--seconds", type=int, default=8)
    words.add_argument("--rounds", type=int, default=5)
    words.add_argument("--against", metavar="PROGRAM")
    args = words.parse_args()
    subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=HERE, check=True)
    programs = {"this": OWN} | ({"other": args.against} if args.against else {})
    cases = [(name, watchers) for name in programs for watchers in (0, args.watchers)]
    found = {case: [] for case in cases}
    for _ in range(args.rounds):
        for case in random.sample(cases, len(cases)):
            found[case].append(run(programs[case[0]], case[1], args))
    print(f"{args.bots} bots, {args.seconds} s, {args.rounds} rounds; medians, and the smallest and largest")
    for case, runs in found.items():
        gap, cpu, kilobytes, let_in = zip(*runs)
        about = [f"{statistics.median(of):.{digits}f} ({min(of):.{digits}f} to {max(of):.{digits}f})" for of, digits in ((gap, 1), (cpu, 3), (kilobytes, 1))]
        print(f"{case[0]:5} {min(let_in):3} of {case[1]} watchers  p99 gap {about[0]} ms  CPU {about[1]} s/s  to each watcher {about[2]} kB/s")


main()
