#!/usr/bin/env python3
"""The dissector against `tickwire explain` on a capture of mutated frames, each on a connection of its own.

    tests/wireshark/verdicts.py CAPTURE EXPLAINED

Comes in: the capture; and JSON lines, first {"first_packets": […]}, the number of the first packet of each connection, then what `tickwire
explain --json` says of each head and frame, with the number of its connection as `client`. Goes out: a line for each of the first
differences, and `N connections, M differences`. tests/verdicts/ makes both files and runs this.
"""

import bisect
import json
import sys
from pathlib import Path

import fields as table
from checks_explain import compare
from tshark import messages

SHOWN = 20
# What the dissector says of a header before its masking key is there, for which the server waits. Wireshark does not show a segment that ends in the
# middle of the payload, so it would otherwise never be said.
BEFORE_THE_KEY = {"continuation_without_start", "message_interrupted", "message_too_long", "too_many_fragments"}


def of_frames(rule):
    """Whether a rule is one of frames rather than of packets: its address."""
    return (rule or "").startswith("RFC")


def is_ours(frame):
    """Whether a frame of `explain` breaks a rule or completes a message, so that the dissector has something to say."""
    rule = (frame["problem"] or {}).get("rule")
    whole = frame.get("message") or frame
    return frame["kind"] == "frame" and rule != "incomplete" and (rule or frame["fin"] and whole["opcode"] in ("binary", "text"))


class Told:
    """What `explain` says of the frames of a connection. Wireshark's WebSocket hands on no empty frame, so a message whose last frame is empty stays
    unfinished; and, of a packet in which it puts fragments together, what follows them not always. These are counted only."""

    def __init__(self):
        self.messages, self.broken, self.kept_back = [], [], 0
        self.fragments, self.begun, self.is_loose, self.has_half_header = None, None, False, False

    def add(self, packet, frame):
        if frame["kind"] == "frame" and not frame["problem"] and not frame["fin"] and frame["payload"]:
            self.begun = packet if frame["opcode"] != "continuation" else self.begun
            self.fragments = packet
        self.has_half_header |= (frame["problem"] or {}).get("description") == "the header is incomplete"
        if not is_ours(frame):
            return
        whole = {**frame, **(frame.get("message") or {}), "at": packet, "within": self.begun == packet}
        if of_frames((frame["problem"] or {}).get("citation")):
            self.broken.append(whole)
            # A wrong continuation goes to the fragments before it.
            while self.messages and "message" in self.messages[-1] and self.messages[-1]["at"] == packet:
                self.messages.pop()
                self.kept_back += 1
        elif self.is_loose or not frame["payload"] or "message" not in frame and packet == self.fragments:
            self.kept_back += 1
            self.is_loose |= "message" in frame or packet == self.fragments
        else:
            self.messages.append(whole)


def verdicts(path):
    """The first packet of each connection, and what `explain` says of it."""
    with open(path) as lines:
        firsts = json.loads(next(lines))["first_packets"]
        told = [Told() for _ in firsts]
        for line in lines:
            item = json.loads(line)
            for frame in item["frames"]:
                told[item["client"] - 1].add(item["packet"], frame)
    return firsts, told


def differs(shown, told, known):
    """How a connection differs; empty if it does not. Wireshark's second pass may lose messages whose fragments are in one packet; and a text of several
    segments is judged in the first, and then as a whole: not if its end never comes."""
    problem = differs_in_full(shown, told, known)
    if problem:
        lost = [frame for frame in told.messages if "message" in frame and frame["within"]]
        lost += [frame for frame in told.broken if frame["problem"]["rule"] == "text_not_utf8"]
        told.messages, told.broken = ([frame for frame in all if frame not in lost] for all in (told.messages, told.broken))
        if lost and not differs_in_full(shown, told, known):
            told.kept_back += len(lost)
            return ""
    return problem


def differs_in_full(shown, told, known):
    """The same of everything. What stands behind a broken frame nobody reads, but Wireshark shows it."""
    broken = [message for message in shown if of_frames(message.get("rule.address"))]
    shown = [message for message in shown if message not in broken]
    if told.has_half_header and len(broken) > len(told.broken) and broken[-1].get("rule") in BEFORE_THE_KEY:
        broken.pop()
    if told.broken or told.is_loose:
        shown = shown[:len(told.messages)]
    for ours, theirs in ((shown, told.messages), (broken, told.broken)):
        for message, frame in zip(ours, theirs):
            rule = frame["problem"]
            problem = compare(message, frame, known)
            if not problem and rule and (message.get("rule.address"), message.get("rule.answer")) != (rule["citation"], rule["response"]):
                problem = f"{message.get('rule.address')}, {message.get('rule.answer')}; explain says {rule['citation']}, {rule['response']}"
            if problem:
                return f"{frame['line'][:160]}: {problem}"
        if len(ours) != len(theirs):
            words = [message.get("rule") or message.get("packet") for message in ours]
            return f"shows {words}, explain says {[frame['line'][:160] for frame in theirs]}"
    return ""


def main():
    known = table.rows()
    firsts, explained = verdicts(sys.argv[2])
    shown = [[] for _ in firsts]
    for message in messages(Path(sys.argv[1]), "-2"):
        if message.get("packet") or message.get("rule"):
            shown[bisect.bisect_right(firsts, message.frame) - 1].append(message)
    differences = 0
    for place, (ours, theirs) in enumerate(zip(shown, explained)):
        problem = differs(ours, theirs, known)
        if problem:
            differences += 1
            if differences <= SHOWN:
                print(f"connection {place + 1}: {problem[:900]}")
    kept_back = sum(told.kept_back for told in explained)
    print(f"{len(firsts)} connections, {differences} differences, {kept_back} messages kept back by Wireshark")


if __name__ == "__main__":
    main()
