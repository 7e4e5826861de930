"""Datagrams of lanes: captures of one player by the server and by the network, with and without the key."""

import struct
import tempfile
from pathlib import Path

from capture_file import SERVER, CaptureFile, Connection
from checks import run_named
from tshark import SAMPLES, fields, run, tshark

KEYS = SAMPLES / "lane.keys"
# Datagrams of `sealed`.
COUNT = 59
WITH_KEYS = ("-o", f"tickwire.key_log:{KEYS}")
SHOWN = ["connection", "number", "acknowledged", "missing", "message", "kind", "length", "same", "command", "received_commands"]
NAMES = [*(f"tickwire.datagram.{name}" for name in SHOWN), "tickwire.packet", "tickwire.code", "tickwire.sequence", "tickwire.own.x"]


def shown(sample, *more, display_filter="tickwire.datagram"):
    """The values of each datagram's fields, by direction and number."""
    arguments = [part for name in NAMES for part in ("-e", name)]
    printed = tshark(sample, *more, "-Y", display_filter, "-T", "fields", "-e", "_ws.col.Info", *arguments)
    found = {}
    for line in printed.splitlines():
        info, *values = line.split("\t")
        found[info[0], values[1]] = values
    return found


def packets_of(path):
    """Bytes of the packets of a capture that `capture_file` wrote."""
    data, at, found = path.read_bytes(), 0, []
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 6:
            found.append(data[at + 28:at + 28 + struct.unpack_from("<I", data, at + 20)[0]])
        at += length
    return found


def the_network_shows_what_the_server_has():
    """Datagrams in both captures have equal values, and each capture has datagrams that the network then lost."""
    own, network = shown("lane"), shown("sealed", *WITH_KEYS)
    both = own.keys() & network.keys()
    different = [(own[key], network[key]) for key in both if own[key] != network[key]]
    if different:
        return f"{different[0]}"
    lost = len(own.keys() - network.keys()), len(network.keys() - own.keys())
    return "" if len(both) > 30 and min(lost) > 0 else f"{len(both)} in both, {lost} in one"


def without_a_key_nothing_is_opened():
    notes = fields("sealed", "tickwire.datagram.expert.no_key", "tickwire.datagram.message", "tickwire.datagram.tag")
    opened = fields("sealed", "tickwire.datagram.message || tickwire.packet || tickwire.rule", "frame.number")
    return "" if len(notes) == COUNT and not opened and all(tag and not message for message, tag in notes) else f"{notes} {opened}"


def a_wrong_key_is_a_wrong_tag():
    label, connection, key, client = KEYS.read_text().split()
    other = f"{int(key[0], 16) ^ 1:x}{key[1:]}"
    with tempfile.NamedTemporaryFile("w", suffix=".log") as log:
        log.write(f"# other lines are ignored\n{label} {connection} {other} {client}\n")
        log.flush()
        printed = tshark("sealed", "-o", f"tickwire.key_log:{log.name}", "-Y", "tickwire.datagram", "-T", "fields", "-e", "tickwire.rule",
                         "-e", "tickwire.datagram.message")
    return "" if printed == "datagram_wrong_tag\t\n" * COUNT else printed


def a_lane_offer_has_the_key():
    """A capture of `ws://`, on a port that is not in the preferences. A key of zeros opens nothing."""
    _, connection, key, _ = KEYS.read_text().split()
    found = []
    for secret in (bytes.fromhex(key), bytes(32)):
        file = CaptureFile()
        stream = Connection(file)
        stream.upgrade("/play")
        stream.say(SERVER, b"\x92\x7e\x93\xce" + bytes.fromhex(connection) + b"\xc4\x20" + secret + b"\xcd\x0b\xb8")
        for packet in packets_of(SAMPLES / "sealed.pcapng"):
            file.add(stream.at_ns, packet)
        with tempfile.NamedTemporaryFile(suffix=".pcapng") as capture:
            file.write(capture.name)
            found.append(shown(Path(capture.name), display_filter="tickwire.datagram.message || tickwire.datagram.expert.no_key"))
            by = fields(Path(capture.name), "tickwire.datagram.opened_by", "tickwire.datagram.opened_by", "tickwire.dialect.guess")
        if secret != bytes(32) and {tuple(row) for row in by} - {("lane_offer", "")}:
            return f"{by}"
    wanted = {key: values for key, values in shown("sealed", *WITH_KEYS).items() if values[4]}
    with_key = {key: values for key, values in found[0].items() if values[4]}
    opened = [values for values in found[1].values() if values[4]]
    return "" if with_key == wanted and len(wanted) > 40 and not opened else f"{with_key}, should be {wanted}; {opened}"


def comments_may_be_lost():
    """A pcap file has no comments: opened datagrams are recognized on the server's port."""
    with tempfile.TemporaryDirectory() as folder:
        older = Path(folder) / "lane.pcap"
        run(["editcap", "-F", "pcap", str(SAMPLES / "lane.pcapng"), str(older)], check=True)
        port = fields("lane", "frame.number == 36", "udp.dstport")[0][0]
        found, wanted = shown(older, "-o", f"tickwire.ports:{port}"), shown("lane")
    return "" if found == wanted else f"{found}, should be {wanted}"


def cut_datagrams_show_their_header():
    """Datagrams truncated by `editcap -s` are not malformed and break no rule."""
    wanted = len(shown("lane"))
    for most in (41, 50, 62):
        with tempfile.TemporaryDirectory() as folder:
            cut = Path(folder) / "cut.pcapng"
            run(["editcap", "-s", str(most), str(SAMPLES / "lane.pcapng"), str(cut)], check=True)
            rows = fields(cut, "tickwire.datagram", "tickwire.datagram.number", "tickwire.rule", "_ws.malformed")
        if len(rows) != wanted or any(rule or malformed or not number for number, rule, malformed in rows):
            return f"{most} bytes: {len(rows)} of {wanted}, {rows}"
    return ""


def run_all(results):
    run_named(results, [
        ("lane: the network shows what the server has", the_network_shows_what_the_server_has),
        ("lane: without a key nothing is opened", without_a_key_nothing_is_opened),
        ("lane: a wrong key is a wrong tag", a_wrong_key_is_a_wrong_tag),
        ("lane: a lane_offer has the key", a_lane_offer_has_the_key),
        ("lane: comments may be lost", comments_may_be_lost),
        ("lane: cut datagrams show their header", cut_datagrams_show_their_header),
    ])
