#!/usr/bin/env python3
"""Records the sample captures that are conversations with a real server: native, legacy, letters, json, ipv6, server.

    tests/wireshark/record_samples.py PROGRAM
    tests/wireshark/record_samples.py PROGRAM lane

The second command records `lane` and `sealed` alone. PROGRAM is a built tickwire. It is started on a free port of this machine; four clients of different dialects play beside one
another for some seconds, and what each said and heard is written down as packets. No rights are needed: the bytes are those
of the sockets, the TCP around them is made here, with addresses of documentation and the server's usual port. `server` alone is what the server itself writes with `--capture`.
"""

import re
import selectors
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

from capture_file import CLIENT, SERVER, CaptureFile, Connection, frame

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "scripts/wireshark/samples"
SECONDS = 4.0


def pack(value):
    """MessagePack of what the scripts below say."""
    if value is None:
        return b"\xc0"
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        return bytes([value]) if 0 <= value < 128 else struct.pack(">BI", 0xCE, value)
    if isinstance(value, float):
        return struct.pack(">Bd", 0xCB, value)
    if isinstance(value, str):
        return bytes([0xA0 | len(value.encode())]) + value.encode()
    if isinstance(value, dict):
        return bytes([0x80 | len(value)]) + b"".join(pack(k) + pack(v) for k, v in value.items())
    return bytes([0x90 | len(value)]) + b"".join(map(pack, value))


# When each client says what: seconds after the upgrade, and the packet, or bytes of a text message.
NATIVE = [
    (0.0, [1, [1, 1, "Anna", 2]]), (0.5, [3, [1, None, 16384]]), (1.0, [6, [7]]), (1.2, [4, [2, None, 8192]]),
    (1.5, [8, [3, None, 1]]), (2.0, [5, [4, None, "hello"]]), (2.5, [8, [5, None, 0]]), (2.6, [3, [6, None, None]]),
    (2.8, [11, [7, None, "wolves"]]), (3.2, [16, [8, None]]),
]
LEGACY = [
    (0.0, ["sp", [{"name": "Ben", "moofoll": True, "skin": 4}]]), (0.6, ["33", [1.57]]), (1.0, ["pp", []]),
    (1.3, ["2", [-0.79]]), (1.7, ["ch", ["hello yourself"]]), (2.0, ["5", [0, False]]), (2.4, ["c", [1, 0.5]]),
    (2.7, ["c", [0]]), (3.0, ["33", [None]]), (3.2, ["10", ["wolves"]]),
]
LETTERS = [
    (0.0, ["M", [{"name": "Cleo", "skin": 1}]]), (0.7, ["9", [3.14]]), (1.1, ["0", []]), (1.4, ["D", [2.36]]),
    (1.8, ["6", ["good day"]]), (2.2, ["F", [1, 3.14]]), (2.9, ["F", [0]]), (3.1, ["9", [None]]),
]
JSON = [
    (0.0, b'["hello",[1,1,"Dora",5]]'), (0.6, b'["move",[1,null,49152]]'), (1.0, b'["ping",[99]]'),
    (1.6, '["chat",[2,null,"h\u00e9llo"]]'.encode()), (2.4, b'["move",[3,null,null]]'),
]
CLIENTS = [
    ("native", "/play", "tickwire.v1", NATIVE), ("legacy", "/", None, LEGACY), ("letters", "/server", None, LETTERS),
    ("json", "/play?format=json", None, JSON),
]


class Client:
    """One client: its socket, and what was said on it."""

    def __init__(self, address, target, subprotocol, script):
        self.socket = socket.create_connection(address)
        self.script = list(script)
        self.said = []
        asks = f"Sec-WebSocket-Protocol: {subprotocol}\r\n" if subprotocol else ""
        self.send((f"GET {target} HTTP/1.1\r\nHost: localhost:3000\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                   f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGlja3dpcmUtc2FtcGxlcw==\r\n{asks}\r\n").encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += self.socket.recv(1)
        self.note(SERVER, head)

    def note(self, side, data):
        self.said.append((time.time_ns(), side, data))

    def send(self, data):
        self.note(CLIENT, data)
        self.socket.sendall(data)

    def hear(self):
        self.note(SERVER, self.socket.recv(32768))

    def speak(self, since):
        while self.script and self.script[0][0] <= since:
            packet = self.script.pop(0)[1]
            is_text = isinstance(packet, bytes)
            self.send(frame(CLIENT, packet if is_text else pack(packet), 1 if is_text else 2))

    def close(self):
        self.send(frame(CLIENT, struct.pack(">H", 1000), 8))
        while data := self.socket.recv(32768):
            self.note(SERVER, data)
        self.socket.close()

    def write(self, path, ends):
        file = CaptureFile()
        connection = Connection(file, *ends, at_ns=self.said[0][0] - 4 * Connection.STEP_NS)
        connection.open()
        for at_ns, side, data in self.said:
            connection.segment(side, data, at_ns=at_ns)
        connection.close()
        file.write(path)


def play(address, clients):
    """All clients beside one another, in one world."""
    playing = {name: Client(address, *rest) for name, *rest in clients}
    watch = selectors.DefaultSelector()
    for client in playing.values():
        watch.register(client.socket, selectors.EVENT_READ, client)
    begin = time.monotonic()
    while (since := time.monotonic() - begin) < SECONDS:
        for key, _ in watch.select(timeout=0.02):
            key.data.hear()
        for client in playing.values():
            client.speak(since)
    for client in playing.values():
        client.close()
    return playing


def serve(program, bind, *more):
    server = subprocess.Popen([program, "serve", "--bind", bind, "--bots", "0", "--update-hz", "10", "--moomoo-update-hz", "5", *more],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in server.stdout:
        if found := re.search(r":(\d+)/", line):
            return server, int(found.group(1))
    sys.exit(f"{program} did not say where it listens")


# Shortens examples/clients/lane.py from five seconds to two.
PLAY = ("TURN_S, TURNS, PATIENCE = 0.05, 100,", "TURN_S, TURNS, PATIENCE = 0.05, 40,")


def wait_for(stream, words):
    for line in stream:
        if words in line:
            return
    sys.exit(f"nothing says {words!r}")


def record_lane(program):
    """Records a player with a lane on a network with loss: `lane` by the server, `sealed` by the network, and `lane.keys`. Needs the packages of
    tests/clients/requirements.txt in target/clients, permission to capture on lo, and the port 3000."""
    own, network, keys = SAMPLES / "lane.pcapng", SAMPLES / "sealed.pcapng", SAMPLES / "lane.keys"
    for file in (own, network, keys):
        file.unlink(missing_ok=True)
    server, port = serve(program, "127.0.0.1:3000", "--lane", "udp", "--key-log", str(keys), "--capture-plain", "--capture", str(own))
    line = subprocess.Popen([program, "netem", "--bind", f"127.0.0.2:{port}", "--upstream", f"127.0.0.1:{port}", "--delay", "60ms",
                             "--jitter", "20ms", "--loss", "10%"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    wait_for(line.stdout, "netem http")
    tshark = subprocess.Popen(["tshark", "-i", "lo", "-f", f"udp port {port} and host 127.0.0.2", "-F", "pcap", "-w", str(network)],
                              stderr=subprocess.PIPE, text=True)
    wait_for(tshark.stderr, "started")
    source = (ROOT / "examples/clients/lane.py").read_text()
    if PLAY[0] not in source:
        sys.exit("lane.py has other constants")
    subprocess.run([ROOT / "target/clients/bin/python", "-c", source.replace(*PLAY), f"ws://127.0.0.2:{port}/play"], check=True)
    # tshark needs a moment to receive the last packets.
    time.sleep(1)
    for program in (tshark, line, server):
        program.terminate()
        program.wait(60)
    without_ethernet(network)


def without_ethernet(path):
    """Rewrites a capture of lo as IP packets, without data of this machine."""
    data, at, file = path.read_bytes(), 24, CaptureFile()
    while at < len(data):
        seconds, micros, length, _ = struct.unpack_from("<IIII", data, at)
        file.add(seconds * 10**9 + micros * 1000, data[at + 16 + 14:at + 16 + length])
        at += 16 + length
    file.write(path)


def main():
    program = sys.argv[1]
    if sys.argv[2:] == ["lane"]:
        return record_lane(program)
    server, port = serve(program, "127.0.0.1:0")
    for place, (name, client) in enumerate(play(("127.0.0.1", port), CLIENTS).items()):
        client.write(SAMPLES / f"{name}.pcapng", (("192.0.2.7", 40001 + place), ("192.0.2.1", 3000)))
    server.terminate()
    server.wait()
    server, port = serve(program, "[::1]:0")
    (client,) = play(("::1", port), [CLIENTS[0]]).values()
    client.write(SAMPLES / "ipv6.pcapng", (("2001:db8::7", 40001), ("2001:db8::1", 3000)))
    server.terminate()
    server.wait()
    own = SAMPLES / "server.pcapng"
    own.unlink(missing_ok=True)
    server, port = serve(program, "127.0.0.1:0", "--tick-hz", "15", "--map-size", "4000", "--capture", str(own))
    play(("127.0.0.1", port), CLIENTS[:2])
    server.terminate()
    server.wait()


if __name__ == "__main__":
    main()
