#!/usr/bin/env bash
# Measures the cost of a capture and checks that it is complete: bots walk on a release server without and with `--capture`; then tshark
# reads the whole capture, and its message counts are compared with those of the bots.
#
#   scripts/bench-capture.sh [--seconds N] [--count N] [--rounds N] [--judge all|counts]
#
# --seconds  measured time of each run (default 30)
# --count    bots (default 200)
# --rounds   pairs of runs; the medians of their p99 are compared (default 3)
# --judge    `counts` does not check the tick's time (default all)
#
# Needs tshark. Exits with 1 if a message is missing, if TCP has a warning, or if the capture costs more than 0.5 ms of the tick's
# p99. Timings are unreliable on a shared machine, so repeat the run before you trust a failure.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=30 count=200 rounds=3 most_ms=0.5 judged=all
while (($#)); do
    case $1 in
        --seconds) seconds=$2 ;;
        --count) count=$2 ;;
        --rounds) rounds=$2 ;;
        --judge) judged=$2 ;;
        *) sed -n '2,15s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
    shift 2
done
source scripts/lib/measure.sh
trap '[[ -z $server ]] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT

# The 99th percentile of the tick's time in ms, from the histogram, interpolated linearly within a
# class.
tick_p99_ms() {
    metrics | awk '
        match($0, /^tickwire_tick_duration_seconds_bucket\{le="[^"]*"\}/) {
            split($0, parts, "\""); bound[++classes] = parts[2]; below[classes] = $2
        }
        END {
            wanted = below[classes] * 0.99
            for (at = 1; below[at] < wanted; at++) { low = bound[at]; under = below[at] }
            part = (wanted - under) / (below[at] - under)
            print 1000 * (low + part * (bound[at] - low))
        }'
}

# A server and its bots: run NAME SERVER_FLAGS…
run() {
    local name=$1
    shift
    start_server "$@"
    "$tickwire" bots --count "$count" --seconds "$seconds" --json "ws://127.0.0.1:$port" >"$work/$name.json"
    tick_p99_ms >>"$work/$name.p99"
    kill "$server"
    wait "$server" || true
    server=
    cat "$work/log"
}
# A figure reported by the bots: field NAME FIELD
field() { sed -n "s/.*\"$2\":\(-\{0,1\}[0-9.]*\).*/\1/p" "$work/$1.json"; }
median() { sort -n "$1" | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'; }

for ((round = 1; round <= rounds; round++)); do
    rm -f "$work"/*.pcapng
    [[ $judged == counts ]] || run without
    run with --capture "$work/bots.pcapng"
done
if [[ $judged != counts ]]; then
    without=$(median "$work/without.p99") with=$(median "$work/with.p99")
    echo "tick p99, median of $rounds: $without ms without, $with ms with a capture"
    expect "the capture costs at most $most_ms ms of the tick's p99" "$with - $without <= $most_ms"
fi

file=$work/bots.pcapng
plugin=scripts/wireshark/tickwire.lua
echo "$(du -k "$file" | cut -f 1) KiB were written"
ports=$(sed -n 's/.*bind 127\.0\.0\.1:\([0-9][0-9]*\),.*/\1/p' "$work/banner")
from=$SECONDS
tshark -q -X "lua_script:$plugin" -X "lua_script:scripts/wireshark/stats.lua" -o "tickwire.ports:$ports" -r "$file" 2>/dev/null >"$work/stats"
echo "tshark took $((SECONDS - from)) s"
cat "$work/stats"
flagged=$(tshark -r "$file" -Y 'tcp.analysis.flags' 2>/dev/null | wc -l)
malformed=$(tshark -X "lua_script:$plugin" -o "tickwire.ports:$ports" -r "$file" -Y '_ws.malformed || tickwire.rule || _ws.lua.error' 2>/dev/null | wc -l)
expect "TCP has no warning" "$flagged == 0"
expect "nothing is malformed" "$malformed == 0"
# A row `all` follows the rows of each direction.
read -r to_server to_client < <(awk '$1 == "all" { print $2 }' "$work/stats" | paste -sd ' ')
echo "messages to the server: $to_server captured, $(field with all_messages_out) counted by the bots"
echo "messages to the clients: $to_client captured, $(field with all_messages_in) counted by the bots"
expect "every message to the server is there" "$to_server == $(field with all_messages_out)"
expect "every message to the clients is there" "$to_client == $(field with all_messages_in)"
((failures == 0))
