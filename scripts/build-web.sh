#!/bin/sh
# Builds the world for the browser: src/web/world.wasm, and beside it world.wasm.sources, which says what it was built from.
#
# Debian's rustc is used, since Debian carries a WebAssembly target for it and any machine can have the same one. Today's
# cargo cannot drive a compiler that old, so rustc is called directly; the world has no dependency, so that is two calls.
# A compiler that is missing is installed, or this script fails.
set -eu
cd "$(dirname "$0")/.."

# By its full path: rustup's rustc often comes first in PATH, and has no such target.
rustc=/usr/bin/rustc
linker=wasm-ld-14
target=wasm32-unknown-unknown
packages="rustc libstd-rust-dev-wasm32 lld-14"

ready() {
    [ -x "$rustc" ] && command -v "$linker" >/dev/null &&
        [ -d "$("$rustc" --print sysroot)/lib/rustlib/$target/lib" ]
}

if ! ready; then
    echo "build-web: installing $packages" >&2
    as_root=
    [ "$(id -u)" = 0 ] || as_root=sudo
    # shellcheck disable=SC2086 # words on purpose
    $as_root apt-get update -q >&2 && $as_root apt-get install -y -q --no-install-recommends $packages >&2
    ready || { echo "build-web: $rustc for $target with $linker is still missing" >&2; exit 1; }
fi

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
flags="--edition 2021 --target $target -C opt-level=3 -C codegen-units=1 -C panic=abort -C embed-bitcode=yes"

# Paths of this machine would make the file differ between machines.
"$rustc" $flags --crate-type rlib --crate-name tickwire_world --remap-path-prefix "$PWD=." \
    --out-dir "$out" src/world/lib.rs
"$rustc" $flags --crate-type cdylib --crate-name world --remap-path-prefix "$PWD=." \
    -C linker="$linker" -C lto=fat -C strip=symbols \
    --extern tickwire_world="$out/libtickwire_world.rlib" --out-dir "$out" src/world/wasm/lib.rs

mkdir -p src/web
cp "$out/world.wasm" src/web/world.wasm
chmod 644 src/web/world.wasm

# The hash of the sources: SHA-1 over the sorted list of "SHA-1  path" lines. The tests of the world
# do not affect the file.
sources=$(find src/world -name '*.rs' -not -path 'src/world/tests/*' | LC_ALL=C sort | xargs sha1sum | sha1sum)
{
    echo "sources ${sources%% *}"
    wasm=$(sha1sum src/web/world.wasm)
    echo "wasm ${wasm%% *}"
    echo "compiler $("$rustc" --version | cut -d ' ' -f 1,2)"
} >src/web/world.wasm.sources

echo "src/web/world.wasm: $(wc -c <src/web/world.wasm) bytes"
cat src/web/world.wasm.sources
