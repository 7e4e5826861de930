"""What the dissector shows: every packet, every broken rule, odd segments, filters, the world's records."""

import json
import tempfile
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import fields as table
from capture_file import CLIENT, SERVER, CaptureFile, Connection, frame
from make_samples import BROKEN, BROKEN_TARGETS, MOVE_4, PONG, fixtures
from tshark import DISSECTOR, HOME, NAMES, ROOT, SAMPLES, fields, messages, run as run_command, tshark

HERE = ROOT / "tests/wireshark"
# Samples in which something is wrong on purpose.
WRONG = {"broken", "world"}
# Samples without WebSocket messages.
WITHOUT_MESSAGES = {"world", "sealed"}


def samples_are_made_by_their_script():
    done = run_command(["python3", str(HERE / "make_samples.py"), "--check"])
    return done.stderr


def samples_are_small():
    total = sum((ROOT / "scripts/wireshark/samples" / f"{name}.pcapng").stat().st_size for name in NAMES)
    return "" if 0 < total < 200_000 else f"{total} bytes"


def every_message_is_dissected(sample):
    """As many packets of ours as WebSocket has data messages; nothing malformed, no note above the level of a remark."""
    rows = fields(sample, "(websocket || tickwire) && !tickwire.datagram", "websocket.opcode", "websocket.fin", "tickwire.packet", "tickwire.length",
                  "tickwire.direction", "_ws.malformed", "tickwire.rule", "tickwire.expert.dissector_error")
    for opcodes, fins, packets, lengths, directions, malformed, rule, bug in rows:
        said = [opcode for opcode, fin in zip(opcodes.split("|"), fins.split("|"))
                if fin in ("1", "True") and opcode in ("0", "1", "2")]
        counts = [len(cell.split("|")) if cell else 0 for cell in (packets, lengths, directions)]
        if counts != [len(said)] * 3:
            return f"{len(said)} messages, but {packets} {lengths} {directions}"
        if bug or (malformed or rule) and sample not in WRONG:
            return f"{packets}: {malformed} {bug} {rule}"
    return "" if rows or sample in WITHOUT_MESSAGES else "no message at all"


def cut_frames_are_read_to_the_end(sample):
    """As `tcpdump -s` leaves them: what of a frame is there is shown, and the frame after it comes."""
    frames = len(tshark(sample).splitlines())
    for most in (54, 60, 67, 90, 120):
        with tempfile.NamedTemporaryFile(suffix=".pcapng") as cut:
            run_command(["editcap", "-s", str(most), str(SAMPLES / f"{sample}.pcapng"), cut.name], check=True)
            found = len(tshark(Path(cut.name)).splitlines())
        if found != frames:
            return f"{found} of {frames} frames with {most} bytes of each"
    return ""


def every_fixture_is_shown_with_its_values():
    """299 packets of all dialects and both directions, whose bytes another library made."""
    known, shown, wanted = table.rows(), messages("packets"), list(fixtures())
    order = {"native": 0, "legacy": 1, "letters": 2, "letters-2024": 3, "letters-2023": 4}
    wanted.sort(key=lambda row: order[row[0]])
    if len(shown) != len(wanted):
        return f"{len(shown)} packets instead of {len(wanted)}"
    for message, (dialect, direction, name, what, payload, arguments) in zip(shown, wanted):
        code, types = known[dialect, direction, name]
        own = [("packet", name), ("code", code), ("dialect", dialect), ("direction", direction), ("length", str(len(payload)))]
        for field, value in own:
            if message.get(field) != value:
                return f"frame {message.frame}, {what}: {field} is {message.get(field)}, not {value}"
        problem = differs(message, table.expected(name, types, json.loads(arguments)))
        if problem:
            return f"frame {message.frame}, {name}, {what}: {problem}"
    return ""


def differs(message, wanted):
    shown = message.arguments()
    if [name for name, _ in shown] != [name for name, _ in wanted]:
        return f"shows {shown}, should show {wanted}"
    wrong = [(one, other) for one, other in zip(shown, wanted) if not table.same(one[1], other[1])]
    return f"{wrong[0][0]} should be {wrong[0][1]}" if wrong else ""


def broken_messages_say_their_rule():
    """One expert note each, whose field has the rule's name, and the rule as a field."""
    order = list(BROKEN_TARGETS)
    wanted = sorted(BROKEN, key=lambda row: order.index(row[0]))
    for message, (dialect, _, rule, payload) in zip(messages("broken"), wanted, strict=True):
        if message.get("rule") != rule or message.experts != [rule]:
            return f"{dialect} {payload}: {message.get('rule')} {message.experts}, should be {rule}"
    return ""


def rows_by_hand():
    """checks.tsv by sample and filter: the field and the values of all packets that the filter leaves."""
    found = {}
    for line in (HERE / "checks.tsv").read_text().splitlines()[1:]:
        sample, display_filter, field, values = line.split("\t")
        found.setdefault((sample, display_filter), []).append((field, values))
    return found


def by_hand(sample, display_filter, wanted):
    shown = fields(sample, display_filter, *(field for field, _ in wanted))
    for place, (field, values) in enumerate(wanted):
        found = " ".join(row[place] for row in shown).replace("True", "1").replace("False", "0")
        if found != values:
            return f"{field} is {found!r}, should be {values!r}"
    return ""


def info_column(sample, frame, line):
    shown = fields(sample, f"frame.number == {frame}", "_ws.col.Info")[0][0].strip()
    return "" if shown == line else f"says {shown!r}, should say {line!r}"


LINES = [
    ("odd", 6, "→ move sequence=4 tick=nil direction=90°  → move sequence=5 tick=256 direction=nil  "
     "→ aim sequence=6 tick=nil heading=180°"),
    ("odd", 9, '→ chat sequence=7 tick=nil text="sprite"  → move sequence=4 tick=nil direction=90°'),
    ("odd", 11, "→ aim sequence=6 tick=nil heading=180°"),
    ("odd", 25, "→ move direction=90°"),
    ("mid-stream", 1, "the rest of a frame that began before the capture"),
    ("mid-stream", 4, "← pong nonce=42 tick=65536  ← pong nonce=42 tick=65536"),
    ("broken", 20, "← swings [wrong_arguments]"),
    ("world", 3, "tick tick=901 checksum=a1b2c3d4e5f60719 commands=0"),
    ("world", 6, "join room=two client at 192.0.2.7:40001 is player 7"),
]


def same_without_a_tree(sample):
    """A summary goes over lists that nobody looks at without reading them: its lines are those that come with the tree."""
    summary = tshark(sample, "-o", 'gui.column.format:"Info","%i"').splitlines()
    with_tree = [row[0] for row in fields(sample, "frame", "_ws.col.Info")]
    for place, (one, other) in enumerate(zip(summary, with_tree, strict=True)):
        if one.strip() != other.strip():
            return f"frame {place + 1} says {one!r}, and with the tree {other!r}"
    return ""


def same_without_regular_expressions(sample):
    """Before 4.0 Wireshark has none: the walk says the same, only later."""
    script = f"{HOME.name}/without.lua"
    with open(script, "w") as file:
        file.write(f"_G.rex_pcre2 = nil\ndofile({json.dumps(str(DISSECTOR))})\n")
    columns = ("-o", 'gui.column.format:"Info","%i"')
    one, other = tshark(sample, *columns), tshark(sample, *columns, script=script)
    return "" if one == other else f"{one!r}, and without {other!r}"


def the_code_has_its_own_bytes():
    """What is highlighted with the code: as many bytes as it takes, in MessagePack and in JSON."""
    for sample in ("native", "letters", "json", "packets"):
        found = 0
        for field in ElementTree.fromstring(tshark(sample, "-T", "pdml", "-J", "tickwire")).iter("field"):
            if field.get("name") != "tickwire.code":
                continue
            code, raw = field.get("show"), bytes.fromhex(field.get("value"))
            text = code.encode()
            # A short text's head has its length; a small number is its own byte; JSON has both as text.
            wanted = {bytes([0xA0 | len(text)]) + text, b'"' + text + b'"', text}
            wanted |= {bytes([int(code)])} if code.isdigit() and int(code) < 128 else set()
            is_named = sample == "json" and raw.startswith(b'"') and raw.endswith(b'"')
            if raw not in wanted and not is_named:
                return f"{sample}: the code {code} has the bytes {raw}"
            found += 1
        if not found:
            return f"{sample}: no code"
    return ""


# A packet of the dialect with a flag or a bool, and what is written of it: 1 or 0 and true or false, whichever of the two travels.
FLAGS = [
    ("/play", CLIENT, "92089301c001", "state", "1"), ("/play", CLIENT, "92089301c0c3", "state", "1"),
    ("/play", CLIENT, "92089301c000", "state", "0"), ("/play", CLIENT, "92089301c0c2", "state", "0"),
    ("/moomoo", CLIENT, "92a1359205c3", "is_weapon", "true"), ("/moomoo", CLIENT, "92a135920501", "is_weapon", "true"),
    ("/moomoo", CLIENT, "92a135920500", "is_weapon", "false"),
]


def flags_are_written_alike(program=None):
    """In the tree as in `tickwire explain`."""
    file = CaptureFile()
    for place, (target, side, payload, _, _) in enumerate(FLAGS):
        connection = Connection(file, client=("192.0.2.7", 41000 + place))
        connection.upgrade(target)
        connection.say(side, bytes.fromhex(payload))
    with tempfile.NamedTemporaryFile(suffix=".pcapng") as capture:
        file.write(capture.name)
        names = [field.get("showname") for field in ElementTree.fromstring(
            tshark(Path(capture.name), "-T", "pdml", "-J", "tickwire")).iter("field")]
    shown = [name for name in names if name and name.split(":")[0] in ("state", "is_weapon")]
    wanted = [f"{name}: {value}" for _, _, _, name, value in FLAGS]
    if shown != wanted:
        return f"{shown}, should be {wanted}"
    for target, side, payload, name, value in FLAGS if program else ():
        dialect = "native" if target == "/play" else "legacy"
        done = run_command([program, "explain", "--from", side, "--dialect", dialect, frame(side, bytes.fromhex(payload)).hex()])
        lines = [line.split() for line in done.stdout.splitlines() if name in line.split()]
        if not lines or any(line[line.index(name) + 1] != value for line in lines):
            return f"explain says {lines} of {payload}"
    return ""


def dialects_are_guessed_as_by_explain():
    """tests/fixtures/dialect_guess.tsv, which explain runs as well: a connection for each case, and its last message names all candidates."""
    lines = [line for line in (ROOT / "tests/fixtures/dialect_guess.tsv").read_text().splitlines() if not line.startswith("#")][1:]
    file, wanted = CaptureFile(), []
    for place, line in enumerate(lines):
        _, said, candidates, verdict, form, _ = line.split("\t")
        connection = Connection(file, client=("192.0.2.7", 42000 + place))
        for one in said.split(" "):
            kind, payload = one[1:].split(":")
            connection.say(CLIENT if one[0] == ">" else SERVER, bytes.fromhex(payload), 1 if kind == "text" else 2)
        *before, last = candidates.split(",")
        wanted.append((f"a guess, {', '.join(before)} or {last}" if before else f"a guess, {last}", verdict))
    with tempfile.NamedTemporaryFile(suffix=".pcapng") as capture:
        file.write(capture.name)
        rows = fields(Path(capture.name), "tickwire", "tcp.srcport", "tcp.dstport", "tickwire.dialect.guess", "tickwire.dialect")
    shown = {max(int(row[0]), int(row[1])): row[2:] for row in rows}
    for place, (line, (words, verdict)) in enumerate(zip(lines, wanted)):
        # Before any packet is read, Wireshark keeps the messages to itself.
        if line.split("\t")[4] == "-":
            continue
        guess, dialect = shown.get(42000 + place, ("nothing", "nothing"))
        if (guess.removesuffix(", as JSON"), dialect.split(" ")[0]) != (words, verdict):
            return f"{line}: {guess}, {dialect}, should be {words}, {verdict}"
    return ""


def as_nobody():
    """The same as an ordinary user; as root this file runs them both."""
    import os
    import tempfile
    if os.geteuid() != 0:
        return ""
    from tshark import SAMPLES, environment
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        for path in (DISSECTOR, SAMPLES / "odd.pcapng"):
            copy = f"{folder}/{path.name}"
            with open(copy, "wb") as file:
                file.write(path.read_bytes())
            os.chmod(copy, 0o644)
        command = ["tshark", "-n", "-X", f"lua_script:{folder}/tickwire.lua", "-r", f"{folder}/odd.pcapng", "-Y", "tickwire",
                   "-T", "fields", "-e", "tickwire.packet"]
        done = run_command(command, user="nobody", env=environment(HOME=folder))
    return "" if done.stdout.count("move") == 6 else f"{done.stdout} {done.stderr}"


def preferences():
    """A port that is nobody's, and a dialect that is chosen where none is known."""
    moved = tshark("mid-stream", "-o", "tickwire.ports:1-2999", "-Y", "tickwire", "-T", "fields", "-e", "tickwire.packet")
    if moved:
        return f"port 3000 is not the server's, but {moved}"
    chosen = tshark("mid-stream", "-o", "tickwire.dialect:legacy", "-Y", "frame.number == 6", "-T", "fields",
                    "-e", "tickwire.dialect")
    amiss = tshark("mid-stream", "-o", "tickwire.dialect:letters", "-Y", "tickwire.expert.other_dialect", "-T", "fields", "-e",
                   "frame.number", "-e", "tickwire.rule", "-e", "_ws.expert.message")
    note = "not a packet of the dialect that the preferences name"
    if [line.split("\t")[0] for line in amiss.splitlines()] != ["2", "3", "4", "5", "6"] or amiss.count(note) != 6:
        return f"letters are chosen, and the notes are {amiss!r}"
    if fields("mid-stream", "tickwire.expert.other_dialect || tickwire.rule", "frame.number"):
        return "a note without a choice"
    quiet = tshark("odd", "-o", "tickwire.values:FALSE", "-Y", "frame.number == 25", "-T", "fields", "-e", "_ws.col.Info")
    return "" if quiet.strip() == "→ move" and chosen.strip() == "legacy" else f"{chosen} {quiet}"


def both_ports_are_the_servers():
    """The mask tells who is the client, whichever port is the lower one and whoever speaks first."""
    columns, all_ports = ("-o", 'gui.column.format:"Info","%i"'), ("-o", "tickwire.ports:1-65535")
    usual, found = tshark("mid-stream", *columns), tshark("mid-stream", *columns, *all_ports)
    if usual != found:
        return f"{found!r}, should be {usual!r}"
    file = CaptureFile()
    for place, (port, first) in enumerate([(2000, SERVER), (2000, CLIENT), (50000, SERVER), (50000, CLIENT)]):
        connection = Connection(file, client=(f"192.0.2.{7 + place}", port))
        for side in (first, CLIENT, SERVER):
            connection.say(side, MOVE_4 if side == CLIENT else PONG)
    with tempfile.NamedTemporaryFile(suffix=".pcapng") as capture:
        file.write(capture.name)
        for passes in ((), ("-2",)):
            lines = tshark(Path(capture.name), *passes, *columns, *all_ports, "-o", "tickwire.values:FALSE").splitlines()
            said = " ".join(line.strip() for line in lines)
            if said != " ".join(["← pong → move ← pong", "→ move → move ← pong"] * 2):
                return said
    return ""


def all_checks():
    """Names and checks, in the order in which they are run."""
    yield "samples are made by their script", samples_are_made_by_their_script
    yield "samples are small", samples_are_small
    for name in NAMES:
        yield f"{name}: every message is dissected", lambda name=name: every_message_is_dissected(name)
        yield f"{name}: the same without a tree", lambda name=name: same_without_a_tree(name)
    for name in ("native", "letters", "json", "odd"):
        yield f"{name}: cut frames are read to the end", lambda name=name: cut_frames_are_read_to_the_end(name)
    for name in ("packets", "letters", "broken"):
        yield f"{name}: the same without regular expressions", lambda name=name: same_without_regular_expressions(name)
    yield "packets: every fixture is shown with its values", every_fixture_is_shown_with_its_values
    yield "broken: every message says its rule", broken_messages_say_their_rule
    for (sample, display_filter), wanted in rows_by_hand().items():
        yield f"{sample}: {display_filter}", lambda row=(sample, display_filter, wanted): by_hand(*row)
    for row in LINES:
        yield f"{row[0]}: the line of frame {row[1]}", lambda row=row: info_column(*row)
    yield "packets: the code has its own bytes", the_code_has_its_own_bytes
    yield "dialects are guessed as by explain", dialects_are_guessed_as_by_explain
    yield "flags are 1 or 0, bools true or false", flags_are_written_alike
    yield "odd: the same as an ordinary user", as_nobody
    yield "mid-stream: preferences", preferences
    yield "mid-stream: both ports are the server's", both_ports_are_the_servers


def run_named(results, named):
    """Carries out checks, several at a time: each waits for a tshark of its own."""
    def outcome(check):
        try:
            return check()
        except Exception as error:  # A check that cannot be carried out has failed, and the others go on.
            return f"{type(error).__name__}: {error}"

    wanted = [(name, check) for name, check in named if results.wants(name)]
    with ThreadPoolExecutor(max_workers=4) as workers:
        for (name, _), problem in zip(wanted, workers.map(outcome, (check for _, check in wanted))):
            results.check(name, problem)


def run(results):
    run_named(results, all_checks())
