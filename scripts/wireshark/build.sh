#!/bin/sh
# Writes tickwire.lua, the one file that Wireshark loads: what `tickwire codes --format wireshark` prints.
#
#   scripts/wireshark/build.sh                                  writes scripts/wireshark/tickwire.lua
#   scripts/wireshark/build.sh --check                          says whether that file is stale
#   scripts/wireshark/build.sh --codes TABLES --output FILE     for a server with `--codes TABLES`, or for a capture of it
#
# Builds the program with cargo, unless the variable TICKWIRE_BIN names one.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
codes=
output=$here/tickwire.lua
check=

while [ $# -gt 0 ]; do
    case $1 in
        --codes | --output) [ -n "${2:-}" ] || { echo "build.sh: $1 needs a value" >&2 && exit 2; } ;;
    esac
    case $1 in
        --codes) codes=$2 && shift ;;
        --output) output=$2 && shift ;;
        --check) check=yes ;;
        *) echo "build.sh: unknown argument $1" >&2 && exit 2 ;;
    esac
    shift
done

# Tables that the environment names for other commands do not count here.
unset TICKWIRE_CODES
whole() {
    if [ -n "${TICKWIRE_BIN:-}" ]; then
        "$TICKWIRE_BIN" codes --format wireshark ${codes:+--codes "$codes"}
    else
        cargo run --quiet --locked --manifest-path "$here/../../Cargo.toml" -- codes --format wireshark ${codes:+--codes "$codes"}
    fi
}

whole >"$output.new" || { rm -f "$output.new" && exit 1; }
if [ -z "$check" ]; then
    mv "$output.new" "$output"
    exit 0
fi
if cmp -s "$output.new" "$output"; then rm "$output.new" && exit 0; fi
rm "$output.new"
echo "$output is stale; refresh it with: scripts/wireshark/build.sh" >&2
exit 1
