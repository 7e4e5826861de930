-- ---- Datagrams -----------------------------------------------------------------------------------------------------
-- Parses datagrams of lanes (PROTOCOL.md), and stores their sequence numbers and keys. Input: bytes
-- as Lua strings. Output: the parts of a datagram with their places, or the name of the broken rule
-- (src/datagram/error.rs). Uses no objects of Wireshark.

local lanes = { HEADER_BYTES = 12, TAG_BYTES = 16, MOST_BYTES = 1200 }
do
    local PACKET, COMMANDS, RECEIVED = 1, 2, 3
    local MESSAGE_HEAD_BYTES, BLOCK_HEAD_BYTES, BODY_HEAD_BYTES = 3, 10, 2
    local MOST_NUMBER = 2 ^ 32 - 1
    -- Value of `tick` for commands without a target tick.
    local NO_TICK = MOST_NUMBER
    -- Size of the receive window below the newest number.
    local WINDOW = 64
    lanes.NO_TICK = NO_TICK
    lanes.NAMES = { [PACKET] = "packet", [COMMANDS] = "commands", [RECEIVED] = "received" }

    -- Encodes the head of a MessagePack array.
    local function array_head(length)
        if length < 16 then return string.char(0x90 + length) end
        if length < 65536 then return string.char(0xdc, floor(length / 256), length % 256) end
        return string.char(0xdd, floor(length / 2 ^ 24) % 256, floor(length / 65536) % 256, floor(length / 256) % 256, length % 256)
    end

    -- Encodes a MessagePack number in its shortest form.
    local function uint(value)
        if value < 0x80 then return string.char(value) end
        if value < 0x100 then return string.char(0xcc, value) end
        if value < 0x10000 then return string.char(0xcd, floor(value / 256), value % 256) end
        return string.char(0xce, floor(value / 2 ^ 24), floor(value / 65536) % 256, floor(value / 256) % 256, value % 256)
    end

    -- Returns code and arguments of a command's body; nil if they are not MessagePack.
    local function read_body(body)
        local first, kind, head, length = byte(body, 1), token(body, 1)
        if kind ~= "str" and (kind ~= "number" or first == 0xca or first == 0xcb) then return nil end
        local code_bytes = head + length
        local list, list_head, count = token(body, code_bytes + 1)
        if list ~= "array" then return nil end
        return { code = sub(body, 1, code_bytes), count = count, encoded = sub(body, code_bytes + list_head + 1) }
    end

    -- Encodes a command as a packet of the WebSocket.
    local function packet_of(command)
        local body = command.body
        return "\146" .. body.code .. array_head(body.count + 2) .. uint(command.sequence)
            .. (command.tick and uint(command.tick) or "\192") .. body.encoded
    end

    -- Sets tick and sequence number of the command at a place of a block, from 0. Returns the
    -- broken rule, if any.
    local function number_command(command, place, block, before)
        local tick = block.tick
        if before then tick = before.tick end
        if tick then
            tick = tick + command.later
            if tick >= NO_TICK then return "datagram_number_too_large" end
        end
        command.tick, command.sequence = tick, block.first + place
        return command.sequence > MOST_NUMBER and "datagram_number_too_large" or nil
    end

    -- Returns a block of commands, whose places count from 1 within its content; or nil and the
    -- broken rule.
    local function read_commands(content)
        local most = #content
        if most < BLOCK_HEAD_BYTES then return nil, "datagram_truncated" end
        local tick, step, count = unsigned(content, 5, 4), byte(content, 9, 10)
        local block = { first = unsigned(content, 1, 4), step = step, count = count, bits = floor((count + 7) / 8), commands = {} }
        if tick ~= NO_TICK then block.tick = tick end
        local at, before = BLOCK_HEAD_BYTES + block.bits + 1, nil
        if at > most + 1 then return nil, "datagram_truncated" end
        if count == 0 then return nil, "datagram_no_command" end
        for place = 0, count - 1 do
            local bits = byte(content, BLOCK_HEAD_BYTES + 1 + floor(place / 8))
            local command = { is_same = floor(bits / 2 ^ (7 - place % 8)) % 2 == 1 }
            if command.is_same then
                if not before then return nil, "datagram_nothing_before" end
                command.later, command.body = step, before.body
            else
                local later, length = byte(content, at, at + 1)
                local to = at + BODY_HEAD_BYTES + (length or 0)
                if not length or to > most + 1 then return nil, "datagram_truncated" end
                command.later, command.from, command.to = later, at, to
                command.body = read_body(sub(content, at + BODY_HEAD_BYTES, to - 1))
                if not command.body then return nil, "datagram_not_msgpack" end
                at = to
            end
            local rule = number_command(command, place, block, before)
            if rule then return nil, rule end
            command.packet = packet_of(command)
            block.commands[place + 1], before = command, command
        end
        if at <= most then return nil, "datagram_bytes_left" end
        return block
    end

    -- Returns the message at `at`, or nil and the broken rule.
    local function read_message(bytes, at)
        local kind, length = byte(bytes, at), unsigned(bytes, at + 1, 2)
        local from = at + MESSAGE_HEAD_BYTES
        if not length or from + length > #bytes + 1 then return nil, "datagram_truncated" end
        local message = { at = at, kind = kind, length = length, from = from, to = from + length }
        local content = sub(bytes, from, message.to - 1)
        if kind == PACKET then
            message.packet = content
        elseif kind == COMMANDS then
            local block, rule = read_commands(content)
            if not block then return nil, rule end
            message.block = block
        elseif kind == RECEIVED then
            if length < 4 then return nil, "datagram_truncated" end
            if length > 4 then return nil, "datagram_bytes_left" end
            message.sequence = unsigned(content, 1, 4)
        else
            return nil, "datagram_unknown_kind"
        end
        return message
    end

    -- Returns the messages of an opened datagram with its header; then the broken rule and its
    -- place, from 1.
    function lanes.read(bytes)
        local messages, at = {}, lanes.HEADER_BYTES + 1
        while at <= #bytes do
            local message, rule = read_message(bytes, at)
            if not message then return messages, rule, at end
            messages[#messages + 1], at = message, message.to
        end
        return messages
    end

    -- Returns the fields of a header; nil if it is truncated.
    function lanes.read_header(bytes)
        if #bytes < lanes.HEADER_BYTES then return nil end
        return {
            connection = unsigned(bytes, 1, 4), sequence = unsigned(bytes, 5, 2), newest = unsigned(bytes, 7, 2),
            received = unsigned(bytes, 9, 4),
        }
    end

    -- Returns the number nearest to `near` with these lower 16 bits. If `near` is 0, the capture
    -- may begin late, and `low` is returned.
    local function extend(low, near)
        if near == 0 then return low end
        return math.max(near + (low - near + 0x8000) % 0x10000 - 0x8000, 0)
    end

    -- Lanes by connection number.
    local by_connection = {}

    -- Server ports from captured `lane_offer` packets.
    lanes.ports = {}

    function lanes.begin() by_connection, lanes.ports = {}, {} end

    -- Returns the lane of a connection number. `offer` and `log` have its key, if known.
    function lanes.of(connection)
        local lane = by_connection[connection] or { ways = {} }
        by_connection[connection] = lane
        return lane
    end

    function lanes.has_key(lane) return lane.log ~= nil or lane.offer ~= nil and lane.offer.key ~= nil end

    -- Returns the state of a lane in one direction, to or from one address of the server.
    function lanes.way(lane, direction, server)
        local name = direction .. " " .. server
        local way = lane.ways[name] or { newest = 0, numbers = {} }
        lane.ways[name] = way
        return way
    end

    -- Whether the capture or the key log has a lane with this connection number.
    function lanes.is_granted(connection)
        local lane = by_connection[connection]
        return lane and (lane.offer or lane.log) and true or false
    end

    -- Returns the number of a datagram, and the broken rule if it is repeated or too old.
    function lanes.number(way, low)
        local number = extend(low, way.newest)
        local is_old = way.newest - number > WINDOW or number == 0 and way.newest > 0
        if is_old then return number, "datagram_too_old" end
        return number, way.numbers[number] and "datagram_repeated" or nil
    end

    -- Records an opened datagram.
    function lanes.record(way, number, frame)
        way.newest = math.max(way.newest, number)
        way.numbers[number] = frame
    end

    -- Returns the acknowledged and the missing numbers of a header. `sent` is the newest number of
    -- the other direction.
    function lanes.acknowledged(header, sent)
        local newest = extend(header.newest, sent)
        local arrived, missing = {}, {}
        if newest < 1 then return arrived, missing end
        arrived[1] = newest
        for bit = 0, math.min(31, newest - 2) do
            local list = floor(header.received / 2 ^ bit) % 2 == 1 and arrived or missing
            list[#list + 1] = newest - 1 - bit
        end
        return arrived, missing
    end

    local function from_hex(digits)
        return (digits:gsub("%x%x", function(pair) return string.char(tonumber(pair, 16)) end))
    end

    -- Reads the lines of a key log: `TICKWIRE_LANE connection key client`. Other lines are ignored.
    local function read_key_log(text)
        for connection, key, client in string.gmatch(text, "TICKWIRE_LANE (%x+) (%x+) (%S+)") do
            if #connection == 8 and #key == 64 then
                lanes.of(tonumber(connection, 16)).log = { key = from_hex(key), client = client }
            end
        end
    end

    local log_bytes = 0

    -- Reads the key log if its size has changed. Returns the error text, if any.
    function lanes.read_log(path)
        if path == "" then return nil end
        local file, problem = io.open(path, "rb")
        if not file then return problem end
        local size = file:seek("end")
        if size ~= log_bytes then
            file:seek("set")
            read_key_log(file:read("*a"))
            log_bytes = size
        end
        file:close()
        return nil
    end

    -- Resets the known size of the key log.
    function lanes.forget_log() log_bytes = 0 end

    -- Returns the header and the decrypted messages of a sealed datagram; nil if the tag is wrong.
    function lanes.open(bytes, key, direction, number)
        local nonce = { string.char(0, 0, 0, direction == "to_client" and 1 or 0) }
        for shift = 7, 0, -1 do nonce[#nonce + 1] = string.char(floor(number / 256 ^ shift) % 256) end
        local header = sub(bytes, 1, lanes.HEADER_BYTES)
        local messages = open_sealed(key, concat(nonce), header, sub(bytes, lanes.HEADER_BYTES + 1))
        return messages and header .. messages
    end

    -- Records the lane of a `lane_offer` packet. `way` is the direction to the client.
    function lanes.note_offer(bytes, way)
        if byte(bytes, 1) ~= 0x92 or byte(bytes, 3) ~= 0x93 then return end
        local connection, at = number(bytes, 4)
        if not connection then return end
        local kind, head, length = token(bytes, at)
        if kind ~= "bin" or length ~= 32 then return end
        local key = sub(bytes, at + head, at + head + length - 1)
        -- Captures of the server have a key of zeros.
        if key == string.rep("\0", 32) then key = nil end
        lanes.ports[number(bytes, at + head + length) or 0] = true
        lanes.of(connection).offer = { key = key, stream = way.stream, client = way.to, server = way.from }
    end
end

