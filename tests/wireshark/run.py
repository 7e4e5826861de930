#!/usr/bin/env python3
"""The Wireshark dissector against captures whose packets are known from elsewhere.

    tests/wireshark/run.py [--program TICKWIRE] [NAME...]

Comes in: scripts/wireshark/, its samples, and tshark. Goes out: one line for each check, and `N passed, M failed`. What
should be seen was written by hand (checks.tsv), or made by another MessagePack library (tests/fixtures/packets.tsv); with
`--program` it is also what `tickwire explain --json` says of the same bytes.
"""

import sys

import checks
import checks_explain
import checks_tools
from tshark import Results


def main():
    arguments = sys.argv[1:]
    program = None
    if "--program" in arguments:
        place = arguments.index("--program")
        program = arguments[place + 1]
        del arguments[place:place + 2]
    results = Results(arguments)
    checks.run(results)
    checks_tools.run_all(results)
    if program:
        checks_explain.run(results, program)
    print(f"{results.passed} passed, {results.failed} failed")
    sys.exit(results.failed > 0)


if __name__ == "__main__":
    main()
