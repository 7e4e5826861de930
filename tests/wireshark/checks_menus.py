"""The entries of Wireshark's menus, run by tshark: statistics, and commands and links for a packet. menus.lua stands in for the windows."""

import json
import math
import re
import shlex
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from capture_file import CLIENT, SERVER, CaptureFile, Connection
from checks import run_named
from checks_lane import WITH_KEYS
from checks_rules import ANSWER, FIRST_PORT, capture_of, request, rows
from datagram_verdicts import HEADER, Datagram, datagram_differs
from fields import rows as packet_table
from tshark import DISSECTOR, ROOT, SCRIPTS, environment, fields, run as run_command, tshark

MENUS = ROOT / "tests/wireshark/menus.lua"
TABLES = {
    "Tickwire/Packets": "packets", "Tickwire/Packets by second": "seconds", "Tickwire/Broken rules": "rules",
    "Tickwire/Gaps between packets": "gaps",
}
# Required fields of the entries for packets.
ENTRIES = {
    "Tickwire/Copy as tickwire explain": "websocket.opcode",
    "Tickwire/Copy link to the inspector": "websocket.opcode",
    "Tickwire/Copy upgrade as tickwire explain": "http.upgrade,tcp.payload",
    "Tickwire/Copy segment as tickwire explain": "tickwire.rule,tcp.payload",
    "Tickwire/Copy datagram as tickwire explain": "tickwire.datagram",
    "Tickwire/Copy datagram as link to the inspector": "tickwire.datagram",
}
# Fewest gaps of a row.
FEWEST_GAPS = 10


def unescaped(text):
    return re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], text)


def lines_of(sample, entry, *more):
    """What menus.lua prints, by the first word of each line. Fields are complete only if a tree is shown."""
    mode = ("-q",) if entry == "statistics" else ("-T", "pdml")
    printed = tshark(sample, "-X", f"lua_script1:{DISSECTOR}", "-X", f"lua_script1:{entry}", *mode, *more, script=MENUS)
    found = {}
    for line in printed.splitlines():
        # A line of the tree may stand before it.
        line = re.search(r"(menu|filter|window|entry|copied)\t.*$", line)
        if line:
            kind, *cells = line[0].split("\t")
            found.setdefault(kind, []).append([unescaped(cell) for cell in cells])
    return found


def copied(sample, entry, *more):
    """The text that an entry copies for each frame that has its fields."""
    return [(int(frame), text) for frame, text in lines_of(sample, entry, *more).get("copied", [])]


def windows_show_what_tshark_prints(sample):
    """The menus and stats.lua have the same tables."""
    found = lines_of(sample, "statistics")
    if [menu for menu, in found["menu"]] != list(TABLES):
        return f"the entries are {found['menu']}"
    windows = dict(found["window"])
    for menu, table in TABLES.items():
        printed = tshark(sample, "-q", "-X", f"lua_script:{SCRIPTS / 'stats.lua'}", "-X", f"lua_script2:{table}")
        shown = windows.get("tickwire: " + menu.removeprefix("Tickwire/"))
        if shown != printed:
            return f"{menu} shows {shown!r}, and stats.lua {printed!r}"
    # The listener counts the frames that its filter selects.
    display_filter, = {one for one, in found["filter"]}
    selected = {row[0] for row in fields(sample, display_filter, "frame.number")}
    wanted = {row[0] for row in fields(sample, "tickwire.packet || tickwire.rule", "frame.number")}
    return "" if selected == wanted else f"the filter selects {selected}, should select {wanted}"


def table_of(sample, name):
    printed = tshark(sample, "-q", "-X", f"lua_script:{SCRIPTS / 'stats.lua'}", "-X", f"lua_script2:{name}")
    return [line.split() for line in printed.splitlines()]


def rules_are_counted():
    """By name, with the first frame."""
    wanted = {}
    for frame, rules in fields("broken", "tickwire.rule", "frame.number", "tickwire.rule"):
        for rule in rules.split("|"):
            count, first = wanted.get(rule, (0, frame))
            wanted[rule] = (count + 1, first)
    order = sorted(wanted, key=lambda rule: (-wanted[rule][0], rule))
    found = table_of("broken", "rules")[1:]
    return "" if found == [[rule, str(wanted[rule][0]), wanted[rule][1]] for rule in order] else f"{found}"


def seconds_are_summed():
    wanted = {}
    for time, directions, lengths in fields("letters", "tickwire.packet", "frame.time_relative", "tickwire.direction", "tickwire.length"):
        row = wanted.setdefault(int(float(time)), [0, 0, 0, 0])
        for direction, length in zip(directions.split("|"), lengths.split("|")):
            place = 0 if direction == "to_server" else 2
            row[place], row[place + 1] = row[place] + 1, row[place + 1] + int(length)
    found = [[int(cell) for cell in row] for row in table_of("letters", "seconds")[1:]]
    return "" if found == [[second, *wanted[second]] for second in sorted(wanted)] else f"{found}, should be {wanted}"


def gaps_are_measured():
    """Nearest-rank percentiles of the times between packets of one name to one client."""
    last, gaps = {}, {}
    for time, frame, stream, names in fields("server", 'tickwire.direction == "to_client" && tcp',
                                             "frame.time_epoch", "frame.number", "tcp.stream", "tickwire.packet"):
        for name in names.split("|"):
            before, last[stream, name] = last.get((stream, name)), float(time)
            if before is not None and before != float(time):
                gaps.setdefault(name, []).append((float(time) - before, int(frame)))
    wanted = []
    for name, values in sorted(gaps.items(), key=lambda item: (-len(item[1]), item[0])):
        ordered = sorted(value for value, _ in values)
        most = max(values, key=lambda value: value[0])
        if len(ordered) >= FEWEST_GAPS:
            ranks = [1000 * ordered[math.ceil(share * len(ordered)) - 1] for share in (0.5, 0.99, 1)]
            wanted.append([name, len(ordered), *ranks, most[1]])
    found = table_of("server", "gaps")[1:]
    if len(found) != len(wanted) or not wanted:
        return f"{found}, should be {wanted}"
    for row, (name, count, *ranks, frame) in zip(found, wanted):
        close = all(abs(float(cell) - rank) < 0.11 for cell, rank in zip(row[2:5], ranks))
        if row[0] != name or int(row[1]) != count or not close or int(row[5]) != frame:
            return f"{row}, should be {name, count, ranks, frame}"
    return ""


def entries_have_their_fields():
    found = lines_of("odd", "Copy as tickwire explain")["entry"]
    if dict(found) != ENTRIES:
        return f"{found}"
    return next((f"the path of {name} is too deep" for name in [*ENTRIES, *TABLES] if name.count("/") != 1), "")


def explained(program, command):
    """The frames that the copied command explains, as JSON."""
    words = command.removeprefix("tickwire explain ")
    done = run_command(["sh", "-c", f"{shlex.quote(program)} explain --json {words}"], env=environment())
    if done.stderr:
        raise AssertionError(f"{command}: {done.stderr}")
    return [frame for line in done.stdout.splitlines() for frame in json.loads(line)["frames"]]


def commands_decode_back(program, sample):
    """Packets and rules of each frame of the capture are those that the copied command prints."""
    shown = {int(frame): (packets, rules) for frame, packets, rules in fields(
        sample, "websocket.opcode", "frame.number", "tickwire.packet", "tickwire.rule")}
    commands = copied(sample, "Copy as tickwire explain")
    if [frame for frame, _ in commands] != sorted(shown):
        return f"frames {[frame for frame, _ in commands]}, should be {sorted(shown)}"
    compared = 0
    for frame, command in commands:
        told = explained(program, command)
        wanted = [name for name in shown[frame][0].split("|") if name not in ("", "malformed")]
        rules = [rule for rule in shown[frame][1].split("|") if rule]
        # A fragment needs the frames before it. Without the upgrade, the format is unknown: a text may be no JSON.
        is_part = any(one["opcode"] == "continuation" or one["fin"] is False for one in told)
        if is_part or rules and (rules == ["wrong_frame_type"] or told[0]["opcode"] == "text"):
            continue
        compared += 1
        names = [one["packet"] for one in told if one["packet"]]
        found = [one["problem"]["rule"] for one in told if one["problem"]]
        if found != rules or not rules and names != wanted:
            return f"frame {frame}: {command} says {names} {found}, should say {wanted} {rules}"
    return "" if compared * 2 > len(commands) else f"only {compared} of {len(commands)} commands are compared"


def bytes_of_command(command):
    """The bytes of a command: its last argument, or its input."""
    return bytes.fromhex(re.search(r"([0-9a-f]+)(\nEND)?$", command)[1])


def segments_decode_back(program):
    """Each rule that frames or heads break, from the bytes of its segment."""
    table = rows()
    with tempfile.NamedTemporaryFile(suffix=".pcapng") as file:
        path = Path(file.name)
        capture_of(table, path)
        shown = {int(row[0]): (max(int(row[1]), int(row[2])), row[3]) for row in fields(
            path, "tickwire.rule", "frame.number", "tcp.srcport", "tcp.dstport", "tickwire.rule")}
        commands = copied(path, "Copy segment as tickwire explain")
    if [frame for frame, _ in commands] != sorted(shown):
        return f"frames {commands}, should be {sorted(shown)}"
    compared = 0
    for frame, command in commands:
        port, rule = shown[frame]
        row = table[port - FIRST_PORT]
        if bytes_of_command(command) != row.bytes:
            return f"{rule}: {command} has other bytes than {row.bytes[:40]}"
        # The limits of a server, and rules that need the request, do not apply to these bytes alone.
        done = run_command(["sh", "-c", f"{shlex.quote(program)} {command.removeprefix('tickwire ')}"], env=environment())
        compared += rule in done.stdout
    return "" if compared > 40 else f"only {compared} of {len(commands)} rules"


def without_rules(frame):
    """Adds to a datagram of `explain` that no packet breaks a rule: a list for each message."""
    frame["packet_rules"] = []
    for message in frame["tree"]["children"][len(HEADER):]:
        if message["name"] in ("packet", "commands", "received"):
            same = next((child["children"] for child in message["children"] if child["name"] == "same"), [None])
            frame["packet_rules"].append([None for bit in same if not bit or bit["name"] != "padding"])
    return frame


def datagrams_decode_back(program, sample):
    """The values of each datagram, opened by the server or by its key, are those that the copied command prints."""
    commands = copied(sample, "Copy datagram as tickwire explain", *WITH_KEYS)
    known, shown = packet_table(), []
    printed = tshark(sample, *WITH_KEYS, "-T", "pdml", "-J", "tickwire tickwire.datagram", "-Y", "tickwire.datagram")
    for packet in ElementTree.fromstring(printed).iter("packet"):
        shown.append(Datagram(packet.find("proto[@name='tickwire.datagram']")))
    if len(commands) != len(shown) or not shown:
        return f"{len(commands)} commands, should be {len(shown)}"
    for (frame, command), datagram in zip(commands, shown):
        problem = datagram_differs(datagram, without_rules(explained(program, command)[0]), known)
        if problem:
            return f"frame {frame}: {command}: {problem}"
    return ""


def sealed_datagrams_have_a_reason():
    texts = {text for _, text in copied("sealed", "Copy datagram as tickwire explain")}
    return "" if len(texts) == 1 and "tickwire.key_log" in (text := texts.pop()) and text.startswith("! ") else f"{texts}"


def links_have_the_bytes_of_the_commands():
    """Address of the server, bytes, dialect, sender and format, as src/tools/inspector/share_link.rs reads them."""
    for sample, entry, link_entry, rest in (
            ("ipv6", "Copy as tickwire explain", "Copy link to the inspector", "&format=msgpack"),
            ("json", "Copy as tickwire explain", "Copy link to the inspector", "&format=json"),
            ("lane", "Copy datagram as tickwire explain", "Copy datagram as link to the inspector", "&kind=datagram")):
        commands, links = dict(copied(sample, entry)), dict(copied(sample, link_entry))
        ends = {int(row[0]): row[1:] for row in fields(sample, "tcp || udp", "frame.number", "ip.src", "ip.dst", "ipv6.src", "ipv6.dst",
                                                       "tcp.srcport", "tcp.dstport", "udp.srcport", "udp.dstport")}
        if not links or commands.keys() != links.keys():
            return f"{sample}: {len(links)} links"
        for frame, link in links.items():
            words = commands[frame].removeprefix("tickwire explain ").removeprefix("--datagram ").split(" ")
            side = 1 if words[1] == "client" else 0
            four, six, *ports = (ends[frame][place + side] for place in (0, 2, 4, 6))
            wanted = f"http://{four or f'[{six}]'}:{ports[0] or ports[1]}/wire#frame={words[-1]}"
            if len(words) > 3:
                wanted += f"&dialect={words[3]}"
            wanted += f"&from={words[1]}" + (rest if len(words) > 3 or "kind" in rest else "")
            if link != wanted:
                return f"{sample}, frame {frame}: {link}, should be {wanted}"
    return ""


def long_frames(program):
    """A command too long for an argument has its bytes as input, and a link has a bound."""
    payload = b"\x92\x05\x91\xda\xea\x60" + b"a" * 60_000
    file = CaptureFile()
    connection = Connection(file)
    connection.upgrade("/play")
    connection.say(SERVER, payload)
    connection.say(CLIENT, b"\x92\x06\x91\x07")
    with tempfile.NamedTemporaryFile(suffix=".pcapng") as capture:
        file.write(capture.name)
        path = Path(capture.name)
        (_, command), (_, short) = copied(path, "Copy as tickwire explain")
        (_, link), _ = copied(path, "Copy link to the inspector")
    if "a link can have 16000 bytes" not in link or "<<'END'" not in command or "<<" in short:
        return f"{link} {command[:80]} {short}"
    told = explained(program, command) if program else []
    return "" if not program or len(told) == 1 and told[0]["end"] == len(payload) + 4 else f"{[(one['start'], one['end']) for one in told]}"


def compressed_frames(program):
    """A compressed frame needs --deflate, and has no link."""
    file = CaptureFile()
    connection = Connection(file)
    connection.open()
    offer = b"Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n"
    connection.segment(CLIENT, request("/play")[:-2] + offer)
    connection.segment(SERVER, ANSWER[:-2] + offer)
    hello = bytes.fromhex("f248cdc9c90700")
    connection.segment(SERVER, bytes([0xc1, len(hello)]) + hello)
    with tempfile.NamedTemporaryFile(suffix=".pcapng") as capture:
        file.write(capture.name)
        commands = copied(Path(capture.name), "Copy as tickwire explain")
        links = copied(Path(capture.name), "Copy link to the inspector")
    if not all(text.startswith("! ") and "compressed" in text for _, text in links):
        return f"{links}"
    if [command for _, command in commands] != [f"tickwire explain --from server --deflate c107{hello.hex()}"]:
        return f"{commands}"
    return "" if "Hello" in run_command([program, *commands[0][1].split(" ")[1:]]).stdout else "explain does not inflate it"


def run_all(results, program):
    checks = [(f"menus: {sample}: windows show what tshark prints", lambda sample=sample: windows_show_what_tshark_prints(sample))
              for sample in ("odd", "broken", "native", "lane")]
    checks += [
        ("menus: rules are counted", rules_are_counted),
        ("menus: seconds are summed", seconds_are_summed),
        ("menus: gaps are measured", gaps_are_measured),
        ("menus: entries have their fields", entries_have_their_fields),
        ("menus: sealed datagrams have a reason", sealed_datagrams_have_a_reason),
        ("menus: links have the bytes of the commands", links_have_the_bytes_of_the_commands),
        ("menus: long frames", lambda: long_frames(program)),
    ]
    if program:
        checks += [(f"menus: {sample}: copied commands decode back", lambda sample=sample: commands_decode_back(program, sample))
                   for sample in ("odd", "broken", "json", "letters", "packets", "mid-stream")]
        checks += [(f"menus: {sample}: copied datagrams decode back", lambda sample=sample: datagrams_decode_back(program, sample))
                   for sample in ("lane", "sealed")]
        checks += [
            ("menus: copied segments decode back", lambda: segments_decode_back(program)),
            ("menus: compressed frames", lambda: compressed_frames(program)),
        ]
    run_named(results, checks)
