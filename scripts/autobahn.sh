#!/usr/bin/env bash
# The Autobahn test suite against the WebSocket layer, in both roles at once: its fuzzing client against `tickwire echo`, and
# `tickwire echo --connect` against its fuzzing server. Exits with 1 when a case does not end as it should.
#
#   scripts/autobahn.sh              all 301 cases; each result is compared with tests/autobahn/server.tsv and client.tsv
#   scripts/autobahn.sh 6.4.* 9.*    only these
#
# Left out are the families 12 and 13, which are about compression: it is not negotiated, as PROTOCOL.md says, so they would end as
# UNIMPLEMENTED. TICKWIRE_BLESS=1 writes the two tables anew. What should hold besides is in tests/autobahn/judge.py.
#
# The suite runs under Python 2.7 alone, which Debian no longer has: $PYTHON27, one of pyenv, or `python2.7` in the path. It is
# installed into target/autobahn. Without any of them nothing is run, and the last line says so.
set -euo pipefail
cd "$(dirname "$0")/.."

version=25.10.1
target=${CARGO_TARGET_DIR:-target}
suite=$target/autobahn/$version
tickwire=$target/release/tickwire
# Longest message of the suite.
message_bytes=$((16 * 1024 * 1024))
# A case waits for 10 s at most, and the longest message takes some.
case_seconds=60
role_seconds=900

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

# Whole or not at all: what an interrupted installation leaves behind is not taken for the suite.
install_suite() {
    [[ -f $suite/zope/__init__.py ]] && return
    local parts=$suite.part
    rm -rf "$parts" "$suite"
    mkdir -p "$parts"
    printf 'installing the Autobahn test suite %s\n' "$version"
    "$python" -m pip install --quiet --disable-pip-version-check --target "$parts" "autobahntestsuite==$version" \
        >"$target/autobahn/install.log" 2>&1 || { cat "$target/autobahn/install.log"; return 1; }
    # Installed side by side, the packages below `zope` lack what makes them one.
    touch "$parts/zope/__init__.py"
    mv "$parts" "$suite"
}

# Runs the suite until it ends, or until it is killed with all that it has begun. $1: its mode. $2: the file that says what to run.
wstest() {
    exec timeout --kill-after=5 "$role_seconds" env PYTHONPATH="$suite" PYTHONDONTWRITEBYTECODE=1 \
        "$python" "$suite/bin/wstest" --mode "$1" --spec "$2" --webport 0
}

# The suite as client, `tickwire echo` as server. A process of its own, so that what it begins ends with it.
server_role() (
    local url='' echo
    "$tickwire" echo --bind 127.0.0.1:0 --max-message "$message_bytes" --log warn >"$work/echo" 2>&1 &
    echo=$!
    trap 'kill "$echo"' EXIT
    while [[ -z $url ]]; do
        kill -0 "$echo" 2>/dev/null || { cat "$work/echo"; return 1; }
        sleep 0.05
        url=$(sed -n 's/^echo \(ws:[^,]*\),.*/\1/p' "$work/echo")
    done
    printf '{"outdir": "%s", "servers": [{"agent": "tickwire", "url": "%s"}], "cases": [%s], "exclude-cases": ["12.*", "13.*"], "exclude-agent-cases": {}}\n' \
        "$work/server" "$url" "$cases" >"$work/server.json"
    (wstest fuzzingclient "$work/server.json") >"$work/server.log" 2>&1 || { tail "$work/server.log"; return 1; }
    # The whole log: above `warn` it is silent.
    [[ $(wc -l <"$work/echo") == 1 ]] || { cat "$work/echo"; return 1; }
)

# The suite as server, `tickwire echo --connect` as client: asks how many cases there are, runs each, and has the reports written.
client_role() (
    local url count='' status number fuzzing
    url=ws://127.0.0.1:$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    printf '{"outdir": "%s", "url": "%s", "cases": [%s], "exclude-cases": ["12.*", "13.*"], "exclude-agent-cases": {}}\n' \
        "$work/client" "$url" "$cases" >"$work/client.json"
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
        # 1 says that the server broke a rule, which is what many cases do.
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
cases='"*"'
if (($#)); then
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
python3 -B tests/autobahn/judge.py "$work" "$@"
