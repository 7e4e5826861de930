#!/usr/bin/env bash
# Every tick again: live = replay = snapshot and tail = WebAssembly = unoptimised build. `tickwire synctest` plays each game with many seeds:
# live is the room; the replay is a world that runs its command frames again, as `tickwire replay` runs those of a capture; besides, a copy
# from the snapshot of eight ticks back in each tick, and one that runs from a snapshot to the end. The recorded frames are then run by the
# unoptimised build and by the WebAssembly of the page. All must come to the same checksums, every 100 ticks and after the last one. Eleven
# bots play, and one bot is away now and then, so that at least eight act in each 300 ticks. Reports what happened in the worlds, and exits
# with 1 at the first difference, if fewer than eight acted, or if a kind of command or of deed (hits, builds, kills) never came. What the
# clients' bytes decode to is not part of it: that is what tests/server/replay.rs is for.
#
#   scripts/again.sh [--seeds N] [--ticks N] [--first SEED] [--games 'moo tanks'] [--batch N] [--rare yes|no]
#
# --seeds   seeds of each game (default 1000)
# --ticks   ticks of each seed (default 10000)
# --first   the first seed (default 1)
# --games   which games (default: moo and tanks)
# --batch   seeds that are recorded at once, on the disk (default 10)
# --rare    whether it is a failure that a kind of command or deed never came (default yes; a short run has not all of them)
set -euo pipefail
cd "$(dirname "$0")/.."

seeds=1000 ticks=10000 first=1 games='moo tanks' batch=10 rare=yes
while (($#)); do
    case $1 in
        --seeds) seeds=$2 ;;
        --ticks) ticks=$2 ;;
        --first) first=$2 ;;
        --games) games=$2 ;;
        --batch) batch=$2 ;;
        --rare) rare=$2 ;;
        *) sed -n '2,18s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
    shift 2
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cargo build --quiet --release --locked
# With an example, because it is then the program that the tests have built: development dependencies add features to others.
cargo build --quiet --locked --bin tickwire --example coins

for game in $games; do
    : >"$work/counts"
    began=$SECONDS seed=$first left=$seeds
    while ((left > 0)); do
        count=$((left < batch ? left : batch))
        rm -f "$work/trace"
        target/release/tickwire synctest --game "$game" --seed "$seed" --seeds "$count" --ticks "$ticks" --players 11 \
            --trace "$work/trace" --json >>"$work/counts"
        target/debug/tickwire synctest --replay-trace "$work/trace" >"$work/debug"
        node tests/wasm/again.mjs trace "$work/trace" >"$work/wasm"
        cmp "$work/debug" "$work/wasm"
        seed=$((seed + count)) left=$((left - count))
    done
    node tests/wasm/again.mjs counts "$work/counts" "$rare"
    printf '%s: %d seeds of %d ticks in %d s: the room, the command frames, snapshots, the unoptimised build and WebAssembly agree\n' \
        "$game" "$seeds" "$ticks" $((SECONDS - began))
done
