#!/usr/bin/env python3
"""What the Autobahn test suite found, held against what is committed and against what has to hold in any case.

    tests/autobahn/judge.py FOLDER [--all | CASES...]

FOLDER has the suite's reports of both roles, `server/index.json` and `client/index.json`. `scripts/autobahn.sh` calls this. With
--all, every case was run, and TICKWIRE_BLESS=1 writes the tables anew. With CASES, only these were run: then the others are not missed,
and no totals are judged. Otherwise, one case of each part of families 12 and 13 was run, and all cases of the others.

Prints a line for each thing that is wrong, a line for each role, and how many results passed and failed.
"""

import collections
import json
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
ROLES = ("server", "client")
AGENT = "tickwire"
HEADING = "case\tbehavior\tclose"
# What a case may come to, and how its connection may close. Everything else is a failure, whatever is committed: NON-STRICT, FAILED,
# UNCLEAN, WRONG CODE, FAILED BY CLIENT and those that the suite may invent.
GOOD = ("OK", "INFORMATIONAL")
CASES = 517
SAMPLED_CASES = 313
# Cases that are at most informational.
NOT_OK = 3
# The suite waits a second by its own clock in some cases, which other programs on the machine delay: so many may be run once more.
AGAIN = 3


def order(case):
    return [int(part) for part in case.split(".")]


def is_sampled(case):
    """Whether a run without --all includes the case: as `exclude` in scripts/autobahn.sh."""
    family, _, number = (order(case) + [0])[:3]
    return family < 12 or number == 3


def found(folder, role):
    """The results of a role: case to (behavior, how the connection closed)."""
    reports = json.loads((folder / role / "index.json").read_text())[AGENT]
    results = {case: (report["behavior"], report["behaviorClose"]) for case, report in reports.items()}
    return dict(sorted(results.items(), key=lambda item: order(item[0])))


def table(role):
    return HERE / f"{role}.tsv"


def committed(role):
    rows = [line.split("\t") for line in table(role).read_text().splitlines()[1:]]
    return {case: (behavior, close) for case, behavior, close in rows}


def bless(role, results):
    rows = [f"{case}\t{behavior}\t{close}" for case, (behavior, close) in results.items()]
    table(role).write_text("\n".join([HEADING, *rows]) + "\n")


def totals(results, cases):
    """What is wrong with all results of a role together, in words."""
    ok = sum(behavior == "OK" for behavior, _ in results.values())
    if len(results) != cases:
        yield f"{len(results)} cases instead of {cases}"
    if ok < cases - NOT_OK:
        yield f"{ok} cases OK instead of {cases - NOT_OK}"


def summary(role, results):
    shown = [f"{len(results)} cases"]
    for name, at in (("behavior", 0), ("close", 1)):
        counts = collections.Counter(result[at] for result in results.values())
        shown.append(f"{name} " + ", ".join(f"{count} {what}" for what, count in counts.most_common()))
    return f"{role}: {'; '.join(shown)}"


def judge(folder, role, is_part, is_all):
    """Prints what is wrong. Gives how many results passed and failed, and the cases that failed."""
    results = found(folder, role)
    bad = "it is neither OK nor informational"
    wrong = {case: bad for case, result in results.items() if not set(result) <= set(GOOD)}
    if os.environ.get("TICKWIRE_BLESS") and is_all:
        bless(role, results)
    expected = {case: result for case, result in committed(role).items() if is_all or is_part or is_sampled(case)}
    for case in results.keys() | (expected.keys() if not is_part else set()):
        if results.get(case) != expected.get(case):
            wrong.setdefault(case, f"committed is {' / '.join(expected.get(case, ['nothing']))}")
    for case in sorted(wrong, key=order):
        print(f"{role} {case}: {' / '.join(results.get(case, ['not run']))}: {wrong[case]}")
    general = [] if is_part else list(totals(results, CASES if is_all else SAMPLED_CASES))
    for line in general:
        print(f"{role}: {line}")
    print(summary(role, results))
    return len(results.keys() - wrong.keys()), len(wrong) + len(general), sorted(wrong, key=order)


def main():
    folder, is_all = pathlib.Path(sys.argv[1]), sys.argv[2:] == ["--all"]
    is_part = len(sys.argv) > 2 and not is_all
    judged = [judge(folder, role, is_part, is_all) for role in ROLES]
    passed, failed = (sum(role[at] for role in judged) for at in range(2))
    again = sorted({case for role in judged for case in role[2]}, key=order)
    (folder / "again").write_text("".join(f"{case}\n" for case in again if len(again) <= AGAIN))
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


main()
