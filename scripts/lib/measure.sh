# shellcheck shell=bash
# What the scripts share that run a release server beside bots and judge what came of it. To be read by `source`, from the folder
# of the repository; it sets:
#
#   $tickwire   the program, just built          $work      a folder for what is written, removed by whoever reads this
#   $failures   conditions that did not hold     $port      of the server, once start_server has returned
#   $server     its process                      $log_level of the server

# A script that sets $profile measures the program of that profile, and one that sets $with_examples runs these examples, from the
# folder $examples. All are built at once: development dependencies add features to others, so that Cargo would compile the library
# again for the examples. With TICKWIRE_BUILT the caller has built `release`, because it limits the time of the script.
[[ -z ${TICKWIRE_BUILT:-} ]] || profile=release
profile=${profile:-release}
targets=(--bin tickwire ${with_examples[@]+"${with_examples[@]/#/--example=}"})
[[ -n ${TICKWIRE_BUILT:-} ]] || cargo build --profile "$profile" --quiet "${targets[@]}"
tickwire=${CARGO_TARGET_DIR:-target}/$profile/tickwire
examples=$(dirname "$tickwire")/examples
work=$(mktemp -d)
failures=0 server='' port='' log_level=warn pinned=()

say() { printf '%s\n' "$*"; }
title() { printf '\n== %s\n' "$*"; }

# Checks a condition of awk: expect "what should hold" 'condition'
expect() {
    if awk "BEGIN { exit !($2) }"; then
        say "  ok      $1"
    else
        say "  FAILED  $1   ($2)"
        failures=$((failures + 1))
    fi
}

# Waits for a line of a program's output and prints the port in it: port_of FILE
# WORD_BEFORE_THE_ADDRESS
port_of() {
    local port
    for _ in {1..100}; do
        port=$(sed -n "s/.*$2 127\.0\.0\.1:\([0-9][0-9]*\).*/\1/p" "$1")
        [[ -z $port ]] || { say "$port"; return; }
        sleep 0.1
    done
    say "no address in $1: $(cat "$1")" >&2
    return 1
}

# A variable, because a program to compare with may have no such flag.
export TICKWIRE_BOTS=0

# Keeps its banner and its log; $descriptors is its limit of open files, and $pinned a command that limits its cores, if
# set: start_server FLAGS…
start_server() {
    # Created here because the server creates it later: a reader must find it at once.
    : >"$work/banner"
    (
        [[ -z ${descriptors:-} ]] || ulimit -n "$descriptors"
        exec "${pinned[@]}" "$tickwire" --bind 127.0.0.1:0 --log "$log_level" "$@"
    ) >"$work/banner" 2>"$work/log" </dev/null &
    server=$!
    port=$(port_of "$work/banner" bind) || { cat "$work/log"; exit 1; }
}

# Ends the server, and prints the end of its log.
stop_server() {
    kill "$server"
    if wait "$server"; then
        say "  ok      it stops cleanly"
    else
        say "  FAILED  it does not stop cleanly"
        failures=$((failures + 1))
    fi
    server=''
    tail -n 20 "$work/log" | sed 's/^/  log: /'
}

# A page of the server without carriage returns, using bash alone.
metrics() {
    exec 3<>"/dev/tcp/127.0.0.1/$port"
    printf 'GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n' >&3
    tr -d '\r' <&3
    exec 3>&-
}
# The value of one metric, 0 if there is none yet; labels are part of the name.
metric() { metrics | awk -v name="$1" '$1 == name { value = $2 } END { print value + 0 }'; }

# A figure from a report of the bots: field RUN NAME
field() { sed -n "s/.*\"$2\":\(-\{0,1\}[0-9.]*\).*/\1/p" "$work/$1.json"; }

# Checks that all bots of a run played, without an error and without a disconnect: expect_bots RUN BOTS
expect_bots() {
    [[ ! -s $work/$1.err ]] || say "  bots: $(cat "$work/$1.err")"
    if awk "BEGIN { exit !($(field "$1" playing)+0 != $2 || $(field "$1" error_count)+0 || $(field "$1" disconnect_count)+0) }"; then
        say "  $1: $(cat "$work/$1.json")"
    fi
    expect "$1: all $2 bots played, no error, no disconnect" \
        "$(field "$1" playing)+0 == $2 && $(field "$1" error_count)+0 == 0 && $(field "$1" disconnect_count)+0 == 0"
}

# Waits until that many clients are connected.
until_all_came() {
    for _ in {1..150}; do
        (($(metric tickwire_clients) < $1)) || return 0
        sleep 0.1
    done
}

# The values of a figure in the reports of a program: values PROGRAM NAME
values() { sed -n "s/.*\"$2\":\([0-9.]*\).*/\1/p" "$work/$1.json"; }
median() { sort -n | awk '{ value[NR] = $1 } END { print (value[int((NR + 1) / 2)] + value[int((NR + 2) / 2)]) / 2 }'; }
# The mean ratio of two programs over the rounds and its 95 % interval, from the logarithms of the paired ratios: ratio NAME OTHER FIELD
ratio() {
    paste <(values "$1" "$3") <(values "$2" "$3") | awk '
        BEGIN { split("12.706 4.303 3.182 2.776 2.571 2.447 2.365 2.306 2.262 2.228 2.201 2.179 2.160 2.145 2.131", student) }
        $1 > 0 && $2 > 0 { x = log($1 / $2); sum += x; squares += x * x; n++ }
        END {
            if (!n) { print "-"; exit }
            mean = sum / n
            if (n < 3) { printf "%.3f\n", exp(mean); exit }
            half = (n - 1 <= 15 ? student[n - 1] : 2) * sqrt((squares / n - mean * mean) * n / (n - 1) / n)
            printf "%.3f (%.3f to %.3f)\n", exp(mean), exp(mean - half), exp(mean + half)
        }'
}
