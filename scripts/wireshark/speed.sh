#!/usr/bin/env bash
# How fast tshark reads a capture with the dissector, and how fast without: bots walk on a release server that captures itself, and a summary
# of every frame is printed, with and without by turns.
#
#   scripts/wireshark/speed.sh [--dialect NAME] [--rounds N] [--seconds N] [--at-least N]
#
# --dialect   what the bots speak (default native)
# --rounds    passes of each kind; the quickest of each counts (default 3)
# --seconds   how long the bots walk (default: what makes about 30,000 frames)
# --at-least  packets a second of the pass with the dissector, below which the exit status is 1 (default 0)
#
# Needs tshark. Seconds are those of the processor, from the start of the program to its end. Both passes take the WebSocket frames apart. The
# capture is refused when the median update has fewer than 20 players.
set -euo pipefail
cd "$(dirname "$0")/../.."

dialect=native rounds=3 seconds= least=0
while (($#)); do
    case $1 in
        --dialect) dialect=$2 ;;
        --rounds) rounds=$2 ;;
        --seconds) seconds=$2 ;;
        --at-least) least=$2 ;;
        *) sed -n '2,14s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
    shift 2
done
# Native clients are sent moved players 30 times a second, the others all players 10 times a second.
bots=300
[[ -n $seconds ]] || case $dialect in native) seconds=3 ;; *) seconds=8 ;; esac
cargo build --release --quiet
tickwire=${CARGO_TARGET_DIR:-target}/release/tickwire
work=$(mktemp -d)
server=
trap '[[ -z $server ]] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT

"$tickwire" --bind 127.0.0.1:0 --bots 0 --log warn --capture "$work/bots.pcapng" >"$work/banner" </dev/null &
server=$!
port=
for _ in {1..100}; do
    port=$(sed -n 's/.*bind 127\.0\.0\.1:\([0-9][0-9]*\),.*/\1/p' "$work/banner")
    [[ -z $port ]] || break
    sleep 0.1
done
"$tickwire" bots --count "$bots" --seconds "$seconds" --dialect "$dialect" "ws://127.0.0.1:$port" >"$work/bots"
kill "$server"
wait "$server" || true
server=

with=(-X "lua_script:scripts/wireshark/tickwire.lua" -o "tickwire.ports:$port")
without=(-d "tcp.port==$port,http")

# The CPU time of one pass, in seconds: pass FLAGS…
pass() {
    local TIMEFORMAT='%U %S'
    { time tshark -n "$@" -r "$work/bots.pcapng" >"$work/lines" 2>"$work/said"; } 2>&1 | awk '{ print $1 + $2 }'
}

for ((round = 1; round <= rounds; round++)); do
    pass "${with[@]}" >>"$work/with"
    frames=$(wc -l <"$work/lines")
    # Each of our packets has its arrow.
    packets=$(grep -oE '(→|←) [a-z_]+' "$work/lines" | wc -l)
    case $dialect in native) list=moved ;; *) list=players ;; esac
    entries=$(grep -oE "$list×[0-9]+" "$work/lines" | grep -oE '[0-9]+$' | sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }')
    pass "${without[@]}" >>"$work/without"
done
sort -n "$work/with" | head -n 1 >"$work/quickest"
sort -n "$work/without" | head -n 1 >>"$work/quickest"
echo "$dialect: $frames frames, $packets packets, $entries players in the median update"
awk -v frames="$frames" -v packets="$packets" -v least="$least" '
    { seconds[NR] = $1 }
    END {
        printf "with     %5.2f s  %6d frames/s  %6d packets/s\n", seconds[1], frames / seconds[1], packets / seconds[1]
        printf "without  %5.2f s  %6d frames/s  %6d packets/s\n", seconds[2], frames / seconds[2], packets / seconds[2]
        printf "ratio    %5.2f\n", seconds[1] / seconds[2]
        exit packets / seconds[1] < least
    }' "$work/quickest"
((entries >= 20)) || { echo "speed.sh: too few players in the median update" >&2; exit 1; }
