"""Plays Fog for a moment with the generated client in Python: the entity list has the own soldier, which walks.

    fog.py FOLDER_OF_THE_CLIENTS URL
"""

import sys

sys.path.insert(0, sys.argv[1])
import fog

with fog.Connection(sys.argv[2]) as game:
    game.send(fog.ToServer.Hello(version=1, mode=1, name="Ann"))
    soldiers, last_tick, player, began = {}, None, None, None
    for packet in game:
        if isinstance(packet, fog.ToClient.Spawned):
            player = packet.player
            # To the right and to the left: one of them is free of walls.
        elif isinstance(packet, fog.ToClient.Soldiers):
            packet.apply(soldiers, last_tick)
            last_tick = packet.tick
        own = soldiers.get(player)
        if own is None:
            continue
        if began is None:
            began = (own.x, own.y)
            for way in (1, 3, 5, 7):
                game.send(fog.ToServer.Control(way=way, aim=0, is_firing=False))
        if (own.x, own.y) != began:
            print(f"{own.name} has walked from {began} to {(own.x, own.y)}")
            sys.exit(own.name != "Ann")
