# Plays Coins: walks to the coin, and leaves when it has caught two. In the folder of a Godot 4 project with both files:
#
#	cargo run --example coins
#	cargo run --example coins -- codes --format gdscript >coins_client.gd
#	COINS_URL=ws://localhost:3000/play godot --headless --script coins.gd
extends SceneTree

const Client = preload("res://coins_client.gd")
const STOP = 0
const UP = 1
const RIGHT = 2
const DOWN = 3
const LEFT = 4
# A runner 14 px away along both axes is within the 20 px at which it gets the coin.
const NEAR = 14
const WANTED = 2

var game = Client.Connection.new()
var player = null
var way := STOP
var caught := 0


func _initialize():
	game.connect("opened", Callable(self, "_on_opened"))
	game.connect("received", Callable(self, "_on_received"))
	game.connect("failed", Callable(self, "_on_failed"))
	game.connect("closed", Callable(self, "_on_closed"))
	var url = OS.get_environment("COINS_URL")
	if game.open(url if url != "" else "ws://localhost:3000/play") != OK:
		quit(1)


# Called in each frame. A result of true would end the program.
func _process(_delta) -> bool:
	game.poll()
	return false


func _on_opened() -> void:
	game.send(Client.ToServer.HelloPacket.new().with({"version": 1, "mode": 1, "name": "Cy"}))


func _on_received(packet) -> void:
	print(packet.packet_name(), " ", packet)
	if packet is Client.ToClient.SpawnedPacket:
		player = packet.player
	elif packet is Client.ToClient.StatePacket:
		var next = way_to_coin(packet)
		if next != way:
			game.send(Client.ToServer.GoPacket.new().with({"direction": next}))
			way = next
	elif packet is Client.ToClient.CaughtPacket and packet.player == player:
		caught += 1
		if caught == WANTED:
			game.close()


func _on_failed(error) -> void:
	push_error(str(error))


func _on_closed(error) -> void:
	print(error)
	quit(0 if caught == WANTED else 1)


# The direction in which the player walks next, or STOP without a runner of its own.
func way_to_coin(state) -> int:
	for own in state.runners:
		if own.player == player:
			var dx = state.coin_x - own.x
			var dy = state.coin_y - own.y
			if abs(dx) > NEAR:
				return RIGHT if dx > 0 else LEFT
			if abs(dy) > NEAR:
				return DOWN if dy > 0 else UP
	return STOP
