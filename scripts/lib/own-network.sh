#!/usr/bin/env bash
# Runs a command in a network namespace with two addresses that are not loopback addresses:
# 198.51.100.1 and 198.51.100.2 (RFC 5737). Browsers trust loopback addresses, and Firefox opens no
# data channel to them. TICKWIRE_NETWORK_ADDRESS has the first address. If namespaces are not
# permitted, the command runs without one, and without the variable. The interfaces get no IPv6
# address of their own: it would be usable a second later, and Chromium ends its requests then.
#
#   scripts/lib/own-network.sh COMMAND [ARGUMENT...]
set -u

own=(unshare --net)
"${own[@]}" true 2>/dev/null || own=(unshare --user --map-root-user --net)
if ! "${own[@]}" true 2>/dev/null; then
    echo '# no network namespace: unshare is not permitted here'
    exec "$@"
fi
export TICKWIRE_NETWORK_ADDRESS=198.51.100.1
# shellcheck disable=SC2016 # the inner shell expands it
exec "${own[@]}" bash -c '
    ip link set lo up && ip link add tw0 type veth peer name tw1 &&
        ip link set tw0 addrgenmode none && ip link set tw1 addrgenmode none &&
        ip addr add "$TICKWIRE_NETWORK_ADDRESS/24" dev tw0 && ip addr add 198.51.100.2/24 dev tw0 && ip link set tw0 up && ip link set tw1 up &&
        ip route add default via "$TICKWIRE_NETWORK_ADDRESS" dev tw0 || exit
    exec "$@"' own-network "$@"
