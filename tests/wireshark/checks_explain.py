"""Wireshark's tree against `tickwire explain --json`, for the same bytes: packet, rule, and the value of every argument."""

import json
import subprocess

import fields as table
from checks import WITHOUT_MESSAGES, differs, flags_are_written_alike, run_named
from tshark import NAMES, SECONDS, fields, messages


def said(sample):
    """What was said on each connection, in order, as `explain` reads it: > before a client's bytes, < before a server's. Without
    what Wireshark takes for the rest of a frame."""
    streams, servers = {}, {}
    rows = fields(sample, "tcp.len > 0 && !tickwire.expert.cut", "tcp.stream", "tcp.dstport", "tcp.payload")
    for stream, port, payload in rows:
        if payload.startswith(b"GET ".hex()):
            servers[stream] = port
        is_from_client = port == servers.get(stream, "3000")
        streams.setdefault(stream, []).append(("> " if is_from_client else "< ") + payload.split("|")[0])
    return streams


def explained(program, lines, dialect):
    """The messages of one connection: (direction, what `explain` says). Frames of a fragmented message count as one."""
    # Without an upgrade nothing else says the dialect; and only the capture says what is played in a room.
    first = bytes.fromhex(lines[0][2:])
    options = [] if first.startswith(b"GET ") and not first.startswith(b"GET /r/") else ["--dialect", dialect]
    done = subprocess.run([program, "explain", "--json", *options, "-"], input="\n".join(lines), capture_output=True, text=True,
                          timeout=SECONDS)
    found = []
    for line in done.stdout.splitlines():
        part = json.loads(line)
        for frame in part["frames"]:
            whole = frame.get("message") or frame
            if frame["fin"] and whole["opcode"] in ("binary", "text"):
                found.append(("to_server" if part["from"] == "client" else "to_client", {**frame, **whole}))
    return found, done.stderr


def explained_one_by_one(program, lines, dialect):
    """The same where each message breaks a rule: what is wrong with one says nothing of the next."""
    found, complaints = [], ""
    upgrade = [line for line in lines if bytes.fromhex(line[2:]).startswith((b"GET ", b"HTTP/"))]
    for line in lines:
        if line not in upgrade:
            told, complaint = explained(program, upgrade + [line], dialect)
            found, complaints = found + told, complaints + complaint
    return found, complaints


def find(node, name):
    return next((child for child in node["children"] if child["name"] == name), None)


def value_of(node, kind):
    """The value of a node of the tree, as JSON would have it."""
    shape, inside = kind
    if "raw" in node and not node["children"]:
        # JSON has no NaN.
        return float("nan") if node["raw"] is None and node["encoding"].startswith("float") else node["raw"]
    head = find(node, "head")
    if shape in table.SCALARS or kind.is_loose and shape == "{" and head and head["value"].startswith("array"):
        return table.CONTAINER
    parts = [child for child in node["children"] if child["name"] not in ("head", "key", "sign")]
    if shape == "[":
        return [value_of(find(group, name), member) for group in parts for name, member in inside]
    if shape == "list":
        return [value_of(part, inside) for part in parts]
    named = {part["name"]: part for part in parts}
    values = {name: value_of(named[name], member) for name, member in inside if name in named}
    return values if shape == "{" else list(values.values())


def arguments_of(frame, types):
    """The values of a packet's arguments in the tree of `explain`, as far as they were said."""
    packet = find(frame["tree"], frame["packet"]) or find(find(frame["tree"], "payload"), frame["packet"])
    arguments = find(packet, "arguments")
    if not arguments:
        return []
    named = {child["name"]: child for child in arguments["children"]}
    return [value_of(named[name], kind) for name, kind in types if name in named]


def compare(message, frame, known):
    rule = (frame["problem"] or {}).get("rule")
    if message.get("rule") != rule:
        return f"breaks {message.get('rule')}, explain says {rule}"
    if rule:
        return ""
    if message.get("packet") != frame["packet"]:
        return f"is {message.get('packet')}, explain says {frame['packet']}"
    dialect = message.get("dialect").split(" ")[0]
    _, types = known[dialect, message.get("direction"), frame["packet"]]
    return differs(message, table.expected(frame["packet"], types, arguments_of(frame, types)))


def both_say_the_same(sample, program):
    known, of_frame = table.rows(), dict(fields(sample, "tcp", "frame.number", "tcp.stream"))
    shown = {}
    for message in messages(sample):
        if message.get("packet"):
            shown.setdefault(of_frame[str(message.frame)], []).append(message)
    compared = 0
    read = explained_one_by_one if sample == "broken" else explained
    for stream, lines in said(sample).items():
        dialect = shown[stream][0].get("dialect")
        told, complaint = read(program, lines, dialect)
        for direction in ("to_server", "to_client"):
            ours = [message for message in shown[stream] if message.get("direction") == direction]
            theirs = [frame for way, frame in told if way == direction]
            if len(ours) != len(theirs):
                return f"stream {stream}, {direction}: {len(ours)} messages, explain has {len(theirs)} {complaint}"
            for message, frame in zip(ours, theirs):
                problem = compare(message, frame, known)
                if problem:
                    return f"frame {message.frame}, {message.get('packet')}: {problem}"
                compared += 1
    return "" if compared else "nothing was compared"


def run(results, program):
    run_named(results, ((f"{sample}: the same as explain says", lambda sample=sample: both_say_the_same(sample, program))
                        for sample in NAMES if sample not in WITHOUT_MESSAGES))
    run_named(results, [("flags: the same as explain writes", lambda: flags_are_written_alike(program))])
