"""What stands around the dissector: statistics, installing, capturing, and the commands of its README."""

import os
import shutil
import tempfile
from pathlib import Path

from capture_file import CLIENT, CaptureFile, Connection
from checks import run_named
from tshark import HOME, NAMES, ROOT, SAMPLES, SCRIPTS, environment, run, tshark

BLESS = "TICKWIRE_BLESS"
README = SCRIPTS / "README.md"


def statistics_count_packets():
    """Counts and bytes of the made sample, from the bytes themselves: three packets in one segment are three."""
    printed = tshark("odd", "-q", "-X", f"lua_script:{SCRIPTS / 'stats.lua'}")
    rows = [line.split() for line in printed.splitlines()]
    wanted = [["move", "6", "59"], ["aim", "2", "16"], ["chat", "1", "12"], ["pong", "2", "18"]]
    found = [row[:3] for row in rows if row and row[0] in ("move", "aim", "chat", "pong")]
    return "" if found == wanted else printed


def statistics_say_what_they_need():
    done = run(["tshark", "-q", "-X", f"lua_script:{SCRIPTS / 'stats.lua'}", "-r", str(SAMPLES / "odd.pcapng")], env=environment())
    return "" if "stats.lua needs tickwire.lua" in done.stderr else done.stderr


def installed_and_removed():
    """Into an empty home: the dissector works without -X, the profile has its columns, and nothing is left afterwards."""
    with tempfile.TemporaryDirectory() as home:
        there = environment(HOME=home)
        script = str(SCRIPTS / "install.sh")
        run([script, "--profile"], env=there)
        done = run(["tshark", "-n", "-C", "tickwire", "-r", str(SAMPLES / "odd.pcapng"), "-Y", "frame.number == 9"], env=there)
        line = done.stdout.split()
        if "chat,move" not in line or "7,4" not in line or "12,8" not in line:
            return f"{done.stdout}{done.stderr}"
        mine = Path(home) / ".config/wireshark/profiles/tickwire/recent"
        mine.write_text("mine")
        run([script, "--uninstall"], env=there)
        left = [str(path) for path in Path(home).rglob("*") if path.is_file()]
        if left != [str(mine)]:
            return f"leaves {left}"
        return "" if run([script, "--all"], env=there).returncode == 2 else "an unknown argument is taken"


def loaded_twice_is_silent():
    """Installed, and named with -X as well, or with -X twice: one dissector, and no word of Lua's."""
    with tempfile.TemporaryDirectory() as home:
        there = environment(HOME=home)
        run([str(SCRIPTS / "install.sh")], env=there)
        for times in (1, 2):
            again = ["-X", f"lua_script:{SCRIPTS / 'tickwire.lua'}"] * times
            done = run(["tshark", "-n", *again, "-r", str(SAMPLES / "odd.pcapng"), "-Y", "frame.number == 25"], env=there)
            complaints = [line for line in done.stderr.splitlines() if "Running as user" not in line]
            if complaints or "→ move direction=90°" not in done.stdout:
                return f"{complaints} {done.stdout}"
    return ""


def filter_buttons_are_filters():
    """Each expression of the profile is one that tshark takes."""
    for line in (SCRIPTS / "profile/dfilter_buttons").read_text().splitlines():
        tshark("odd", "-Y", line.split('","')[2].replace("\\x22", '"'))
    for line in (SCRIPTS / "profile/colorfilters").read_text().splitlines():
        tshark("odd", "-Y", line.split("@")[2])
    return ""


def the_profile_switches_itself_on():
    """Its filter selects a frame of each sample, and none of a connection without packets on the server's port."""
    settings = (SCRIPTS / "profile/profile_settings").read_text().splitlines()
    display_filter, = (line.removeprefix("auto_switch_filter: ") for line in settings if not line.startswith("#"))
    for sample in NAMES:
        if not tshark(sample, "-Y", display_filter):
            return f"selects no frame of {sample}"
    file = CaptureFile()
    connection = Connection(file)
    connection.open()
    connection.segment(CLIENT, b"hello")
    with tempfile.NamedTemporaryFile(suffix=".pcapng") as other:
        file.write(other.name)
        return tshark(Path(other.name), "-Y", display_filter)


def no_rights_bring_hints():
    """Who may not capture is told what to do, and nothing is written."""
    done = run([str(ROOT / "scripts/capture.sh"), "--interface", "no-such-interface", "--output", f"{HOME.name}/none.pcapng"],
               env=environment())
    said = done.returncode == 1 and "usermod -aG wireshark" in done.stderr and "no-such-interface" in done.stderr
    return "" if said and not os.path.exists(f"{HOME.name}/none.pcapng") else f"{done.returncode} {done.stderr}"


def options_without_a_value():
    """Say which, and nothing else is done."""
    wanted = [("capture.sh", option) for option in ("--port", "--interface", "--output", "--seconds")]
    for script, option in [*wanted, ("wireshark/build.sh", "--codes"), ("wireshark/build.sh", "--output")]:
        for given in ([option], [option, ""]):
            done = run([str(ROOT / "scripts" / script), *given], env=environment())
            if done.returncode != 2 or done.stderr != f"{Path(script).name}: {option} needs a value\n":
                return f"{script} {given}: {done.returncode} {done.stderr}"
    return ""


def examples(text):
    """Commands of the README's console blocks and what follows them."""
    found, inside = [], False
    for line in text.splitlines():
        if not inside:
            inside = line == "```console"
        elif line == "```":
            inside = False
        elif line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def carried_out(command, home):
    """What a command prints, with the home folder as ~ and without the remark about being root."""
    done = run(["sh", "-c", command], cwd=SCRIPTS, env=environment(HOME=home, PATH=os.environ["PATH"]))
    lines = done.stdout.replace(home, "~").splitlines()
    return [line.rstrip() for line in lines if not line.startswith("as root,")]


def the_readme_shows_what_is_printed():
    text = README.read_text()
    blessed, problems = text, []
    found = examples(text)
    if len(found) < 8:
        return f"only {len(found)} commands in the README"
    with tempfile.TemporaryDirectory() as home:
        for command, shown in found:
            printed = carried_out(command, home)
            if printed != shown:
                problems.append(command)
                block = "\n".join([f"$ {command}", *shown]) + "\n```"
                blessed = blessed.replace(block, "\n".join([f"$ {command}", *printed]) + "\n```")
    if problems and os.environ.get(BLESS):
        README.write_text(blessed)
        return ""
    return f"shows something else than {problems}; {BLESS}=1 writes it anew" if problems else ""


def packets_alone_suit_other_tools(program):
    """A capture has two link types, which editcap cannot write as pcap; of `replay --packets` it can, and no packet is missing."""
    own = ROOT / "docs/lessons/one-step.pcapng"
    with tempfile.TemporaryDirectory() as folder:
        packets, older = Path(folder) / "packets.pcapng", Path(folder) / "packets.pcap"
        if run(["editcap", "-F", "pcap", str(own), str(older)], env=environment()).returncode == 0:
            return "editcap takes two link types: --packets is not needed any more"
        done = run([program, "replay", str(own), "--packets", str(packets)])
        if done.returncode:
            return done.stderr
        done = run(["editcap", "-F", "pcap", str(packets), str(older)], env=environment())
        if done.returncode:
            return done.stderr
        count = [len(tshark(file, "-Y", "tcp").splitlines()) for file in (own, packets, older)]
        again = run([program, "replay", str(own), "--packets", str(packets)])
        if again.returncode != 2 or "exists" not in again.stderr:
            return f"an existing file is overwritten: {again.stderr}"
        return "" if count[0] > 0 and len(set(count)) == 1 else f"packets: {count}"


def all_checks(program):
    if not shutil.which("tshark"):
        raise SystemExit("tshark is missing")
    yield "stats: packets are counted, not frames", statistics_count_packets
    yield "stats: without the dissector it says so", statistics_say_what_they_need
    yield "install: it works without -X, and goes again", installed_and_removed
    yield "install: -X besides is harmless", loaded_twice_is_silent
    yield "profile: every filter is one", filter_buttons_are_filters
    yield "profile: it switches itself on", the_profile_switches_itself_on
    yield "capture: without rights there are hints", no_rights_bring_hints
    yield "tools: an option needs its value", options_without_a_value
    if program:
        yield "capture: packets alone suit other tools", lambda: packets_alone_suit_other_tools(program)
    yield "readme: every command prints what is shown", the_readme_shows_what_is_printed


def run_all(results, program):
    run_named(results, all_checks(program))
