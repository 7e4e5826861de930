#!/usr/bin/env bash
# Runs a hundred honest bots on a release server while many other clients attack it at once. Reports the effect on the bots, the cost to the
# server, and whether the server recovers completely afterwards. Exits with 1 if a check fails.
#
#   scripts/attack.sh [--seconds N] [--count N] [--brief] [--only KIND,KIND…]
#
# --seconds   measured time of each run, at least 4 (default 10)
# --count     honest bots (default 100)
# --brief     for shared machines: one pass and fewer attackers; checks only counts, not the gaps between updates
# --only      only these attacks (`tickwire bots --help` lists the names). half-open-pages alone runs without honest bots
#
# Each attack comes from this machine, but from other addresses than the bots. In the first pass the attackers share one address, so
# its limits and budgets stop most of them; in the second pass they use many addresses, and these limits are lifted. The gap between two
# updates is compared with a run in which the same attackers target a sink that discards everything, so the attackers' own load on the
# machine is not attributed to the server. The last attack is half-open-pages: 4, 16 and 64 addresses with 256 connections each, and one
# run with 1,024 descriptors, request pages and never read them, while the script times new clients from other addresses.
set -euo pipefail
cd "$(dirname "$0")/.."

# Thousands of connections on each side.
ulimit -n "$(ulimit -Hn)"
seconds=10 count=100 brief='' only=''
while (($#)); do
    case $1 in
        --seconds) seconds=$2 ;;
        --count) count=$2 ;;
        --only) only=,$2, ;;
        --brief) brief=yes; shift; continue ;;
        *) sed -n '2,17s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
    shift 2
done
((seconds >= 4)) || seconds=4

slack_ms=5 memory_most_kb=$((256 * 1024)) many=1000
[[ -z $brief ]] || many=300
source scripts/lib/measure.sh
log_level=error runs=0 sink=''

finish() {
    local child
    for child in $server $sink; do
        kill "$child" 2>/dev/null && wait "$child" || true
    done
    rm -rf "$work"
}
trap finish EXIT

start_sink() {
    : >"$work/sink"
    "$tickwire" bots --sink ws://127.0.0.1:0 >"$work/sink" &
    sink=$!
    sink_port=$(port_of "$work/sink" sink)
}

# The honest bots: herd RUN SECONDS BOTS ARGUMENTS…
herd() {
    local run=$1 time=$2 bots=$3
    shift 3
    "$tickwire" bots --count "$bots" --seconds "$time" --json "$@" "ws://127.0.0.1:$port" >"$work/$run.json" 2>"$work/$run.err" || true
}
# Whether all honest bots of a run played, and every command of theirs was executed: well RUN BOTS
well() {
    say "  bots    $(field "$1" commands_sent) commands sent, $(field "$1" commands_accepted) accepted, $(field "$1" commands_rejected) rejected"
    # The answers to the newest ones may not have come when the time was over. Bots with an address may use up its rate limit for clans.
    expect "$1: every command of the $2 was accepted, but for at most four of each at the end, and one in a thousand" \
        "$([[ $1 == many ]] && echo 1 || field "$1" commands_sent)+0 > 0 && $(field "$1" commands_accepted)+4*$2 >= 0.999*$(field "$1" commands_sent) && $(field "$1" commands_rejected)+0 <= 0.001*$(field "$1" commands_sent)"
    expect_bots "$1" "$2"
}

# The server's resources: threads, descriptors, mappings.
holds() { say "$(ls "/proc/$server/task" | wc -l) $(ls "/proc/$server/fd" | wc -l) $(wc -l <"/proc/$server/maps")"; }
peak_kb() { awk '/VmHWM/ { print $2 }' "/proc/$server/status"; }
# CPU time used so far, in hundredths of a second.
work_done() { sed 's/.*) //' "/proc/$server/stat" | awk '{ print $12 + $13 }'; }
# Waits until threads and descriptors are back to their previous numbers, and prints all resources:
# recovers WHAT
recovers() {
    local threads files maps now
    read -r threads files maps <<<"$start"
    for _ in {1..200}; do
        read -r -a now <<<"$(holds)"
        ((now[0] > threads || now[1] > files || now[2] > maps)) || break
        sleep 0.1
    done
    say "  holds   ${now[0]} threads, ${now[1]} descriptors, ${now[2]} mappings; before $threads, $files, $maps"
    expect "$1: threads, descriptors and mappings are back" "${now[0]} <= $threads && ${now[1]} <= $files && ${now[2]} <= $maps"
}

# The bots and the attackers, the latter at a port: together RUN KIND ATTACKERS PORT
together() {
    local bots
    # One address has 28,000 ports, each of which is unusable for a minute after use: attackers of
    # the previous run would be in the way.
    runs=$((runs + 1))
    herd "$1" "$seconds" "$count" & bots=$!
    until_all_came "$count"
    "$tickwire" bots --attack "$2" --count "$3" --seconds $((seconds + 1)) --source "${source/N/$runs}" --json "ws://127.0.0.1:$4" \
        >"$work/$1.pressure" 2>"$work/$1.failed" ||
        { say "  FAILED  $2: $(cat "$work/$1.failed")"; failures=$((failures + 1)); }
    wait "$bots"
}
# Checks that the attack happened, since otherwise the result means nothing: came RUN KIND
came() {
    made() { sed -n "s/.*\"$2\":\([0-9]*\).*/\1/p" "$work/$1.pressure"; }
    expect "$2: there were attackers, at the $([[ $1 == sink ]] && echo sink || echo server)" "$(made "$1" connections)+0 > 0"
    case $2 in
        ping-flood | tiny-fragments | command-flood | contradictions | bombs) expect "$2: they sent frames" "$(made "$1" frames)+0 > 0" ;;
        datagram-flood) expect "$2: they sent datagrams" "$(made "$1" datagrams)+0 > 0" ;;
        lane-theft)
            [[ $1 != sink ]] || return 0
            expect "$2: a stranger receives no more bytes than it sends" "$(made "$1" datagrams)+0 > 0 && $(made "$1" stolen_bytes) == 0"
            expect "$2: the clients get answers" "$(made "$1" answers)+0 > 0"
            ;;
    esac
}
row() { printf '  %-24s %8s %8s %8s\n' "$@"; }
report() { row "$1" "$(field "$2" gap_p50_ms)" "$(field "$2" gap_p99_ms)" "$(field "$2" gap_max_ms)"; }
# Whether the gap of one run exceeds that of another by at most the slack: gaps RUN OTHER
gaps() { printf '%s+0 <= %s + %s' "$(field "$1" gap_p99_ms)" "$(field "$2" gap_p99_ms)" "$slack_ms"; }

# Both runs of one attack: measure KIND ATTACKERS
measure() {
    local worked
    if [[ -z $brief ]]; then
        together sink "$1" "$2" "$sink_port"
        say "  at the sink:   $(cat "$work/sink.pressure")"
        came sink "$1"
    fi
    worked=$(work_done)
    together "$1" "$1" "$2" "$port"
    say "  at the server: $(cat "$work/$1.pressure")"
    came "$1" "$1"
    say "  the server worked $((($(work_done) - worked) * 10)) ms in all, its memory was $(($(peak_kb) / 1024)) MB at most so far"
    row '' 'p50 ms' 'p99 ms' 'max ms'
    report 'without attack' native
    [[ -n $brief ]] || report 'attackers at the sink' sink
    report 'attackers at the server' "$1"
}
# attack KIND ATTACKERS
attack() {
    [[ -z $only || $only == *,$1,* ]] || return 0
    title "$1, $2 from $source"
    measure "$1" "$2"
    # Other load on this machine lengthens gaps as well, and a long gap at the sink would excuse any
    # gap at the server. So in that case all runs are repeated, one right after the other.
    for _ in 1 2 3; do
        [[ -z $brief ]] || break
        awk "BEGIN { exit !($(gaps "$1" sink) && $(gaps sink native)) }" && break
        say "  again   all measured anew, $(cut -d' ' -f1 /proc/loadavg) processes want to run"
        herd native "$seconds" "$count"
        measure "$1" "$2"
    done
    well "$1" "$count"
    [[ -n $brief ]] || expect "$1: the gap is at most $slack_ms ms above that with the sink" "$(gaps "$1" sink)"
    recovers "$1"
}
attacks() {
    if [[ -n $brief ]]; then
        attack slowloris 300; attack stalled-readers 20; attack drip-readers 20; attack ping-flood 20; attack tiny-fragments 10
        attack command-flood 20; attack contradictions 20; attack seat-holders 20; attack false-checksums 20; attack churn 200; attack reconnect 200; attack bombs 20; attack half-open 50; attack datagram-flood 10; attack lane-theft 10
        return
    fi
    # A tenth of 500 clients that read nothing; a thousand connections per second are opened and
    # closed.
    attack slowloris 2000; attack stalled-readers 50; attack drip-readers 50; attack ping-flood 50; attack tiny-fragments 20
    attack command-flood 50; attack contradictions 50; attack seat-holders 50; attack sync-flood 20; attack false-checksums 50; attack churn 1000; attack bombs 50; attack half-open 200
    # 50,000 datagrams a second.
    attack datagram-flood 20; attack lane-theft 20
    # From many addresses, each client stays within its budget, and churn makes little difference.
    [[ $source != *N* ]] || attack reconnect 2000
}

# Measures how many chat lines clients that reconnect from one address send to others, on a map so
# small that everyone is in view of everyone, and how much the server's log grows with its default
# filter.
reconnecting() {
    local rate=2000 made
    [[ -z $only || $only == *,reconnect,* ]] || return 0
    [[ -z $brief ]] || rate=500
    title "reconnect, $rate from one address: what a victim hears, and the log"
    log_level=info
    start_server --map-size 1440
    "$tickwire" bots --attack reconnect --count "$rate" --seconds "$seconds" --source 127.78.0.1 --json "ws://127.0.0.1:$port" \
        >"$work/heard.json" || failures=$((failures + 1))
    say "  $(cat "$work/heard.json")"
    made=$(field heard seconds)
    expect "a victim hears some lines, and at most four times what one client may say ($(field heard lines_heard))" \
        "$(field heard lines_heard)+0 > 0 && $(field heard lines_heard)+0 <= 4 * (1 + $made / 0.5)"
    expect "the log grows by at most 10 kB a second ($(wc -c <"$work/log") bytes)" "$(wc -c <"$work/log") <= 10000 * $made"
    expect "the log says how many lines it left out" "$(grep -c 'suppressed .* more lines\? like ' "$work/log") > 0"
    metrics | grep -E '^tickwire_(connections_refused|commands_rejected)' | sed 's/^/  /'
    stop_server
}

# One pass: pass NAME SOURCE FLAGS…
pass() {
    local name=$1
    source=$2
    shift 2
    title "$name"
    start_server --lane udp "$@"
    sed -n '/this machine supports/s/^ */  /p' "$work/banner"
    # Runs that many bots once beforehand, because the program keeps some memory for good (reusable
    # stacks, the heap). The bots stand still: two cores cannot drive a thousand walking bots, and
    # the server is what is measured.
    herd many 4 "$many" --still
    well many "$many"
    for _ in {1..100}; do (($(metric tickwire_clients) > 0)) || break; sleep 0.1; done
    sleep 3
    say "  $many clients: $(($(peak_kb) / 1024)) MB at most"
    start=$(holds)
    say "  holds   $start (threads, descriptors, mappings)"
    herd native "$seconds" "$count"
    well native "$count"
    attacks
    title "the server after all"
    expect "memory stays under $((memory_most_kb / 1024)) MB, with $many clients and with every attack ($(($(peak_kb) / 1024)) MB)" "$(peak_kb) < $memory_most_kb"
    metrics | grep -E '^tickwire_(clients_closed|connections_refused|requests_refused|datagrams_|ticks_|panics)' | sed 's/^/  /'
    expect "no panic" "$(metric tickwire_panics_total) == 0"
    stop_server
}

# Times a page for twenty new clients, each from its own address, one after the other: newcomers
# NAME
newcomers() {
    local number times slowest
    for number in {1..20}; do
        curl --silent --output /dev/null --max-time 20 --interface "127.66.$runs.$number" --write-out '%{http_code} %{time_total}\n' \
            "http://127.0.0.1:$port/game/main.js" || true
    done >"$work/newcomers"
    times=$(awk '{ printf "%s%.0f", (NR > 1 ? " " : ""), $2 * 1000 }' "$work/newcomers")
    slowest=$(awk '$2 > most { most = $2 } END { printf "%.0f", most * 1000 }' "$work/newcomers")
    say "  newcomers took $times ms"
    expect "$1: all 20 newcomers get their page" "$(grep -c '^200 ' "$work/newcomers") == 20"
    [[ -n $brief ]] || expect "$1: the slowest newcomer is in within 1 s ($slowest ms)" "$slowest <= 1000"
}
# Addresses that hold as many unread pages as they can get: pages ADDRESSES NAME
pages() {
    local attackers
    runs=$((runs + 1))
    title "half-open-pages, $2"
    "$tickwire" bots --attack half-open-pages --count $(($1 * 256)) --addresses "$1" --seconds 15 --source '127.78.x.y' --json \
        "ws://127.0.0.1:$port" >"$work/pages.pressure" 2>"$work/pages.failed" &
    attackers=$!
    # They now hold as many as they can get.
    sleep 3
    newcomers "$2"
    wait "$attackers" || { say "  FAILED  $2: $(cat "$work/pages.failed")"; failures=$((failures + 1)); }
    say "  at the server: $(cat "$work/pages.pressure")"
    metrics | grep '^tickwire_connections_refused' | sed 's/^/  /' || true
}
pages_pass() {
    [[ -z $only || $only == *,half-open-pages,* ]] || return 0
    start_server
    pages 4 '4 addresses'
    [[ -n $brief ]] || { pages 16 '16 addresses'; pages 64 '64 addresses'; }
    stop_server
    # Ends the server and its children, not this script.
    descriptors=1024 start_server
    sed -n '/this machine supports/s/^ */  /p' "$work/banner"
    pages 1 '1 address at 1,024 descriptors'
    stop_server
}

start_sink
if [[ $only != ,half-open-pages, ]]; then
    pass 'attackers of one address, a new one for each run, with the caps as they are' 127.77.N.1
    [[ -n $brief ]] || pass 'attackers of many addresses, with the caps and budgets of an address lifted' 127.77.x.y \
        --max-clients-per-address 100000 --address-rate-limits off
fi
pages_pass
reconnecting
((failures == 0)) || { title "$failures failed"; exit 1; }
title "all as it should be"
