"""Writes rows.tsv: packets as another MessagePack library encodes them, for the clients in other languages.

    target/clients/bin/python tests/clients/make_rows.py >tests/clients/rows.tsv

It does not read the tables: codes and the order of arguments are written out again, so that a mistake in them shows. A row
has a dialect, a direction, a packet (or the error that its bytes cause), the bytes and the values by name as JSON. `flag` is
true or false, and `bin` is base64, as in the JSON of the protocol.
"""

import json

import msgpack

UP, DOWN = "to_server", "to_client"
NUMBERS = "abcdefgh"
MAYBE = ("from", "class", "in", "is", "on", "data", "list", "int")
BYTES = bytes(range(256)) + b"12345"


def base64(data):
    import base64 as encoding

    return {"base64": encoding.b64encode(data).decode()}


def named(names, values):
    return dict(zip(names, values))


def numbers():
    lows = [0, 0, 0, -128, -32768, -(2**31), 0, 0]
    highs = [255, 65535, 2**32 - 1, 127, 32767, 2**31 - 1, 1.5, 9]
    between = [127, 255, 65535, -1, -32, -33, -1.25, 1]
    others = [128, 256, 65536, -128, -129, -32769, 2.0, 2]
    for values in (lows, highs, between, others):
        # A number without a fraction is an integer.
        sent = [int(value) if value == int(value) else value for value in values]
        for direction in (UP, DOWN):
            yield "shapes", direction, "numbers", "n", sent, named(NUMBERS, sent)


def texts():
    for text, data, yes in (
        ("", b"", False),
        ("h\u00e9llo \U0001f600 \"\\", b"\x00\xff", True),
        ("a" * 31, BYTES[:255], True),
        ("b" * 32, BYTES, False),
        ("\u4e2d" * 40, b"1", True),
    ):
        values = {"text": text, "data": base64(data), "yes": yes, "on": not yes}
        for direction, code in ((UP, "t"), (DOWN, "T")):
            yield "shapes", direction, "texts", code, [text, data, yes, int(not yes)], values


def maybe():
    for direction in (UP, DOWN):
        yield "shapes", direction, "maybe", "m", [None] * 8, named(MAYBE, [None] * 8)
        sent = [7, "x", 0.5, True, 0, b"\x01", [1, 200], 2**32 - 1]
        values = [7, "x", 0.5, True, False, base64(b"\x01"), [1, 200], 2**32 - 1]
        yield "shapes", direction, "maybe", "m", sent, named(MAYBE, values)


def nested():
    names = ("map", "tuple", "groups", "lists", "zero", "any")
    for direction in (UP, DOWN):
        empty = [{"id": 0, "teams": []}, [0, 0], [], [], None, None]
        values = [{"id": 0, "teams": []}, {"x": 0, "is": False}, [], [], None, None]
        # `zero:[…]|0` without a value is the number 0.
        empty[4] = 0
        yield "shapes", direction, "nested", "x", empty, named(names, values)
        sent = [
            {"id": 3, "teams": [{"name": "red", "size": 300}, {"name": "", "size": None}]},
            [-0.5, 1],
            [number for at in range(8) for number in (at, -at)],
            [[1, 2], []],
            [9, 8],
            [1, "a", None, True],
        ]
        values = [
            sent[0],
            {"x": -0.5, "is": True},
            [{"id": at, "at": -at} for at in range(8)],
            sent[3],
            [{"x": 9}, {"x": 8}],
            sent[5],
        ]
        yield "shapes", direction, "nested", "x", sent, named(names, values)


def names():
    values = {"packet": {"packet": 1}, "codec": [{"codec": [2]}, {"codec": []}], "one": [None, 4]}
    yield "shapes", UP, "packet", '\\"', [[1], [[2], []], [None, 4]], values


def coins():
    def runner(player, name, x, y, score):
        return {"player": player, "name": name, "x": x, "y": y, "score": score}

    yield "coins", UP, "hello", 1, [1, 1, "Ann"], {"version": 1, "mode": 1, "name": "Ann"}
    yield "coins", UP, "hello", 1, [1, 0, None], {"version": 1, "mode": 0, "name": None}
    yield "coins", UP, "join", 2, ["Bo"], {"name": "Bo"}
    yield "coins", UP, "ping", 3, [7], {"nonce": 7}
    yield "coins", UP, "go", 4, [1, None, 2], {"sequence": 1, "tick": None, "direction": 2}
    yield "coins", UP, "go", 4, [300, 70000, 0], {"sequence": 300, "tick": 70000, "direction": 0}
    welcome = [1, "00112233445566aa", 4000000000, 30, 30, "ffeeddccbbaa9988", 12]
    names = ("version", "rules_hash", "seed", "tick_hz", "update_hz", "epoch", "tick")
    yield "coins", DOWN, "welcome", 1, welcome, named(names, welcome)
    yield "coins", DOWN, "spawned", 2, [1], {"player": 1}
    yield "coins", DOWN, "pong", 3, [7, 31], {"nonce": 7, "tick": 31}
    yield "coins", DOWN, "error", 4, ["unknown_code", "no"], {"rule": "unknown_code", "detail": "no"}
    runners = [runner(1, "Ann", 320, 130, 0), runner(500, "Bo", 0, 480, 65535)]
    flat = [value for one in runners for value in one.values()]
    state = {"tick": 33, "runners": runners, "coin_x": 320, "coin_y": 120}
    yield "coins", DOWN, "state", 5, [33, flat, 320, 120], state
    yield "coins", DOWN, "state", 5, [33, [], 0, 0], {"tick": 33, "runners": [], "coin_x": 0, "coin_y": 0}
    yield "coins", DOWN, "caught", 6, [1, "Ann"], {"player": 1, "name": "Ann"}
    accepted = {"commands": [{"sequence": 1, "count": 2, "tick": 32}]}
    yield "coins", DOWN, "command_accepted", 7, [[1, 2, 32]], accepted
    rejected = {"commands": [{"sequence": 3, "reason": "repeated"}]}
    yield "coins", DOWN, "command_rejected", 8, [[3, "repeated"]], rejected


# A conversation about entities, with the names and positions that a client knows after each packet.
def entities():
    def row(enter, leave, moved, apply, known):
        groups = [("id", "name", "x", "is"), ("id", "dx"), ("did", "name", "is")]
        lists = [[named(names, one) for one in group] for names, group in zip(groups, (enter, moved, apply))]
        values = {"tick": 9, "enter": lists[0], "leave": leave, "moved": lists[1], "apply": lists[2], "known": known}
        flat = [[value for one in group for value in one] for group in (enter, moved, apply)]
        return "shapes", DOWN, "entities", "e", [9, flat[0], leave, flat[1], flat[2]], values

    yield row([(1, "a", 10, True), (2, "b", 20, False)], [], [], [], "1 a 10 true, 2 b 20 false")
    yield row([], [], [(1, -3), (2, 5)], [(1, "A", False), (1, "B", True)], "1 A 7 false, 2 B 25 true")
    yield row([(2, "new", 1, False), (3, "c", 0, False)], [1, 2], [(3, 127)], [], "2 new 1 false, 3 c 127 false")
    yield row([(3, "over", 65535, True)], [2], [], [(3, "z", False)], "3 z 65535 false")
    # Lists that may be nil are nil if they are empty.
    packet = {"tick": 9, "enter": [], "leave": None, "moved": [{"id": 3, "dx": -5}], "apply": None}
    yield "shapes", DOWN, "entities", "e", [9, [], None, [3, -5], None], packet | {"known": "3 z 65530 false"}


# Entities with velocities, with the positions and the velocities that a client knows after each packet.
def movers():
    members = {
        "turned": ("did", "vx", "vy", "vz"), "ticks": ("did", "dvx"), "placed": ("id", "x"), "last_tick": ("id", "dx"),
        "enter": ("id", "x", "vx", "y", "vy", "z", "vz"),
    }

    def row(tick, known, **lists):
        values, sent = {"tick": tick}, [tick]
        for name, names in members.items():
            records = lists.get(name, [])
            values[name] = [named(names, one) for one in records]
            sent.append([value for one in records for value in one])
        values["leave"] = lists.get("leave", [])
        return "shapes", DOWN, "movers", "v", [*sent, values["leave"]], values | {"known": known}

    yield row(100, "1 160 10 320 -3 0 5, 2 -50 -4 0 2 8 1", enter=[(1, 160, 10, 320, -3, 0, 5), (2, -50, -4, 0, 2, 8, 1)])
    # Two ticks with the old velocities and one with the new ones: values, and a difference.
    yield row(103, "1 192 12 313 -1 12 2, 2 -68 -10 6 2 11 1", turned=[(1, 12, -1, 2)], ticks=[(2, -6)])
    # Entities that enter have not moved, and change as of this tick.
    enter = [(1, 1000, 1, 50, 1, 0, 0), (3, 5, 7, 0, 0, 0, 0)]
    yield row(104, "1 1001 2 50 1 0 0, 3 -2 0 0 0 0 0", leave=[2], enter=enter, ticks=[(1, 1), (2, -7)])
    # A second packet of a tick moves nothing. A position that is sent replaces the one that a new velocity has changed.
    changes = {"turned": [(1, -2, 1, 0)], "placed": [(1, 500)], "last_tick": [(3, -5)]}
    yield row(104, "1 500 -2 50 1 0 0, 3 -7 0 0 0 0 0", **changes)
    yield row(204, "1 300 -2 150 1 0 0, 3 -7 0 0 0 0 0")


# Bytes that are no packet of the server, or no right one, each with the error of its client.
ERRORS = (
    ("malformed_packet", "", "no bytes"),
    ("malformed_packet", "9201", "cut after the code"),
    ("malformed_packet", "920191ff00", "a byte after the value"),
    ("malformed_packet", "c1", "a reserved byte"),
    ("malformed_packet", "a16e", "no array"),
    ("malformed_packet", "90", "no code"),
    ("malformed_packet", "91c0", "a nil code"),
    ("malformed_packet", "92a16edfffffffff", "a map that is declared too long"),
    ("malformed_packet", "92a16edcffff", "an array that is declared too long"),
    ("malformed_packet", "92a1549201c4ff", "bytes that are declared too long"),
    ("malformed_packet", "92a15494a2c328c400c200", "text that is not UTF-8"),
    ("malformed_packet", "92a17896" + "91" * 2000 + "c0", "nested too deep"),
    ("unknown_packet", "92a17a90", "an unknown code"),
    ("unknown_packet", "920190", "a number in a dialect with text"),
    ("wrong_argument", "92a16e07", "no array of arguments"),
    ("wrong_argument", "92a16e90", "no arguments"),
    ("wrong_argument", "92a16e98cd010000000000000000", "256 in a u8"),
    ("wrong_argument", "92a16e98ff00000000000000", "a negative u8"),
    ("wrong_argument", "92a16e98000000000000000a", "10 in a u8<=9"),
    ("wrong_argument", "92a16e98cb3ff800000000000000000000000000", "a fraction in a u8"),
    ("wrong_argument", "92a16e98a13100000000000000", "text in a u8"),
    ("wrong_argument", "92a16e98000000000000cb7ff800000000000000", "NaN"),
    ("wrong_argument", "92a15494d929" + "61" * 41 + "c400c200", "41 characters of 40"),
    ("wrong_argument", "92a15494a0c400c202", "2 in a flag"),
    ("wrong_argument", "92a15494c0c400c200", "nil in a text"),
    ("wrong_argument", "92a1789582a26964c0a57465616d7390920000909090", "nil in a u8 of a map"),
    ("wrong_argument", "92a1789582a2696400a57465616d7390920000930102039090", "one value and a half of a group"),
    ("wrong_argument", "92a1789582a2696400a57465616d739092000090939090" + "9090", "three lists of two"),
)


def row(dialect, direction, packet, code, arguments, values):
    known = values.pop("known", "")
    text = json.dumps(values, separators=(",", ":"), ensure_ascii=False)
    return [dialect, direction, packet, msgpack.packb([code, arguments]).hex(), text, known]


def main():
    print("dialect\tdirection\tpacket\thex\tvalues\tknown entities, or what is wrong")
    for rows in (numbers, texts, maybe, nested, names, coins, entities, movers):
        for one in rows():
            print("\t".join(row(*one)))
    for error, data, what in ERRORS:
        print("\t".join(["shapes", DOWN, "!" + error, data, "", what]))


main()
