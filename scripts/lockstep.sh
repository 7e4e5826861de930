#!/usr/bin/env bash
# Measures what a client costs that follows as a stream and what one costs that follows in lockstep, with players that do all that players do:
# the table of docs/sync.md. Then runs both kinds in one room, where the bots in lockstep check a world against the server's at every checksum
# tick: they are one process, and share one world as long as they run the same frames, so a process checks one world, and each bot sends its
# checksum. Exits with 1 if a world differs, or a bot finds any other fault.
#
#   scripts/lockstep.sh [--game NAME] [--players "N …"] [--seconds N] [--both N] [--both-seconds N] [--attack]
#
# --game          game (default moo)
# --players       numbers of players for the table (default "10 50 200")
# --seconds       measured time of each run (default 20)
# --both          bots of each kind in one room (default 200; 0 for none)
# --both-seconds  time for these (default 120)
# --attack        also measures players beside a client that asks for snapshots as fast as it can, and 50 that send false checksums
set -euo pipefail
cd "$(dirname "$0")/.."

game=moo players='10 50 200' seconds=20 both=200 both_seconds=120 attack=
while (($#)); do
    case $1 in
        --game) game=$2 ;;
        --players) players=$2 ;;
        --seconds) seconds=$2 ;;
        --both) both=$2 ;;
        --both-seconds) both_seconds=$2 ;;
        --attack) attack=yes; shift; continue ;;
        *) sed -n '2,16s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
    shift 2
done
ulimit -n "$(ulimit -Hn)"
source scripts/lib/measure.sh
trap 'for child in $(jobs -p); do kill "$child" 2>/dev/null || true; done; rm -rf "$work"' EXIT

# Runs the bots: herd NAME COUNT SECONDS FLAGS…
herd() {
    local name=$1 count=$2 time=$3
    shift 3
    "$tickwire" bots --play --count "$count" --seconds "$time" --json "$@" "ws://127.0.0.1:$port" >"$work/$name.json" 2>"$work/$name.err" || true
}

title "$game: bytes a second to each client, while all play"
printf '  %8s %12s %12s\n' players stream lockstep
for count in $players; do
    for mode in stream lockstep; do
        start_server --game "$game"
        herd "$mode-$count" "$count" "$seconds" --mode "$mode"
        stop_server >"$work/stopped"
        ! grep FAILED "$work/stopped" || failures=$((failures + 1))
    done
    printf '  %8s %12s %12s\n' "$count" "$(field "stream-$count" bytes_in_per_s)" "$(field "lockstep-$count" bytes_in_per_s)"
done
for count in $players; do
    expect_bots "stream-$count" "$count"
    expect_bots "lockstep-$count" "$count"
done

if ((both > 0)); then
    title "$game: $both bots as a stream and $both in lockstep, in one room for $both_seconds s"
    # Two crowds share addresses.
    start_server --game "$game" --address-rate-limits off
    herd both-stream "$both" "$both_seconds" & stream=$!
    herd both-lockstep "$both" "$both_seconds" --mode lockstep --source 127.1.x.y & lockstep=$!
    wait "$stream" "$lockstep"
    for kind in stream lockstep; do
        say "  $kind: $(field "both-$kind" bytes_in_per_s) bytes a second to each, gap p50 $(field "both-$kind" gap_p50_ms) ms, p99 $(field "both-$kind" gap_p99_ms) ms"
        expect_bots "both-$kind" "$both"
    done
    checksums=$(metric tickwire_lockstep_checksums_total)
    expect "$checksums checksums were compared" "$checksums > $both * $both_seconds * 30 / 100 / 2"
    expect "no world differs" "$(metric tickwire_lockstep_desyncs_total) == 0"
    say "  $(metric tickwire_lockstep_snapshots_total) snapshots, $(metric tickwire_ticks_late_total) ticks late, $(metric tickwire_ticks_skipped_total) skipped"
    expect "no panic" "$(metric tickwire_panics_total) == 0"
    stop_server
fi

if [[ -n $attack ]]; then
    title "100 bots, beside a client that asks for snapshots and 50 that send false checksums"
    start_server --game "$game" --lockstep open
    herd alone 100 "$seconds"
    for kind in sync-flood false-checksums; do
        count=50
        [[ $kind == false-checksums ]] || count=1
        herd "$kind" 100 "$((seconds + 3))" & herd=$!
        until_all_came 100
        "$tickwire" bots --attack "$kind" --count "$count" --seconds "$seconds" --source 127.77.x.y "ws://127.0.0.1:$port" | sed 's/^/  /'
        wait "$herd"
        say "  $kind: gap p50 $(field "$kind" gap_p50_ms) ms, p99 $(field "$kind" gap_p99_ms) ms; alone p99 $(field alone gap_p99_ms) ms"
        expect_bots "$kind" 100
        expect "$kind: the gap is at most 5 ms above that without" "$(field "$kind" gap_p99_ms) <= $(field alone gap_p99_ms) + 5"
    done
    say "  $(metric tickwire_lockstep_snapshots_total) snapshots, $(metric tickwire_lockstep_desyncs_total) checksums differed"
    stop_server
fi
((failures == 0)) || { title "$failures failed"; exit 1; }
title "all as it should be"
