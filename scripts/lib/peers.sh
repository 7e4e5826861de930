# shellcheck shell=bash
# The peers of `scripts/bench.sh --peers`: servers with other WebSocket libraries. To be read by `source` after measure.sh; it uses
# $load, $frame_bytes, $examples, $programs, run_program, values, median and ratio of bench.sh, and sets $peers.
# shellcheck disable=SC2154

peers_home=${CARGO_TARGET_DIR:-target}/bench-peers
peers=()
peer_versions=()

# Installs a peer with the versions of its package-lock.json, and prints them: install_peer NAME
install_peer() {
    local source=tests/benches/peers home=$peers_home/$1
    mkdir -p "$home" && cp "$source/$1/"*.json "$source/$1/.npmrc" "$source/server.mjs" "$home" || return 1
    [[ $home/node_modules/.package-lock.json -nt $source/$1/package-lock.json ]] ||
        npm ci --prefix "$home" --ignore-scripts --loglevel error >&2 || return 1
    peer_node "$1"
}
# Runs a peer with its own Node: peer_node NAME [BYTES HZ]
peer_node() { NODE_ENV=production exec "$peers_home/$1/node_modules/node/bin/node" "$peers_home/$1/server.mjs" "$@"; }

# Sets $peers to the peers that start. Names each of the others, with the reason.
prepare_peers() {
    local peer version reason
    cargo build --profile "$profile" --quiet --example floor_tungstenite
    for peer in ws uws colyseus; do
        if version=$(install_peer "$peer" 2>"$work/install"); then
            peers+=("$peer") peer_versions+=("$peer: $version")
        else
            reason=$(grep -im 2 error "$work/install" || head -n 1 "$work/install")
            peer_versions+=("$peer: left out, it cannot be installed: ${reason//$'\n'/; }")
        fi
    done
    peers+=(tungstenite)
    version=$(awk '/^name = "tungstenite"/ { getline; gsub(/"/, ""); print $3 }' Cargo.lock)
    peer_versions+=("tungstenite: tungstenite $version, a reading thread per client and a ticking thread, as in the floor")
    for peer in "${peer_versions[@]}"; do say "$peer"; done
}

# run_peer NAME
run_peer() {
    local flags=("${load[@]}")
    case $1 in
        tungstenite) run_program "$1" "$examples/floor_tungstenite" --bytes "$frame_bytes" ;;
        colyseus)
            local load=("${flags[@]}" --colyseus updates)
            run_program "$1" peer_node "$1" "$frame_bytes" 30
            ;;
        *) run_program "$1" peer_node "$1" "$frame_bytes" 30 ;;
    esac
}

# The table of all programs, and what differs between them.
peers_table() {
    local name label sends against share format='%-12s %8s  %-24s %8s %9s %6s\n'
    title "all programs: medians; ratios of pairs with 95 % intervals"
    # shellcheck disable=SC2059
    printf "$format" program 'CPU µs' 'CPU, ratio to floor' bytes KiB/conn sends
    for name in "${programs[@]}"; do
        label=${name/again/floor again}
        against=1 sends=-
        [[ $name = floor ]] || against=$(ratio "$name" floor cpu_us)
        [[ $name != @(server|before) ]] || sends=$(values "$name" sends | median)
        # shellcheck disable=SC2059
        printf "$format" "$label" "$(values "$name" cpu_us | median)" "$against" "$(values "$name" bytes | median)" \
            "$(values "$name" rss_kib | median)" "$sends"
    done
    say "CPU time, received bytes and send calls are per client and update of 1/30 s; - is not measured. Memory is resident, per connection."
    say "The server runs a game and encodes an update for each client. The others only send $frame_bytes bytes to each client, one call"
    say "for each, and drop its inputs. In Node, memory contains garbage that is not yet collected."
    for name in "${peer_versions[@]}"; do say "$name"; done
    for name in "${peers[@]}"; do
        share=$(ratio "$name" floor bytes)
        awk "BEGIN { exit !(${share%% *} < 0.98) }" || continue
        say "NOT COMPARABLE: $name sent ${share%% *} of the floor's bytes: it does not hold the rate."
    done
}
