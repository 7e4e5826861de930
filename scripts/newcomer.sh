#!/usr/bin/env bash
# A newcomer's first hour, in minutes: on a Debian that has nothing, follow docs/tools.md from "Your first frame in Wireshark" to a frame that
# one understands. Times each command; exits with 1 when one fails, when the frame is not explained, or when it takes too long.
#
#   scripts/newcomer.sh [FOLDER]
#
# FOLDER  a minimal Debian 12 to do it in (default: a new one by debootstrap, removed afterwards)
#
# Needs root, since it changes into that folder, and debootstrap. The compile does not count: the program is built before. Neither does
# the making of the folder: it stands for the machine that the newcomer has.
set -euo pipefail
cd "$(dirname "$0")/.."

most_seconds=300
heading='## Your first frame in Wireshark'
folder=${1:-}
made=

cleanup() {
    [[ -z $folder ]] || umount "$folder/proc" 2>/dev/null || true
    [[ -z $made ]] || rm -rf "$made"
}
trap cleanup EXIT

# The mirror that this machine uses; the scripts of Debian know no other.
mirror() {
    sed -n 's/^URIs: *//p' /etc/apt/sources.list.d/debian.sources 2>/dev/null | head -n 1
}

if [[ -z $folder ]]; then
    command -v debootstrap >/dev/null || apt-get install -y -q --no-install-recommends debootstrap
    made=$(mktemp -d) folder=$made
    # shellcheck disable=SC2046 # without a mirror there is no argument
    debootstrap --variant=minbase bookworm "$folder" $(mirror)
fi
cargo build --release --quiet

# What this machine needs to reach its packages, the new one needs as well.
cp /etc/resolv.conf /etc/hosts "$folder/etc/"
cp -r /etc/apt/apt.conf.d "$folder/etc/apt/"
mkdir -p "$folder/etc/ssl" && cp -rL /etc/ssl/certs "$folder/etc/ssl/"
mountpoint -q "$folder/proc" || mount -t proc proc "$folder/proc"

home=$folder/root/tickwire
rm -rf "$home" && mkdir -p "$home/target/release"
git archive HEAD | tar -x -C "$home"
cp target/release/tickwire "$home/target/release/"

# The commands of the section, as they stand there.
commands=$(awk -v heading="$heading" '
    $0 == heading { inside = 1; next }
    inside && /^## / { exit }
    inside && /^```sh$/ { block = 1; next }
    inside && /^```$/ { block = 0 }
    block' docs/tools.md)
[[ -n $commands ]] || { echo "newcomer.sh: docs/tools.md has no commands under \"$heading\"" >&2; exit 1; }
printf '%s\n' "$commands" | sed 's/^/    /'

from=$SECONDS
printf 'set -ex\ncd /root/tickwire\nexport DEBIAN_FRONTEND=noninteractive HOME=/root\n%s\n' "$commands" >"$home/follow.sh"
chroot "$folder" /bin/bash -c "/bin/bash /root/tickwire/follow.sh 2>&1" | tee "$home/said"
took=$((SECONDS - from))

for word in 'tickwire packets, move' 'direction: ' 'masking key'; do
    grep -q -- "$word" "$home/said" || { echo "newcomer.sh: nothing of \"$word\" was shown" >&2; exit 1; }
done
echo "from docs/tools.md to an understood frame: $took s"
((took <= most_seconds)) || { echo "newcomer.sh: more than $most_seconds s" >&2; exit 1; }
