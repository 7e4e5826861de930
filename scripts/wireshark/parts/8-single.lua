-- ---- Frames without Wireshark's dissector --------------------------------------------------------------------------
-- Wireshark's WebSocket dissector throws an exception at a frame that the capture has cut, and after some 500 messages of one packet.
-- The exception passes Lua by without unwinding Lua's stack, and after about 100 of them every call of Lua fails. So these frames are
-- shown here, in fields of the same names as Wireshark's.

local tcp = Proto("tickwire.tcp", "tickwire connections")

-- `alone.call(dissector, view, pinfo, tree)` hands bytes to a dissector of Wireshark, without those that the capture lacks.
-- `alone.front_of(bytes, most)` gives the offset after the whole frames at the front, at most that many, and their number.
-- `alone.room_for_frames(pinfo)` is the number of frames that Wireshark's dissector can take of this packet, less the noted ones.
-- `alone.note_frames(pinfo, count)` notes frames that it takes.
-- `alone.show(segment, view, pinfo, tree, at)` shows the frames from an offset on.
local alone = {}
do
    -- Wireshark takes 500 layers in a packet, by its preference gui.max_tree_depth: each message is one, and others are about ten.
    local MOST_FRAMES = 400
    -- Wireshark's words in the Info column for its exception.
    local LIMITED = "[Packet size limited during capture]"
    local OPCODES = {
        [0] = "Continuation", [1] = "Text", [2] = "Binary", [8] = "Connection Close", [9] = "Ping", [10] = "Pong",
    }
    local H = {
        fin = ProtoField.bool("websocket.fin", "Fin", 8, nil, 0x80),
        reserved = ProtoField.uint8("websocket.rsv", "Reserved", base.HEX, nil, 0x70),
        opcode = ProtoField.uint8("websocket.opcode", "Opcode", base.DEC, OPCODES, 0x0f),
        mask = ProtoField.bool("websocket.mask", "Mask", 8, nil, 0x80),
        length = ProtoField.uint8("websocket.payload_length", "Payload length", base.DEC, nil, 0x7f),
        length_16 = ProtoField.uint16("websocket.payload_length_ext_16", "Extended Payload length (16 bits)"),
        length_64 = ProtoField.uint64("websocket.payload_length_ext_64", "Extended Payload length (64 bits)"),
        key = ProtoField.bytes("websocket.masking_key", "Masking-Key"),
        masked = ProtoField.none("websocket.masked_payload", "Masked payload"),
        payload = ProtoField.none("websocket.payload", "Payload"),
    }
    local own_fields = {}
    for _, field in pairs(H) do own_fields[#own_fields + 1] = field end
    tcp.fields = own_fields

    function alone.call(dissector, view, pinfo, tree)
        local length, sent = view_len(view), view:reported_len()
        if sent <= length then return dissector:call(view, pinfo, tree) end
        -- At the end of these bytes Wireshark catches its own exception, shows it, and gives an error.
        pcall(dissector.call, dissector, view(0, length):tvb(), pinfo, tree)
        local detail = format("the capture has %d of %d bytes", length, sent)
        tree:add(tcp, view()):add_proto_expert_info(E.truncated, detail)
        pinfo.cols.info:append(LIMITED)
        return length
    end

    -- Size of the header at `at`, and length of its payload; nil where the length is not all there.
    local function sizes_of(bytes, at)
        local second = byte(bytes, at + 1)
        if not second then return nil end
        local length, size = second % 128, second < 0x80 and 2 or 6
        if length > 125 then
            local width = length == 126 and 2 or 8
            length, size = unsigned(bytes, at + 2, width), size + width
        end
        return length and size, length
    end

    function alone.front_of(bytes, most)
        local at, count = 1, 0
        while count < most do
            local size, length = sizes_of(bytes, at)
            if not size or at + size + length > #bytes + 1 then break end
            at, count = at + size + length, count + 1
        end
        return at - 1, count
    end

    -- Wireshark empties this table whenever it dissects the packet again.
    local function noted(pinfo) return tonumber(pinfo.private["tickwire.frames"]) or 0 end

    function alone.room_for_frames(pinfo) return math.max(0, MOST_FRAMES - noted(pinfo)) end

    function alone.note_frames(pinfo, count) pinfo.private["tickwire.frames"] = tostring(noted(pinfo) + count) end

    -- Adds the header as far as the capture has it. `size` is nil where its length is not all there.
    local function add_header(root, view, at, size)
        local left = view_len(view) - at
        local first = view(at, 1)
        root:add(H.fin, first)
        root:add(H.reserved, first)
        root:add(H.opcode, first)
        if left < 2 then return end
        local second = view(at + 1, 1)
        root:add(H.mask, second)
        root:add(H.length, second)
        local short = second:uint() % 128
        if size and short == 126 then root:add(H.length_16, view(at + 2, 2)) end
        if size and short == 127 then root:add(H.length_64, view(at + 2, 8)) end
        if size and second:uint() >= 0x80 and left >= size then root:add(H.key, view(at + size - 4, 4)) end
    end

    -- The words of Wireshark's Info column for a frame.
    local function words_of(first, second)
        return format("WebSocket %s%s%s", OPCODES[first % 16] or "Unknown Opcode", first < 0x80 and "[FRAGMENT] " or " [FIN]",
            second and second >= 0x80 and " [MASKED]" or " ")
    end

    local function set_column(pinfo, words)
        local columns = pinfo.cols
        columns.protocol:set("WebSocket")
        columns.info:set(words)
        columns.info:fence()
    end

    -- Shows the frame at `at`, which the capture has cut.
    local function show_cut(view, pinfo, tree, at, size, length)
        local rest = view(at, view_len(view) - at)
        local root = tree:add(tcp, rest, "WebSocket")
        add_header(root, view, at, size)
        local first, second = byte(view_raw(view, at, math.min(2, rest:len())), 1, 2)
        local there = size and rest:len() - size or 0
        local detail = "the capture ends within the header"
        if there > 0 then root:add(second >= 0x80 and H.masked or H.payload, view(at + size, there)) end
        if there >= 0 and size then detail = format("the capture has %d of the payload's %.0f bytes", there, length) end
        root:add_proto_expert_info(E.truncated, detail)
        set_column(pinfo, words_of(first, second) .. LIMITED)
    end

    -- Shows the whole frame at `at`. The packet of a message in one frame is dissected if the connection's messages are ours and the
    -- other end reads it.
    local function show_whole(segment, view, pinfo, tree, at, size, length)
        local root = tree:add(tcp, view(at, size), "WebSocket")
        add_header(root, view, at, size)
        local first, second = byte(view_raw(view, at, 2), 1, 2)
        local is_masked = second >= 0x80
        if length == 0 then return set_column(pinfo, words_of(first, second) .. "  ") end
        local range = view(at + size, length)
        root:add(is_masked and H.masked or H.payload, range)
        local opcode, verdict = first % 16, segment.verdict
        local is_read = not verdict or segment.seen < verdict.good
        if first >= 0x80 and (opcode == TEXT or opcode == BINARY) and is_read and segment.way.has_messages then
            local payload = range:tvb()
            if is_masked then
                local bytes = unmasked(view_raw(view, at + size, length), view_raw(view, at + size - 4, 4))
                payload = ByteArray.new(bytes, true):tvb("Unmasked data")
            end
            dissect_message(payload, pinfo, tree)
        else
            set_column(pinfo, words_of(first, second) .. "  ")
        end
    end

    function alone.show(segment, view, pinfo, tree, at)
        local bytes, most = view_raw(view), view_len(view)
        while at < most do
            local size, length = sizes_of(bytes, at + 1)
            if not size or at + size + length > most then
                if pinfo.can_desegment == 0 then return show_cut(view, pinfo, tree, at, size, length) end
                -- TCP completes this frame with the next segment.
                pinfo.desegment_offset, pinfo.desegment_len = at, DESEGMENT_ONE_MORE_SEGMENT
                return
            end
            show_whole(segment, view, pinfo, tree, at, size, length)
            at = at + size + length
        end
    end
end
