#!/usr/bin/env bash
# Compares the public items of the packages tickwire and tickwire-sim with tests/public_api/public_api.txt.
#
#   scripts/public-api.sh                    compares, and shows the lines that differ
#   TICKWIRE_BLESS=1 scripts/public-api.sh   writes the list, after an intended change
#
# The compiler calls the format of rustdoc's list unstable: another compiler may write another one. It is therefore compared only if the
# compiler is the `rust-version` of Cargo.toml.
set -euo pipefail
cd "$(dirname "$0")/.."

wanted=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
version=$(rustc --version | cut -d ' ' -f 2)
if [[ $version != "$wanted".* ]]; then
    echo "NOT RUN: the public items are listed by rustc $wanted, and here is $version"
    exit
fi
# In an environment with the variable, cargo would compile some dependencies once more.
wrapper=$(mktemp)
trap 'rm -f "$wrapper"' EXIT
printf '#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc "$@"\n' >"$wrapper"
chmod +x "$wrapper"
for package in tickwire tickwire-sim; do
    RUSTDOC=$wrapper cargo rustdoc --quiet --locked --package "$package" --lib -- -Z unstable-options --output-format json
done
cargo test --quiet --locked --manifest-path tests/public_api/Cargo.toml --target-dir target
