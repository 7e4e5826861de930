#!/bin/sh
# Builds tickwire.lua, the one file that Wireshark loads, from its parts, from the packet tables, and from the tables of rules in src/.
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
source=$here/../../src
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

# Each table as a line with its dialects and a line for each packet: direction, name, a code for
# each dialect, arguments.
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

# Each rule that a peer can break: where it is defined, the response, and its sentence. Rules of
# WebSocket and HTTP are in violation.rs, those of MessagePack and of the envelope in msgpack.rs.
rules() {
    printf '%s\n' '-- rules:begin, from src/ws/ and src/packet/' 'local RULES = {'
    awk '
        function quoted(text) { split(text, parts, "\""); return parts[2] }
        /pub const [A-Z_]+: CloseCode = CloseCode\(/ {
            number = $0
            gsub(/.*CloseCode\(|\).*/, "", number)
            sub(/:/, "", $3)
            numbers[$3] = number
        }
        /^ +[0-9]+ => "/ { meanings[$1] = quoted($0) }
        /^const [A-Z_]+: Answer = Close\(CloseCode::/ {
            code = $0
            gsub(/.*CloseCode::|\).*/, "", code)
            sub(/:/, "", $2)
            answers[$2] = "close " numbers[code] " " meanings[numbers[code]]
        }
        /^violations! \{/ { inside = 1; next }
        /^}/ { inside = 0 }
        inside && !/^ *(\/\/|$)/ {
            row = row $0
            if (row !~ /;$/) next
            split(row, parts, "\"")
            split(parts[1], words, " ")
            answer = parts[3]
            gsub(/^ +|, *$/, "", answer)
            if (answer in answers) answer = answers[answer]
            sub(/^Drop$/, "drop the connection", answer)
            if (sub(/^Status\(/, "status ", answer)) sub(/\)/, "", answer)
            printf "    %s = { \"RFC %s section %s\", \"%s\", \"%s\" },\n", words[2], words[3], parts[2], answer, parts[4]
            row = ""
        }
        /^ +[A-Za-z0-9]+ "packet_[a-z0-9_]+" "/ {
            split($0, parts, "\"")
            printf "    %s = { \"PROTOCOL.md\", \"close %s %s\", \"%s\" },\n", parts[2], numbers["NOT_CONSISTENT"],
                meanings[numbers["NOT_CONSISTENT"]], parts[4]
        }
    ' "$source/ws/close_code.rs" "$source/ws/violation.rs" "$source/packet/msgpack.rs"
    printf '%s\n' '}' '-- rules:end' ''
}

whole() {
    cat "$here/parts/1-head.lua"
    table
    rules
    cat "$here"/parts/[3-8]-*.lua
    # A Lua file can have 200 local names, and no code follows the last part.
    printf 'do\n'
    cat "$here"/parts/9-*.lua
    printf 'end\n'
}

if [ -n "$check" ]; then
    whole | cmp -s - "$output" && exit 0
    echo "$output is stale; refresh it with: scripts/wireshark/build.sh" >&2
    exit 1
fi
whole >"$output.new"
mv "$output.new" "$output"
