"""Part of scripts/profile.sh: samples of `perf script` by part of the program, and as flame graphs.

    profile.py OUT WORK CASE...

reads WORK/CASE.stacks, prints a table of the parts, and writes OUT/parts.csv and OUT/CASE.svg.
"""

import html
import re
import sys
from collections import Counter

# The part of a sample is the first match from its innermost frame outwards. A frame of libc or of
# the allocator counts for its caller.
PARTS = [
    ("kernel: send", r"^\[k\].*(tcp_sendmsg|sock_sendmsg|__sys_send|sys_sendto|sys_sendmsg)"),
    ("kernel: receive", r"^\[k\].*(tcp_recvmsg|sock_recvmsg|__sys_recv|sys_recvfrom)"),
    ("kernel: wake and wait", r"^\[k\].*(futex|schedule|clock_nanosleep)"),
    ("kernel: other", r"^\[k\]"),
    ("world", r"tickwire_moo_world|games::moo::world"),
    ("view", r"::feed::|game::records|game::message|interest|published"),
    ("MessagePack and tables", r"packet::|rmpv|rmp::"),
    ("framing", r"tickwire::ws::"),
    ("connection and session", r"connection::|game::packet_handler|moo::packet_handler"),
    ("room and inbox", r"server::room::|moo::game"),
    ("clients and workers", r"tickwire::server::|tickwire::util::"),
    ("locks", r"parking_lot"),
]
COLORS = {"kernel": "#d9a066", "other": "#b8b8b8"}
PALETTE = ["#6aa84f", "#76a5af", "#8e7cc3", "#c27ba0", "#e06666", "#f6b26b", "#93c47d", "#6d9eeb"]


def stacks(path):
    """Yields each sample as a list of frames, outermost first. Kernel frames begin with `[k]`."""
    frames = []
    for line in open(path, encoding="utf-8", errors="replace"):
        found = re.match(r"\s+[0-9a-f]+ (.*) \((.*)\)$", line)
        if found:
            symbol, place = found.groups()
            kernel = place.startswith("[kernel") or place.startswith("[guest")
            frames.append(f"[k] {symbol}" if kernel else shorten(symbol))
        elif frames:
            yield frames[::-1]
            frames = []
    if frames:
        yield frames[::-1]


def shorten(symbol):
    """Removes generic arguments and hashes, and of `<Type as Trait>::name` the trait."""
    if symbol.startswith("<") and " as " in symbol:
        depth, end = 0, 0
        for end, letter in enumerate(symbol):
            depth += {"<": 1, ">": -1}.get(letter, 0)
            if depth == 0:
                break
        symbol = symbol[1:end].split(" as ")[0] + symbol[end + 1 :]
    for _ in range(6):
        symbol = re.sub(r"<[^<>]*>", "", symbol)
    return re.sub(r"::h[0-9a-f]{16}$", "", symbol).strip()


def part(frames):
    """Returns the part that a sample counts for."""
    kernel = " ".join(frame for frame in frames if frame.startswith("[k]"))
    if kernel:
        return next(name for name, rule in PARTS if re.search(rule, "[k] " + kernel))
    for frame in reversed(frames):
        for name, rule in PARTS[4:]:
            if re.search(rule, frame):
                return name
    return "other"


SKIPPED = re.compile(r"FnOnce|catch_unwind|do_call|short_backtrace|call_once|thread_start|start_thread|clone3?$")


def flame(samples, title):
    """Draws samples as an SVG: a rectangle per function, as wide as its share of the samples."""
    root = {"count": 0, "calls": {}}
    for frames in samples:
        node, before = root, None
        root["count"] += 1
        for frame in frames:
            if SKIPPED.search(frame) or frame == before:
                continue
            before = frame
            node = node["calls"].setdefault(frame, {"count": 0, "calls": {}})
            node["count"] += 1
    width, height, least = 1200, 16, root["count"] / 600
    depth, shapes = 0, []

    def draw(name, node, left, level):
        nonlocal depth
        if node["count"] < least:
            return
        depth = max(depth, level)
        wide = width * node["count"] / root["count"]
        share = f"{100 * node['count'] / root['count']:.1f} %"
        label = name.removeprefix("[k] ").split("::")
        label = "::".join(label[-2:])
        kernel = name.startswith("[k]")
        color = COLORS["kernel"] if kernel else PALETTE[sum(name.encode()) % len(PALETTE)]
        text = html.escape(label[: int(wide / 6.2)]) if wide > 30 else ""
        shapes.append((left, level, wide, color, text, html.escape(f"{name.removeprefix('[k] ')}: {share}")))
        for callee, below in sorted(node["calls"].items()):
            draw(callee, below, left, level + 1)
            left += width * below["count"] / root["count"]

    draw(title, root, 0, 0)
    tall = (depth + 1) * height
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {tall}" font-family="monospace" font-size="10">',
        f"<title>{html.escape(title)}</title>",
    ]
    for left, level, wide, color, text, tooltip in shapes:
        top = tall - (level + 1) * height
        rect = f'<rect x="{left:.1f}" y="{top}" width="{max(wide - 0.3, 0.2):.1f}" height="{height - 1}" fill="{color}"/>'
        words = f'<text x="{left + 3:.1f}" y="{top + 11}">{text}</text>' if text else ""
        lines.append(f"<g><title>{tooltip}</title>{rect}{words}</g>")
    return "\n".join([*lines, "</svg>", ""])


def main():
    out, work, *cases = sys.argv[1:]
    shares = {}
    for case in cases:
        samples = list(stacks(f"{work}/{case}.stacks"))
        if not samples:
            sys.exit(f"profile.py: no samples in {case}: the server was idle, or perf may not sample it")
        counts = Counter(map(part, samples))
        shares[case] = {name: 100 * count / len(samples) for name, count in counts.items()}
        with open(f"{out}/{case}.svg", "w", encoding="utf-8") as file:
            file.write(flame(samples, f"{case}: {len(samples)} samples"))
    names = [name for name, _ in PARTS] + ["other"]
    names = [name for name in names if any(shares[case].get(name) for case in cases)]
    with open(f"{out}/parts.csv", "w", encoding="utf-8") as file:
        file.write("part," + ",".join(cases) + "\n")
        for name in names:
            file.write(name + "," + ",".join(f"{shares[case].get(name, 0):.1f}" for case in cases) + "\n")
    print(f"{'% of samples':24}" + "".join(f"{case:>12}" for case in cases))
    for name in names:
        print(f"{name:24}" + "".join(f"{shares[case].get(name, 0):12.1f}" for case in cases))
    print(f"flame graphs: {out}/" + f".svg, {out}/".join(cases) + ".svg")


if __name__ == "__main__":
    main()
