"""A whole session that a server of ours captured: each of its messages is dissected, and as `explain` says; TCP has nothing to warn of."""

from checks import every_message_is_dissected, run_named
from checks_explain import both_say_the_same
from tshark import fields, tshark


def tcp_has_no_warning(sample):
    flagged = fields(sample, "tcp.analysis.flags", "frame.number")
    return f"frames {flagged[:5]}" if flagged else ""


def no_note_is_an_error(sample):
    """Wireshark's own summary of what is odd. Its notes about the closing of TCP are remarks."""
    printed = tshark(sample, "-q", "-z", "expert,warn")
    return printed.strip()


def run(results, program, path):
    # With its whole path a file of anywhere is named like a sample.
    sample = str(path.resolve().with_suffix(""))
    name = path.stem
    run_named(results, [
        (f"{name}: every message is dissected", lambda: every_message_is_dissected(sample)),
        (f"{name}: the same as explain says", lambda: both_say_the_same(sample, program)),
        (f"{name}: TCP has no warning", lambda: tcp_has_no_warning(sample)),
        (f"{name}: nothing to warn of", lambda: no_note_is_an_error(sample)),
    ])
