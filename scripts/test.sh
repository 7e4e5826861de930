#!/usr/bin/env bash
# Runs every check of this repository. CI runs this script and nothing else.
#
#   scripts/test.sh              all groups
#   scripts/test.sh GROUP...     only these groups (see the list at the end)
#   scripts/test.sh --quick      format, lint and the unit tests: needs only Rust, for use while editing
#
# On a Debian 12 machine it installs what is missing (as root, or with sudo) or fails: no group is ever skipped. It requires
# Rust, and Python 2.7 for the group `autobahn`, which otherwise reports NOT RUN. It uses the network only to download what is
# missing: packages, crates, the Autobahn test suite. The last line shows the number of tests.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
exec </dev/null

# If Debian's rustc stands in /usr/bin as well: rustup's comes first.
[ -d "${CARGO_HOME:-$HOME/.cargo}/bin" ] && PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
PATH="$PWD/target/node/bin:$PATH"
export PATH DEBIAN_FRONTEND=noninteractive
# Preparing for the next build makes the first one slower.
[ -d target/debug ] || export CARGO_INCREMENTAL=0
# The property tests use the same cases each time here; a plain `cargo test` uses new cases, or
# those of a given seed.
export PROPTEST_RNG_SEED="${PROPTEST_RNG_SEED:-1}"

node_major=20
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# ---- tools -------------------------------------------------------------------------------------------------------

say_and_fail() {
    printf 'test.sh: %s\n' "$1" >&2
    return 1
}

# Installs Debian packages. $@: their names.
install() {
    local as_root=()
    [ "$(id -u)" = 0 ] || as_root=(sudo)
    echo "installing $*"
    "${as_root[@]}" apt-get update -q &&
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@"
}

rust() {
    command -v cargo >/dev/null ||
        say_and_fail 'cargo is missing: install the stable toolchain with rustup, see https://rustup.rs' || return
    local part
    for part in fmt clippy; do
        cargo "$part" --version >/dev/null 2>&1 && continue
        rustup component add "${part/fmt/rustfmt}" || say_and_fail "cargo $part is missing" || return
    done
    cargo --version
}

tools() {
    rust || return
    local missing=()
    command -v cc >/dev/null || missing+=(gcc libc6-dev)
    command -v c++ >/dev/null || missing+=(g++)
    command -v node >/dev/null || missing+=(nodejs)
    command -v npm >/dev/null || missing+=(npm)
    command -v python3 >/dev/null || missing+=(python3)
    python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
    command -v openssl >/dev/null || missing+=(openssl)
    # The clients in C# and GDScript. Debian 12 has no Godot 4: tests/clients/run.py says what Godot 3 is for.
    command -v mcs >/dev/null || missing+=(mono-mcs)
    command -v godot3-server >/dev/null || missing+=(godot3-server)
    # The directory in which Debian puts them is only in root's path.
    [ -x /usr/sbin/nginx ] || missing+=(nginx-light)
    [ -x /usr/sbin/haproxy ] || missing+=(haproxy)
    # The package would also start a server of its own at port 6379, which the tests do not use.
    command -v redis-server >/dev/null || missing+=(redis-server)
    command -v ip >/dev/null || missing+=(iproute2)
    command -v promtool >/dev/null || missing+=(prometheus)
    # For the unit in scripts/deploy; nothing of it is started.
    command -v systemd-analyze >/dev/null || missing+=(systemd)
    command -v firefox-esr >/dev/null || command -v firefox >/dev/null || missing+=(firefox-esr)
    # Interactively, the package would ask whether other users than root may capture; the tests only
    # read files.
    command -v tshark >/dev/null || missing+=(tshark)
    # The shell is the browser without a window, which needs half the CPU time.
    [ -x /usr/bin/chromium-headless-shell ] || install chromium-headless-shell fonts-liberation ||
        [ -x /usr/bin/chromium ] || missing+=(chromium fonts-liberation)
    if [ "${#missing[@]}" -gt 0 ]; then
        install "${missing[@]}" || say_and_fail "could not install ${missing[*]}" || return
    fi
    newer_node || say_and_fail "Node $node_major or newer is missing" || return
    packages_of_the_browser_test || say_and_fail 'npm ci failed in tests/browser' || return
    python3 -B tests/clients/run.py --tools || say_and_fail 'pip failed in target/clients' || return
    printf 'node %s, npm %s\n' "$(node --version)" "$(npm --version)"
    rustc --version
    /usr/bin/chromium-headless-shell --version 2>/dev/null
    tshark --version 2>/dev/null | head -n 1
}

# Debian 12 has Node 18; playwright-core wants a newer one, which then comes from npm into target/.
newer_node() {
    local major here=target/node
    major=$(node --print 'process.versions.node.split(".")[0]')
    [ "$major" -lt "$node_major" ] || return 0
    local package
    package="node-linux-$(node --print process.arch)"
    npm install --prefix "$here" --no-audit --no-fund "$package@$node_major" &&
        mkdir -p "$here/bin" && ln -sf "../node_modules/$package/bin/node" "$here/bin/node"
}

packages_of_the_browser_test() {
    local locked=tests/browser/package-lock.json installed=tests/browser/node_modules/.package-lock.json
    [ "$installed" -nt "$locked" ] || npm ci --prefix tests/browser --no-audit --no-fund
}

# ---- groups ------------------------------------------------------------------------------------------------------

# The limit in seconds only guards against hanging: it is several times what its group takes on a
# busy machine.

scripts() {
    local script count=0
    for script in .ci/run scripts/*.sh scripts/wireshark/*.sh scripts/lib/*.sh; do
        case $(head -n 1 "$script") in
            *bash) bash -n "$script" || return ;;
            *) sh -n "$script" || return ;;
        esac
        # Files that other scripts source need not be executable.
        [ -x "$script" ] || [[ $script == scripts/lib/* ]] || say_and_fail "$script is not executable" || return
        count=$((count + 1))
    done
    echo "$count passed, 0 failed"
}

# The games stand in the list of src/games/mod.rs, a macro, into which cargo fmt does not look.
format() {
    cargo fmt --all --check && cargo fmt --manifest-path tests/fuzz/Cargo.toml --check \
        && cargo fmt --manifest-path tests/public_api/Cargo.toml --check \
        && rustfmt --edition 2024 --check src/games/*/mod.rs
}

lint() { cargo clippy --workspace --all-targets --locked -- -D warnings; }

documents() {
    cargo test --workspace --locked --doc && RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --locked && scripts/public-api.sh
}

# Builds all test programs together; the group `debug` uses their list.
build() { cargo test --workspace --locked --no-run 2>&1 | tee "$logs/programs"; }

# Two programs run at a time with four tests each, because most of them wait for clocks and sockets
# rather than the CPU. The long ones are at the end of cargo's list and start first. Of a program that
# passes, only the result is kept: what it prints includes the reports of faults that it plants.
debug() {
    local failed=0 list="$logs/programs" optimised
    [ -f "$list" ] || build || return
    # Meanwhile the optimised program is built at a lower priority; the group `release` reports the
    # result.
    nice cargo build --release --locked --quiet >/dev/null 2>&1 &
    optimised=$!
    sed -n 's/^ *Executable .*(\(.*\))$/\1/p' "$list" | tac |
        TICKWIRE_TOOLS=1 RUST_TEST_THREADS=4 xargs -P 2 -I PROGRAM bash -c '
            log=$1/${0##*/}.log; "$0" >"$log" 2>&1; status=$?
            [ "$status" != 0 ] || sed -i -n "/^test result:/p" "$log"
            flock "$1/turn" bash -c "printf \"\n%s\n\" \"\$0\"; cat \"\$1\"" "$0" "$log"
            exit "$status"' PROGRAM "$logs" || failed=1
    wait "$optimised" || true
    return "$failed"
}

# The unit tests. They are part of `debug`, so they are a separate group only for --quick.
unit() { cargo test --workspace --lib --locked; }

release() { cargo build --release --locked; }

determinism() { cargo test --release --locked -p tickwire-moo-world --test determinism -- --nocapture; }

# Simulates a hundred servers in virtual time, with ten peers for a minute each.
# The example hides entities: its bots are compared with what they see. Then forty clusters of three hosts.
simulate() {
    cargo build --release --locked && target/release/tickwire simulate --seeds 70 --connections 10 --minutes 1 &&
        target/release/tickwire simulate --cluster --seeds 40 --connections 40 --rooms 3 --minutes 5 &&
        cargo build --quiet --locked --example fog && target/debug/examples/fog simulate --seeds 4 --connections 8 --minutes 1
}

# An own game without the feature `built-in-games`, in a package of its own as in docs/your-first-game.md. It has the profile of
# this workspace, so that crates which `debug` has compiled are not compiled again.
features() {
    local package=target/own-game game=target/debug/coins output
    mkdir -p "$package/src" && cp examples/coins.rs "$package/src/main.rs" && cp examples/coins.tsv examples/coins.html "$package/src" &&
        cp Cargo.lock "$package" || return
    {
        printf '[workspace]\n[package]\nname = "coins"\nversion = "0.0.0"\nedition = "2024"\n'
        printf '[dependencies]\ntickwire = { path = "../..", default-features = false }\n'
        sed -n '/^\[profile\.dev/,/^$/p' Cargo.toml | sed '/^\[profile\.dev\.package\.tickwire-moo-world\]/,/^$/d'
    } >"$package/Cargo.toml"
    output=$(cargo build --manifest-path "$package/Cargo.toml" --target-dir target 2>&1) || say_and_fail "$output" || return
    [[ $output != *warning:* ]] || say_and_fail "$output" || return
    ! grep -q tickwire-moo-world "$package/Cargo.lock" || say_and_fail 'an own game depends on the world of moo' || return
    "$game" synctest --ticks 300 && "$game" simulate --seeds 1 --connections 4 --minutes 1 || return
    output=$("$game" bots ws://127.0.0.1:1 --attack idle 2>&1)
    [[ $output == *'--attack: '*built-in-games* ]] || say_and_fail "bots --attack without moo: $output" || return
    own_wasm "$package"
}

# The same commands in the WebAssembly build of the own game. A planted rule that depends on the build is named by its field.
own_wasm() {
    local package=$1 target=wasm32-unknown-unknown output
    [ -d "$(rustc --print sysroot)/lib/rustlib/$target/lib" ] || rustup target add "$target" || return
    (cd "$package" && ../debug/coins synctest --wasm --ticks 300) || return
    sed -i 's/^        let step = SPEED .*/&\n        let step = step + i32::from(cfg!(target_family = "wasm"));/' "$package/src/main.rs"
    cargo build --quiet --manifest-path "$package/Cargo.toml" --target-dir target || return
    output=$(cd "$package" && ../debug/coins synctest --wasm --ticks 300 2>&1)
    [[ $output == *'the world of the WebAssembly build differs: runners['* ]] || say_and_fail "a rule that depends on the build: $output"
}

# A few seeds of each game, run again in every build, with the committed tickwire.wasm; scripts/again.sh does the long runs.
again() { scripts/again.sh --seeds 2 --ticks 1500 --rare no; }

# Compares tshark's output for the committed captures with that of `tickwire explain` for the same
# bytes.
wireshark() {
    local program=target/release/tickwire output=tests/output captures=()
    cargo build --release --locked && python3 -B tests/wireshark/make_lessons.py --check &&
        python3 -B tests/wireshark/record_bots.py "$program" "$output/bots.pcapng" || return
    # Captures of real pages, if the group `browser` is run as well.
    has_ended browser && captures+=(--capture "$output/session.pcapng")
    timeout --kill-after=10 600 python3 -B tests/wireshark/run.py --program "$program" --capture "$output/bots.pcapng" "${captures[@]}"
}

# Builds what a script measures before its time limit begins: a compiler has none, nor has the wait for another lane's compiler.
built() { cargo build --release --locked && export TICKWIRE_BUILT=1; }

# This machine may be shared, so only counts are checked.
captures() { built && timeout --kill-after=10 600 scripts/bench-capture.sh --seconds 4 --rounds 1 --judge counts; }

# Cargo rebuilds the inspector, and the result must equal the committed file. Compared only if the compiler is the recorded one.
tab() {
    local kept="$logs/tickwire.wasm" built=src/web/wasm/tickwire.wasm noted version
    noted=$(sed -n 's/^compiler //p' "$built.sources") version=$(rustc --version | cut -d ' ' -f 1,2)
    cp -p "$built" "$kept" && cp -p "$built.sources" "$kept.sources" && scripts/build-wasm.sh || return
    if [ "$noted" != "$version" ]; then
        cp -p "$kept" "$built" && cp -p "$kept.sources" "$built.sources" &&
            echo "NOT RUN: $built was built by $noted and here is $version, so that the bytes cannot be compared; it builds"
        return
    fi
    cmp "$kept" "$built" ||
        say_and_fail "$built was stale: commit the one that scripts/build-wasm.sh has just built" || return
}

wasm() { node tests/wasm/check.mjs && node tests/wasm/lockstep.mjs && node tests/wasm/watch.mjs; }

# For systems that this one is not: whether everything compiles, without the code. A target that
# cannot be had is said, and is no failure. The feature `tls` is left out, because `ring` needs a C
# compiler for each target, and so is tickwire-wasm, which has it.
targets() {
    local target missing=() features=built-in-games,line-editing,webrtc
    for target in x86_64-pc-windows-gnu x86_64-apple-darwin; do
        if [ -d "$(rustc --print sysroot)/lib/rustlib/$target/lib" ] || rustup target add "$target"; then
            cargo check --workspace --exclude leaderboard --exclude tickwire-wasm --lib --bins --locked --target "$target" \
                --no-default-features --features "$features" || return
        else
            missing+=("$target")
        fi
    done
    [ "${#missing[@]}" = 0 ] || echo "NOT RUN: rustup has no ${missing[*]} here, so nothing was checked for it"
}

# The types of the pages are checked as well.
page() {
    node --test --test-reporter=tap tests/browser/unit/ && tests/browser/node_modules/.bin/tsc -p tests/browser/tsconfig.json &&
        tests/browser/node_modules/.bin/tsc -p tests/browser/tsconfig.worker.json
}

# Where a test compiles, it has its own time limit around the rest.
browser() {
    local target=wasm32-unknown-unknown
    [ -d "$(rustc --print sysroot)/lib/rustlib/$target/lib" ] || rustup target add "$target" || return
    cargo build --quiet --locked --example pong --example kites --example fog && target/debug/examples/fog prediction && timeout --kill-after=10 900 node tests/browser/run.mjs &&
        timeout --kill-after=10 300 node tests/browser/sizes.mjs &&
        timeout --kill-after=10 300 node tests/browser/tables.mjs && timeout --kill-after=10 300 node tests/browser/pong.mjs &&
        timeout --kill-after=10 300 node tests/browser/kites.mjs &&
        timeout --kill-after=10 300 node tests/browser/fog.mjs &&
        timeout --kill-after=10 300 node tests/browser/tanks.mjs && node tests/browser/dev.mjs
}

# Generated clients in Python, C# and GDScript, each with its own runtime.
clients() {
    cargo build --quiet --locked --bin tickwire --example coins --example fog &&
        timeout --kill-after=10 600 python3 -B tests/clients/run.py
}

inspector() { timeout --kill-after=10 600 node tests/browser/wire.mjs && timeout --kill-after=10 300 node tests/browser/wire-lane.mjs && timeout --kill-after=10 300 node tests/browser/quiz.mjs; }

# Applications of other people in Chromium, through the intercepting proxy.
between() { npm ci --silent --no-audit --no-fund --prefix tests/between && timeout --kill-after=10 600 node tests/between/run.mjs; }

ahead() { timeout --kill-after=10 300 node tests/browser/predict.mjs; }

# In a network namespace, because Firefox opens no data channel to a loopback address.
lanes() { timeout --kill-after=10 300 scripts/lib/own-network.sh node tests/browser/lane.mjs; }

lockstep() { timeout --kill-after=10 300 node tests/browser/lockstep.mjs && timeout --kill-after=10 300 node tests/browser/watch.mjs; }

tabpage() { timeout --kill-after=10 600 node tests/browser/tab.mjs && node tests/browser/tab-game.mjs; }

autobahn() { scripts/autobahn.sh; }

proxy() {
    timeout --kill-after=10 600 node tests/proxy/run.mjs && timeout --kill-after=10 120 node tests/proxy/drain.mjs \
        && timeout --kill-after=10 120 node tests/proxy/cluster.mjs && timeout --kill-after=10 120 node tests/proxy/cluster-page.mjs
}

dashboards() { cargo build --release --locked && timeout --kill-after=10 300 python3 -B tests/prometheus/run.py target/release/tickwire; }

# This machine may be shared, so only counts are checked.
attack() { built && timeout --kill-after=10 900 scripts/attack.sh --seconds 4 --brief; }

# This machine may be shared: see --judge.
pressure() { built && timeout --kill-after=10 900 scripts/pressure.sh --seconds 4 --judge p50 --brief; }

# This machine may be shared: see --judge.
returns() { built && timeout --kill-after=10 300 scripts/returns.sh --seconds 4 --judge p50; }

# A short run of each target from its existing inputs; scripts/fuzz.sh does the long runs.
fuzz() { nice scripts/fuzz.sh --seconds 1 --rough; }

# ---- counting ----------------------------------------------------------------------------------------------------

# The numbers of passed and failed tests in a log. $1: how the group counts. $2: the log.
count() {
    case $1 in
        cargo) awk '/^test result:/ { passed += $4; failed += $6 } END { print passed + 0, failed + 0 }' "$2" ;;
        node) awk '/^# pass / { passed = $3 } /^# fail / { failed = $3 } END { print passed + 0, failed + 0 }' "$2" ;;
        line) awk '/^[0-9]+ passed, [0-9]+ failed$/ { passed += $1; failed += $3 } END { print passed + 0, failed + 0 }' "$2" ;;
        checks) awk '/ checks, [0-9]+ failed$/ { failed = $(NF - 1); passed = $(NF - 3) - failed }
                     END { print passed + 0, failed + 0 }' "$2" ;;
        marks) awk '/^ *ok  / { passed++ } /^ *FAILED  / { failed++ } END { print passed + 0, failed + 0 }' "$2" ;;
        one) echo 1 0 ;;
    esac
}

# Sets `cpu` to the CPU time of this shell's ended children, in seconds. $1: a temporary file. (In a
# pipe or a substitution, `times` would report another shell.)
take_cpu() {
    times >"$1"
    cpu=$(awk 'NR == 2 { split($0, part, /[ms ]+/); print int(60 * (part[1] + part[3]) + part[2] + part[4]) }' "$1")
}

# Runs a group, and writes its result to a file. At its end it prints the output, or only the last line
# if it has passed. $1: its function. $2: how it counts. $3: its heading.
group() {
    local name=$1 how=$2 heading=$3 log="$logs/$1" from=$SECONDS cpu before status passed failed verdict=ok
    take_cpu "$log.times"
    before=$cpu
    flock "$logs/turn" printf '\n=== %s: %s\n' "$name" "$heading"
    # The log gets its final name only when it is complete; another group uses this to see that this
    # one has run.
    "$name" >"$log.part" 2>&1
    status=$?
    mv "$log.part" "$log"
    read -r passed failed < <(count "$how" "$log")
    if [ "$status" != 0 ] && [ "$how" = one ]; then
        passed=0
    fi
    if [ "$status" = 0 ] && tail -n 1 "$log" | grep -q '^NOT RUN: '; then
        verdict='NOT RUN'
    elif [ "$status" != 0 ] || [ "$passed" = 0 ]; then
        [ "$failed" != 0 ] || failed=1
    fi
    [ "$failed" = 0 ] || verdict=FAILED
    local show=(cat)
    [ "$failed" != 0 ] || show=(tail -n 1)
    flock "$logs/turn" bash -c '"${@:5}" "$0"; printf -- "--- %s: %s passed, %s failed, %s s\n" "${@:1:4}"' \
        "$log" "$name" "$passed" "$failed" "$((SECONDS - from))" "${show[@]}"
    take_cpu "$log.times"
    printf '%s\n' "$name $passed $failed $((SECONDS - from)) $((cpu - before)) $verdict" >"$logs/$name.result"
    [ "$failed" = 0 ]
}

# Prints a line for each group that was started, in the order of the list, and the totals. $@: other
# errors.
finish() {
    local all_passed=0 all_failed=$# name passed failed seconds cpu verdict
    printf '\n=== summary\n'
    for name in "$first" "${chosen[@]}"; do
        if [ -f "$logs/$name.result" ]; then
            read -r name passed failed seconds cpu verdict <"$logs/$name.result"
        else
            # The process that should have run it was killed.
            passed=0 failed=1 seconds=0 cpu=0 verdict='NO RESULT'
        fi
        printf '%-12s %6s passed %4s failed %5s s %5s s of CPU  %s\n' "$name" "$passed" "$failed" "$seconds" "$cpu" "$verdict"
        all_passed=$((all_passed + passed))
        all_failed=$((all_failed + failed))
    done
    [ $# = 0 ] || printf '%s\n' "$@"
    [ "$all_failed" = 0 ] || failures
    printf '\n%s passed, %s failed\n' "$all_passed" "$all_failed"
    [ "$all_failed" = 0 ]
    exit
}

# Prints the tests that failed once more, each below its group.
failures() {
    local name
    for name in "$first" "${chosen[@]}"; do
        grep -q ' FAILED$' "$logs/$name.result" 2>/dev/null || continue
        printf '\n=== failed in %s:\n' "$name"
        grep -aE 'FAILED|^ *not ok |panicked at|^error|^test\.sh: ' "$logs/$name" | head -n 30
    done
}

# Waits for a group that another lane may still be running; fails if it is not run at all. $1: the
# group.
has_ended() {
    [[ " ${chosen[*]} " == *" $1 "* ]] || return
    until [ -f "$logs/$1" ]; do sleep 1; done
}

# ---- the list ----------------------------------------------------------------------------------------------------

# Each entry has a lane, a name, how it counts, and a heading. The lane `first` runs before the
# others. The other lanes run concurrently: groups that drive a browser (`waits`) or wait for clocks,
# bots and other programs (`meets`, once the optimised program is built) leave CPU time for those
# that compile (`works`, at a lower priority). Within a lane the order matters.
groups=(
    'first scripts line every script parses and can be run'
    'first format one rustfmt changes nothing'
    'first build one the test programs build'
    'works lint one clippy has no warning'
    'works documents one every link and example of the documentation holds, and the public items are the listed ones'
    'works tab one cargo builds the committed tickwire.wasm'
    'works targets one the library and the program compile for Windows and macOS'
    'works wasm checks the world in WebAssembly gives the checksums of the native one'
    'works page node the modules of the page by themselves'
    'works determinism cargo the same worlds with the optimiser on'
    'works simulate one seventy simulated servers and forty simulated clusters keep every promise'
    'works features one an own game without the built-in games builds, without a warning, and runs'
    'works again one every tick of each game again: from frames and snapshots, unoptimised, in WebAssembly'
    'works fuzz line each fuzz target goes on from its corpus for a moment'
    'waits debug cargo every test of the workspace, unoptimised'
    'waits release one the optimised program builds'
    'waits pressure marks players beside clients that misbehave'
    'waits returns marks players beside clients that come back by their keys'
    'waits browser line two pages and a raw socket in one world'
    'waits clients line clients in Python, C# and GDScript decode, encode and play'
    'waits wireshark line tshark shows every packet of all captures, and agrees with explain'
    'meets attack marks players beside many who attack at once, and what is left of it afterwards'
    'meets proxy line nginx and HAProxy before the server, plain and with TLS, before two servers of which one drains, and before a cluster'
    'meets dashboards line the queries of the dashboard and of the alerts in Prometheus, which scrapes a server'
    'meets captures marks a capture of two hundred players holds every message'
    'meets autobahn line the Autobahn test suite, with the WebSocket layer as server and as client'
    'meets between line six applications of other people through the intercepting proxy'
    'meets ahead line a page on a bad line, whose own player answers before the server'
    'meets lanes line pages that send commands and receive states by datagram, in Chromium and Firefox'
    'meets lockstep line pages that run the world themselves, and agree with the server'
    'meets inspector line one page plays, another watches its frames'
    'meets tabpage line from a link to the bytes of a key press, with the server in the tab'
)

# Runs the chosen groups of a lane, one after the other. $1: the lane. Then names; none means all.
lane() {
    local wanted=$1 entry lane name how heading
    shift
    for entry in "${groups[@]}"; do
        read -r lane name how heading <<<"$entry"
        [ "$lane" = "$wanted" ] || continue
        [ $# = 0 ] || [[ " $* " == *" $name "* ]] || continue
        group "$name" "$how" "$heading"
    done
}

# Ends the lanes that run in the background, with all their child processes.
stop() {
    local lane
    trap - INT TERM
    for lane in "${beside[@]}"; do kill -TERM -- "-$lane" 2>/dev/null; done
    exit 130
}

names=() unknown=() chosen=() first=tools beside=()
for entry in "${groups[@]}"; do
    read -r _ name _ <<<"$entry"
    names+=("$name")
done
if [ "$*" = --quick ]; then
    chosen=(format lint unit) first=rust
    group rust one 'cargo, rustfmt and clippy are there' || finish
    group format one 'rustfmt changes nothing'
    group lint one 'clippy has no warning'
    group unit cargo 'the unit tests, unoptimised'
    finish
fi
for name in "$@"; do
    [[ " ${names[*]} " == *" $name "* ]] || unknown+=("$name is not a group; there are ${names[*]}")
done

group tools one 'installs what is missing' || finish
for name in "${names[@]}"; do
    [ $# = 0 ] || [[ " $* " == *" $name "* ]] && chosen+=("$name")
done
lane first "$@"
trap stop INT TERM
# Each runs in a process group of its own.
set -m
{
    renice -n 19 -p "$BASHPID" >/dev/null
    lane works "$@"
} &
beside+=($!)
{
    has_ended release
    lane meets "$@"
} &
beside+=($!)
set +m
lane waits "$@"
wait "${beside[@]}"
finish "${unknown[@]}"
