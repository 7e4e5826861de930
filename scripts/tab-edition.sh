#!/bin/sh
# Writes the tab edition, the pages whose server is in the browser, into a folder that any static host can serve: the files that the
# server has at /tab/ (src/net/tab_edition.rs); the browser's test compares the two. Needs no compiler.
#
# usage: scripts/tab-edition.sh [FOLDER]    default: target/tab-edition; a tab edition that is there is replaced
set -eu
cd "$(dirname "$0")/.."

# Bytes that it may have, compressed.
most=1500000
out=${1:-target/tab-edition}

[ ! -e "$out" ] || [ -f "$out/tab-files.js" ] || {
    echo "tab-edition: $out is there and is no tab edition; name another folder" >&2
    exit 1
}
rm -rf "$out"
mkdir -p "$out"
for file in src/web/*.html src/web/*.css src/web/*.js src/web/*.ts src/web/*.json src/web/*.svg src/web/tab.wasm; do
    case $file in */admin.* | */edition.js) ;; *) cp "$file" "$out/" ;; esac
done
mv "$out/edition-tab.js" "$out/edition.js"
chmod 644 "$out"/*

# The service worker's list, and a version that changes with any of its files. No name has a space in it.
(
    cd "$out"
    names=$(find . -type f -not -name tab-cache.js | cut -c 3- | LC_ALL=C sort)
    # shellcheck disable=SC2086
    version=$(sha1sum $names | sha1sum)
    # shellcheck disable=SC2086
    list=$(printf "'%s', " $names)
    printf "self.TAB_FILES = { version: '%s', files: [%s] };\n" "${version%% *}" "${list%, }" >tab-files.js
)

compressed=0
for file in "$out"/*; do
    compressed=$((compressed + $(gzip -9c "$file" | wc -c)))
done
echo "$out: $(find "$out" -type f | wc -l) files, $(cat "$out"/* | wc -c) bytes, $compressed compressed one by one (at most $most)"
[ "$compressed" -le "$most" ] || {
    echo "tab-edition: too large for a page that one opens by a link" >&2
    exit 1
}
