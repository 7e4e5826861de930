#!/bin/sh
# Builds tickwire.lua, the one file that Wireshark loads, from its parts and from the packet tables.
#
#   scripts/wireshark/build.sh                                  writes scripts/wireshark/tickwire.lua
#   scripts/wireshark/build.sh --check                          says whether that file is stale
#   scripts/wireshark/build.sh --codes DIR --output FILE        for a server with `--codes DIR`
#
# Needs nothing but a shell and awk.
set -eu
LC_ALL=C
export LC_ALL
here=$(cd "$(dirname "$0")" && pwd)
codes=$here/../../packet_codes
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

# Each table as a line of dialects and a line for each packet: direction, name, a code for each dialect, arguments.
table() {
    printf '%s\n' '-- table:begin, from packet_codes/' 'local TABLES = {'
    for file in "$codes"/*.tsv; do
        awk -F '\t' '
            NR == 1 {
                printf "[[\n"
                for (place = 4; place < NF - 1; place++) printf "%s%s", $place, place < NF - 2 ? "\t" : "\n"
                next
            }
            {
                printf "%s\t%s", $1, $2
                for (place = 4; place < NF; place++) printf "\t%s", $place
                printf "\n"
            }
            END { printf "]],\n" }
        ' "$file"
    done
    printf '%s\n' '}' '-- table:end' ''
}

whole() {
    cat "$here/parts/1-head.lua"
    table
    cat "$here"/parts/[3-9]-*.lua
}

if [ -n "$check" ]; then
    whole | cmp -s - "$output" && exit 0
    echo "$output is stale; refresh it with: scripts/wireshark/build.sh" >&2
    exit 1
fi
whole >"$output.new"
mv "$output.new" "$output"
