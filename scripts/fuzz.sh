#!/usr/bin/env bash
# Fuzzing: libFuzzer generates inputs, and each target in tests/fuzz/ checks the results against its oracle.
#
#   scripts/fuzz.sh [--seconds N | --runs N] [--keep] [--rough] [TARGET...]
#   scripts/fuzz.sh --planted [--seconds N] [TARGET...]
#   scripts/fuzz.sh --again TARGET FILE
#
# --seconds  time for each target (default 60)
# --runs     executions of each target, however long they take
# --keep     writes the smallest set of inputs with the full coverage back to tests/fuzz/corpus/
# --rough    builds without optimisation, in half the time: for a run of seconds
# --planted  checks that each target finds the bug that tests/fuzz/planted.tsv plants for it in a copy of the sources
# --again    runs one input, such as a failing one
#
# The stable compiler builds everything once, into target/fuzz/. The findings of a target stay there for the next run.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

# Name, maximum input length in bytes, the program that can explain an input.
targets=(
    'head 1024 explain'
    'frame 512 explain'
    'stream 768 explain'
    'msgpack 512 -'
    'dialects 512 -'
    'explain 400 -'
    'session 400 -'
    'capture 2048 file'
    'datagram 96 -'
    'deflate 512 -'
)
# Maximum length, in bytes, of an input that is kept in the repository.
kept_bytes=512
seconds=60 runs=-1 keep='' planted='' rough=() chosen=()
usage() { sed -n '2,17s/^# \{0,1\}//p' "$0" >&2; exit 2; }
while (($#)); do
    case $1 in
        --seconds) seconds=${2:?a number of seconds}; shift ;;
        --runs) runs=${2:?a number of executions} seconds=0; shift ;;
        --keep) keep=1 ;;
        --rough) rough=(--config profile.release.opt-level=0 --config profile.release.package.libfuzzer-sys.opt-level=0) ;;
        --planted) planted=1 ;;
        --again) again=${3:?a target and a file}; chosen=("$2"); shift 2 ;;
        -*) usage ;;
        *) chosen+=("$1") ;;
    esac
    shift
done

work=$PWD/target/fuzz
host=$(rustc -vV | sed -n 's/^host: //p')
program=$work/$host/release/fuzz
wrapper=$PWD/scripts/lib/instrument.sh
mkdir -p "$work/artifacts"

# libFuzzer's instrumentation on the stable compiler, and every check that an optimised build omits
# (the rest is in Cargo.toml). scripts/lib/instrument.sh limits the instrumentation to the crates that
# read the input. With these checks, the cipher's portable code is faster than its vector code.
hooks='-Cpasses=sancov-module -Ccodegen-units=1 --cfg fuzzing --cfg chacha20_backend="soft" --cfg poly1305_backend="soft"'
for hook in level=4 inline-8bit-counters pc-table trace-compares; do
    hooks+=" -Cllvm-args=-sanitizer-coverage-$hook"
done

# $1: the folder of the sources.
build() {
    command -v c++ >/dev/null || { echo 'fuzz.sh: a C++ compiler is missing, which libFuzzer needs (Debian: g++)' >&2; return 1; }
    # Cargo does not notice that the wrapper has changed.
    [ "$wrapper" -ot "$program" ] || rm -rf "${work:?}/$host"
    RUSTFLAGS=$hooks RUSTC_WRAPPER=$wrapper cargo build --manifest-path "$1/tests/fuzz/Cargo.toml" --release --locked \
        --target "$host" --target-dir "$work" "${rough[@]}"
}

# The maximum input length of a target, and the program that can explain an input.
about() { printf '%s\n' "${targets[@]}" | awk -v name="$1" -v field="$2" '$1 == name { print $field }'; }

# Writes the initial inputs, those of the repository, to a folder. $1: the target. $2: the folder.
unpack() {
    rm -rf "$2" && mkdir -p "$2" || return
    [ ! -f "tests/fuzz/corpus/$1.hex" ] || "$program" unpack "tests/fuzz/corpus/$1.hex" "$2"
}

# Runs a target. $1: its name. $2: seconds. $3: executions. $4: the folder for findings. $5: its
# log. libFuzzer measures wall-clock time, so on a busy machine an input that takes milliseconds may
# seem to take seconds.
run() {
    local seeds=$work/seeds/$1
    mkdir -p "$4" && unpack "$1" "$seeds" >"$5" 2>&1 || return
    # A larger cache of the thread serves the many small allocations of each input.
    GLIBC_TUNABLES=glibc.malloc.tcache_count=2000 TICKWIRE_FUZZ=$1 "$program" -max_total_time="$2" -runs="$3" -max_len="$(about "$1" 2)" -timeout=60 -rss_limit_mb=512 \
        -print_final_stats=1 -artifact_prefix="$work/artifacts/$1-" "$4" "$seeds" >"$5" 2>&1
}

# A figure from the log of a run. $1: the log. $2: the name of the figure.
figure() { sed -n "s/^stat::$2: *//p" "$1" | tail -n 1; }

# Prints the failure and how to reproduce it. $1: the target. $2: its log.
explain_failure() {
    local input
    input=$(sed -n 's/.*Test unit written to //p' "$2" | tail -n 1)
    grep -v -e '^#' -e '^INFO' "$2" | head -n 30
    [ -f "$input" ] || { tail -n 5 "$2"; return; }
    echo "the input: ${input#"$PWD"/}, $(wc -c <"$input") bytes: $(od -An -v -tx1 -N 64 "$input" | tr -d ' \n')"
    echo "to repeat: scripts/fuzz.sh --again $1 ${input#"$PWD"/}"
    case $(about "$1" 3) in
        explain) echo "to explain: tickwire explain ${input#"$PWD"/}" ;;
        file) echo "to explain: tickwire explain ${input#"$PWD"/}, or Wireshark" ;;
    esac
}

# Fuzzes one target and prints a line about it.
fuzz() {
    local name=$1 log=$work/$1.log found=$work/found/$1 status from=$SECONDS
    run "$name" "$seconds" "$runs" "$found" "$log"
    status=$?
    if [ "$status" != 0 ]; then
        printf '%-9s FAILED after %s s\n' "$name" "$((SECONDS - from))"
        explain_failure "$name" "$log"
        return 1
    fi
    printf '%-9s %10s executions %8s a second %6s inputs %5s MB at most\n' "$name" \
        "$(figure "$log" number_of_executed_units)" "$(figure "$log" average_exec_per_sec)" \
        "$(find "$found" -type f | wc -l)" "$(figure "$log" peak_rss_mb)"
    sed -n 's/^allowed: /          allowed: /p' "$log"
    [ -z "$keep" ] || keep_corpus "$name"
}

# Writes the smallest set of inputs with full coverage to the repository; long inputs only up to the
# limit of bytes.
keep_corpus() {
    local name=$1 folder=$work/kept/$1 most
    most=$(about "$name" 2)
    rm -rf "$folder" && mkdir -p "$folder"
    TICKWIRE_FUZZ=$name "$program" -merge=1 -max_len=$((most < kept_bytes ? most : kept_bytes)) "$folder" "$work/found/$name" "$work/seeds/$name" \
        >"$work/$name.merge.log" 2>&1 &&
        "$program" pack "$folder" "tests/fuzz/corpus/$name.hex" 2>>"$work/$name.merge.log" &&
        echo "          kept $(wc -l <"tests/fuzz/corpus/$name.hex") inputs in tests/fuzz/corpus/$name.hex"
}

# Makes a copy of the sources with every bug planted; each bug is active only while its target runs.
plant() {
    local copy=$work/planted name file old new text rest
    rm -rf "$copy" && mkdir -p "$copy/tests" && cp -r src packet_codes "$copy/" && cp -r tests/fuzz "$copy/tests/" || return
    while IFS=$'\t' read -r name file old new _; do
        [ "$name" != target ] || continue
        text=$(<"$copy/$file") rest=${text#*"$old"}
        if [ "$rest" = "$text" ] || [[ $rest == *"$old"* ]]; then
            echo "fuzz.sh: tests/fuzz/planted.tsv, $name: the code does not occur exactly once in $file" >&2
            return 1
        fi
        printf '%s\n' "${text%%"$old"*}$new$rest" >"$copy/$file"
    done <tests/fuzz/planted.tsv
}

# Whether a target finds its bug, starting only from the inputs of the repository.
find_planted() {
    local name=$1 log=$work/$1.planted.log found=$work/planted/found/$1 from
    from=$(date +%s%N)
    if TICKWIRE_PLANTED=$name run "$name" "$seconds" -1 "$found" "$log"; then
        printf '%-9s NOT FOUND in %s s\n' "$name" "$seconds"
        return 1
    fi
    if ! grep -q 'panicked at' "$log"; then
        tail -n 5 "$log"
        return 1
    fi
    printf '%-9s found after %5s ms and %8s executions: %s\n' "$name" "$((($(date +%s%N) - from) / 1000000))" \
        "$(figure "$log" number_of_executed_units)" "$(grep -A 1 -m 1 'panicked at' "$log" | tail -n 1 | cut -c 1-70)"
}

if [ -n "$planted" ]; then
    plant && build "$work/planted" || exit 1
    task=find_planted
else
    build "$PWD" || exit 1
    task=fuzz
fi
if [ -n "${again-}" ]; then
    TICKWIRE_FUZZ=${chosen[0]} exec "$program" "$again"
fi
[ "${#chosen[@]}" != 0 ] || read -r -d '' -a chosen < <(printf '%s\n' "${targets[@]}" | cut -d ' ' -f 1; printf '\0')
passed=0 failed=0
for name in "${chosen[@]}"; do
    [ -n "$(about "$name" 2)" ] || usage
    if "$task" "$name"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
