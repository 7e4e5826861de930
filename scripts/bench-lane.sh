#!/usr/bin/env bash
# Measures what a lane for datagrams costs the server, as a ratio to the stream alone: CPU time per update, and bytes, with the same bots.
#
#   scripts/bench-lane.sh [--rounds N] [--seconds N] [--clients N] [--game NAME] [--play]
#
# --rounds   rounds; the stream and the lane run once per round, in changing order (default 5)
# --seconds  measured time of each run (default 10)
# --clients  concurrent bots, which walk (default 300)
# --game     game of the server (default moo)
# --play     bots that also gather, fight, build and die
#
# Each run starts a new server. The CPU time is measured from two seconds after the last bot has joined. This machine may be
# shared, so the script has no threshold: it exits with 1 only if a bot lost its connection, or a lane was not in use.
set -euo pipefail
cd "$(dirname "$0")/.."

rounds=5 seconds=10 clients=300 game=moo play=()
while (($#)); do
    case $1 in
        --rounds) rounds=$2; shift ;;
        --seconds) seconds=$2; shift ;;
        --clients) clients=$2; shift ;;
        --game) game=$2; shift ;;
        --play) play=(--play) ;;
        *) sed -n '2,13s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
    shift
done

ulimit -n "$(ulimit -Hn)"
source scripts/lib/measure.sh
bots=''
trap 'for child in $bots $server; do kill "$child" 2>/dev/null && wait "$child" || true; done; rm -rf "$work"' EXIT

# CPU time of the server in clock ticks, updates, sends in the WebSocket, datagrams to and from clients.
sample() {
    local cpu
    cpu=$(awk '{ print $14 + $15 }' "/proc/$server/stat")
    metrics | awk -v cpu="$cpu" '
        $1 ~ /^tickwire_(ticks|update_sends|datagrams_out|datagrams_in|sent_bytes)_total/ { split($1, name, "{"); sum[name[1]] += $2 }
        END { print cpu, sum["tickwire_ticks_total"], sum["tickwire_update_sends_total"], sum["tickwire_datagrams_out_total"],
            sum["tickwire_datagrams_in_total"], sum["tickwire_sent_bytes_total"] }'
}

# run NAME FLAGS…
run() {
    local name=$1 before after row
    shift
    start_server --game "$game" --lane udp --max-clients $((clients + 100))
    "$tickwire" bots "ws://127.0.0.1:$port" --count "$clients" --seconds $((seconds + 6)) --json "${play[@]}" "$@" >"$work/$name.json" &
    bots=$!
    until_all_came "$clients"
    sleep 2
    before=$(sample)
    sleep "$seconds"
    after=$(sample)
    row=$(awk -v hz="$(getconf CLK_TCK)" -v clients="$clients" -v seconds="$seconds" '{
        updates = ($8 - $2) * clients
        printf "%.2f %.3f %.3f %.3f %.0f\n", ($7 - $1) / hz * 1e6 / updates, ($9 - $3) / updates, ($10 - $4) / updates,
            ($11 - $5) / updates, ($12 - $6) / clients / seconds }' <<<"$before $after")
    say "$row" >>"$work/$name"
    printf '%-8s %8s %8s %8s %8s %8s\n' "$name" $row
    wait "$bots"
    bots=''
    grep -q '"disconnect_count":0' "$work/$name.json" || { say "bots were lost: $(cat "$work/$name.json")"; exit 1; }
    [[ $name = stream ]] || grep -q "\"lanes_in_use\":$clients" "$work/$name.json" || { say "lanes not in use: $(cat "$work/$name.json")"; exit 1; }
    kill "$server"
    wait "$server" || true
    server=''
}

title "$clients clients of $game${play:+ that play}, $rounds rounds of $seconds s"
say 'per client and tick: CPU µs, sends in the WebSocket, datagrams sent, datagrams received; bytes a second in the WebSocket'
for ((round = 0; round < rounds; round++)); do
    if ((round % 2)); then run lane --lane; run stream; else run stream; run lane --lane; fi
done
paste "$work/lane" "$work/stream" | awk '{ print $1 / $6 }' | sort -n |
    awk '{ ratio[NR] = $1 } END { printf "lane / stream, CPU: median %.2f, %.2f to %.2f\n",
        (ratio[int((NR + 1) / 2)] + ratio[int((NR + 2) / 2)]) / 2, ratio[1], ratio[NR] }'
