"""Running tshark with the dissector, and counting what came of it."""

import os
import subprocess
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts/wireshark"
SAMPLES = SCRIPTS / "samples"
DISSECTOR = SCRIPTS / "tickwire.lua"
NAMES = sorted(path.stem for path in SAMPLES.glob("*.pcapng"))

# A folder of configuration that is empty, so that nobody's own profile changes what is seen.
HOME = tempfile.TemporaryDirectory()
# A program is given up after so many.
SECONDS = 200


class Results:
    """Counts checks. `only` are words: checks whose names have none of them are left out."""

    def __init__(self, only):
        self.only, self.passed, self.failed = only, 0, 0

    def check(self, name, problem):
        """`problem` is empty where all is well."""
        if problem:
            self.failed += 1
            print(f"FAILED  {name}: {problem}")
        else:
            self.passed += 1
            print(f"ok      {name}")

    def wants(self, name):
        return not self.only or any(word in name for word in self.only)


def environment(**more):
    """Variables without those that could change the answer."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG")}
    return {**kept, "HOME": HOME.name, "LC_ALL": "C.UTF-8", **more}


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL, **more)


def tshark(sample, *arguments, script=DISSECTOR, **more):
    """What tshark prints of a sample, or of another file. A complaint of Lua's is an error of the test."""
    command = ["tshark", "-n", "-X", f"lua_script:{script}", "-r", str(sample if isinstance(sample, Path) else SAMPLES / f"{sample}.pcapng"), *arguments]
    more.setdefault("env", environment())
    done = run(command, **more)
    complaints = [line for line in done.stderr.splitlines() if "Running as user" not in line]
    if done.returncode or any("ua" in line and "rror" in line or "bug" in line for line in complaints):
        raise AssertionError(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


def fields(sample, display_filter, *names):
    """One list of values for each packet that a filter leaves and each field; several values of a packet are joined by |."""
    arguments = [part for name in names for part in ("-e", name)]
    printed = tshark(sample, "-Y", display_filter, "-T", "fields", "-E", "aggregator=|", *arguments)
    return [line.split("\t") for line in printed.splitlines()]


class Message:
    """One packet of tickwire's as the tree shows it."""

    def __init__(self, frame, proto):
        self.frame, self.fields, self.experts, self.problems = frame, [], [], []
        for field in proto.iter("field"):
            name = field.get("name")
            if name.startswith("tickwire.expert."):
                self.experts.append(name.removeprefix("tickwire.expert."))
            elif name.startswith("tickwire."):
                self.fields.append((name, field.get("show")))
            elif "malformed" in name or "lua" in name:
                self.problems.append(field.get("showname"))

    def get(self, name):
        return next((value for known, value in self.fields if known == f"tickwire.{name}"), None)

    def arguments(self):
        """All fields but those that belong to the packet itself."""
        own = {f"tickwire.{name}" for name in ("direction", "dialect", "dialect.guess", "length", "packet", "code", "rule", "rule.address", "rule.answer")}
        return [field for field in self.fields if field[0] not in own]


def messages(sample, *more):
    """Every message of a sample, by the tree in full."""
    document = ElementTree.fromstring(tshark(sample, *more, "-T", "pdml", "-J", "frame tickwire"))
    found = []
    for packet in document.iter("packet"):
        number = int(packet.find(".//field[@name='frame.number']").get("show"))
        found += [Message(number, proto) for proto in packet.findall("proto[@name='tickwire']")]
    return found
