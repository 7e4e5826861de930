"""What Wireshark should show of a packet: its arguments as names of fields and values, in their order.

Comes in: packet_codes/ and the arguments of a packet as JSON. Goes out: what tickwire.lua should make of them, by a second
reading of the type grammar that shares nothing with the first. Never: anything that the dissector printed.
"""

import math
import re
from pathlib import Path

TABLES = Path(__file__).resolve().parents[2] / "packet_codes"
PARTS_PER_PX = {"hpx": 2, "fix4": 16, "fix16": 65536}
OWN_NAMES = {"packet", "code", "direction", "dialect", "length", "rule", "absent", "world"}


SCALARS = {"bool", "flag", "num", "str", "u8", "u16", "u32", "i8", "i16", "i32"}
# A value that is an array, a map or bytes where a scalar is expected: only its truth matters.
CONTAINER = object()


class Kind(tuple):
    """A type as parse() gives it, with its suffixes."""
    is_loose = or_nil = False
    most = None


def converted(kind, value):
    """The value of a loose type as JavaScript converts it; None for what it cannot convert."""
    shape = kind[0]
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    is_whole = is_number and math.isfinite(value) and value == int(value)
    if shape in ("bool", "flag"):
        return value == value and value not in (None, False, 0, "")
    if shape == "num":
        return value if is_number and math.isfinite(value) else None
    if shape == "str":
        if isinstance(value, bool):
            return str(value).lower()
        if is_whole and (abs(value) <= 2**53 or isinstance(value, int) and -2**63 <= value < 2**63):
            return str(int(value))
        return value if isinstance(value, str) else None
    if shape == "{":
        return value if isinstance(value, dict) else None
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        value = int(value) if re.fullmatch("0|[1-9][0-9]*", value, re.ASCII) else None
    elif not is_whole:
        value = None
    bits = int(shape[1:])
    least, most = (0, 2**bits - 1) if shape[0] == "u" else (-2**(bits - 1), 2**(bits - 1) - 1)
    most = most if kind.most is None else kind.most
    return value if value is not None and least <= value <= most else None


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
        found = Kind(shape)
        while peek().startswith(("<=", "|")):
            suffix = take()
            found.is_loose = found.is_loose or suffix == "|loose"
            found.or_nil = found.or_nil or suffix == "|nil"
            found.most = int(suffix[2:]) if suffix.startswith("<=") else found.most
        return found

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
    # The packets of lanes are in no table (PROTOCOL.md).
    for dialect in sorted({dialect for dialect, _, name in found if name == "hello"}):
        found[dialect, "to_server", "lane_request"] = ("126", parse("offer:str<=4096|nil"))
        found[dialect, "to_client", "lane_offer"] = ("126", parse("connection:u32 key:bin port:u16 answer:str|nil"))
    return found


def singular(name):
    if name == "leaves":
        return "leaf"
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name


def flatten(packet, path, kind, value):
    """Fields of one argument, in the order in which they stand in the tree."""
    shape, inside = kind
    if kind.is_loose and not (value is None and kind.or_nil):
        value = converted(kind, value)
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
    """Whether a text of Wireshark is a value. Booleans are 1 or True, depending on its version; bytes may be separated by colons."""
    if isinstance(value, str):
        is_bytes = re.fullmatch("[0-9a-f]{2}(:[0-9a-f]{2})+", shown)
        return shown in (value, escaped(value)) or is_bytes and shown.replace(":", "") == value
    if shown in ("True", "False"):
        shown = "1" if shown == "True" else "0"
    return math.isclose(float(shown), float(value), rel_tol=1e-12)
