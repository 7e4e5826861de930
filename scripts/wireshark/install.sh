#!/bin/sh
# Installs the tickwire dissector for the user who runs this: Wireshark and tshark load it from then on.
#
#   scripts/wireshark/install.sh                the dissector
#   scripts/wireshark/install.sh --profile      also a profile `tickwire` with columns, filter buttons and colours
#   scripts/wireshark/install.sh --uninstall    removes both
set -eu
here=$(cd "$(dirname "$0")" && pwd)

# A folder as Wireshark itself names it, or where it would be. $1: how `tshark -G folders` calls it. $2: otherwise.
folder() {
    told=
    if command -v tshark >/dev/null; then
        told=$(tshark -G folders 2>/dev/null | sed -n "s/^$1:[[:space:]]*//p" | head -n 1)
    fi
    printf '%s\n' "${told:-$2}"
}

plugins=$(folder 'Personal Lua Plugins' "$HOME/.local/lib/wireshark/plugins")
profile=$(folder 'Personal configuration' "${XDG_CONFIG_HOME:-$HOME/.config}/wireshark")/profiles/tickwire

install_file() {
    mkdir -p "$2"
    cp "$1" "$2/"
    chmod 644 "$2/${1##*/}"
    echo "installed $2/${1##*/}"
}

remove_file() {
    [ -e "$1" ] || return 0
    rm "$1"
    echo "removed $1"
}

case ${1:-} in
    '' | --profile)
        install_file "$here/tickwire.lua" "$plugins"
        if [ "${1:-}" = --profile ]; then
            for file in "$here"/profile/*; do
                install_file "$file" "$profile"
            done
            echo 'Wireshark 4.4 selects the profile for captures with packets; or choose it with Edit > Configuration Profiles, or with -C tickwire'
        fi
        if [ "$(id -u)" = 0 ]; then
            echo "as root, Wireshark 4.4 loads no scripts of a user's own folder: capture as a member of the group wireshark instead"
        fi
        ;;
    --uninstall)
        remove_file "$plugins/tickwire.lua"
        for file in "$here"/profile/*; do
            remove_file "$profile/${file##*/}"
        done
        [ ! -d "$profile" ] || rmdir "$profile" 2>/dev/null || echo "left $profile: it has files of yours"
        ;;
    *)
        echo "install.sh: unknown argument $1; there are --profile and --uninstall" >&2
        exit 2
        ;;
esac
