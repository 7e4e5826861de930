"""What Wireshark should show of a packet: its arguments as names of fields and values, in their order.

Comes in: packet_codes/ and the arguments of a packet as JSON. Goes out: what tickwire.lua should make of them, by a second
reading of the type grammar that shares nothing with the first. Never: anything that the dissector printed.
"""

import math
import re
from pathlib import Path

TABLES = Path(__file__).resolve().parents[2] / "packet_codes"
PARTS_PER_PX = {"hpx": 2, "fix16": 65536}
OWN_NAMES = {"packet", "code", "direction", "dialect", "length", "rule", "absent", "world"}


def parse(text):
    """A cell of arguments as [(name, type)]; a type is ('[', members), ('{', …), ('(', …), ('list', type) or (scalar, unit)."""
    tokens = re.findall(r"[a-z][a-z0-9_]*|<=\d+|\|nil|\|0|\|loose|[^\s]| ", text)
    place = 0

    def peek():
        return tokens[place] if place < len(tokens) else ""

    def take():
        nonlocal place
        place += 1
        return tokens[place - 1]

    def members(close):
        found = []
        while True:
            name = take()
            assert take() == ":"
            found.append((name, kind()))
            if peek() == close or peek() == "":
                place_after(close)
                return found
            take()

    def place_after(close):
        if close:
            assert take() == close

    def kind():
        sign = take()
        if sign in "{(":
            shape = (sign, members("}" if sign == "{" else ")"))
        elif sign == "[" and place + 1 < len(tokens) and tokens[place + 1] == ":":
            shape = ("[", members("]"))
        elif sign == "[":
            shape = ("list", kind())
            assert take() == "]"
        else:
            unit = None
            if peek() == ".":
                take()
                unit = take()
            shape = (sign, unit)
        while peek().startswith(("<=", "|")):
            take()
        return shape

    return [] if text == "-" else members("")


def rows():
    """{(dialect, direction, packet name): (code, arguments)} of all tables."""
    found = {}
    for path in sorted(TABLES.glob("*/*.tsv")):
        heading, *lines = path.read_text().splitlines()
        dialects = [name.split(":")[0] for name in heading.split("\t")[3:-2]]
        for line in lines:
            direction, name, _, *codes, arguments, _ = line.split("\t")
            for dialect, code in zip(dialects, codes):
                if code != "-":
                    found[dialect, direction, name] = (code, parse(arguments))
    return found


def singular(name):
    if name == "leaves":
        return "leaf"
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name


def flatten(packet, path, kind, value):
    """Fields of one argument, in the order in which they stand in the tree."""
    shape, inside = kind
    if value is None or shape in ("[", "list") and value == 0:
        return [("tickwire.absent", path.split(".")[-1])]
    if shape == "[":
        fields = [(f"tickwire.{path}.count", len(value) // len(inside))]
        for place, one in enumerate(value):
            name, member = inside[place % len(inside)]
            fields += flatten(packet, f"{singular(path)}.{name}", member, one)
        return fields
    if shape == "list":
        each = [field for one in value for field in flatten(packet, singular(path), inside, one)]
        return [(f"tickwire.{path}.count", len(value))] + each
    if shape == "{":
        return [field for name, member in inside for field in
                (flatten(packet, f"{path}.{name}", member, value[name]) if name in value else [])]
    if shape == "(":
        return [field for (name, member), one in zip(inside, value)
                for field in flatten(packet, f"{path}.{name}", member, one)]
    own = path in OWN_NAMES or shape == "str" and path == "id"
    name = f"tickwire.{packet}.{path}" if own else f"tickwire.{path}"
    if inside in PARTS_PER_PX:
        value /= PARTS_PER_PX[inside]
    return [(name, value)]


def expected(packet, arguments, values):
    """All fields of a packet. `values` are its arguments as they were said: those at the end may be missing."""
    return [field for (name, kind), value in zip(arguments, values) for field in flatten(packet, name, kind, value)]


def escaped(text):
    """A text as Wireshark writes it to XML: it ends before a NUL, blanks are alike there, and other control characters have an escape."""
    text = text.split("\0")[0].translate({ord(one): " " for one in "\t\n\r"})
    return "".join(f"\\x{ord(one):x}" if ord(one) < 32 or ord(one) == 127 else one for one in text)


def same(shown, value):
    """Whether a text of Wireshark's says a value. Booleans are 1 or True, by its version."""
    if isinstance(value, str):
        return shown in (value, escaped(value))
    if shown in ("True", "False"):
        shown = "1" if shown == "True" else "0"
    return math.isclose(float(shown), float(value), rel_tol=1e-12)
