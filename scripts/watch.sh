#!/usr/bin/env bash
# Records bots that play, and measures how much faster than the play the recording is replayed, and how soon the page shows it: the first picture
# after the address is opened, and seeks to random ticks. Exits with 1 if a figure is not reached, or the replay differs.
#
#   scripts/watch.sh [--players N] [--seconds N] [--runs N] [--faster N] [--capture FILE]
#
# --players   bots (default 50)
# --seconds   time that they play (default 600)
# --runs      times that the replay is measured; the fastest counts (default 5)
# --faster    how many times faster than the play it must be (default 1000)
# --capture   measures this capture instead of recording one
set -euo pipefail
cd "$(dirname "$0")/.."

players=50 seconds=600 runs=5 faster=1000 capture=
while (($#)); do
    case $1 in
        --players) players=$2 ;;
        --seconds) seconds=$2 ;;
        --runs) runs=$2 ;;
        --faster) faster=$2 ;;
        --capture) capture=$2 ;;
        *) sed -n '2,12s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
    shift 2
done
source scripts/lib/measure.sh
trap 'for child in $(jobs -p); do kill "$child" 2>/dev/null || true; done; rm -rf "$work"' EXIT

if [[ -z $capture ]]; then
    title "$players bots play for $seconds s"
    capture=$work/play.pcapng
    start_server --capture "$capture"
    "$tickwire" bots --play --count "$players" --seconds "$seconds" --json "ws://127.0.0.1:$port" >"$work/bots.json" 2>"$work/bots.err" || true
    stop_server
    expect_bots bots "$players"
fi
say "  $(($(wc -c <"$capture") / 1000000)) MB"

title "replay"
best=
for ((run = 0; run < runs; run++)); do
    begin=$(date +%s%N)
    "$tickwire" replay --json "$capture" >"$work/replay.json" || { cat "$work/replay.json"; exit 1; }
    took=$((($(date +%s%N) - begin) / 1000000))
    say "  $took ms"
    [[ -n $best ]] && ((best <= took)) || best=$took
done
played=$(node -e 'const r = JSON.parse(require("fs").readFileSync(process.argv[1])); const one = (r.rooms ?? [r])[0]; console.log(one.ticks / 30)' "$work/replay.json")
factor=$(awk "BEGIN { printf \"%.0f\", $played * 1000 / $best }")
expect "$played s of play in $best ms: $factor times faster, at least $faster" "$factor >= $faster"

title "the page"
"$tickwire" replay --serve "$capture" --bind 127.0.0.1:0 >"$work/watch" 2>&1 &
for _ in {1..100}; do
    url=$(sed -n 's/.*watch *\(http:[^ ]*\).*/\1/p' "$work/watch" | head -n 1)
    [[ -z $url ]] || break
    sleep 0.1
done
node tests/browser/watch-times.mjs "$url" >"$work/page" || { cat "$work/page" "$work/watch"; exit 1; }
read -r first whole worst median <"$work/page"
say "  the file was read, and every tick run once, after $whole ms"
expect "first picture after $first ms, at most 2000" "$first <= 2000"
expect "20 seeks to random ticks: median $median ms, longest $worst ms, at most 1000" "$worst <= 1000"
((failures == 0)) || { title "$failures failed"; exit 1; }
title "all as it should be"
