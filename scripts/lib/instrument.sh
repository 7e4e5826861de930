#!/usr/bin/env bash
# A RUSTC_WRAPPER of cargo for scripts/fuzz.sh. It removes libFuzzer's flags from crates whose branches do not depend on the input, such
# as the cipher, because each traced edge and comparison costs time. The targets' own comparisons are not traced: an oracle compares
# results, not the input.
set -u

# Our crates, and the parsers with which the targets compare them.
instrumented=' fuzz tickwire tickwire_sim tickwire_moo_world httparse rmp rmpv serde_json tungstenite '

rustc=$1 crate='' before='' arguments=()
shift
for argument; do
    [ "$before" != --crate-name ] || crate=$argument
    before=$argument
done
for argument; do
    case $argument in
        -Cllvm-args=-sanitizer-coverage-trace-compares) [[ $instrumented == *" $crate "* && $crate != fuzz ]] || continue ;;
        -Cllvm-args=-sanitizer-coverage-* | -Cpasses=sancov-module) [[ $instrumented == *" $crate "* ]] || continue ;;
    esac
    arguments+=("$argument")
done
exec "$rustc" "${arguments[@]}"
