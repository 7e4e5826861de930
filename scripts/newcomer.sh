#!/usr/bin/env bash
# Checks the instructions for newcomers: follows docs/tools.md on a bare Debian, from "Your first frame in Wireshark" to an explained
# frame. Times each command; exits with 1 if a command fails, if the frame is not explained, or if it takes too long.
#
#   scripts/newcomer.sh [FOLDER]
#
# FOLDER  a minimal Debian 12 to use (default: a new one made by debootstrap, removed afterwards)
#
# Needs debootstrap, and root, since it changes its root directory to that folder. Neither the compilation, which is done beforehand, nor
# the creation of the folder, which stands for the newcomer's machine, counts towards the time.
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

# The mirror that this machine uses; Debian's scripts know no other.
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

# Copies the settings that this machine needs to reach its packages.
cp /etc/resolv.conf /etc/hosts "$folder/etc/"
cp -r /etc/apt/apt.conf.d "$folder/etc/apt/"
mkdir -p "$folder/etc/ssl" && cp -rL /etc/ssl/certs "$folder/etc/ssl/"
mountpoint -q "$folder/proc" || mount -t proc proc "$folder/proc"

home=$folder/root/tickwire
rm -rf "$home" && mkdir -p "$home/target/release"
git archive HEAD | tar -x -C "$home"
cp target/release/tickwire "$home/target/release/"

# The commands of the section, verbatim.
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
    grep -q -- "$word" "$home/said" || { echo "newcomer.sh: the output does not contain \"$word\"" >&2; exit 1; }
done
echo "from docs/tools.md to an explained frame: $took s"
((took <= most_seconds)) || { echo "newcomer.sh: took longer than $most_seconds s" >&2; exit 1; }
