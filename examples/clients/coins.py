"""Plays Coins: walks to the coin, and leaves when it has caught two.

    cargo run --example coins
    cargo run --example coins -- codes --format python >examples/clients/coins_client.py
    python3 examples/clients/coins.py ws://localhost:3000/play
"""

import sys

from coins_client import Closed, Connection, Refused, ToClient, ToServer

UP, RIGHT, DOWN, LEFT, STOP = 1, 2, 3, 4, 0
# A runner 14 px away along both axes is within the 20 px at which it gets the coin.
NEAR = 14
COINS = 2


def way_to_coin(state, player):
    """The direction in which the player walks next, or STOP without a runner of its own."""
    own = next((one for one in state.runners if one.player == player), None)
    if own is None:
        return STOP
    dx, dy = state.coin_x - own.x, state.coin_y - own.y
    if abs(dx) > NEAR:
        return RIGHT if dx > 0 else LEFT
    if abs(dy) > NEAR:
        return DOWN if dy > 0 else UP
    return STOP


def play(game):
    game.send(ToServer.Hello(version=1, mode=1, name="Ann"))
    player, way, caught = None, STOP, 0
    for packet in game:
        print(packet)
        match packet:
            case ToClient.Spawned():
                player = packet.player
            case ToClient.State():
                next_way = way_to_coin(packet, player)
                if next_way != way:
                    game.send(ToServer.Go(direction=next_way))
                    way = next_way
            case ToClient.Caught() if packet.player == player:
                caught += 1
                if caught == COINS:
                    return


def main():
    url = sys.argv[1] if len(sys.argv) > 1 else "ws://localhost:3000/play"
    try:
        with Connection(url) as game:
            play(game)
    except (Closed, Refused, OSError) as error:
        sys.exit(f"{url}: {error}")


main()
