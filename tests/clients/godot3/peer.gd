# The part of Godot 4's WebSocketPeer that the client uses, made of the WebSocketClient of Godot 3.
extends Reference

enum {STATE_CONNECTING, STATE_OPEN, STATE_CLOSING, STATE_CLOSED}
var supported_protocols = PoolStringArray()
var inbound_buffer_size := 65536
var client = WebSocketClient.new()
var state := STATE_CONNECTING
var close_code := -1
var close_reason := ""


func connect_to_url(url: String) -> int:
	client.connect("connection_established", self, "_on_established")
	client.connect("connection_error", self, "_on_error")
	client.connect("connection_closed", self, "_on_closed")
	client.connect("server_close_request", self, "_on_close_request")
	client.set_buffers(inbound_buffer_size / 1024, 1024, 64, 1024)
	return client.connect_to_url(url, supported_protocols)


func poll() -> void:
	client.poll()


func get_ready_state() -> int:
	return state


func get_available_packet_count() -> int:
	return client.get_peer(1).get_available_packet_count() if state == STATE_OPEN else 0


func get_packet() -> PoolByteArray:
	return client.get_peer(1).get_packet()


func send(payload: PoolByteArray) -> int:
	client.get_peer(1).set_write_mode(WebSocketPeer.WRITE_MODE_BINARY)
	return client.get_peer(1).put_packet(payload)


func close() -> void:
	client.disconnect_from_host(1000)


func get_close_code() -> int:
	return close_code


func get_close_reason() -> String:
	return close_reason


func _on_established(_protocol: String) -> void:
	state = STATE_OPEN


func _on_close_request(code: int, reason: String) -> void:
	close_code = code
	close_reason = reason


func _on_error() -> void:
	state = STATE_CLOSED


func _on_closed(was_clean: bool) -> void:
	# Without a request of the server, this client has closed.
	if was_clean and close_code < 0:
		close_code = 1000
	state = STATE_CLOSED
