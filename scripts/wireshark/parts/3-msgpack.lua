-- ---- MessagePack ---------------------------------------------------------------------------------------------------
-- Offsets in this file count from 1, as Lua's strings do. Only what a person sees counts from 0.

-- What a first byte begins. `head` is the length of the first byte and its length field.
local KIND, HEAD, WIDTH = {}, {}, {}
do -- A Lua file has room for 200 names: this one ends here.
local function heads(from, to, kind, head, width)
    for first = from, to do
        KIND[first], HEAD[first], WIDTH[first] = kind, head, width
    end
end
heads(0x00, 0x7f, "number", 1, 0)
heads(0x80, 0x8f, "map", 1)
heads(0x90, 0x9f, "array", 1)
heads(0xa0, 0xbf, "str", 1)
heads(0xc0, 0xc0, "nil", 1, 0)
heads(0xc1, 0xc1, "reserved", 1, 0)
heads(0xc2, 0xc3, "bool", 1, 0)
heads(0xc7, 0xc9, "ext", 1, 0)
heads(0xca, 0xca, "number", 1, 4)
heads(0xcb, 0xcb, "number", 1, 8)
heads(0xd4, 0xd8, "ext", 1, 0)
heads(0xe0, 0xff, "number", 1, 0)
for size = 0, 3 do
    heads(0xcc + size, 0xcc + size, "number", 1, 2 ^ size)
    heads(0xd0 + size, 0xd0 + size, "number", 1, 2 ^ size)
end
for size = 0, 2 do
    heads(0xc4 + size, 0xc4 + size, "bin", 1 + 2 ^ size)
    heads(0xd9 + size, 0xd9 + size, "str", 1 + 2 ^ size)
end
for size = 0, 1 do
    heads(0xdc + size, 0xdc + size, "array", 1 + 2 * 2 ^ size)
    heads(0xde + size, 0xde + size, "map", 1 + 2 * 2 ^ size)
end
end

-- An unsigned number of `size` bytes, most significant first; nil where the bytes end before.
local function unsigned(s, at, size)
    local value = 0
    for place = at, at + size - 1 do
        local part = byte(s, place)
        if not part then return nil end
        value = value * 256 + part
    end
    return value
end

-- Kind, length of the head, and bytes (or values, or pairs) after it; nil where the head is not all there.
local function token(s, at)
    local first = byte(s, at)
    if not first then return nil end
    local head = HEAD[first]
    if WIDTH[first] then return KIND[first], head, WIDTH[first] end
    if head > 1 then
        local length = unsigned(s, at + 1, head - 1)
        if not length then return nil end
        return KIND[first], head, length
    end
    return KIND[first], 1, first < 0xa0 and first % 16 or first - 0xa0
end

-- The number that begins here and the offset after it; nil where there is none.
local function number(s, at)
    local first = byte(s, at)
    if not first then return nil end
    if first < 0x80 then return first, at + 1 end
    if first >= 0xe0 then return first - 256, at + 1 end
    if KIND[first] ~= "number" then return nil end
    local size = WIDTH[first]
    if at + size > #s then return nil end
    if first == 0xcb then return Struct.unpack(">d", s, at + 1), at + 9 end
    if first == 0xca then return Struct.unpack(">f", s, at + 1), at + 5 end
    local value = unsigned(s, at + 1, size)
    if first >= 0xd0 and value >= 2 ^ (8 * size - 1) then value = value - 2 ^ (8 * size) end
    return value, at + 1 + size
end

local function is_finite(value)
    return value == value and value ~= math.huge and value ~= -math.huge
end

-- Shapes of one character of more than a byte: first byte, and the second byte where it is not any of 80 to bf.
local is_utf8
do
local UTF8 = {
    "^[\194-\223][\128-\191]",
    "^\224[\160-\191][\128-\191]",
    "^[\225-\236\238\239][\128-\191][\128-\191]",
    "^\237[\128-\159][\128-\191]",
    "^\240[\144-\191][\128-\191][\128-\191]",
    "^[\241-\243][\128-\191][\128-\191][\128-\191]",
    "^\244[\128-\143][\128-\191][\128-\191]",
}

function is_utf8(text)
    local at = find(text, "[\128-\255]")
    while at do
        local last
        for _, shape in ipairs(UTF8) do
            local _, found = find(text, shape, at)
            last = last or found
        end
        if not last then return false end
        at = find(text, "[\128-\255]", last + 1)
    end
    return true
end
end

-- Text that a person typed: surrogates of three bytes each become the character that they stand for, and half a pair becomes U+FFFD.
-- Nil for any other text that is not UTF-8.
local function typed_text(text)
    local parts, at = {}, 1
    local from = find(text, "\237[\160-\191][\128-\191]")
    while from do
        parts[#parts + 1] = sub(text, at, from - 1)
        local _, second, third, lead, fifth, sixth = byte(text, from, from + 5)
        local is_pair = second < 176 and lead == 237 and fifth and fifth > 175 and fifth < 192 and sixth and sixth > 127 and sixth < 192
        local point = is_pair and 0x10000 + (second % 16) * 65536 + third % 64 * 1024 + fifth % 16 * 64 + sixth % 64
        parts[#parts + 1] = point and string.char(0xf0 + floor(point / 262144), 0x80 + floor(point / 4096) % 64,
            0x80 + floor(point / 64) % 64, 0x80 + point % 64) or "\239\191\189"
        at = from + (is_pair and 6 or 3)
        from = find(text, "\237[\160-\191][\128-\191]", at)
    end
    text = concat(parts) .. sub(text, at)
    return is_utf8(text) and text or nil
end

-- The rule that a scalar's content breaks, if it does.
local function content_rule(s, at, kind, head, length, may_be_typed)
    if length > #s - at - head + 1 then
        return kind == "number" and "packet_truncated" or "packet_declared_size"
    end
    if kind == "str" then
        local text = sub(s, at + head, at + head + length - 1)
        if not is_utf8(text) and not (may_be_typed and typed_text(text)) then return "packet_invalid_utf8" end
    end
end

-- The rule that a key breaks, if it does. `keys` are those before it in the same map.
local function key_rule(s, at, kind, head, length, keys)
    if kind ~= "str" then return "packet_key_not_text" end
    local rule = content_rule(s, at, kind, head, length)
    if rule then return rule end
    local key = sub(s, at + head, at + head + length - 1)
    if keys[key] then return "packet_duplicate_key" end
    keys[key] = true
end

-- Whether the bytes are one well-formed value within the bounds: nil, or the rule and where (from 1). In the order of the
-- server's own check, so that of two broken rules both name the same one. Within the arguments of a client is typed text.
local function check(s, most, from_client)
    local open, at, values = {}, 1, 0
    repeat
        local kind, head, length = token(s, at)
        if not kind then return "packet_truncated", at end
        if kind == "reserved" then return "packet_reserved_byte", at end
        if kind == "ext" then return "packet_ext_type", at end
        values = values + 1
        if values > most then return "packet_too_many_values", at end
        local parent, rule = open[#open]
        if parent then
            parent.left = parent.left - 1
            if parent.keys and parent.left % 2 == 1 then
                rule = key_rule(s, at, kind, head, length, parent.keys)
            end
        end
        if not rule and (kind == "array" or kind == "map") then
            local left = kind == "map" and 2 * length or length
            if #open >= PACKET_DEPTH then
                rule = "packet_too_deep"
            elseif left > #s - at - head + 1 then
                rule = "packet_declared_size"
            end
            open[#open + 1] = { left = left, keys = kind == "map" and {} or nil }
            length = 0
        end
        rule = rule or content_rule(s, at, kind, head, length, from_client and #open > 1)
        if rule then return rule, at end
        at = at + head + length
        while #open > 0 and open[#open].left == 0 do open[#open] = nil end
    until #open == 0
    if at <= #s then return "packet_trailing_bytes", at end
end

-- The offset after the value that begins here. Only for bytes that `check` has gone over.
local function after(s, at)
    local left = 1
    while left > 0 do
        local kind, head, length = token(s, at)
        left = left - 1
        at = at + head
        if kind == "array" then
            left = left + length
        elseif kind == "map" then
            left = left + 2 * length
        else
            at = at + length
        end
    end
    return at
end

