#!/usr/bin/env python3
"""The Wireshark dissector against captures whose packets are known from elsewhere.

    tests/wireshark/run.py [--program TICKWIRE] [--capture FILE]... [NAME...]

Comes in: scripts/wireshark/, its samples, and tshark. Goes out: one line for each check, and `N passed, M failed`. What
should be seen was written by hand (checks.tsv), or made by another MessagePack library (tests/fixtures/packets.tsv); with
`--program` it is also what `tickwire explain --json` says of the same bytes, those of each `--capture` as well: a file that a server
of ours wrote of a whole session.
"""

import argparse
import sys
from pathlib import Path

import checks
import checks_cut
import checks_explain
import checks_frames
import checks_lane
import checks_menus
import checks_rules
import checks_session
import checks_tls
import checks_tools
from tshark import Results


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program")
    parser.add_argument("--capture", action="append", default=[], type=Path)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    program = arguments.program
    results = Results(arguments.names)
    checks.run(results)
    checks_frames.run_all(results)
    checks_lane.run_all(results)
    checks_rules.run(results, program)
    checks_cut.run_all(results)
    checks_tls.run_all(results)
    checks_tools.run_all(results, program)
    checks_menus.run_all(results, program)
    if program:
        checks_explain.run(results, program)
        for capture in arguments.capture:
            checks_session.run(results, program, capture)
    print(f"{results.passed} passed, {results.failed} failed")
    sys.exit(results.failed > 0)


if __name__ == "__main__":
    main()
