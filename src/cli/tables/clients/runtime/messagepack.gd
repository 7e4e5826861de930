# ---- MessagePack -----------------------------------------------------------------------------------------------------

# Writes values in the shortest form. A number without a fraction is an integer.
class MessagePackWriter:
	var buffer = StreamPeerBuffer.new()

	func _init():
		buffer.big_endian = true

	func write(value) -> void:
		match typeof(value):
			TYPE_NIL: buffer.put_u8(0xc0)
			TYPE_BOOL: buffer.put_u8(0xc3 if value else 0xc2)
			TYPE_INT: integer(value)
			TYPE_FLOAT: number(value)
			TYPE_STRING: text(value)
			TYPE_PACKED_BYTE_ARRAY: bytes(value)
			TYPE_ARRAY:
				head(value.size(), 0x90, 16, 0xdc)
				for one in value:
					write(one)
			TYPE_DICTIONARY:
				head(value.size(), 0x80, 16, 0xde)
				for key in value:
					text(str(key))
					write(value[key])
			_: text(str(value))

	func integer(value: int) -> void:
		if value >= -32 and value < 128:
			buffer.put_8(value)
		elif value >= 0 and value <= 0xff:
			buffer.put_u8(0xcc)
			buffer.put_u8(value)
		elif value >= 0 and value <= 0xffff:
			buffer.put_u8(0xcd)
			buffer.put_u16(value)
		elif value >= 0 and value <= 0xffffffff:
			buffer.put_u8(0xce)
			buffer.put_u32(value)
		elif value >= 0:
			buffer.put_u8(0xcf)
			buffer.put_u64(value)
		elif value >= -0x80:
			buffer.put_u8(0xd0)
			buffer.put_8(value)
		elif value >= -0x8000:
			buffer.put_u8(0xd1)
			buffer.put_16(value)
		elif value >= -0x80000000:
			buffer.put_u8(0xd2)
			buffer.put_32(value)
		else:
			buffer.put_u8(0xd3)
			buffer.put_64(value)

	func number(value: float) -> void:
		if value == floor(value) and abs(value) <= 9007199254740992.0:
			integer(int(value))
		else:
			buffer.put_u8(0xcb)
			buffer.put_double(value)

	func text(value: String) -> void:
		var content = value.to_utf8_buffer()
		if content.size() > 31 and content.size() <= 0xff:
			buffer.put_u8(0xd9)
			buffer.put_u8(content.size())
		else:
			head(content.size(), 0xa0, 32, 0xda)
		put(content)

	func bytes(content: PackedByteArray) -> void:
		if content.size() <= 0xff:
			buffer.put_u8(0xc4)
			buffer.put_u8(content.size())
		else:
			head(content.size(), 0, 0, 0xc5)
		put(content)

	# A length in the first byte if it is below `few`, otherwise in 2 or 4 bytes.
	func head(length: int, fixed_head: int, few: int, wide_head: int) -> void:
		if length < few:
			buffer.put_u8(fixed_head | length)
		elif length <= 0xffff:
			buffer.put_u8(wide_head)
			buffer.put_u16(length)
		else:
			buffer.put_u8(wide_head + 1)
			buffer.put_u32(length)

	func put(content: PackedByteArray) -> void:
		if content.size() > 0:
			buffer.put_data(content)


# Reads one value. `problem` is a sentence if the bytes are not exactly one value.
class MessagePackReader:
	const MAX_DEPTH = 8
	var buffer = StreamPeerBuffer.new()
	var problem := ""

	func _init(payload: PackedByteArray):
		buffer.big_endian = true
		buffer.data_array = payload

	func read_all():
		var value = read(0)
		if problem == "" and buffer.get_available_bytes() > 0:
			problem = "%d bytes follow the value" % buffer.get_available_bytes()
		return value

	func read(depth: int):
		if depth > MAX_DEPTH:
			problem = "the message is nested too deep"
		if not has(1):
			return null
		var head = buffer.get_u8()
		if head < 0x80:
			return head
		if head < 0x90:
			return map(head & 0x0f, depth)
		if head < 0xa0:
			return list(head & 0x0f, depth)
		if head < 0xc0:
			return text(head & 0x1f)
		if head >= 0xe0:
			return head - 0x100
		# The bytes of a number or of a length after the first byte.
		var widths = {
			0xc4: 1, 0xc5: 2, 0xc6: 4, 0xca: 4, 0xcb: 8, 0xcc: 1, 0xcd: 2, 0xce: 4, 0xcf: 8, 0xd0: 1, 0xd1: 2, 0xd2: 4,
			0xd3: 8, 0xd9: 1, 0xda: 2, 0xdb: 4, 0xdc: 2, 0xdd: 4, 0xde: 2, 0xdf: 4,
		}
		if not has(widths.get(head, 0)):
			return null
		match head:
			0xc0: return null
			0xc2: return false
			0xc3: return true
			0xca: return buffer.get_float()
			0xcb: return buffer.get_double()
			0xcc: return buffer.get_u8()
			0xcd: return buffer.get_u16()
			0xce: return buffer.get_u32()
			0xcf: return buffer.get_u64()
			0xd0: return buffer.get_8()
			0xd1: return buffer.get_16()
			0xd2: return buffer.get_32()
			0xd3: return buffer.get_64()
			0xc4, 0xc5, 0xc6: return bytes(length(widths[head]))
			0xd9, 0xda, 0xdb: return text(length(widths[head]))
			0xdc, 0xdd: return list(length(widths[head]), depth)
			0xde, 0xdf: return map(length(widths[head]), depth)
		problem = "the byte %02x begins no value" % head
		return null

	func length(width: int) -> int:
		if width == 1:
			return buffer.get_u8()
		return buffer.get_u16() if width == 2 else buffer.get_u32()

	# Whether there was no problem, and that many bytes follow.
	func has(count: int) -> bool:
		if problem == "" and count > buffer.get_available_bytes():
			problem = "the message ends within a value"
		return problem == ""

	func list(count: int, depth: int) -> Array:
		var values = []
		# Each value has a byte at least.
		if has(count):
			for _index in range(count):
				values.append(read(depth + 1))
				if problem != "":
					break
		return values

	func map(count: int, depth: int) -> Dictionary:
		var values = {}
		if has(2 * count):
			for _index in range(count):
				var key = read(depth + 1)
				if problem == "" and not key is String:
					problem = "a map key is not text"
				if problem != "":
					break
				values[key] = read(depth + 1)
		return values

	func text(count: int) -> String:
		var content = bytes(count)
		var value = content.get_string_from_utf8()
		if value.to_utf8_buffer() != content and not has_nul(content):
			problem = "text is not UTF-8"
		return value

	# A text of Godot ends before a NUL.
	func has_nul(content: PackedByteArray) -> bool:
		for byte in content:
			if byte == 0:
				return true
		return false

	func bytes(count: int) -> PackedByteArray:
		if count == 0 or not has(count):
			return PackedByteArray()
		return buffer.get_data(count)[1]
