#!/usr/bin/env python3
"""Generates the clients in Python, C# and GDScript, and runs them: rows of packets, the ends of connections, and the examples.

    cargo build --bin tickwire --example coins --example fog
    tests/clients/run.py [--tools]

It needs Mono (`mcs`), Godot 3 (`godot3-server`), and the packages of requirements.txt in target/clients, where `--tools`
installs them. C# runs with Mono. Debian has no Godot 4: the scripts are parsed with gdtoolkit, which knows the syntax of
Godot 4, and run with Godot 3 after the names that Godot 4 has changed are replaced (godot3_script).
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "tests" / "clients"
VENV = ROOT / "target" / "clients"
WORK = ROOT / "target" / "clients-test"
BINARIES = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug"
# Tables and dialect of each generated client. The tables of moo are built in.
CLIENTS = {
    "shapes": (HERE / "shapes.tsv", None),
    "coins": (ROOT / "examples" / "coins.tsv", None),
    "fog": (ROOT / "examples" / "fog.tsv", None),
    "native": (None, "native"),
    "letters": (None, "letters"),
    "tanks": (ROOT / "packet_codes" / "tanks" / "tanks.tsv", "tanks"),
}
LANGUAGES = {"python": "py", "csharp": "cs", "gdscript": "gd"}
# Only guards against a program that hangs.
PATIENCE_S = 120
# Names of Godot 4, and the same in Godot 3. `Peer` is godot3/peer.gd.
GODOT_3 = {
    r"^extends RefCounted$": 'extends Reference\nconst Peer = preload("res://peer.gd")',
    r"\bRefCounted\b": "Reference",
    r"\bTYPE_FLOAT\b": "TYPE_REAL",
    r"\bTYPE_PACKED_BYTE_ARRAY\b": "TYPE_RAW_ARRAY",
    r"\bPacked(Byte|String)Array\b": r"Pool\1Array",
    r"\bto_utf8_buffer\b": "to_utf8",
    r"\bJSON\.stringify\(": "JSON.print(",
    r"\bWebSocketPeer\b": "Peer",
    r"\bCallable\(self, (\"\w+\")\)": r"self, \1",
    r"\bfunc _process\(": "func _idle(",
}
counts = {"passed": 0, "failed": 0}


def run(name, command, wanted="", folder=WORK, **variables):
    """Runs a program, which passes if it exits with 0 and prints `wanted`. Counts the rows that it has counted."""
    ended = subprocess.run(
        [str(word) for word in command], cwd=folder, env=os.environ | variables, timeout=PATIENCE_S,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )
    has_passed = ended.returncode == 0 and re.search(wanted, ended.stdout) is not None
    rows = re.search(r"^(\d+) passed, \d+ failed$", ended.stdout, re.MULTILINE)
    counts["passed" if has_passed else "failed"] += int(rows[1]) if rows and has_passed else 1
    if has_passed:
        print(f"ok      {name}" + (f": {rows[1]} checks" if rows else ""))
    else:
        print(f"FAILED  {name}: status {ended.returncode}\n{ended.stdout}")
    return has_passed


def generate():
    for client, (table, dialect) in CLIENTS.items():
        for language, extension in LANGUAGES.items():
            command = [BINARIES / "tickwire", "codes", "--format", language]
            command += ["--codes", str(table)] if table else []
            command += ["--dialect", dialect] if dialect else []
            text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            (WORK / f"{client}.{extension}").write_text(text, encoding="utf-8")


def serve(program, endpoint, *options):
    """Starts a program on a free port. Returns its process and the URL of an endpoint."""
    command = [BINARIES / program, "--bind", "127.0.0.1:0", "--bots", "0", "--log", "error", *options]
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    for line in server.stdout:
        found = re.search(rf"{endpoint} +(ws://\S+)", line)
        if found:
            return server, found[1]
    raise SystemExit(f"{program} printed no address")


def check_python(coins, fog, moo):
    python = [VENV / "bin" / "python", "-B", "-W", "error"]
    run("Python, rows and ends", [*python, HERE / "rows.py", WORK, HERE / "rows.tsv", coins], r"passed, 0 failed")
    shutil.copy(WORK / "coins.py", WORK / "coins_client.py")
    example = ROOT / "examples" / "clients" / "coins.py"
    caught = r"(?s)ToClient.Caught\(.*ToClient.Caught\("
    run("Python, the example", [*python, example, coins], caught, PYTHONPATH=str(WORK))
    run("Python, entity lists", [*python, HERE / "fog.py", WORK, fog], "Ann has walked")
    lane = [*python, ROOT / "examples" / "clients" / "lane.py", moo, "20"]
    run("Python, a lane that loses 20 % of the datagrams", lane, r"(?s)(\d+) of \1 commands .* datagram: [1-9]")


def check_csharp(coins):
    compiler = ["mcs", "-nologo", "-langversion:6", "-warnaserror", "-nowarn:1591"]
    for client in CLIENTS:
        run(f"C#, {client} compiles", [*compiler, "-target:library", f"-out:{client}.dll", f"{client}.cs"])
    sources = ["shapes.cs", "coins.cs", HERE / "Rows.cs"]
    if run("C#, the rows compile", [*compiler, "-out:Rows.exe", *sources]):
        run("C#, rows and ends", ["mono", "Rows.exe", HERE / "rows.tsv", coins], r"passed, 0 failed")
    example = ROOT / "examples" / "clients" / "Coins.cs"
    if run("C#, the example compiles", [*compiler, "-out:Coins.exe", example, "coins.cs"]):
        run("C#, the example", ["mono", "Coins.exe", coins], r"(?s)\ncaught .*\ncaught ")


def check_gdscript(coins):
    parser = VENV / "bin" / "gdparse"
    scripts = [HERE / "rows.gd", ROOT / "examples" / "clients" / "coins.gd"]
    for script in [*(WORK / f"{client}.gd" for client in CLIENTS), *scripts]:
        run(f"GDScript, {script.name} has the syntax of Godot 4", [parser, script])
    folder = WORK / "godot3"
    folder.mkdir()
    (folder / "project.godot").write_text("config_version=4\n")
    shutil.copy(HERE / "godot3" / "peer.gd", folder)
    shutil.copy(HERE / "rows.tsv", folder)
    for client in CLIENTS:
        godot3_script(WORK / f"{client}.gd", folder / f"{client}.gd")
    godot3_script(WORK / "coins.gd", folder / "coins_client.gd")
    godot3_script(HERE / "rows.gd", folder / "rows.gd")
    godot3_script(ROOT / "examples" / "clients" / "coins.gd", folder / "example.gd")
    godot = ["godot3-server", "--no-window", "--script"]
    home = {"HOME": str(folder), "COINS_URL": coins}
    run("GDScript, rows and the end", [*godot, "rows.gd"], r"passed, 0 failed", folder, **home)
    run("GDScript, the example", [*godot, "example.gd"], r"(?s)\ncaught .*\ncaught ", folder, **home)


def godot3_script(source, target):
    text = source.read_text(encoding="utf-8")
    for pattern, replacement in GODOT_3.items():
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    target.write_text(text, encoding="utf-8")


def make_tools():
    if not (VENV / "bin" / "gdparse").exists():
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
    pip = [VENV / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "-r", HERE / "requirements.txt"]
    subprocess.run(pip, check=True)


def main():
    if "--tools" in sys.argv[1:]:
        return make_tools()
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    generate()
    (coins_server, coins), (fog_server, fog) = serve("examples/coins", "coins"), serve("examples/fog", "fog")
    moo_server, moo = serve("tickwire", "native", "--lane", "udp")
    try:
        check_python(coins, fog, moo)
        check_csharp(coins)
        check_gdscript(coins)
    finally:
        coins_server.kill()
        fog_server.kill()
        moo_server.kill()
    print(f"{counts['passed']} passed, {counts['failed']} failed")
    return counts["failed"] > 0


sys.exit(main())
