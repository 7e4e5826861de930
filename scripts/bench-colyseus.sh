#!/usr/bin/env bash
# Measures examples/fog.rs beside the same game in Colyseus (npm): same rules, map, rates, clients and decisions.
#
#   scripts/bench-colyseus.sh [--rounds N] [--seconds N] [--case NAME]
#
# --rounds   rounds of each case; both servers run once per round, in changing order (default 3)
# --seconds  measured time of each run, after as long a time, but at most 5 s (default 10)
# --case     10       10 clients
#            100      100 clients
#            wolves   100 clients and 2,000 wolves; default: all three
#
# Both servers tick and send updates 30 times a second. Each client receives its own team, and what is near its soldier and not behind a wall.
#
# tickwire  sends an entity list as one WebSocket message per update: the tick, what enters, the ids of what leaves, and for what
#           moves its id and the difference of its position. Answers to commands, points and the own state are messages of their own.
# colyseus  sends one message per update: for each changed entity its number, and for each changed field its number and value. It has no
#           ticks or answers to commands. The number of the last control and the exact position of the own soldier are fields. Its game
#           is tests/benches/colyseus/server.mjs.
#
# The clients of both are those of tests/benches/colyseus/load.mjs: without compression, on loopback. Colyseus comes from npm in the versions of
# package-lock.json, into target/. It wants Node 22 or newer, which comes from npm as well if there is an older one.
# The script has no threshold: it exits with 1 only if a client lost its connection or did not receive a moving world.
set -euo pipefail
cd "$(dirname "$0")/.."

rounds=3 seconds=10 cases=(10 100 wolves)
while (($#)); do
    case $1 in
        --rounds) rounds=$2 ;;
        --seconds) seconds=$2 ;;
        --case) cases=("$2") ;;
        *) sed -n '2,22s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
    shift 2
done
for number in "$rounds" "$seconds"; do
    [[ $number =~ ^[1-9][0-9]*$ ]] || { printf 'bench-colyseus.sh: %s: must be a whole number from 1\n' "$number" >&2; exit 2; }
done
case ${cases[0]} in
    10 | 100 | wolves) ;;
    *) printf 'bench-colyseus.sh: --case %s: must be 10, 100 or wolves\n' "${cases[0]}" >&2; exit 2 ;;
esac

ulimit -n "$(ulimit -Hn)"
target=${CARGO_TARGET_DIR:-target}
home=$target/bench-colyseus
mkdir -p "$home"
cp tests/benches/colyseus/*.mjs tests/benches/colyseus/*.json tests/benches/colyseus/.npmrc "$home"
[[ $home/node_modules/.package-lock.json -nt tests/benches/colyseus/package-lock.json ]] || npm ci --prefix "$home" --ignore-scripts --loglevel error
node=node
if (($(node --print 'process.versions.node.split(".")[0]') < 22)); then
    package=node-linux-$(node --print process.arch) version=24.20.0
    node=$home/node/node_modules/$package/bin/node
    [[ -x $node ]] || npm install --prefix "$home/node" --no-audit --no-fund --loglevel error "$package@$version"
fi
cargo build --profile dist --quiet --locked --example fog
exec "$node" "$home/bench.mjs" "$PWD" "$target/dist/examples/fog" "$rounds" "$seconds" "${cases[@]}"
