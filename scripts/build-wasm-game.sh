#!/bin/sh
# Builds the server in a tab for a game of one's own: WebAssembly of a program whose `main` calls tickwire::serve, and of src/wasm, from a
# generated package in target/tab-game/. Its only dependency is tickwire. With --predict it builds only what predicts the local player, as the
# command `prediction` of a program does in the program's own package, and prints the sizes.
#
# usage: scripts/build-wasm-game.sh [--predict] PROGRAM.rs OUT.wasm
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
predict=''
[ "$1" != --predict ] || { predict='--cfg tickwire_prediction -Awarnings ' && shift; }
source=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
out=$2
name=$(basename "$source" .rs)
target=wasm32-unknown-unknown

[ -d "$(rustc --print sysroot)/lib/rustlib/$target/lib" ] || {
    echo "build-wasm-game: adding the target $target" >&2
    rustup target add "$target" >&2
}

# The program's file, with the shim behind it; all that stands beside it is where it expects it.
package=$root/target/tab-game/$name
rm -rf "$package"
mkdir -p "$package/src"
ln -s "$(dirname "$source")"/* "$package/src/"
rm -f "$package/src/$(basename "$source")"
{
    cat "$source"
    # The exports of prediction are in the library.
    [ -n "$predict" ] || printf '\n#[path = "%s"]\n#[allow(unsafe_code, dead_code, missing_docs)]\nmod tickwire_wasm_shim;\n' "$root/src/wasm/lib.rs"
} >"$package/src/$(basename "$source")"
cat >"$package/Cargo.toml" <<TOML
[package]
name = "tickwire-tab-$name"
version = "0.0.0"
edition = "2024"

[[bin]]
name = "game"
path = "src/$(basename "$source")"

[features]
default = ["server"]
server = []

[dependencies]
serde_json = "1"
sha1_smol = "1"
tickwire = { path = "$root" }

[workspace]

[profile.tab]
inherits = "release"
opt-level = "s"
lto = "fat"
codegen-units = 1
panic = "abort"
strip = "symbols"
TOML
cp "$root/Cargo.lock" "$package/Cargo.lock"

RUSTFLAGS="$predict--remap-path-prefix=$root=. --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo --remap-path-prefix=$(rustc --print sysroot)=rust"
export RUSTFLAGS
cargo build --quiet --manifest-path "$package/Cargo.toml" --target "$target" --profile tab --target-dir "$root/target/tab"
cp "$root/target/tab/$target/tab/game.wasm" "$out"
[ -z "$predict" ] || echo "$out: $(wc -c <"$out") bytes, $(gzip -9c "$out" | wc -c) compressed"
