# ---- the connection --------------------------------------------------------------------------------------------------

# A WebSocket to a room. It works only while `poll` is called: once in each frame.
class Connection:
	signal opened()
	signal received(packet)
	# A packet that could not be decoded: the connection continues.
	signal failed(error)
	# The end of the connection, or of the attempt to connect: a ClosedError.
	signal closed(error)

	# Maximum size of a message.
	const MAX_MESSAGE_BYTES = 1048576
	var socket = WebSocketPeer.new()
	var sequence := 0
	var is_open := false
	var end = null

	# Connects to a room, such as ws://localhost:3000/play or, with TLS, wss://game.example/r/arena/play. `token` is the
	# player's token, if the server requires one. `key` is 32 hexadecimal digits, chosen at random: a client that connects
	# again with its key within the server's --resume-seconds resumes its player. Returns OK, or the error of a wrong URL.
	func open(url: String, token := "", key := "") -> int:
		var protocols = PackedStringArray(["tickwire.v1"])
		if key != "":
			protocols.append("key." + key)
		if token != "":
			var encoded = Marshalls.utf8_to_base64(token).replace("+", "-").replace("/", "_").replace("=", "")
			protocols.append("bearer." + encoded)
		socket.supported_protocols = protocols
		socket.inbound_buffer_size = MAX_MESSAGE_BYTES
		return socket.connect_to_url(url)

	# Receives what has arrived, and emits the signals.
	func poll() -> void:
		if end != null:
			return
		socket.poll()
		var state = socket.get_ready_state()
		if state == WebSocketPeer.STATE_OPEN and not is_open:
			is_open = true
			emit_signal("opened")
		while socket.get_available_packet_count() > 0:
			receive(socket.get_packet())
		if state == WebSocketPeer.STATE_CLOSED:
			end = closed_error()
			emit_signal("closed", end)

	func receive(payload: PackedByteArray) -> void:
		var packet = Wire.decode(payload)
		emit_signal("failed" if packet is ClientError else "received", packet)

	# Sends a packet, and returns null, a WrongArgumentError or a ClosedError. Numbers the commands: sets a `sequence` that
	# is null.
	func send(packet: Packet):
		if end != null or not is_open:
			return end if end != null else closed_error()
		if "sequence" in packet and packet.sequence == null:
			packet.sequence = sequence + 1
		var payload = Wire.encode(packet)
		if payload is ClientError:
			return payload
		socket.send(payload)
		# The server counts a `join` after a death as a command. A gap in the sequence has no effect.
		if "sequence" in packet:
			sequence = packet.sequence
		elif packet.packet_name() == "join":
			sequence += 1
		return null

	# Leaves for good: the server removes the player at once.
	func close() -> void:
		socket.close()

	func closed_error():
		var code = socket.get_close_code()
		var reason = socket.get_close_reason()
		if code < 0:
			code = 1006
			reason = "without a close frame" if is_open else "there is no connection"
		var error = ClosedError.new().with_text(("the connection is closed: %d %s" % [code, reason]).strip_edges())
		error.code = code
		error.reason = reason
		return error
