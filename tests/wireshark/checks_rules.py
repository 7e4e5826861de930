"""tests/fixtures/broken_rules.tsv against the dissector, and against a live server that captures itself: each rule by its name, where it is
written, and what the other end does. `tests/explain/broken_rules.rs` holds `tickwire explain` against the same rows."""

import re
import socket
import tempfile
import xml.etree.ElementTree as ElementTree
import zlib
from pathlib import Path

from capture_file import CLIENT, SERVER, CaptureFile, Connection, frame
from checks import run_named
from make_samples import CHAT_7, MOVE_4
from record_samples import serve
from tshark import ROOT, Message, environment, fields, run as run_command, tshark

KEY, ACCEPT = "dGhlIHNhbXBsZSBub25jZQ==", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
ANSWER = ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
          f"Sec-WebSocket-Accept: {ACCEPT}\r\n\r\n").encode()
GOODBYE = bytes.fromhex("8882 00000000 03e8")
HELLO = "9201920100"
ORIGIN = "https://game.example"
FIRST_PORT = 20_000
# What Wireshark shows of frames and heads by itself.
PLAIN = ["websocket.fin", "websocket.rsv", "websocket.opcode", "websocket.mask", "websocket.payload_length",
         "websocket.payload_length_ext_16", "websocket.payload_length_ext_64", "websocket.masking_key", "websocket.masked_payload",
         "websocket.payload", "websocket.payload.close.status_code", "websocket.payload.close.reason", "websocket.payload.ping",
         "text", "http.request.method", "http.response.code", "data.data"]
# Messages of which there is a packet: there the tree of the packet stands in the place of the bytes.
PACKETS = {"packet", "wrong", "unknown", "wrong_frame_type"}


def request(target):
    return (f"GET {target} HTTP/1.1\r\nHost: localhost:3000\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {KEY}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode()


def bytes_of(cell):
    """Bytes of a cell: hexadecimal and quoted texts; *N behind one repeats it."""
    found = b""
    for text, digits, times in re.findall(r'(?:"([^"]*)"|([0-9a-f]+))(?:\*(\d+))?', cell):
        part = bytes.fromhex(digits) if digits else text.encode().decode("unicode_escape").encode("latin-1")
        found += part * int(times or 1)
    return found


class Row:
    def __init__(self, line):
        self.rule, self.side, self.target, cell, self.written, self.answer, told = line.split("\t")
        self.bytes, self.is_told = bytes_of(cell), told == "yes"
        self.is_head = self.target == "-" or self.bytes.startswith(b"HTTP/")

    def is_of_packet(self):
        return self.rule == "wrong_frame_type" or self.rule.split("_")[0] in PACKETS


def rows():
    lines = (ROOT / "tests/fixtures/broken_rules.tsv").read_text().splitlines()
    return [Row(line) for line in [line for line in lines if not line.startswith("#")][1:]]


def capture_of(table, path, piece=None):
    """A connection for each row, cut into pieces of so many bytes."""
    file = CaptureFile()
    for place, row in enumerate(table):
        connection = Connection(file, client=("192.0.2.7", FIRST_PORT + place))
        connection.open()
        if row.target != "-":
            connection.segment(CLIENT, request(row.target))
            if not row.is_head:
                connection.segment(SERVER, ANSWER)
        step = piece or len(row.bytes)
        for at in range(0, len(row.bytes), step):
            connection.segment(row.side, row.bytes[at:at + step])
    file.write(path)


def named(path, *arguments, server=3000):
    """Rules of each connection by its client's port: (rule, where it is written, answer)."""
    printed = tshark(path, *arguments, "-Y", "tickwire.rule", "-T", "fields", "-E", "aggregator=|", "-e", "tcp.srcport", "-e", "tcp.dstport",
                     "-e", "tickwire.rule", "-e", "tickwire.rule.address", "-e", "tickwire.rule.answer", "-e", "_ws.expert.message")
    found = {}
    for line in printed.splitlines():
        source, target, rules, written, answers, notes = line.split("\t")
        port = int(target) if int(source) == server else int(source)
        for one in zip(rules.split("|"), written.split("|"), answers.split("|"), strict=True):
            if f"{one[0]} ({one[1]}), {one[2]}: " not in notes:
                return {port: [f"the note is {notes}"]}
            found.setdefault(port, []).append(one)
    return found


def every_row_is_named(piece, *arguments):
    """Once, in whatever pieces its bytes come. Of a text frame that never ends TCP shows the first piece alone."""
    table = [row for row in rows() if not piece or len(row.bytes) < 600 and row.bytes[-2:] != b"a\xc0"]
    with tempfile.NamedTemporaryFile(suffix=".pcapng") as file:
        path = Path(file.name)
        capture_of(table, path, piece)
        found = named(path, *arguments)
    for place, row in enumerate(table):
        shown, wanted = found.get(FIRST_PORT + place, []), [(row.rule, row.written, row.answer)]
        if row.is_told and shown != wanted:
            return f"{row.rule} of the {row.side}, {row.bytes[:40]}: {shown}, should be {wanted}"
        if not row.is_told and any(one[0] == row.rule for one in shown):
            return f"{row.rule} can be told after all"
    return ""


def every_rule_has_an_expert_field():
    """The list of expert information groups by field: each violation has the field of its rule, and a filter finds it."""
    with tempfile.NamedTemporaryFile(suffix=".pcapng") as file:
        path = Path(file.name)
        capture_of(rows(), path)
        document = ElementTree.fromstring(tshark(path, "-Y", "tickwire.rule", "-T", "pdml", "-J", "tickwire"))
        found = [(found.get("rule"), found.experts) for found in (Message(0, proto) for proto in document.iter("proto")) if found.get("rule")]
        wrong = next((one for one in found if one[1] != [one[0]]), None)
        if wrong or len(found) < 50:
            return f"{wrong}, {len(found)} violations"
        for rule in ("reserved_bit", "host_missing", "close_one_byte"):
            frames = [fields(path, display_filter, "frame.number") for display_filter in
                      (f"tickwire.expert.{rule}", f'tickwire.rule == "{rule}"')]
            if not frames[0] or frames[0] != frames[1]:
                return f"{rule}: {frames}"
    return ""


def lines_are_the_same_without_a_tree():
    """Rules are named in a summary that makes no tree."""
    with tempfile.NamedTemporaryFile(suffix=".pcapng") as file:
        path = Path(file.name)
        capture_of(rows(), path)
        for passes in ((), ("-2",)):
            quiet = tshark(path, *passes, "-o", 'gui.column.format:"Info","%i"').splitlines()
            shown = [line[0] for line in fields(path, "frame", "_ws.col.Info")]
            for place, (one, other) in enumerate(zip(quiet, shown, strict=True)):
                if one.strip() != other.strip():
                    return f"frame {place + 1} says {one!r}, and with the tree {other!r}"
    return ""


def nothing_is_hidden():
    """What plain Wireshark shows of the frames and heads is shown with the dissector as well."""
    table = rows()
    arguments = [part for field in PLAIN for part in ("-e", field)]
    with tempfile.NamedTemporaryFile(suffix=".pcapng") as file:
        capture_of(table, file.name)
        ours = tshark(Path(file.name), "-T", "fields", "-E", "aggregator=|", "-e", "tcp.srcport", "-e", "tcp.dstport", *arguments)
        plain = run_command(["tshark", "-n", "-d", "tcp.port==3000,http", "-r", file.name, "-T", "fields", "-E", "aggregator=|",
                             "-e", "tcp.srcport", "-e", "tcp.dstport", *arguments], env=environment()).stdout
    compared = 0
    for one, other in zip(ours.splitlines(), plain.splitlines(), strict=True):
        one, other = one.split("\t"), other.split("\t")
        row = table[max(int(one[0]), int(one[1])) - FIRST_PORT]
        for field, mine, theirs in zip(PLAIN, one[2:], other[2:]):
            # A packet stands in the place of bytes of which Wireshark knows nothing.
            is_replaced = field in ("data.data", "text") and (row.is_of_packet() or theirs == HELLO)
            if not set(theirs.split("|")) <= {*mine.split("|"), ""} and not is_replaced:
                return f"{row.rule} of the {row.side}: {field} is {mine!r}, without the dissector {theirs!r}"
            compared += bool(theirs)
    return "" if compared > 300 else f"only {compared} values"


def where_bytes_are_missing():
    """What lacks its beginning breaks no rule: bytes from before the capture, and bytes that the capture lost. From the next whole frames on
    rules are named again."""
    broken = bytes.fromhex("a185 00000000 48656c6c6f")
    long = frame(CLIENT, CHAT_7)
    file = CaptureFile()
    lossy = Connection(file, client=("192.0.2.7", FIRST_PORT))
    lossy.upgrade("/play")
    lossy.say(CLIENT, MOVE_4)
    lossy.next[CLIENT] += 9
    for data in (long[9:], frame(CLIENT, MOVE_4), broken, frame(CLIENT, MOVE_4)):
        lossy.segment(CLIENT, data)
    midway = Connection(file, client=("192.0.2.7", FIRST_PORT + 1))
    for data in (long[9:], frame(CLIENT, MOVE_4), broken):
        midway.segment(CLIENT, data)
    move, rule = "→ move", "→ reserved_bit (RFC 6455 section 5.2), close 1002 protocol error"
    wanted = [move, "[TCP Previous segment not captured] the rest of a frame: bytes before it are missing", move, rule, "→ 14 bytes not read",
              "the rest of a frame that began before the capture", move, rule]
    with tempfile.NamedTemporaryFile(suffix=".pcapng") as capture:
        file.write(capture.name)
        columns = ("-o", "tickwire.values:FALSE", "-o", 'gui.column.format:"Info","%i"')
        for more in ((), ("-2",), ("-Y", "tcp")):
            lines = [line.strip() for line in tshark(Path(capture.name), *more, *columns).splitlines() if "→ 3000" not in line]
            lines = [line for line in lines if "HTTP" not in line and "SYN" not in line]
            if lines != wanted:
                return f"{more}: {lines}"
    return ""


def many_that_are_not_whole():
    """Broken frames of which the end is missing: an exception of Wireshark's for each would end Lua after some two hundred."""
    file = CaptureFile()
    for place in range(300):
        connection = Connection(file, client=("192.0.2.7", FIRST_PORT + place))
        connection.upgrade("/play")
        connection.segment(CLIENT, bytes.fromhex("c2fe0100 00000000 61"))
    good = Connection(file, client=("192.0.2.7", FIRST_PORT + 300))
    good.upgrade("/play")
    good.say(CLIENT, MOVE_4)
    with tempfile.NamedTemporaryFile(suffix=".pcapng") as capture:
        file.write(capture.name)
        shown = fields(Path(capture.name), "tickwire.rule || tickwire.packet", "tickwire.rule", "tickwire.packet")
    return "" if shown == [["reserved_bit", ""]] * 300 + [["", "move"]] else f"{len(shown)} messages, the last is {shown[-1:]}"


PLAIN_HTTP = [
    b"POST /api HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
    b"PUT /api HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"GET / HTTP/1.0\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
]


def other_protocols_break_no_rule(program):
    """Plain HTTP, an upgrade to another path, and messages that both ends agreed to compress: no rule in the dissector, nor in `explain`.
    Wireshark decompresses them."""
    offer = b"Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n"
    hello = bytes.fromhex("f248cdc9c90700")
    compressed = bytes([0xc1, 0x80 | len(hello)]) + bytes(4) + hello
    file = CaptureFile()
    for place, head in enumerate(PLAIN_HTTP):
        connection = Connection(file, client=("192.0.2.7", FIRST_PORT + place))
        connection.open()
        connection.segment(CLIENT, head)
    for place, target in enumerate(("/play", "/chat")):
        connection = Connection(file, client=("192.0.2.7", FIRST_PORT + 10 + place))
        connection.open()
        connection.segment(CLIENT, request(target)[:-2] + offer)
        connection.segment(SERVER, ANSWER[:-2] + offer)
        connection.segment(CLIENT, compressed)
        connection.segment(SERVER, bytes([0xc1, len(hello)]) + hello)
    foreign = Connection(file, client=("192.0.2.7", FIRST_PORT + 20))
    foreign.upgrade("/socket.io/?EIO=4&transport=websocket")
    foreign.say(CLIENT, b"2probe", 1)
    foreign.say(SERVER, bytes([1, 2, 3]))
    with tempfile.NamedTemporaryFile(suffix=".pcapng") as capture:
        file.write(capture.name)
        path = Path(capture.name)
        for passes in ((), ("-2",)):
            shown = tshark(path, *passes, "-Y", "tickwire.rule", "-T", "fields", "-e", "tcp.srcport", "-e", "tickwire.rule")
            if shown.strip():
                return f"rules are named: {shown!r}"
            shown = tshark(path, *passes, "-Y", "websocket.rsv == 4", "-V")
            if shown.count("Line-based text data") != 4 or shown.count("    Hello\n") != 4:
                return f"decompressed are {shown}"
        if program:
            told = run_command([program, "explain", path], env=environment()).stdout
            table = told[told.index("client  dialect"):]
            broken = [line.split()[-2:] for line in table.splitlines()[1:] if line.strip()]
            # At /play, `explain` also judges the frame type of inflated messages: a text is no packet there.
            if broken != [["2" if target == "/play" else "0", "0"] for target in [""] * len(PLAIN_HTTP) + ["/play", "/chat", ""]]:
                return f"explain says {told}"
            if told.count("compressed") != 4 or told.count("inflated 5 bytes") != 4:
                return f"explain says {told}"
    return ""


def compressed_packets_are_decoded(program):
    """Packets after an agreement on permessage-deflate, with context takeover: Wireshark inflates them, and the dissector decodes them, as
    `explain` does."""
    offer = b"Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n"
    file = CaptureFile()
    connection = Connection(file)
    connection.open()
    connection.segment(CLIENT, request("/play")[:-2] + offer)
    connection.segment(SERVER, ANSWER[:-2] + offer)
    senders = {side: zlib.compressobj(9, zlib.DEFLATED, -15) for side in (CLIENT, SERVER)}
    ping, pong = bytes.fromhex("92069107"), bytes.fromhex("9207920705")
    for side, packet in ((CLIENT, bytes.fromhex(HELLO)), (CLIENT, ping), (CLIENT, ping), (SERVER, pong), (SERVER, pong)):
        payload = (senders[side].compress(packet) + senders[side].flush(zlib.Z_SYNC_FLUSH))[:-4]
        head = bytes([0xc2, 0x80 | len(payload)]) + bytes(4) if side == CLIENT else bytes([0xc2, len(payload)])
        connection.segment(side, head + payload)
    wanted = ["hello", "ping", "ping", "pong", "pong"]
    with tempfile.NamedTemporaryFile(suffix=".pcapng") as capture:
        file.write(capture.name)
        for passes in ((), ("-2",)):
            shown = tshark(Path(capture.name), *passes, "-Y", "tickwire.packet", "-T", "fields", "-e", "tickwire.packet").split()
            if shown != wanted:
                return f"packets are {shown}"
        if program:
            lines = run_command([program, "explain", "--line", capture.name], env=environment()).stdout.splitlines()
            told = [line.split("bytes: ")[-1].split()[0] for line in lines if "inflated" in line]
            if told != wanted:
                return f"explain says {lines}"
    return ""


def said_to(port, row):
    """What the server says to a row, to the end."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        ends = (*connection.getsockname()[:1], connection.getsockname()[1])
        try:
            if row.target != "-":
                connection.sendall(request(row.target))
            connection.sendall(row.bytes)
            if row.target != "-" and row.answer.startswith("the packet"):
                connection.sendall(GOODBYE)
            connection.shutdown(socket.SHUT_WR)
        except (BrokenPipeError, ConnectionResetError):
            pass
        heard = b""
        while part := connection.recv(65536):
            heard += part
    return ends[1], heard


def live(program):
    """Each row of a client's against a server that captures itself: in the capture the dissector names the rule at the client's bytes, and the
    server's own close frame has its name and code; a refusal has its name and status."""
    table = [row for row in rows() if row.side == CLIENT]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rules.pcapng"
        server, port = serve(program, "127.0.0.1:0", "--capture", str(path), "--allow-origin", ORIGIN)
        try:
            answers = [said_to(port, row) for row in table]
        finally:
            server.terminate()
            server.wait(60)
        options = ("-o", f"tickwire.ports:{port}")
        found = named(path, *options, server=port)
        closes = {}
        for target, codes, reasons in (line.split("\t") for line in tshark(
                path, *options, "-Y", f"tcp.srcport == {port} && websocket.payload.close.status_code", "-T", "fields", "-e", "tcp.dstport",
                "-e", "websocket.payload.close.status_code", "-e", "websocket.payload.close.reason").splitlines()):
            closes[int(target)] = (codes, reasons)
    for row, (own_port, heard) in zip(table, answers, strict=True):
        problem = differs(row, heard, found.get(own_port, []), closes.get(own_port))
        if problem:
            return f"{row.rule}, {row.bytes[:40]}: {problem}"
    return ""


def differs(row, heard, shown, closed):
    wanted = [(row.rule, row.written, row.answer)]
    action, _, code = row.answer.partition(" ")
    if action == "status":
        if not heard.startswith(f"HTTP/1.1 {code} ".encode()) or f"\n{row.rule}: {row.written}\n".encode() not in heard:
            return f"the server says {heard}"
        return ""
    if row.is_told and shown != wanted:
        return f"the dissector says {shown}, should say {wanted}"
    if action == "close" and closed != (code.split(" ")[0], row.rule):
        return f"the server closes with {closed}"
    if action == "the" and closed != ("1000", ""):
        return f"the server closes with {closed}"
    return ""


def run(results, program):
    checks = [
        ("rules: every row is named", lambda: every_row_is_named(None)),
        ("rules: every row is named in two passes", lambda: every_row_is_named(None, "-2")),
        ("rules: every row is named once in segments of three bytes", lambda: every_row_is_named(3)),
        ("rules: each has an expert field", every_rule_has_an_expert_field),
        ("rules: the same without a tree", lines_are_the_same_without_a_tree),
        ("rules: nothing of Wireshark's is hidden", nothing_is_hidden),
        ("rules: where bytes are missing none is named", where_bytes_are_missing),
        ("rules: hundreds of frames that are not whole", many_that_are_not_whole),
        ("rules: none in other protocols, nor in compressed messages", lambda: other_protocols_break_no_rule(program)),
        ("rules: compressed packets are decoded", lambda: compressed_packets_are_decoded(program)),
    ]
    if program:
        checks.append(("rules: the server closes as the dissector says", lambda: live(program)))
    run_named(results, checks)
