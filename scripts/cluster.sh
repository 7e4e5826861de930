#!/usr/bin/env bash
# Starts Redis and a cluster of three processes, kills the processes in turn at changing moments while clients play, and checks that each
# acknowledged command is in a journal exactly once, that each client gets its body back, and that each room is back within 5 s. Then stops
# Redis, separates a process from it, and stops a process, with the same checks. Needs redis-server. The tests do the same with 2 kills.
#
#   scripts/cluster.sh [KILLS]       default: 50
set -euo pipefail
cd "$(dirname "$0")/.."
command -v redis-server >/dev/null || { printf 'cluster.sh: redis-server is missing: apt-get install redis-server\n' >&2; exit 2; }
TICKWIRE_CLUSTER_KILLS=${1:-50} cargo test --release --locked --test server cluster:: -- --nocapture --test-threads 1
