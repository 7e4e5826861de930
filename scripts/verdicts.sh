#!/usr/bin/env bash
# One verdict on mutated frames: the native explainer, the page's WebAssembly, the Wireshark dissector and the server's peer must say the same of
# mutated frames of every dialect, direction and format.
#
#   scripts/verdicts.sh [--frames N] [--seed S]
#
# --frames  mutants (default 100000: with tshark about 20 minutes on an idle core)
# --seed    determines the mutants (default 1)
#
# Needs node, tshark and python3. Prints a line for each pair of readers, and the first differences; CI runs a few thousand in the group `debug`.
set -euo pipefail
cd "$(dirname "$0")/.."

frames=100000 seed=1
while (($#)); do
    case $1 in
        --frames) frames=${2:?a number of frames} ;;
        --seed) seed=${2:?a number} ;;
        *) sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
    shift 2
done

TICKWIRE_TOOLS=1 TICKWIRE_FRAMES=$frames TICKWIRE_SEED=$seed exec cargo test --locked --quiet --test verdicts -- --nocapture
