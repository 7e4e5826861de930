#!/bin/sh
# Shows the traffic between clients and a tickwire server on this machine, live: in Wireshark, or with tshark if there is no
# display.
#
#   scripts/capture.sh                                   port 3000 on the loopback interface
#   scripts/capture.sh --port 3001 --interface eth0
#   scripts/capture.sh --output FILE [--seconds N]       writes a file instead of showing it
#
# It needs only Wireshark or tshark: it loads the dissector of this repository for this run.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
port=3000 interface=lo output='' seconds=''

while [ $# -gt 0 ]; do
    case $1 in
        --port | --interface | --output | --seconds)
            [ -n "${2:-}" ] || { echo "capture.sh: $1 needs a value" >&2 && exit 2; } ;;
    esac
    case $1 in
        --port) port=$2 && shift ;;
        --interface) interface=$2 && shift ;;
        --output) output=$2 && shift ;;
        --seconds) seconds=$2 && shift ;;
        *) echo "capture.sh: unknown argument $1" >&2 && exit 2 ;;
    esac
    shift
done

hints() {
    cat >&2 <<HINTS
capture.sh: $1
  On Debian, members of the group wireshark may capture:
    sudo dpkg-reconfigure wireshark-common     (answer yes)
    sudo usermod -aG wireshark "\$USER"         (and log in again)
  Or write a file as root, and look at it as yourself:
    sudo scripts/capture.sh --output packets.pcapng --seconds 30
    tshark -X lua_script:scripts/wireshark/tickwire.lua -r packets.pcapng
HINTS
    exit 1
}

command -v dumpcap >/dev/null || hints 'dumpcap is missing: it comes with Wireshark and with tshark'
dumpcap -q -i "$interface" -L >/dev/null 2>&1 ||
    hints "no rights to capture on $interface, or there is no such interface"

filter="port $port"
if [ -n "$output" ]; then
    exec dumpcap -q -i "$interface" -f "$filter" ${seconds:+-a "duration:$seconds"} -w "$output"
fi
set -- -X "lua_script:$here/wireshark/tickwire.lua" -o "tickwire.ports:$port" -i "$interface" -f "$filter" \
    ${seconds:+-a "duration:$seconds"}
if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] && command -v wireshark >/dev/null; then
    exec wireshark -k "$@"
fi
exec tshark -n -l "$@" -Y 'tickwire || tickwire.datagram'
