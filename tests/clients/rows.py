"""Decodes and encodes each row of rows.tsv with the generated clients in Python, and reads the ends of connections.

    rows.py FOLDER_OF_THE_CLIENTS ROWS URL_OF_COINS
"""

import base64
import dataclasses
import importlib
import json
import sys

sys.path.insert(0, sys.argv[1])
counts = {"passed": 0, "failed": 0}


def expect(what, got, expected):
    counts["passed" if got == expected else "failed"] += 1
    if got != expected:
        print(f"FAILED  {what}\n  expected {expected}\n  got      {got}")


def plain(value):
    """Records as dicts, by the names in the table, and bytes as in the JSON of the protocol."""
    if dataclasses.is_dataclass(value):
        return {one.metadata["name"] or one.name: plain(getattr(value, one.name)) for one in dataclasses.fields(value)}
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    return [plain(one) for one in value] if isinstance(value, list) else value


def text_of(packet):
    return json.dumps(plain(packet), separators=(",", ":"), ensure_ascii=False)


def check_row(row, lists):
    dialect, direction, name, data, values, known = row
    client = importlib.import_module(dialect)
    payload = bytes.fromhex(data)
    side = client.ToServer if direction == "to_server" else client.ToClient
    try:
        packet = client.decode(payload, side)
    except client.TickwireError as error:
        kinds = {client.MalformedPacket: "!malformed_packet", client.UnknownPacket: "!unknown_packet",
                 client.WrongArgument: "!wrong_argument"}
        return expect(f"{name} {known} {data}: {error}", kinds[type(error)], name)
    expect(data, (packet.NAME, text_of(packet)), (name, values))
    expect(name, client.encode(packet).hex(), data)
    if known:
        expect(name, apply(packet, lists.setdefault(name, {"entities": {}, "tick": None})), known)


def apply(packet, known):
    """The known entities after a packet of their list."""
    entities = known["entities"]
    if packet.NAME == "movers":
        packet.apply(entities, known["tick"])
        known["tick"] = packet.tick
    else:
        packet.apply(entities)
    return ", ".join(" ".join(map(text_of_value, plain(one).values())) for one in entities.values())


def text_of_value(value):
    return value if isinstance(value, str) else json.dumps(value)


def check_wrong_values(coins, shapes):
    """Packets that the encoder rejects, with its message."""
    go, texts = coins.ToServer.Go, shapes.ToServer.Texts
    text = {"text": "", "data": b"", "yes": True, "on": True}
    for packet, message in (
        (go(sequence=1, direction=5), "go.direction is 5: must be a whole number from 0 to 4"),
        (go(sequence=1, direction=-1), "go.direction is -1: must be a whole number from 0 to 4"),
        (go(sequence=1, direction=1.5), "go.direction is 1.5: must be a whole number from 0 to 4"),
        (go(sequence=1, direction=None), "go.direction is None: must be a whole number from 0 to 4"),
        (go(sequence=1, direction=True), "go.direction is True: must be a whole number from 0 to 4"),
        (go(direction=1), "go.sequence is None: must be a whole number from 0 to 4294967295"),
        (coins.ToServer.Hello(version=1, mode=1, name="x" * 16),
         "hello.name is 'xxxxxxxxxxxxxxxx': must be text of at most 15 characters"),
        (texts(**text | {"text": "\ud83d"}), "texts.text is '\\ud83d': must be text of at most 40 characters"),
        (texts(**text | {"data": bytes(301)}), "texts.data is "),
    ):
        try:
            got = coins.encode(packet)
        except (coins.WrongArgument, shapes.WrongArgument) as error:
            got = error
        expect(message, str(got)[: len(message)], message)


def check_ends(coins, url):
    """A closed connection has the code and the reason, and a refused one the status."""
    with coins.Connection(url) as game:
        game.send(coins.ToServer.Hello(version=2, mode=0))
        expect("wrong version", error_of(game.receive), (coins.Closed, 1008, "hello_version"))
        after = error_of(lambda: game.send(coins.ToServer.Ping(nonce=1)))
        expect("after the end", after, (coins.Closed, 1008, "hello_version"))
    with coins.Connection(url) as game:
        expect("nothing received", error_of(lambda: game.receive(timeout=0.01)), (TimeoutError,))
        game.close()
        expect("own close", error_of(game.receive), (coins.Closed, 1000, ""))
    expect("unknown path", error_of(lambda: coins.Connection(url + "er")), (coins.Refused, 404))


def error_of(call):
    """The type of the error of a call, and what it says about the end of a connection."""
    try:
        return call()
    except Exception as error:
        details = (getattr(error, name, None) for name in ("code", "reason", "status"))
        return type(error), *(detail for detail in details if detail is not None)


lists = {}
with open(sys.argv[2], encoding="utf-8") as rows:
    for line in rows.readlines()[1:]:
        check_row(line.rstrip("\n").split("\t"), lists)
check_wrong_values(importlib.import_module("coins"), importlib.import_module("shapes"))
check_ends(importlib.import_module("coins"), sys.argv[3])
print(f"{counts['passed']} passed, {counts['failed']} failed")
sys.exit(counts["failed"] > 0)
