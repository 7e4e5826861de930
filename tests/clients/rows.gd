# Decodes and encodes each row of rows.tsv with the generated clients in GDScript, and reads the end of a connection to
# COINS_URL.
extends SceneTree

const Coins = preload("res://coins.gd")
const Shapes = preload("res://shapes.gd")
var passed := 0
var failed := 0
var entities := {}
var movers := {}
# The tick of the last packet with movers.
var tick := -1
var game = Coins.Connection.new()


func _initialize():
	var file = File.new()
	if file.open("res://rows.tsv", File.READ) != OK:
		quit(1)
		return
	file.get_line()
	while not file.eof_reached():
		var row = file.get_line().split("\t")
		if row.size() > 1:
			check_row(row)
	wrong_values()
	game.connect("opened", Callable(self, "_on_opened"))
	game.connect("closed", Callable(self, "_on_closed"))
	expect("not open", str(game.send(Coins.ToServer.PingPacket.new())), "the connection is closed: 1006 there is no connection")
	game.open(OS.get_environment("COINS_URL"))


func _process(_delta) -> bool:
	game.poll()
	return false


func _on_opened() -> void:
	var wrong = Coins.ToServer.GoPacket.new().with({"direction": 5})
	expect("wrong", str(game.send(wrong)), "go.direction is 5: must be a whole number from 0 to 4")
	expect("right", str(game.send(Coins.ToServer.HelloPacket.new().with({"version": 2}))), "Null")


# A closed connection has the code and the reason.
func _on_closed(error) -> void:
	expect("wrong version", "%s %d %s" % [error, error.code, error.reason],
		"the connection is closed: 1008 hello_version 1008 hello_version")
	expect("after the end", str(game.send(Coins.ToServer.PingPacket.new())), "the connection is closed: 1008 hello_version")
	print("%d passed, %d failed" % [passed, failed])
	quit(0 if failed == 0 else 1)


func expect(what: String, got: String, wanted: String) -> void:
	if got == wanted:
		passed += 1
	else:
		failed += 1
		print("FAILED  %s\n  expected %s\n  got      %s" % [what, wanted, got])


func check_row(row) -> void:
	var client = Coins if row[0] == "coins" else Shapes
	var packet = client.Wire.decode(unhex(row[3]), client.ToServer if row[1] == "to_server" else client.ToClient)
	var what = "%s %s %s" % [row[2], row[3], row[5]]
	if packet is client.ClientError:
		var kind = "!unknown_packet"
		if packet is client.MalformedPacketError:
			kind = "!malformed_packet"
		elif packet is client.WrongArgumentError:
			kind = "!wrong_argument"
		expect(what + ": " + packet.text, kind, row[2])
		return
	expect(what, packet.packet_name() + " " + str(packet), row[2] + " " + row[4])
	var payload = client.Wire.encode(packet)
	expect(what, payload.hex_encode() if payload is PackedByteArray else str(payload), row[3])
	if row[5] != "":
		expect(what, apply(packet).join(", "), row[5])


# The known entities after a packet of their list.
func apply(packet) -> PackedStringArray:
	var known = PackedStringArray()
	if packet is Shapes.ToClient.MoversPacket:
		packet.apply(movers, tick)
		tick = packet.tick
		for one in movers.values():
			known.append("%d %d %d %d %d %d %d" % [one.id, one.x, one.vx, one.y, one.vy, one.z, one.vz])
	else:
		packet.apply(entities)
		for one in entities.values():
			known.append("%d %s %d %s" % [one.id, one.name, one.x, "true" if one.is_ else "false"])
	return known


# Packets that the encoder rejects, with its message.
func wrong_values() -> void:
	var go = Coins.ToServer.GoPacket
	rejects(go.new().with({"sequence": 1, "direction": 5}), "go.direction is 5: must be a whole number from 0 to 4")
	rejects(go.new().with({"sequence": 1, "direction": -1}), "go.direction is -1: must be a whole number from 0 to 4")
	rejects(go.new(), "go.sequence is Null: must be a whole number from 0 to 4294967295")
	var hello = Coins.ToServer.HelloPacket.new().with({"name": "xxxxxxxxxxxxxxxx"})
	rejects(hello, "hello.name is xxxxxxxxxxxxxxxx: must be text of at most 15 characters")
	var state = Coins.ToClient.StatePacket.new()
	state.runners = [Coins.ToClient.StatePacket.RunnersRecord.new(), Coins.ToClient.StatePacket.RunnersRecord.new()]
	state.runners[1].score = 65536
	rejects(state, "state.runners[1].score is 65536: must be a whole number from 0 to 65535")


func rejects(packet, wanted: String) -> void:
	var got = Coins.Wire.encode(packet)
	expect(packet.packet_name(), got.text if got is Coins.WrongArgumentError else "no error", wanted)


func unhex(hex: String) -> PackedByteArray:
	var bytes = PackedByteArray()
	for at in range(0, hex.length(), 2):
		bytes.append(("0x" + hex.substr(at, 2)).hex_to_int())
	return bytes
