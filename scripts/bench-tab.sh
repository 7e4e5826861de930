#!/bin/sh
# Measures the tab edition in Chromium on its software renderer: frames a second, where the time of each thread goes, memory as time passes.
#
# usage: scripts/bench-tab.sh [SECONDS] [wire]    default: 120 s; wire: with the inspector beside the game
set -eu
cd "$(dirname "$0")/.."
exec node tests/browser/tab-bench.mjs "$@"
