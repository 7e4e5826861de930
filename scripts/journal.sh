#!/usr/bin/env bash
# Kills a server with a journal at random moments under load, and checks that each acknowledged command is in the journal exactly once, and that
# each client gets its body back. The tests do the same with 4 kills.
#
#   scripts/journal.sh [KILLS]       default: 200
set -euo pipefail
cd "$(dirname "$0")/.."
TICKWIRE_KILLS=${1:-200} cargo test --release --locked --test server journal::a_killed_server -- --nocapture
