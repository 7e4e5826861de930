#!/usr/bin/env bash
# Starts Redis and clusters of three processes and checks them while clients play. Needs redis-server and haproxy.
#
#   scripts/cluster.sh [KILLS] [SECONDS]       default: 50 and 600; 0 leaves the part out
#
# KILLS    kills the processes in turn at changing moments, and checks that each acknowledged command is in a journal exactly once, that each
#          client gets its body back, and that each room is back within 5 s. Then, with the same checks: Redis stops, a process is separated
#          from it, a process stops, and the journals are in Redis, which also returns without its data.
# SECONDS  60 rooms with 600 bots behind HAProxy: each process stops in turn, Redis restarts without its data, a process is separated from
#          Redis until another has taken a room, Redis is away for a minute, a process is killed; and again until the time is over. The bots
#          check that each gets its own player back, and twelve clients that each acknowledged command is in a journal once.
#
# The tests do the same with 2 kills, and with 2 rooms in half a minute.
set -euo pipefail
cd "$(dirname "$0")/.."
kills=${1:-50} seconds=${2:-600}
for program in redis-server haproxy; do
    PATH=$PATH:/usr/sbin command -v "$program" >/dev/null || { printf 'cluster.sh: %s is missing: apt-get install %s\n' "$program" "$program" >&2; exit 2; }
done
tests() { cargo test --release --locked --test server -- --nocapture --test-threads 1 "$@"; }
((kills == 0)) || TICKWIRE_CLUSTER_KILLS=$kills tests cluster:: --skip under_load
((seconds == 0)) || TICKWIRE_CLUSTER_SECONDS=$seconds tests under_load
