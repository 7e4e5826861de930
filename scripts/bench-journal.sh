#!/usr/bin/env bash
# Measures the cost of a journal: the 99th percentile of the duration of a tick, and the CPU time per client and update, with --durability tick
# and without a journal, in turn, and in a second run without (A/A). Clients play and send 10 inputs a second. The journal is written to DIR.
#
#   scripts/bench-journal.sh [--rounds N] [--seconds N] [--clients N] [--dir DIR]      default: 7 rounds of 15 s, 1000 clients, a temporary DIR
#
# The percentile is interpolated within a bucket of tickwire_tick_duration_seconds. Each bucket ends at 1.41 times the end of the previous one.
set -euo pipefail
cd "$(dirname "$0")/.."

rounds=7 seconds=15 clients=1000 directory=''
while (($#)); do
    case $1 in
        --rounds) rounds=$2 ;;
        --seconds) seconds=$2 ;;
        --clients) clients=$2 ;;
        --dir) directory=$2 ;;
        *) sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
    shift 2
done

ulimit -n "$(ulimit -Hn)"
with_examples=(load)
source scripts/lib/measure.sh
load=''
trap 'for child in $load $server; do kill "$child" 2>/dev/null && wait "$child" || true; done; rm -rf "$work" "${directory:+$directory/bench-journal}"' EXIT
directory=${directory:-$work}

# The milliseconds below which 99 of 100 durations are: percentile BEFORE AFTER, two pages of metrics
percentile() {
    awk -F'"' '/^tickwire_tick_duration_seconds_bucket/ {
            split($0, part, " "); bound = $2
            if (FILENAME == ARGV[1]) before[bound] = part[2]; else { bounds[++n] = bound; count[n] = part[2] - before[bound] }
        }
        END {
            wanted = 0.99 * count[n]
            for (at = 1; at <= n && count[at] < wanted; at++) {}
            low = at > 1 ? bounds[at - 1] : 0; less = at > 1 ? count[at - 1] : 0
            if (at == n) { print bounds[n - 1] * 1000; exit }
            print 1000 * (low + (bounds[at] - low) * (wanted - less) / (count[at] - less))
        }' "$1" "$2"
}

# Starts a new server and the clients, and appends the figures: run NAME
run() {
    local flags=()
    [[ $1 != journal ]] || { rm -rf "$directory/bench-journal"; flags=(--journal "$directory/bench-journal" --durability tick); }
    start_server --moomoo-update-hz 30 --max-clients $((clients + 100)) "${flags[@]}"
    "$examples/load" --pid "$server" --clients "$clients" --seconds "$seconds" --dialect native --inputs 10 \
        "ws://127.0.0.1:$port" >"$work/figures" &
    load=$!
    until_all_came "$clients"
    # The load measures from 3 s after the last client on.
    sleep 4
    metrics >"$work/before"
    sleep $((seconds - 3))
    metrics >"$work/after"
    wait "$load"
    load=''
    grep -q '"lost":0}' "$work/figures" || { say "clients were lost: $(cat "$work/figures" "$work/log")"; exit 1; }
    local p99
    p99=$(percentile "$work/before" "$work/after")
    sed "s/}\$/,\"p99_ms\":$p99}/" "$work/figures" >>"$work/$1.json"
    say "$1: tick p99 $p99 ms, $(sed -n 's/.*"cpu_us":\([0-9.]*\).*/\1/p' "$work/figures") µs, $(metric tickwire_journal_ticks_total) ticks in the journal"
    kill "$server"
    wait "$server" || true
    server=''
}

programs=(without again journal)
title "$clients clients, $rounds rounds of $seconds s"
for ((round = 0; round < rounds; round++)); do
    for ((turn = 0; turn < 3; turn++)); do run "${programs[(round + turn) % 3]}"; done
done
# The median of the differences of pairs: difference NAME FIELD
difference() { paste <(values "$1" "$2") <(values without "$2") | awk '{ print $1 - $2 }' | median; }
title "medians, and differences and ratios of pairs"
for name in "${programs[@]}"; do say "$name: tick p99 $(values "$name" p99_ms | median) ms, CPU $(values "$name" cpu_us | median) µs per client and update"; done
say "tick p99, journal less without  $(difference journal p99_ms) ms (A/A: $(difference again p99_ms) ms)"
say "CPU, journal to without         $(ratio journal without cpu_us)"
say "CPU, without to without (A/A)   $(ratio again without cpu_us)"
