"""Connections behind TLS, opened by the keys that the client wrote down: the README's way with SSLKEYLOGFILE.

Both ends are Python's, with memory between them instead of a network; what they say is written as segments to port 443.
"""

import ssl
import subprocess
import tempfile
from pathlib import Path

from capture_file import CLIENT, SERVER, CaptureFile, Connection, frame
from checks import run_named
from make_samples import AIM_6, CHAT_7, MOVE_4, MOVE_5, PONG
from tshark import SECONDS, fields, tshark


class Flights:
    """Stands where a capture's connection takes its segments: what is said becomes TLS records, and these the segments."""

    def __init__(self, connection, folder, version):
        self.connection, self.pipes, self.ends = connection, {}, {}
        for side, purpose in ((CLIENT, ssl.PROTOCOL_TLS_CLIENT), (SERVER, ssl.PROTOCOL_TLS_SERVER)):
            context = ssl.SSLContext(purpose)
            context.minimum_version = context.maximum_version = version
            context.set_alpn_protocols(["http/1.1"])
            if side == CLIENT:
                context.load_verify_locations(folder / "certificate.pem")
                context.keylog_filename = str(folder / "keys.log")
            else:
                context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
            self.pipes[side] = ssl.MemoryBIO(), ssl.MemoryBIO()
            name = "play.example.org" if side == CLIENT else None
            self.ends[side] = context.wrap_bio(*self.pipes[side], server_side=side == SERVER, server_hostname=name)

    def carry(self, side):
        """Takes one side's records to the other; false where there are none."""
        records = self.pipes[side][1].read()
        if records:
            self.connection.segment(side, records)
            self.pipes[SERVER if side == CLIENT else CLIENT][0].write(records)
        return bool(records)

    def shake_hands(self):
        done, carried = set(), True
        while carried:
            carried = False
            for side in (CLIENT, SERVER):
                try:
                    self.ends[side].do_handshake()
                    done.add(side)
                except ssl.SSLWantReadError:
                    pass
                carried = self.carry(side) or carried
        assert done == {CLIENT, SERVER}

    def say(self, side, data):
        self.ends[side].write(data)
        self.carry(side)
        other = self.ends[SERVER if side == CLIENT else CLIENT]
        heard = b""
        while len(heard) < len(data):
            heard += other.read()
        assert heard == data


class Told:
    """A connection of a capture whose segments are said to somebody else."""

    def __init__(self, say):
        self.connection = Connection(CaptureFile())
        self.connection.open, self.connection.segment = lambda: None, say


def certificate(folder):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=play.example.org",
                    "-addext", "subjectAltName=DNS:play.example.org", "-keyout", str(folder / "key.pem"),
                    "-out", str(folder / "certificate.pem")], check=True, capture_output=True, timeout=SECONDS)


# What is asked for, with which subprotocol, in which version, what is said, and what is to be seen.
NATIVE = ([(CLIENT, frame(CLIENT, MOVE_4) + frame(CLIENT, MOVE_5)), (SERVER, frame(SERVER, PONG)), (CLIENT, frame(CLIENT, CHAT_7[:5], fin=False)),
           (CLIENT, frame(CLIENT, CHAT_7[5:], opcode=0)), (CLIENT, frame(CLIENT, AIM_6))],
          ["to_server move", "to_server move", "to_client pong", "to_server chat", "to_server aim"])
LEGACY = ([(SERVER, frame(SERVER, bytes.fromhex("92a131 91 07"))), (CLIENT, frame(CLIENT, bytes.fromhex("92a23333 91 cb3ff921fb54442d18")))],
          ["to_client setup", "to_server move"])
JSON = ([(CLIENT, frame(CLIENT, b'["ping",[7]]', opcode=1)), (SERVER, frame(SERVER, b'["pong",[7,1]]', opcode=1))],
        ["to_server ping", "to_client pong"])
CASES = [
    ("/play", "tickwire.v1", ssl.TLSVersion.TLSv1_3, "native", NATIVE),
    ("/play", None, ssl.TLSVersion.TLSv1_3, "native", NATIVE),
    ("/play", "tickwire.v1", ssl.TLSVersion.TLSv1_2, "native", NATIVE),
    ("/play?format=json", None, ssl.TLSVersion.TLSv1_3, "native as JSON", JSON),
    ("/moomoo", None, ssl.TLSVersion.TLSv1_3, "legacy", LEGACY),
]


def opened_by_keys(target, subprotocol, version, dialect, conversation):
    said, wanted = conversation
    with tempfile.TemporaryDirectory() as name:
        folder, file = Path(name), CaptureFile()
        certificate(folder)
        outer = Connection(file, server=("192.0.2.1", 443))
        outer.open()
        flights = Flights(outer, folder, version)
        flights.shake_hands()
        Told(flights.say).connection.upgrade(target, subprotocol)
        for side, data in said:
            flights.say(side, data)
        outer.close()
        capture = folder / "tls.pcapng"
        file.write(capture)
        keys = ("-o", f"tls.keylog_file:{folder / 'keys.log'}")
        columns = ("-Y", "tickwire", "-T", "fields", "-E", "aggregator=|", "-e", "tickwire.direction", "-e", "tickwire.packet", "-e",
                   "tickwire.dialect", "-e", "tickwire.rule")
        rows = [line.split("\t") for line in tshark(capture, *keys, *columns).splitlines()]
        if fields(capture, "tickwire", "tickwire.packet"):
            return "packets are seen without the keys"
    found = [" ".join(pair) for row in rows for pair in zip(row[0].split("|"), row[1].split("|"))]
    dialects = {one for row in rows for one in row[2].split("|")}
    rules = [row[3] for row in rows if row[3]]
    return "" if found == wanted and dialects == {dialect} and not rules else f"{found} {dialects} {rules}, should be {wanted} {dialect}"


def all_checks():
    for case in CASES:
        target, subprotocol, version, *_ = case
        name = f"{target}{' as ' + subprotocol if subprotocol else ''} in {version.name}"
        yield f"tls: {name}", lambda case=case: opened_by_keys(*case)


def run_all(results):
    run_named(results, all_checks())
