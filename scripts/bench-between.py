#!/usr/bin/env python3
"""Measures the time that `tickwire between` adds to a message, against a bare TCP relay in the same run.

    scripts/bench-between.py [--program target/release/tickwire] [--seconds 10] [--bytes 200] [-- FLAGS OF between]

An echo server (`tickwire echo`) is behind a relay of two threads and behind the proxy. Each millisecond one message goes through
each of them, in turn, and its round trip is measured. A round trip passes the proxy twice. The program prints the medians, the 99th
percentiles and their differences in microseconds; it fails if the difference of the 99th percentiles is 1 ms or more.
"""

import argparse
import json
import re
import socket
import subprocess
import threading
import time

KEY = b"\x37\xfa\x21\x3d"


def frame(payload):
    """A masked text frame."""
    masked = bytes(byte ^ KEY[at % 4] for at, byte in enumerate(payload))
    length = len(payload)
    head = bytes([0x81, 0x80 | length]) if length < 126 else b"\x81\xfe" + length.to_bytes(2, "big")
    return head + KEY + masked


def pump(source, target):
    """Carries bytes until one side ends."""
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass


def relay(port):
    """Starts the bare relay. Returns its port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        client, _ = listener.accept()
        server = socket.create_connection(("127.0.0.1", port))
        for one in (client, server):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=pump, args=(client, server), daemon=True).start()
        pump(server, client)

    threading.Thread(target=serve, daemon=True).start()
    return listener.getsockname()[1]


def upgrade(port):
    """A connection after the upgrade."""
    stream = socket.create_connection(("127.0.0.1", port))
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    stream.sendall(
        b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    head = b""
    while b"\r\n\r\n" not in head:
        head += stream.recv(4096)
    assert head.startswith(b"HTTP/1.1 101 "), head
    return stream


def round_trip(stream, message, reply_bytes):
    """Seconds from the send to the whole reply."""
    began = time.perf_counter()
    stream.sendall(message)
    missing = reply_bytes
    while missing > 0:
        missing -= len(stream.recv(65536))
    return time.perf_counter() - began


def at(values, share):
    """The value at a share of the sorted list, in microseconds."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="target/release/tickwire")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--bytes", type=int, default=200)
    parser.add_argument("flags", nargs="*")
    given = parser.parse_args()
    echo = subprocess.Popen([given.program, "echo", "--bind", "127.0.0.1:0", "--log", "off"], stdout=subprocess.PIPE, text=True)
    echo_port = int(re.search(r":(\d+)", echo.stdout.readline()).group(1))
    command = [given.program, "between", "--upstream", f"ws://127.0.0.1:{echo_port}", "--bind", "127.0.0.1:0", "--page", "127.0.0.1:0", "--json"]
    between = subprocess.Popen(command + given.flags, stdout=subprocess.PIPE, text=True)
    port = int(json.loads(between.stdout.readline())["address"].rsplit(":", 1)[1])
    threading.Thread(target=lambda: [None for _ in between.stdout], daemon=True).start()
    try:
        bare, proxied = upgrade(relay(echo_port)), upgrade(port)
        message = frame(b"x" * given.bytes)
        reply_bytes = len(message) - len(KEY)
        trips = ([], [])
        began = due = time.perf_counter()
        while len(trips[0]) < given.seconds * 1000:
            due = max(due + 0.001, time.perf_counter() - 0.05)
            time.sleep(max(0, due - time.perf_counter()))
            for stream, into in zip((bare, proxied), trips):
                into.append(round_trip(stream, message, reply_bytes))
        rate = len(trips[0]) / (time.perf_counter() - began)
        print(f"{len(trips[0])} messages of {given.bytes} bytes through each, {rate:.0f} a second")
        for name, values in zip(("relay", "between"), trips):
            print(f"{name:8} median {at(values, 0.5):7.0f} us   p99 {at(values, 0.99):7.0f} us")
        added = at(trips[1], 0.99) - at(trips[0], 0.99)
        print(f"added    median {at(trips[1], 0.5) - at(trips[0], 0.5):7.0f} us   p99 {added:7.0f} us")
        return 0 if added < 1000 else 1
    finally:
        for process in (between, echo):
            process.terminate()
            process.wait()


if __name__ == "__main__":
    raise SystemExit(main())
