#!/usr/bin/env bash
# Mutation testing of the world's rules and controllers, or of the WebSocket layer: makes small changes to the code, one at a
# time; each must make a test of the world, or of tests/rfc6455/, fail. A surviving change shows a gap in the tests, unless
# tests/mutants.answered says why no test can detect it. Exits with 1 if a change survives without such an answer. A full run takes hours,
# so scripts/test.sh does not include it.
#
#   scripts/mutants.sh [--seconds N] [--ws] [FILE...]
#
# --seconds  time limit; the remaining changes are counted (default 3600)
# --ws       tests the WebSocket layer instead of the world
# FILE       only these files of src/games/moo/world/, such as fight.rs or controller/hand.rs; with --ws of src/ws/, such as frame.rs
#
# It works on a copy, one change at a time, at the lowest priority. It installs cargo-mutants into target/ if it is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=3600 files=() package=world
while (($#)); do
    case $1 in
        --seconds) seconds=${2:?a number of seconds}; shift ;;
        --ws) package=ws ;;
        -*) sed -n '2,13s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
        *) files+=("${1#src/games/moo/world/}") ;;
    esac
    shift
done
# The tests that check a change, and the package's file names in the answers.
tests=--lib mine='^[^#]*' others='^src/ws/'
if [[ $package == ws ]]; then
    tests=--test=rfc6455 mine='^src/ws/' others='^$'
    files=("${files[@]#src/ws/}")
    files=("${files[@]/#/src/ws/}")
fi

version=27.1.0
answers=tests/mutants.answered
tools=$PWD/target/mutants-tool
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
copy=$work/$package
mkdir -p "$work/out"
export CARGO_TARGET_DIR=$PWD/target/mutants
# Random tests use the same seed each time, so that a result can be reproduced.
export PROPTEST_RNG_SEED=1 PROPTEST_MAX_SHRINK_ITERS=0 RUST_BACKTRACE=0

# The most important files first, then the rest of the package, so that no new file is missed.
important='fight.rs touch.rs deeds.rs life.rs apply.rs controller/player.rs controller/hand.rs terrain.rs'
# Basic types are left out: numbers, fields, snapshots, views. Their tests compute everything twice.
material='^(checksum|command|difference|entity|fields|fixed|frame|grid|lib|rng|snapshot|state|text|trig|view)\.rs$'
# tests/determinism/, which belongs to another package, checks the code's hash.
pinned='rules_hash|::numbers'
# A change may cause an endless loop. The timeout is long, because other processes may use the CPU.
seconds_each=180

install_tool() {
    local tool=$tools/bin/cargo-mutants
    [[ -x $tool && $("$tool" mutants --version) == *" $version" ]] && return
    CARGO_TARGET_DIR=$work/build nice -n 19 cargo install cargo-mutants --version "$version" --locked --jobs 1 --force --root "$tools"
}

# Only this package, which builds quickly, with overflow checks.
copy_package() {
    if [[ $package == ws ]]; then copy_ws; else copy_world; fi
    cp Cargo.lock "$copy/"
    printf '\n[workspace]\n[profile.dev]\nopt-level = 1\ndebug = false\n' >>"$copy/Cargo.toml"
}

# With the one package that it depends on, and without its test in another folder.
copy_world() {
    cp -r src/games/moo/world "$copy"
    cp -r src/sim "$copy/sim"
    sed -i '/^\[lints\]/,$d' "$copy/sim/Cargo.toml"
    sed -i -e 's,"../../../sim","sim",' -e '/^\[\[test\]\]/,/^$/d' "$copy/Cargo.toml"
}

# The layer depends on nothing, and its tests on the limits, so together they form a package; it has the name of the main
# package because its tests use that name.
copy_ws() {
    mkdir -p "$copy/src" "$copy/tests"
    cp -r src/ws src/limits/mod.rs src/limits "$copy/src/"
    cp -r tests/rfc6455 tests/rows "$copy/tests/"
    {
        printf 'pub mod limits;\npub mod ws;\n'
        printf 'pub mod internal {\npub mod ws {\npub mod utf8 {\npub use crate::ws::utf8::*;\n}\n}\n}\n'
    } >"$copy/src/lib.rs"
    printf '[package]\nname = "tickwire"\nversion = "0.1.0"\nedition = "2024"\n[dependencies]\n' >"$copy/Cargo.toml"
    grep -E '^(base64|sha1_smol) =' Cargo.toml >>"$copy/Cargo.toml"
    printf '[dev-dependencies]\n' >>"$copy/Cargo.toml"
    grep -E '^(proptest|tungstenite) =' Cargo.toml >>"$copy/Cargo.toml"
}

choose_files() {
    ((${#files[@]})) && return
    if [[ $package == ws ]]; then
        files=(src/ws/{frame,message,close,upgrade,conn,utf8,lines,http}.rs)
        return
    fi
    local all
    all=$(cd src/games/moo/world && find . -name '*.rs' -not -path './tests/*' -not -path './wasm/*' | sed 's,^\./,,' | sort)
    mapfile -t files < <(printf '%s\n' $important; grep -Ev "$material" <<<"$all" | grep -Fxv "${important// /$'\n'}")
}

cargo_mutants() {
    nice -n 19 "$tools/bin/cargo-mutants" mutants --dir "$copy" --no-config --colors never --exclude-re "$pinned" "$@"
}

# Changes one file for at most that many seconds. Neither a survivor nor a timeout is an error here.
change() {
    local file=$1 left=$2 status=0
    mkdir -p "$work/out/$file"
    timeout --signal=INT --kill-after=60 "$left" nice -n 19 "$tools/bin/cargo-mutants" mutants --dir "$copy" \
        --no-config --colors never --exclude-re "$pinned" --in-place --baseline skip --timeout "$seconds_each" \
        --no-shuffle --file "$file" --output "$work/out/$file" "-C=$tests" >"$work/out/$file/log" 2>&1 || status=$?
    case $status in
        0 | 2 | 3 | 124) ;;
        *) tail -n 20 "$work/out/$file/log" >&2; return 1 ;;
    esac
}

# Names of changes, each with the line of code and a mark at the position, so that they remain valid
# when lines above them change.
places() {
    awk -v copy="$copy" '
        match($0, /^[^:]+:[0-9]+:[0-9]+: /) {
            split($0, at, ":")
            file = copy "/" at[1]
            for (line = 0; line < at[2]; line++) getline text <file
            close(file)
            text = substr(text, 1, at[3] - 1) "»" substr(text, at[3])
            sub(/^ +/, "", text)
            print at[1] ": " substr($0, RLENGTH + 1) "\t" text
        }'
}

# All results of one kind: caught, missed, timeout or unviable.
results() { find "$work/out" -name "$1.txt" -exec cat {} +; }
count() { results "$1" | wc -l; }

# The answers about this package, without the reasons.
answered() { grep -v '^#' "$answers" | grep -E "$mine" | grep -Ev "$others" | cut -f 1,2; }

report() {
    local found=$1 reached missed unanswered
    reached=$(($(count caught) + $(count missed) + $(count timeout) + $(count unviable)))
    printf '\n%s changes: %s failed a test, %s ran out of time, %s did not compile, %s survived, %s not reached\n' \
        "$found" "$(count caught)" "$(count timeout)" "$(count unviable)" "$(count missed)" "$((found - reached))"
    missed=$(results missed | places)
    unanswered=$(grep -Fxv -f <(answered) <<<"$missed" || true)
    if [[ -n $unanswered ]]; then
        printf '\nSurvivors without an answer (%s, a tab, why no test can see it; or write the test):\n%s\n' "$answers" "$unanswered"
        return 1
    fi
    echo 'every survivor is answered'
}

# Answers to changes that no longer apply to the code.
report_stale() {
    local stale
    stale=$(answered | grep -Fxv -f <(cargo_mutants --list | places) || true)
    [[ -z $stale ]] || printf '\nAnswers that no change belongs to, to be taken out of %s:\n%s\n' "$answers" "$stale"
}

install_tool
copy_package
choose_files
(cd "$copy" && nice -n 19 cargo test --quiet "$tests")
end=$((SECONDS + seconds)) found=0
for file in "${files[@]}"; do
    [[ -f $copy/$file ]] || { echo "$file does not exist" >&2; exit 2; }
    found=$((found + $(cargo_mutants --list --file "$file" | wc -l)))
    ((SECONDS < end)) || continue
    printf '%s, with %s s left\n' "$file" "$((end - SECONDS))"
    change "$file" "$((end - SECONDS))"
done
report_stale
report "$found"
