"""Which kind of frame a message came in: text or binary, whole or in fragments, alone in a segment or not."""

import re
import tempfile
from pathlib import Path

from capture_file import CLIENT, SERVER, CaptureFile, Connection, frame
from checks import run_named
from make_samples import MOVE_4, MOVE_5, PONG
from tshark import fields, tshark

HELLO = b'["move",[4,null,16384]]'
# A message that is UTF-8 and begins like JSON.
LIKE_TEXT = b"[3,[4]"


def fragments(payload, opcode, at=4, side=CLIENT):
    return frame(side, payload[:at], opcode, fin=False), frame(side, payload[at:], opcode=0)


def conversation(target, segments, port=3000, passes=2):
    """Lines of a connection's messages: in a summary, in a summary of two passes, and with the tree. All three have to agree."""
    file = CaptureFile()
    connection = Connection(file, server=("192.0.2.1", port))
    if target:
        connection.upgrade(target)
    for side, data in segments:
        connection.segment(side, data)
    with tempfile.NamedTemporaryFile(suffix=".pcapng") as capture:
        path = Path(capture.name)
        file.write(path)
        columns = ("-Y", "tickwire", "-o", "tickwire.values:FALSE", "-o", 'gui.column.format:"Info","%i"')
        once = tshark(path, *columns)
        twice = tshark(path, "-2", *columns) if passes == 2 else once
        quiet = tshark(path, *columns[2:])
        rows = fields(path, "tickwire", "tickwire.packet", "tickwire.rule")
    lines = [" ".join(re.sub(r"WebSocket \w+ ?\[FRAGMENT\]|\[MASKED\]", "", line).split()) for line in once.splitlines()]
    if once != twice or any(line not in quiet for line in once.splitlines()):
        return [f"{once!r}, in two passes {twice!r}, without a filter {quiet!r}"]
    broken = sum(len(rules.split("|")) if rules else 0 for _, rules in rows)
    return lines if "\n".join(lines).count("[") == broken else [f"{lines}, but the tree has {rows}"]


def compare(target, segments, wanted, **more):
    found = conversation(target, segments, **more)
    return "" if found == wanted else f"{found}, should be {wanted}"


def kinds_in_one_segment():
    """The same bytes are a packet in one frame and none in the next; a ping and an empty message between them are nobody's."""
    segment = frame(CLIENT, MOVE_4) + frame(CLIENT, b"?", opcode=9) + frame(CLIENT, LIKE_TEXT, opcode=1) + frame(CLIENT, b"")
    segment += frame(CLIENT, HELLO, opcode=1) + frame(CLIENT, MOVE_5)
    return compare("/play", [(CLIENT, segment), (CLIENT, frame(CLIENT, MOVE_4))],
                   ["→ move → malformed [wrong_frame_type] → malformed [wrong_frame_type] → move", "→ move"])


def fragments_are_of_the_kind_of_the_first():
    """Also where the last one shares its segment with the first of the next message: there Wireshark loses it in a second pass."""
    text, binary, again = fragments(HELLO, 1), fragments(MOVE_4, 2), fragments(LIKE_TEXT, 1)
    ping = frame(CLIENT, b"?", opcode=9)
    segments = [text[0], ping, text[1] + binary[0], binary[1] + again[0], again[1] + b"".join(fragments(MOVE_5, 2)), frame(CLIENT, MOVE_5)]
    return compare("/play", [(CLIENT, segment) for segment in segments],
                   ["→ malformed [wrong_frame_type]", "→ move", "→ malformed [wrong_frame_type] → move", "→ move"], passes=1)


def fragments_on_json():
    text, binary = fragments(HELLO, 1), fragments(HELLO, 2)
    return compare("/play?format=json", [(CLIENT, part) for part in text + binary], ["→ move", "→ malformed [wrong_frame_type]"])


def frames_across_segments():
    """The head of a frame is cut, and each way has its own kind."""
    long = fragments(HELLO, 1, side=SERVER)
    text = frame(CLIENT, HELLO, opcode=1)
    segments = [(CLIENT, frame(CLIENT, MOVE_4) + text[:1]), (SERVER, long[0][:3]), (CLIENT, text[1:]), (SERVER, long[0][3:] + long[1]),
                (SERVER, frame(SERVER, PONG))]
    return compare("/play", segments, ["→ move", "→ malformed [wrong_frame_type]", "← malformed [wrong_frame_type]", "← pong"])


def other_ports():
    """A port that nobody has named: the path is known there too."""
    return compare("/play", [(CLIENT, frame(CLIENT, HELLO, opcode=1)), (CLIENT, frame(CLIENT, MOVE_4))],
                   ["→ malformed [wrong_frame_type]", "→ move"], port=51234)


def long_heads():
    """Lengths of two bytes and of eight; the server's, which may be as long."""
    blanks = b" " * 200
    text = b'["pong",[42,65536]]'
    both = frame(SERVER, text + blanks, opcode=1) + frame(SERVER, PONG) + frame(SERVER, text + blanks * 400, opcode=1) + frame(SERVER, PONG)
    cut = [both[at:at + 1400] for at in range(0, len(both), 1400)]
    found = conversation("/play", [(SERVER, part) for part in cut])
    said = " ".join(found)
    return "" if said == "← malformed [wrong_frame_type] ← pong ← malformed [wrong_frame_type] ← pong" else f"{found}"


def without_a_path_nobody_judges():
    """Nothing has told the format: no upgrade in the capture, or one for a format that no server has."""
    text = [(CLIENT, frame(CLIENT, HELLO, opcode=1)), (CLIENT, frame(CLIENT, MOVE_4))]
    return compare(None, text, ["→ move", "→ move"]) or compare("/play?format=xml", text, ["→ move", "→ move"])


def all_checks():
    yield "frame kind: several messages in a segment", kinds_in_one_segment
    yield "frame kind: fragments", fragments_are_of_the_kind_of_the_first
    yield "frame kind: fragments of JSON", fragments_on_json
    yield "frame kind: frames across segments", frames_across_segments
    yield "frame kind: a port that nobody named", other_ports
    yield "frame kind: long messages", long_heads
    yield "frame kind: without a path nobody judges", without_a_path_nobody_judges


def run_all(results):
    run_named(results, all_checks())
