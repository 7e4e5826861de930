#!/bin/sh
# Builds what runs in a browser: src/web/wasm/tickwire.wasm and src/web/wasm/prediction.wasm, and beside them tickwire.wasm.sources, which says what it was built from. Then writes
# the tab edition, the pages whose server is in the browser, into a folder that any static host can serve.
#
# usage: scripts/build-wasm.sh [FOLDER]    as scripts/browser-edition.sh
#
# Needs the target wasm32-unknown-unknown of the Rust that builds the server: rustup target add wasm32-unknown-unknown. A target
# that is missing is added, or this script fails. The bytes depend on the compiler's version, which is noted, and not on the
# machine.
set -eu
cd "$(dirname "$0")/.."

target=wasm32-unknown-unknown
[ -d "$(rustc --print sysroot)/lib/rustlib/$target/lib" ] || {
    echo "build-wasm: adding the target $target" >&2
    rustup target add "$target" >&2
}

# Paths of this machine would make the file differ from machine to machine.
RUSTFLAGS="--remap-path-prefix=$PWD=. --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo --remap-path-prefix=$(rustc --print sysroot)=rust"
export RUSTFLAGS
cargo build --quiet --locked --package tickwire-wasm --target "$target" --profile tab --target-dir target/tab

# A file with the same bytes keeps its time, so that cargo need not build again what contains it.
renew() {
    cmp -s "$1" "$2" || { cp "$1" "$2" && chmod 644 "$2"; }
}
renew "target/tab/$target/tab/tickwire_wasm.wasm" src/web/wasm/tickwire.wasm
# The same package without the server: prediction alone.
cargo build --quiet --locked --package tickwire-wasm --no-default-features --target "$target" --profile tab --target-dir target/tab
renew "target/tab/$target/tab/tickwire_wasm.wasm" src/web/wasm/prediction.wasm

# The hash of the sources: SHA-1 over the sorted list of "SHA-1  path" lines. Tests are no part of
# the file, and of src/limits/mod.rs only what these sources use.
sources=$(find src -name '*.rs' -not -name tests.rs -not -path 'src/*/tests/*' \
    -not -path 'src/server/net/*' -not -path 'src/server/builder/*' -not -path 'src/server/cluster/*' -not -path 'src/server/journal/*' -not -path 'src/cli/*' -not -path 'src/util/os/*' \
    -not -path 'src/testing/abuse/*' -not -path 'src/testing/load/*' -not -path 'src/testing/simulate/*' \
    -not -path src/testing/hostile.rs -not -path src/testing/source_addresses.rs \
    -not -path src/main.rs -not -path 'src/limits*' | LC_ALL=C sort | xargs sha1sum | sha1sum)
{
    echo "sources ${sources%% *}"
    wasm=$(sha1sum src/web/wasm/tickwire.wasm)
    echo "wasm ${wasm%% *}"
    predict=$(sha1sum src/web/wasm/prediction.wasm)
    echo "predict ${predict%% *}"
    echo "compiler $(rustc --version | cut -d ' ' -f 1,2)"
} >target/tab/sources
renew target/tab/sources src/web/wasm/tickwire.wasm.sources

echo "src/web/wasm/tickwire.wasm: $(wc -c <src/web/wasm/tickwire.wasm) bytes, $(gzip -9c src/web/wasm/tickwire.wasm | wc -c) compressed"
echo "src/web/wasm/prediction.wasm: $(wc -c <src/web/wasm/prediction.wasm) bytes, $(gzip -9c src/web/wasm/prediction.wasm | wc -c) compressed"
cat src/web/wasm/tickwire.wasm.sources

scripts/browser-edition.sh ${1+"$1"}
