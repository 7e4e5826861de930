#!/usr/bin/env python3
"""Compares the dissector with `tickwire explain` on mutated datagrams of a lane.

    tests/wireshark/datagram_verdicts.py CAPTURE EXPLAINED [KEY_LOG]

Input: the capture, and a line of JSON for each of its datagrams, in order: the frame of `tickwire explain --json`, or only the rule by
which the receiver drops it. Output: a line for each of the first differences, and `N datagrams, M differences`. tests/verdicts/ writes
the files and runs this script.
"""

import json
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import fields as table
from checks import differs
from checks_explain import find, value_of
from tshark import Message, tshark

SHOWN = 20
# Nodes of `explain` with numbers, and their fields in Wireshark.
HEADER = [("connection", "connection"), ("sequence", "sequence"), ("newest", "newest"), ("received", "received")]
BLOCK = [("first", "first"), ("tick", "tick"), ("step", "step"), ("count", "count")]


class Datagram:
    """A datagram in the tree of Wireshark."""

    def __init__(self, proto):
        self.rules, self.values, self.packets, self.bits, self.commands = [], {}, [], [], []
        self.walk(proto)

    def walk(self, element):
        for child in element:
            name = child.get("name") or ""
            if child.tag == "proto" and name == "tickwire":
                self.packets.append(Message(0, child))
                continue
            if name == "tickwire.rule":
                self.rules.append(child.get("show"))
            elif name == "tickwire.datagram.same":
                self.bits.append(child.get("show") in ("1", "True"))
            elif name == "tickwire.datagram.command":
                self.commands.append(int(child.get("show")))
            elif name.startswith("tickwire.datagram."):
                self.values.setdefault(name.removeprefix("tickwire.datagram."), []).append(child.get("show"))
            self.walk(child)

    def numbers(self, name):
        return [int(value, 0) for value in self.values.get(name, [])]


def raw_of(node):
    """The number of a node, or of its children if its bits are split."""
    if "raw" in node:
        return node["raw"]
    value = 0
    for child in node["children"]:
        first, end = child["bits"]
        value = value << (end - first) | child["raw"]
    return value


def expected_of(frame):
    """Values in the tree of `explain`: numbers by field, bits, sequence numbers, and the nodes of packets with their rules."""
    numbers, bits, commands, packets, rules = {}, [], [], [], iter(frame["packet_rules"])

    def note(node, pairs):
        for name, field in pairs:
            found = find(node, name)
            if found:
                numbers.setdefault(field, []).append(raw_of(found))

    tree = frame["tree"]
    note(tree, HEADER)
    for message in tree["children"][len(HEADER):]:
        if message["name"] not in ("packet", "commands", "received"):
            continue
        of_message = next(rules)
        note(message, [("kind", "kind"), ("length", "length")])
        if message["name"] == "received":
            note(message, [("sequence", "received_commands")])
        elif message["name"] == "packet":
            packets.append((message["children"][2], of_message[0]))
        else:
            note(message, BLOCK)
            same = [bit for bit in find(message, "same")["children"] if bit["name"] != "padding"]
            bits += [bool(bit["raw"]) for bit in same]
            commands += [int(bit["name"].split(" ")[1]) for bit in same]
            of_bodies = [rule for bit, rule in zip(same, of_message, strict=True) if not bit["raw"]]
            for body in message["children"]:
                if body["name"].startswith("body of "):
                    note(body, [("later", "later"), ("length", "body_length")])
                    packets.append((body, of_bodies.pop(0)))
    return numbers, bits, commands, packets


def packet_differs(shown, node, rule, known):
    """Compares rule and values. The packet of a message is a node with arguments; the body of a command has its packet as text."""
    name = shown.get("packet")
    if rule or shown.get("rule"):
        return "" if shown.get("rule") == rule else f"{name} breaks {shown.get('rule')}, should break {rule}"
    if node["name"].startswith("body of "):
        words = node["value"].split(" ")[0]
        return "" if words == name else f"is {name}, explain says {words}"
    found = find(node, name)
    _, types = known["native", shown.get("direction"), name]
    arguments = find(found, "arguments")
    named = {child["name"]: child for child in arguments["children"]} if arguments else {}
    values = [(one, value_of(named[one], kind)) for one, kind in types if one in named]
    return differs(shown, table.expected(name, types, [value for _, value in values]))


def datagram_differs(shown, frame, known):
    rule = (frame["problem"] or {}).get("rule")
    if rule == "datagram_unknown_connection":
        # Only the server knows all connection numbers. Without a key, the dissector shows no messages.
        return "" if not shown.rules and shown.values.get("expert.no_key") else f"shows {shown.rules} {shown.values}"
    if shown.rules != ([rule] if rule else []):
        return f"breaks {shown.rules}, should break {rule}"
    if "tree" not in frame:
        return f"shows {shown.values['message']}" if shown.values.get("message") else ""
    numbers, bits, commands, packets = expected_of(frame)
    for field, values in numbers.items():
        if shown.numbers(field) != values:
            return f"{field} is {shown.numbers(field)}, should be {values}"
    if (shown.bits, shown.commands) != (bits, commands):
        return f"the commands are {shown.commands} {shown.bits}, should be {commands} {bits}"
    if len(shown.packets) != len(packets):
        return f"{len(shown.packets)} packets, should be {len(packets)}"
    for message, (node, broken) in zip(shown.packets, packets):
        problem = packet_differs(message, node, broken, known)
        if problem:
            return problem
    return ""


def main():
    known = table.rows()
    options = ["-o", f"tickwire.key_log:{sys.argv[3]}"] if len(sys.argv) > 3 else []
    expected = [json.loads(line) for line in Path(sys.argv[2]).read_text().splitlines()]
    printed = tshark(Path(sys.argv[1]), *options, "-T", "pdml", "-J", "tickwire tickwire.datagram", "-Y", "udp")
    shown = []
    for packet in ElementTree.fromstring(printed).iter("packet"):
        proto = packet.find("proto[@name='tickwire.datagram']")
        shown.append(Datagram(proto if proto is not None else []))
    differences = abs(len(shown) - len(expected))
    for place, (one, frame) in enumerate(zip(shown, expected)):
        problem = datagram_differs(one, frame, known)
        if problem:
            differences += 1
            if differences <= SHOWN:
                print(f"datagram {place + 1}: {problem[:900]}")
    print(f"{len(shown)} datagrams, {differences} differences")


if __name__ == "__main__":
    main()
