#!/usr/bin/env python3
"""No error of Lua's, whatever a capture has of its packets.

    tests/wireshark/checks_cut.py --every-cut-to BYTES

Every sample, lesson and fixture is read whole and with its packets cut at several lengths, as `editcap -s` leaves them; with
`--every-cut-to` at each length up to that many bytes. The copies of a file differ in their addresses and stand in merged
captures, so that few runs of tshark read all of them.
"""

import struct
import sys
import tempfile
from pathlib import Path

from capture_file import CLIENT, RAW_IP, SERVER, USER0, CaptureFile, Connection, block, frame, option
from checks import run_named
from checks_rules import capture_of, rows
from tshark import ROOT, SAMPLES, Results, fields, tshark

PROBE = ROOT / "tests/wireshark/stack.lua"
ETHERNET = 1
# Lengths of the headers before IP, by link type. Records of a world have no addresses.
LINK_HEADERS = {RAW_IP: 0, ETHERNET: 14}
# Bytes of IP that a copy keeps of each packet: within the headers of IPv4 and TCP, at their end, within the header of a frame, and within
# short and long messages.
CUTS = (39, 40, 41, 42, 44, 47, 50, 56, 67, 90, 160, 400)
WHOLE = 1 << 16
# What a line of tshark has where a script failed.
ERRORS = ("Lua Error", "dissector_error", "Dissector bug")
# Packets of a merged capture, for tshark's memory; and its copies, whose addresses have two bytes of their own.
MOST_PACKETS = 10_000
MOST_COPIES = 1 << 16


def blocks_of(data):
    """The blocks of a little-endian pcapng file: their kinds and bodies."""
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        yield kind, data[at + 8:at + length - 4]
        at += length


def packets_of(path):
    """The packets of a capture: link types and bytes."""
    data = Path(path).read_bytes()
    if data[:4] == bytes.fromhex("d4c3b2a1"):
        (link,), at = struct.unpack_from("<I", data, 20), 24
        while at < len(data):
            (length,) = struct.unpack_from("<I", data, at + 8)
            yield link, data[at + 16:at + 16 + length]
            at += 16 + length
        return
    links = []
    for kind, body in blocks_of(data):
        if kind == 1:
            links += struct.unpack_from("<H", body)
        elif kind == 6:
            interface, _, _, length = struct.unpack_from("<IIII", body)
            yield links[interface], body[20:20 + length]


def readdressed(link, data, copy):
    """The packet with the addresses of a copy."""
    header = LINK_HEADERS.get(link)
    if header is None or len(data) < header + 20:
        return data
    data = bytearray(data)
    for address in ((12, 16) if data[header] >> 4 == 4 else (8, 24)):
        data[header + address + 1] ^= copy & 0xFF
        data[header + address + 2] ^= copy >> 8
    return bytes(data)


class Merged:
    """One capture of many copies."""

    def __init__(self):
        self.file, self.copies, self.packets = CaptureFile(), 0, 0
        self.file.blocks.append(block(1, struct.pack("<HHI", ETHERNET, 0, 0) + option(2, b"ethernet") + option(0, b"")))
        self.interfaces = {RAW_IP: 0, USER0: 1, ETHERNET: 2}

    def add(self, packets, most):
        """Adds a copy that has at most so many bytes of each packet, counted from the beginning of IP."""
        for link, data in packets:
            cut = readdressed(link, data, self.copies)[:most + LINK_HEADERS.get(link, 0)]
            self.packets += 1
            head = struct.pack("<IIIII", self.interfaces[link], 0, self.packets, len(cut), len(data))
            self.file.blocks.append(block(6, head + cut))
        self.copies += 1
        assert self.copies <= MOST_COPIES


# A message of each end, and how many of them one segment has: more than Wireshark takes layers in a packet.
MESSAGES = {SERVER: bytes.fromhex("9209922a00"), CLIENT: bytes.fromhex("9209912a")}
CROWD = 584
# Texts of an object of bytes in JSON, and how many bytes the server's decoder takes them for; None where it refuses them.
JSON_BYTES = {"aGk=": 2, "aGlo": 3, "aA==": 1, "": 0, "aGk": None, "zz!=": None, "aGl=": None, "aB==": None, "aGk=aGk=": None}


def crowded():
    """Segments with many messages, from both ends and also on a port that no preference names."""
    file = CaptureFile()
    for place, (port, side) in enumerate([(3000, SERVER), (3000, CLIENT), (51234, SERVER), (51234, CLIENT)]):
        connection = Connection(file, client=("192.0.2.7", 42000 + place), server=("192.0.2.1", port))
        connection.upgrade("/play")
        # The last frame continues in the next segment.
        last = frame(side, MESSAGES[side])
        connection.segment(side, last * (CROWD - 1) + last[:3])
        connection.segment(side, last[3:])
    return file


def bytes_in_json():
    file = CaptureFile()
    json = Connection(file)
    json.upgrade("/play?format=json")
    for text in JSON_BYTES:
        json.say(SERVER, f'["command_frame",[{{"base64":"{text}"}}]]'.encode(), 1)
    return file


def of_one_byte():
    """Messages of one byte, on a port of the preferences and on another one."""
    file = CaptureFile()
    for place, port in enumerate((3000, 51234)):
        connection = Connection(file, client=("192.0.2.7", 43000 + place), server=("192.0.2.1", port))
        connection.upgrade("/play")
        connection.say(CLIENT, b"\xc1")
        connection.say(SERVER, b"\x90")
    return file


def own_captures():
    return {"crowded": crowded, "bytes-in-json": bytes_in_json, "of-one-byte": of_one_byte}


def sources(folder):
    """Every capture: samples, lessons, fixtures, the broken rules, and those made here."""
    kept = [SAMPLES.glob("*.pcapng"), (ROOT / "docs/lessons").glob("*.pcapng"), (ROOT / "tests/fixtures").glob("*.pcap*")]
    made = [folder / f"{name}.pcapng" for name in ("rules", *own_captures())]
    capture_of(rows(), made[0])
    for path, make in zip(made[1:], own_captures().values()):
        make().write(path)
    return [path for paths in kept for path in sorted(paths)] + made


MODES = {"one pass": ("-V",), "two passes": ("-2", "-V"), "without a tree": ("-T", "fields", "-e", "_ws.expert.message")}


def errors_of(path, mode):
    lines = tshark(path, "-X", f"lua_script:{PROBE}", *MODES[mode]).splitlines()
    found = [line.strip() for line in lines if any(error in line for error in ERRORS)]
    return f"{len(found)} lines, first {found[0]!r}" if found else ""


def merged(files, cuts):
    """The files whole and with each cut that changes them, as captures of a bounded number of packets."""
    parts = [Merged()]
    for file in files:
        packets = list(packets_of(file))
        longest = max(len(data) - LINK_HEADERS.get(link, 0) for link, data in packets)
        for most in [WHOLE, *(cut for cut in cuts if cut < longest)]:
            if parts[-1].packets + len(packets) > MOST_PACKETS and parts[-1].packets:
                parts.append(Merged())
            parts[-1].add(packets, most)
    return parts


class Corpus:
    """The merged captures in a folder, made when the first check needs them."""

    def __init__(self, cuts):
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name)
        self.files = sources(path)
        self.parts = []
        for place, part in enumerate(merged(self.files, cuts)):
            self.parts.append(path / f"part-{place}.pcapng")
            part.file.write(self.parts[-1])
            self.copies = getattr(self, "copies", 0) + part.copies
            self.packets = getattr(self, "packets", 0) + part.packets

    def errors(self, mode):
        return "; ".join(filter(None, (errors_of(part, mode) for part in self.parts)))


def shown(make, *arguments, passes=()):
    with tempfile.NamedTemporaryFile(suffix=".pcapng") as capture:
        make().write(capture.name)
        names = [part for name in arguments for part in ("-e", name)]
        printed = tshark(Path(capture.name), *passes, "-Y", "tickwire", "-T", "fields", "-E", "aggregator=|", *names)
    return [line.split("\t") for line in printed.splitlines()]


def a_crowded_segment_is_shown_to_its_end():
    """Each message, with its frame, in both directions; also the one that the next segment completes."""
    for passes in ((), ("-2",)):
        found = shown(crowded, "tickwire.packet", "websocket.opcode", passes=passes)
        for place in range(0, len(found), 2):
            names, opcodes = ("|".join(row[column] for row in found[place:place + 2]).split("|") for column in (0, 1))
            if len(names) != CROWD or len(set(names)) != 1 or opcodes != ["2"] * CROWD:
                return f"{len(names)} packets of {len(opcodes)} frames instead of {CROWD}"
        if len(found) != 8:
            return f"{len(found)} segments"
    return ""


def bytes_in_json_are_those_of_the_server():
    found = shown(bytes_in_json, "tickwire.frame", "tickwire.rule")
    for (text, count), (value, rule) in zip(JSON_BYTES.items(), found, strict=True):
        wanted = (count or 0, "" if count is not None else "wrong_arguments")
        if (len(value.replace("<MISSING>", "")) // 2, rule) != wanted:
            return f"{text!r}: {value!r} {rule!r}"
    return ""


def messages_of_one_byte_are_judged():
    rules = [row[0] for row in shown(of_one_byte, "tickwire.rule")]
    return "" if rules == ["packet_reserved_byte", "packet_envelope"] * 2 else f"{rules}"


def cut_frames_show_their_headers():
    """In Wireshark's own fields, with a note and the bytes of the payload that are there."""
    names = ("frame.number", "websocket.fin", "websocket.opcode", "websocket.mask", "websocket.payload_length")
    with tempfile.NamedTemporaryFile(suffix=".pcapng") as cut:
        part = Merged()
        part.add(packets_of(SAMPLES / "packets.pcapng"), 56)
        part.file.write(cut.name)
        whole, found = (fields(sample, "websocket.opcode", *names) for sample in ("packets", Path(cut.name)))
        noted = fields(Path(cut.name), "tickwire.expert.truncated && websocket.opcode", "frame.number")
    if whole != found or len(noted) < 90:
        return f"{len(whole)} frames, {len(found)} headers, {len(noted)} notes"
    return ""


def all_checks(cuts):
    corpus = Corpus(cuts)
    about = f"{corpus.copies} copies of {len(corpus.files)} captures, {corpus.packets} packets"
    for mode in MODES:
        yield f"cut captures, {mode}: no error of Lua's ({about})", lambda mode=mode: corpus.errors(mode)
    yield "cut frames show their headers", cut_frames_show_their_headers
    yield "crowded: every message of a segment is shown", a_crowded_segment_is_shown_to_its_end
    yield "json: bytes are those of the server", bytes_in_json_are_those_of_the_server
    yield "messages of one byte are judged", messages_of_one_byte_are_judged


def run_all(results, cuts=CUTS):
    run_named(results, all_checks(cuts))


def main():
    most = int(sys.argv[2]) if sys.argv[1:2] == ["--every-cut-to"] and len(sys.argv) == 3 else None
    if not most:
        sys.exit(__doc__)
    results = Results([])
    run_all(results, range(most + 1))
    print(f"{results.passed} passed, {results.failed} failed")
    sys.exit(results.failed > 0)


if __name__ == "__main__":
    main()
