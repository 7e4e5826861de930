-- ---- Rules of frames -----------------------------------------------------------------------------------------------
-- Wireshark shows broken frames without a word on what is wrong with them. Here each frame is held against RFC 6455, in the order of
-- the server's own check (src/ws/frame.rs and message.rs), so that both name the same rule. Beside Wireshark's dissector, never in its place.

-- Which rule the frames of a segment break: `judge_frames(state, bytes, to_server, is_ours)`. `state` is what is known of one direction:
-- `open` is the message under way, `is_midway` says that one may be. `is_ours` says that the limits are our server's. Gives a verdict, or nil where
-- nothing is wrong: how many messages are good, where the reading ends (from 0) and how many bytes are to blame, the rule, and how many bytes of
-- the frame are missing; without a rule a close frame ended the reading. The second value says whether the last frame ends where the segment does.
local judge_frames, unmasked
do
    local xor = bit and bit.bxor or bit32 and bit32.bxor or load("local one, other = ... return one ~ other")
    local CLOSE = 8

    function unmasked(payload, key)
        local bytes = { byte(payload, 1, -1) }
        for place, value in ipairs(bytes) do bytes[place] = string.char(xor(value, byte(key, (place - 1) % 4 + 1))) end
        return concat(bytes)
    end

    -- The bytes at the end of a text that begin a character and do not end it; nil where the text is not UTF-8, whatever follows.
    local function unfinished_character(text)
        if is_utf8(text) then return "" end
        for size = 1, math.min(3, #text) do
            local lead = byte(text, -size)
            if lead < 0x80 then return nil end
            if lead >= 0xc0 then
                local missing = (lead < 0xe0 and 2 or lead < 0xf0 and 3 or 4) - size
                local tail = sub(text, -size)
                -- Of the second bytes that a first byte allows, one is always 80 or bf.
                local is_good = missing > 0 and is_utf8(sub(text, 1, -size - 1))
                    and (is_utf8(tail .. sub("\128\128\128", 1, missing)) or is_utf8(tail .. sub("\191\128\128", 1, missing)))
                return is_good and tail or nil
            end
        end
        return nil
    end

    -- The header at `at`: its size, the payload's length. Nil where it is not all there; false, the rule, and the place of what breaks it.
    local function read_header(bytes, at, to_server)
        local first, second = byte(bytes, at, at + 1)
        local opcode = first % 16
        if floor(first / 16) % 8 ~= 0 then return false, "reserved_bit", 0, 1 end
        if opcode > 10 or opcode > 2 and opcode < CLOSE then return false, "reserved_opcode", 0, 1 end
        if opcode >= CLOSE and first < 0x80 then return false, "control_fragmented", 0, 1 end
        if not second then return nil end
        if (second >= 0x80) ~= to_server then return false, to_server and "mask_missing" or "mask_forbidden", 1, 1 end
        local length, width = second % 128, 0
        if opcode >= CLOSE and length > 125 then return false, "control_too_long", 1, 1 end
        if length > 125 then
            width = length == 126 and 2 or 8
            local shorter_most = length == 126 and 125 or 65535
            length = unsigned(bytes, at + 2, width)
            if not length then return nil end
            if width == 8 and byte(bytes, at + 2) >= 0x80 then return false, "length_top_bit", 2, width end
            if length <= shorter_most then return false, "length_not_minimal", 2, width end
        end
        -- The server waits for the key before it judges the message. What the key is makes no difference, and Wireshark does not show
        -- a segment that ends in the middle of the payload.
        return 2 + width + (to_server and 4 or 0), length
    end

    -- The rule that a data frame breaks by what came before it, or by its length.
    local function admit(state, opcode, length, is_limited)
        local open = state.open
        if opcode == 0 and not open then return not state.is_midway and "continuation_without_start" or nil end
        if opcode ~= 0 and open then return "message_interrupted" end
        if not is_limited then return nil end
        if open and open.fragments + 1 > MESSAGE_FRAGMENTS then return "too_many_fragments" end
        if length > MESSAGE_BYTES - (open and open.bytes or 0) then return "message_too_long" end
    end

    local function close_rule(body)
        if #body == 1 then return "close_one_byte" end
        local code = unsigned(body, 1, 2)
        if not code then return nil end
        local is_known = code >= 1000 and code <= 1003 or code >= 1007 and code <= 1014 or code >= 3000 and code <= 4999
        if not is_known then return "close_code_invalid" end
        return not is_utf8(sub(body, 3)) and "close_reason_not_utf8" or nil
    end

    -- Notes a whole data frame as a part of its message.
    local function note_part(state, opcode, fin, length, tail)
        if fin then
            state.open = nil
        elseif opcode ~= 0 then
            state.open = { opcode = opcode, fragments = 1, bytes = length, tail = tail }
        elseif state.open then
            local open = state.open
            open.fragments, open.bytes, open.tail = open.fragments + 1, open.bytes + length, tail
        end
        if fin or opcode ~= 0 then state.is_midway = false end
    end

    -- What a payload breaks, as far as it is there; and of a text the beginning of its last character.
    local function payload_rule(state, payload, opcode, fin, is_whole)
        if opcode == CLOSE then return is_whole and close_rule(payload) or nil end
        local tail = unfinished_character((opcode == 0 and state.open.tail or "") .. payload)
        if not tail or tail ~= "" and fin and is_whole then return "text_not_utf8" end
        return nil, tail
    end

    -- Bytes of the frame at `at` that are not there; as many as there are where the header does not say it.
    local function missing_of(bytes, at)
        local second = byte(bytes, at + 1)
        if not second then return math.huge end
        local length, size = second % 128, second < 0x80 and 2 or 6
        if length > 125 then
            local width = length == 126 and 2 or 8
            length, size = unsigned(bytes, at + 2, width) or math.huge, size + width
        end
        return math.max(0, at + size + length - 1 - #bytes)
    end

    local function broken(state, bytes, at, good, rule, from, count)
        local opcode = byte(bytes, at) % 16
        if opcode == 0 and state.open then opcode = state.open.opcode end
        return { good = good, from = from, count = count, rule = rule, at = at - 1, opcode = opcode, missing = missing_of(bytes, at) }
    end

    -- Holds the frame at `at` against the rules: nil where it is not all there, `false` and the verdict where it breaks one, or the offset after
    -- it and whether it ends a message that is not empty.
    local function judge_frame(state, bytes, at, good, to_server, is_ours)
        local size, length, from, count = read_header(bytes, at, to_server)
        if size == nil then return nil end
        if not size then return false, broken(state, bytes, at, good, length, at - 1 + from, count) end
        local first = byte(bytes, at)
        local opcode, fin = first % 16, first >= 0x80
        local rule, tail
        if opcode < CLOSE then rule = admit(state, opcode, length, is_ours and to_server) end
        if rule then return false, broken(state, bytes, at, good, rule, at - 1, size) end
        local most = #bytes
        local is_whole = at + size + length <= most + 1
        if opcode == TEXT or opcode == CLOSE or opcode == 0 and state.open and state.open.opcode == TEXT then
            local payload = sub(bytes, at + size, at + size + math.min(length, most) - 1)
            if to_server then payload = unmasked(payload, sub(bytes, at + size - 4, at + size - 1)) end
            rule, tail = payload_rule(state, payload, opcode, fin, is_whole)
            if rule then return false, broken(state, bytes, at, good, rule, at + size - 1, #payload) end
        end
        if not is_whole then return nil end
        at = at + size + length
        if opcode == CLOSE then return false, { good = good, from = at - 1, count = most + 1 - at } end
        if opcode < CLOSE then note_part(state, opcode, fin, length, tail) end
        return at, opcode < CLOSE and fin and length > 0
    end

    function judge_frames(state, bytes, to_server, is_ours)
        local at, good, most = 1, 0, #bytes
        -- Names of this function alone are the quickest.
        local look, lowest = byte, to_server and 0x80 or 0
        while at <= most do
            -- Most frames are whole, short and binary: of these nothing is left to judge.
            local first, second = look(bytes, at, at + 1)
            local length = (second or 0) - lowest
            local after = at + length + (to_server and 6 or 2)
            if first == 0x82 and second and length >= 0 and length <= 125 and after <= most + 1 and not state.open then
                at, state.is_midway = after, false
                if length > 0 then good = good + 1 end
            else
                local to, is_message = judge_frame(state, bytes, at, good, to_server, is_ours)
                if not to then return to == false and is_message or nil, false end
                at = to
                if is_message then good = good + 1 end
            end
        end
        return nil, true
    end
end

