#!/usr/bin/env bash
# Measures the server's cost per client and tick, as a ratio to the floor: a program with a reading thread per client that sends each client
# one frame per tick, and does nothing else (tests/benches/floor.rs). With --against, also as a ratio to another build of the server.
#
#   scripts/bench.sh [--rounds N] [--seconds N] [--clients N] [--cores N] [--case NAME] [--against PROGRAM] [--peers] [--csv FILE]
#
# --rounds   rounds; each program runs once per round, in changing order (default 9; below 3 no interval is printed)
# --seconds  measured time of each run (default 10)
# --clients  concurrent clients (default 1000)
# --cores    cores of the server, which then has as many update workers, and of the floor (default: all)
# --case     play         legacy clients that send 10 inputs a second (default)
#            still        legacy clients that send nothing
#            native       native clients that send 10 inputs a second
#            spectators   native clients, of which 19 in 20 watch one player
#            rooms        native clients that send 10 inputs a second, ten in each room; beside them, the same program with all clients in
#                         one room whose map is so large that as many players are in view
# --against  another tickwire program, such as one built from the commit before a change
# --peers    also servers that do what the floor does with other libraries, and one table of all: the package ws, uWebSockets.js, Colyseus, and
#            tungstenite with a thread per client. Bytes, rates and clients are the same. The first three come from npm in the versions of
#            tests/benches/peers/, into target/ (Linux x64). A peer that cannot be installed is named and left out. Only with play and still.
# --csv      file to which the medians are appended, and the ratios to the floor with their intervals; scripts/lib/plot.py draws it
#
# Each program sends 30 updates a second to each client. The floor sends as many bytes as the server did in a first run, which is not counted. It
# runs twice in each round: the ratio of these runs (A/A) shows how much equal programs differ on this machine at the moment. A ratio
# whose interval contains 1 shows no difference. The script has no threshold: it exits with 1 only if a client lost its connection.
set -euo pipefail
cd "$(dirname "$0")/.."

rounds=9 seconds=10 clients=1000 cores='' case=play against='' with_peers='' csv=''
while (($#)); do
    case $1 in
        --rounds) rounds=$2 ;;
        --seconds) seconds=$2 ;;
        --clients) clients=$2 ;;
        --cores) cores=$2 ;;
        --case) case=$2 ;;
        --against) against=$2 ;;
        --csv) csv=$2 ;;
        --peers) with_peers=1; shift; continue ;;
        *) sed -n '2,25s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
    shift 2
done
case $case in
    play) load=(--dialect legacy --inputs 10) ;;
    still) load=(--dialect legacy --inputs 0) ;;
    native) load=(--dialect native --inputs 10) ;;
    spectators) load=(--dialect native --inputs 10 --spectators $((clients * 19 / 20))) ;;
    rooms) load=(--dialect native --inputs 10) ;;
    *) printf 'bench.sh: --case %s: must be play, still, native, spectators or rooms\n' "$case" >&2; exit 2 ;;
esac
[[ -z $with_peers || $case = @(play|still) ]] || { printf 'bench.sh: --peers: needs --case play or still\n' >&2; exit 2; }
[[ -z $against || -x $against ]] || { printf 'bench.sh: --against %s: no such program\n' "$against" >&2; exit 2; }

ulimit -n "$(ulimit -Hn)"
profile=dist with_examples=(floor load)
source scripts/lib/measure.sh
[[ -z $cores ]] || pinned=(taskset --cpu-list "0-$((cores - 1))")
floor=''
trap 'for child in $server $floor; do kill "$child" 2>/dev/null && wait "$child" || true; done; rm -rf "$work"' EXIT

# Runs the clients against a process and appends their report to the file of its name: measure NAME
# PID PORT FLAGS…
measure() {
    local name=$1 pid=$2 port=$3
    shift 3
    "$examples/load" --pid "$pid" --clients "$clients" --seconds "$seconds" "${load[@]}" "$@" "ws://127.0.0.1:$port" |
        tee -a "$work/$name.json" | sed "s/^/$name /" >&2
    grep -q '"lost":0}' < <(tail -n 1 "$work/$name.json") ||
        { say "clients were lost: $(tail -n 3 "$work/log" 2>/dev/null)"; exit 1; }
}
# Starts a new server for each run, so that its memory starts from zero: run_server NAME PROGRAM
run_server() {
    local tickwire=$2
    local flags=() spread=()
    if [[ $case = rooms ]]; then
        # On the smallest map all ten of a room are in view of one another.
        local rooms=$((clients / 10)) side
        side=$(awk -v clients="$clients" 'BEGIN { printf "%d", sqrt(2496 * 1404 * clients / 10) }')
        case $1 in
            before) flags=(--map-size "$side") ;;
            *)
                TICKWIRE_ROOM=$(for ((room = 0; room < rooms; room++)); do printf 'r%s,map-size=1440;' "$room"; done)
                TICKWIRE_ROOM=${TICKWIRE_ROOM%;} spread=(--rooms "$rooms")
                export TICKWIRE_ROOM
                ;;
        esac
    fi
    start_server --moomoo-update-hz 30 --max-clients $((clients + 100)) "${flags[@]}"
    unset TICKWIRE_ROOM
    measure "$1" "$server" "$port" --metrics "${spread[@]}"
    # Of all rooms that ticked.
    metrics | awk -v name="$1" '/^tickwire_ticks(_late)?_total/ { split($1, part, "{"); sum[part[1]] += $2 }
        END { printf "%s: %d of %d ticks late\n", name, sum["tickwire_ticks_late_total"], sum["tickwire_ticks_total"] }'
    kill "$server"
    wait "$server" || true
    server=''
}
# Starts the floor or a peer for one run: run_program NAME COMMAND…
run_program() {
    local name=$1 port
    shift
    : >"$work/floor"
    "${pinned[@]}" "$@" >"$work/floor" &
    floor=$!
    port=$(port_of "$work/floor" bind) || exit 1
    measure "$name" "$floor" "$port"
    kill "$floor"
    wait "$floor" 2>/dev/null || true
    floor=''
}

[[ $case = rooms && -z $against ]] && against=$tickwire
title "$clients clients, $case, $rounds rounds of $seconds s"
run_server first "$tickwire"
frame_bytes=$(values first bytes | cut -d. -f1)
programs=(floor server again ${against:+before})
if [[ -n $with_peers ]]; then
    source scripts/lib/peers.sh
    prepare_peers
    programs+=("${peers[@]}")
fi
for ((round = 0; round < rounds; round++)); do
    for ((turn = 0; turn < ${#programs[@]}; turn++)); do
        name=${programs[(round + turn) % ${#programs[@]}]}
        case $name in
            floor | again) run_program "$name" "$examples/floor" --bytes "$frame_bytes" ;;
            server) run_server server "$tickwire" ;;
            before) run_server before "$against" ;;
            *) run_peer "$name" ;;
        esac
    done
done

# Appends the medians of each program: write_csv PROGRAM...
write_csv() {
    [[ -s $csv ]] || say 'case,program,clients,rounds,cpu_us,switches,sends,rss_kib,cpu_to_floor' >"$csv"
    local name value row
    for name; do
        row="$case,$name,$clients,$rounds"
        for value in cpu_us switches sends rss_kib; do row+=",$(values "$name" "$value" | median)"; done
        say "$row,$(ratio "$name" floor cpu_us)" >>"$csv"
    done
}
[[ -z $csv ]] || write_csv "${programs[@]}"
[[ -z $with_peers ]] || { peers_table; exit; }
title "medians"
format='%-10s %10s %10s %10s %12s %12s %12s\n'
# shellcheck disable=SC2059
printf "$format" program 'CPU µs' switches sends 'KiB/client' 'p50 gap ms' 'p99 gap ms'
for name in "${programs[@]}"; do
    row=()
    for value in cpu_us switches sends rss_kib gap_p50_ms gap_p99_ms; do row+=("$(values "$name" "$value" | median)"); done
    # shellcheck disable=SC2059
    printf "$format" "$name" "${row[@]}"
done
say "CPU, context switches and sends are per client and tick of 1/30 s; memory is resident in the process."
title "ratios of pairs, with 95 % intervals"
say "CPU, server to floor         $(ratio server floor cpu_us)"
say "CPU, floor to floor (A/A)    $(ratio again floor cpu_us)"
say "memory, server to floor      $(ratio server floor rss_kib)"
[[ -z $against ]] || for value in cpu_us rss_kib sends switches; do
    printf '%-28s %s\n' "$value, server to before" "$(ratio server before "$value")"
done
