#!/usr/bin/env bash
# Shows where the CPU time of the server goes: samples it with `perf` under the load of scripts/bench.sh and prints, for each case, the
# percentage of samples by part. Writes a flame graph of each case to DIR/CASE.svg, and the table to DIR/parts.csv.
#
#   scripts/profile.sh [--clients N] [--seconds N] [--out DIR] [CASE...]
#
# --clients  concurrent clients (default 1000)
# --seconds  sampled time of each case (default 6)
# --out      folder of the results (default target/profile)
# CASE       play, still, native or spectators, as in scripts/bench.sh (default: all)
#
# `perf` (Debian: linux-perf) samples all processes, which needs kernel.perf_event_paranoid below 1. The table counts the samples of the
# server. A timer per thread would hardly ever expire in the threads of clients, which run for microseconds at a time.
set -euo pipefail
cd "$(dirname "$0")/.."

clients=1000 seconds=6 out=target/profile
while (($#)); do
    case $1 in
        --clients) clients=$2 ;;
        --seconds) seconds=$2 ;;
        --out) out=$2 ;;
        -*) sed -n '2,14s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
        *) break ;;
    esac
    shift 2
done
cases=("$@")
((${#cases[@]})) || cases=(play still native spectators)
command -v perf >/dev/null || { printf 'profile.sh: perf is not installed: apt-get install linux-perf\n' >&2; exit 2; }

ulimit -n "$(ulimit -Hn)"
profile=dist with_examples=(load)
source scripts/lib/measure.sh
load=$examples/load
trap 'for child in $server; do kill "$child" 2>/dev/null && wait "$child" || true; done; rm -rf "$work"' EXIT
mkdir -p "$out"

for case in "${cases[@]}"; do
    case $case in
        play) flags=(--dialect legacy --inputs 10) ;;
        still) flags=(--dialect legacy --inputs 0) ;;
        native) flags=(--dialect native --inputs 10) ;;
        spectators) flags=(--dialect native --inputs 10 --spectators $((clients * 19 / 20))) ;;
        *) printf 'profile.sh: %s: must be play, still, native or spectators\n' "$case" >&2; exit 2 ;;
    esac
    start_server --moomoo-update-hz 30 --max-clients $((clients + 100)) --max-clients-per-address $((clients + 100)) --address-rate-limits off
    timeout $((seconds + 60)) "$load" --pid "$server" --clients "$clients" --seconds $((seconds + 6)) "${flags[@]}" "ws://127.0.0.1:$port" >"$work/load" 2>&1 &
    loader=$!
    until_all_came "$clients"
    sleep 2
    profiled=$server
    perf record --freq 799 --call-graph dwarf,4096 --all-cpus --output "$work/$case.data" -- sleep "$seconds" >"$work/perf" 2>&1 || { cat "$work/perf" >&2; exit 1; }
    wait "$loader"
    kill "$server" && wait "$server" || true
    server=''
    perf script --input "$work/$case.data" --pid "$profiled" --no-inline --fields ip,sym,dso >"$work/$case.stacks" 2>/dev/null
done
python3 -B scripts/lib/profile.py "$out" "$work" "${cases[@]}"
