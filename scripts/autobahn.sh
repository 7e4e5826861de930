#!/usr/bin/env bash
# Runs the Autobahn test suite against both roles of the WebSocket layer: its fuzzing client against `tickwire echo`, and
# `tickwire echo --connect` against its fuzzing server. Exits with 1 if the result of a case is not the expected one.
#
#   scripts/autobahn.sh              313 cases; each result is compared with tests/autobahn/server.tsv and client.tsv
#   scripts/autobahn.sh --all        all 517 cases
#   scripts/autobahn.sh 6.4.* 9.*    only these cases
#
# With --between before the others, the fuzzing client reaches the echo server through `tickwire between`.
#
# Families 12 and 13 test compression with 216 cases, each of 1,000 messages of up to 128 KiB: half an hour of two processors, most of it
# in the suite. Without --all, each of their 12 parts runs with one size, messages of 256 bytes. Up to three cases that fail are run once more by themselves, since the suite waits by its own clock. With --all, TICKWIRE_BLESS=1 regenerates the two tables. tests/autobahn/judge.py contains the remaining checks.
#
# The suite needs Python 2.7, which Debian no longer ships: the script uses $PYTHON27, one from pyenv, or `python2.7` in the path. It
# installs the suite into target/autobahn. Without Python 2.7 nothing is run, and the last line says so.
set -euo pipefail
cd "$(dirname "$0")/.."

version=25.10.1
target=${CARGO_TARGET_DIR:-target}
suite=$target/autobahn/$version
tickwire=$target/release/tickwire
# Longest message of the suite.
message_bytes=$((16 * 1024 * 1024))
# A case waits for at most 10 s, and the longest message also takes some time.
case_seconds=60
role_seconds=900
# The suite reads this as a regular expression: the cases of families 12 and 13 whose last number is not 3.
exclude='"1[23].*.[124-9]*"'

find_python() {
    local found
    for found in "${PYTHON27:-}" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/2.7.*/bin/python "$(command -v python2.7 || true)"; do
        if [[ -x $found ]] && "$found" -c 'import sys; sys.exit(sys.version_info[:2] != (2, 7))' 2>/dev/null; then
            printf '%s\n' "$found"
            return
        fi
    done
    return 1
}

# The installation is complete or absent: an interrupted one is not mistaken for the suite.
install_suite() {
    [[ -f $suite/zope/__init__.py ]] && return
    local parts=$suite.part
    rm -rf "$parts" "$suite"
    mkdir -p "$parts"
    printf 'installing the Autobahn test suite %s\n' "$version"
    "$python" -m pip install --quiet --disable-pip-version-check --target "$parts" "autobahntestsuite==$version" \
        >"$target/autobahn/install.log" 2>&1 || { cat "$target/autobahn/install.log"; return 1; }
    # If they are installed side by side, the packages below `zope` do not form one namespace
    # package.
    touch "$parts/zope/__init__.py"
    mv "$parts" "$suite"
}

# Runs the suite until it ends, or kills it with all its child processes. $1: its mode. $2: the file
# with its configuration.
wstest() {
    exec timeout --kill-after=5 "$role_seconds" env PYTHONPATH="$suite" PYTHONDONTWRITEBYTECODE=1 \
        "$python" "$suite/bin/wstest" --mode "$1" --spec "$2" --webport 0
}

# The suite as client, `tickwire echo` as server. It is a separate process, so that its children end
# with it.
server_role() (
    local url='' echo proxied=''
    "$tickwire" echo --bind 127.0.0.1:0 --max-message "$message_bytes" --log warn >"$work/echo" 2>&1 &
    echo=$!
    trap 'kill "$echo"' EXIT
    while [[ -z $url ]]; do
        kill -0 "$echo" 2>/dev/null || { cat "$work/echo"; return 1; }
        sleep 0.05
        url=$(sed -n 's/^echo \(ws:[^,]*\),.*/\1/p' "$work/echo")
    done
    if [[ $through ]]; then
        "$tickwire" between --upstream "$url" --bind 127.0.0.1:0 --no-page --quiet --log error >"$work/between" 2>&1 &
        trap 'kill "$echo" "$!"' EXIT
        while [[ -z $proxied ]]; do
            kill -0 "$!" 2>/dev/null || { cat "$work/between"; return 1; }
            sleep 0.05
            proxied=$(sed -n 's/^between \(ws:[^ ]*\)\/ and .*/\1/p' "$work/between")
        done
        url=$proxied
    fi
    printf '{"outdir": "%s", "servers": [{"agent": "tickwire", "url": "%s"}], "cases": [%s], "exclude-cases": [%s], "exclude-agent-cases": {}}\n' \
        "$work/server" "$url" "$cases" "$exclude" >"$work/server.json"
    (wstest fuzzingclient "$work/server.json") >"$work/server.log" 2>&1 || { tail "$work/server.log"; return 1; }
    # The log is complete: above `warn` there is nothing.
    [[ $(wc -l <"$work/echo") == 1 ]] || { cat "$work/echo"; return 1; }
)

# The suite as server, `tickwire echo --connect` as client: asks for the number of cases, runs each,
# and requests the reports.
client_role() (
    local url count='' status number fuzzing
    url=ws://127.0.0.1:$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    printf '{"outdir": "%s", "url": "%s", "cases": [%s], "exclude-cases": [%s], "exclude-agent-cases": {}}\n' \
        "$work/client" "$url" "$cases" "$exclude" >"$work/client.json"
    (wstest fuzzingserver "$work/client.json") >"$work/client.log" 2>&1 &
    fuzzing=$!
    trap 'kill "$fuzzing"' EXIT
    while [[ -z $count ]]; do
        kill -0 "$fuzzing" 2>/dev/null || { cat "$work/client.log"; return 1; }
        sleep 0.1
        count=$("$tickwire" echo --connect "$url/getCaseCount" 2>/dev/null | sed -n 's/^text, .*"\([0-9]*\)"$/\1/p' || true)
    done
    for number in $(seq "$count"); do
        status=0
        timeout "$case_seconds" "$tickwire" echo --connect "$url/runCase?case=$number&agent=tickwire" \
            >/dev/null 2>"$work/case" || status=$?
        # Status 1 means that the server broke a rule, which is intended in many cases.
        ((status <= 1)) || { printf 'case number %s: exit status %s\n' "$number" "$status"; cat "$work/case"; return 1; }
    done
    "$tickwire" echo --connect "$url/updateReports?agent=tickwire" >/dev/null
)

python=$(find_python) || {
    printf 'NOT RUN: no Python 2.7, so nothing of the Autobahn test suite was run\n'
    exit 0
}
install_suite
cargo build --release --quiet
cases='"*"' only='' through=''
if [[ ${1:-} == --between ]]; then
    through=yes
    shift
fi
if [[ ${1:-} == --all ]]; then
    # The suite gives a case of family 12 or 13 up to 480 s.
    exclude='' case_seconds=500 role_seconds=7200
elif (($#)); then
    exclude='' only=yes
    cases=$(printf '"%s",' "$@")
    cases=${cases%,}
fi
work=$(mktemp -d)
as_server='' as_client=''
trap 'kill $as_server $as_client 2>/dev/null || true; rm -rf "$work"' EXIT
server_role >"$work/server.out" 2>&1 & as_server=$!
client_role >"$work/client.out" 2>&1 & as_client=$!
wait "$as_server" || { printf 'the server role broke off:\n'; cat "$work/server.out"; wait "$as_client" || true; exit 1; }
wait "$as_client" || { printf 'the client role broke off:\n'; cat "$work/client.out"; exit 1; }
status=0
python3 -B tests/autobahn/judge.py "$work" "$@" >"$work/judged" || status=$?
mapfile -t again <"$work/again"
if [[ $status == 0 || -n $only || ${#again[@]} == 0 ]]; then
    cat "$work/judged"
    exit "$status"
fi
head -n -1 "$work/judged"
printf 'once more, by themselves: %s\n' "${again[*]}"
printf '%s passed, 0 failed\n' "$(tail -n 1 "$work/judged" | cut -d ' ' -f 1)"
scripts/autobahn.sh ${through:+--between} "${again[@]}"
