#!/bin/sh
# Writes the tab edition, the pages whose server is in the browser, into a folder that any static host can serve. Without a game these are the
# files that the server has at /tab/ (src/server/net/pages/browser_edition.rs); the browser's test compares the two. That needs no compiler.
#
# usage: scripts/browser-edition.sh [GAME] [--bots COUNT] [--rough] [FOLDER]    default: target/tab-edition; a tab edition that is there is replaced
#
# GAME is one of:
#   --game NAME          a built-in game with a page of its own: tanks
#   --example NAME       examples/NAME.rs, with NAME.html and NAME.tsv beside it
#   --program FILE.rs    a program of one's own whose main calls tickwire::serve; beside it are the only .html and the only .tsv file
# --rough builds a program without optimisation, in a third of the time: to try it out, too large to publish.
set -eu
start=$PWD
cd "$(dirname "$0")/.."

# Bytes that it may have, compressed.
most=1590000
out='' game='' program='' page='' table='' bots=1

fail() {
    echo "browser-edition: $1" >&2
    exit 1
}
# From where the script was called.
from_start() { case $1 in /*) echo "$1" ;; *) echo "$start/$1" ;; esac; }
# The only file of a folder whose name ends so.
only() {
    set -- "$1" "$2" "$1"/*."$2"
    if [ $# != 3 ] || [ ! -f "$3" ]; then fail "there must be one .$2 file in $1"; fi
    echo "$3"
}

while [ $# -gt 0 ]; do
    case $1 in
        --game) game=$2 page=src/games/$2/page.html table=$(only "packet_codes/$2" tsv) bots=10 && shift ;;
        --example) game=$2 program=examples/$2.rs page=examples/$2.html table=examples/$2.tsv && shift ;;
        --program)
            program=$(from_start "$2")
            page=$(only "$(dirname "$program")" html) table=$(only "$(dirname "$program")" tsv) game=own
            shift
            ;;
        --bots) bots=$2 && shift ;;
        --rough)
            export CARGO_PROFILE_TAB_OPT_LEVEL=0 CARGO_PROFILE_TAB_LTO=off CARGO_PROFILE_TAB_CODEGEN_UNITS=16
            most=9000000
            ;;
        -*) fail "unknown option $1" ;;
        *) out=$(from_start "$1") ;;
    esac
    shift
done
out=${out:-target/tab-edition}
for file in $program $page $table; do [ -f "$file" ] || fail "there is no $file"; done
[ ! -e "$out" ] || [ -f "$out/tab-files.js" ] || fail "$out is there and is no tab edition; name another folder"

# All files are written to a temporary folder, which replaces the old one once it is complete: a run that fails or is killed does not stop the next.
done=$out
mkdir -p "$(dirname "$done")"
out=$(mktemp -d "$(dirname "$done")/.tab-edition.XXXXXX")
trap 'rm -rf "$out"' EXIT
trap 'exit 130' INT TERM
chmod 755 "$out"
(
    cd src/web
    find . -type f -not -name '*.sources' -not -name 'admin.*' -not -path './admin/*' -not -path './games/*' -not -path ./wasm/edition.js \
        \( -not -name '*.d.ts' -o -path ./tickwire.d.ts \) | tar -cf - -T -
) | tar -xf - -C "$out"
mv "$out/wasm/edition-browser.js" "$out/wasm/edition.js"

if [ -n "$game" ]; then
    cp scripts/tab-game/* "$out/"
    cp "$page" "$out/game.html"
    # The modules of the page of a built-in game.
    if [ -z "$program" ] && [ -d "src/web/games/$game" ]; then
        mkdir "$out/games"
        cp -R "src/web/games/$game" "$out/games/"
    fi
    # A program has one game of its own, whatever its name.
    if [ -n "$program" ]; then
        scripts/build-wasm-game.sh "$program" "$out/wasm/tickwire.wasm"
        if grep -q 'const PREDICTION:' "$program"; then
            scripts/build-wasm-game.sh --predict "$program" "$out/wasm/prediction.wasm"
        fi
        game=''
    fi
    sed -e "s/^export const GAME = .*/export const GAME = '$game';/" -e "s/^export const BOTS = .*/export const BOTS = $bots;/" \
        src/web/wasm/edition-browser.js >"$out/wasm/edition.js"
    # With an example, because it is then the program that the tests have built: development dependencies add features to others.
    cargo build --quiet --locked --bin tickwire --example coins
    "${CARGO_TARGET_DIR:-target}/debug/tickwire" codes --codes "$table" --format json >"$out/codes.json"
fi
find "$out" -mindepth 1 -type d -exec chmod 755 {} +
find "$out" -type f -exec chmod 644 {} +

# The service worker's list, and a version that changes with any of its files. No name has a space in it.
(
    cd "$out"
    names=$(find . -type f -not -name service-worker.js | cut -c 3- | LC_ALL=C sort)
    # shellcheck disable=SC2086
    version=$(sha1sum $names | sha1sum)
    # shellcheck disable=SC2086
    list=$(printf "'%s', " $names)
    printf "self.TAB_FILES = { version: '%s', files: [%s] };\n" "${version%% *}" "${list%, }" >tab-files.js
)

compressed=0
for file in $(find "$out" -type f); do
    compressed=$((compressed + $(gzip -9c "$file" | wc -c)))
done
echo "$done: $(find "$out" -type f | wc -l) files, $(find "$out" -type f -exec cat {} + | wc -c) bytes, $compressed compressed one by one (at most $most)"
[ "$compressed" -le "$most" ] || fail "too large for a page that one opens by a link"
rm -rf "$done"
mv "$out" "$done"
