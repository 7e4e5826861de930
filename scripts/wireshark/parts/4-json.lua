-- ---- JSON ----------------------------------------------------------------------------------------------------------
-- A text message becomes the MessagePack that says the same, so that one walk reads both. `places` says for each value
-- of it where it stands in the text.

local from_json
do -- A Lua file has room for 200 names: those of this part end with it. So that lines stay, they are not indented.
local ESCAPES = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", ['"'] = '"', ["\\"] = "\\", ["/"] = "/" }

-- A code point as UTF-8.
local function utf8(point)
    if point < 0x80 then return string.char(point) end
    if point < 0x800 then return string.char(0xc0 + floor(point / 64), 0x80 + point % 64) end
    local low = string.char(0x80 + floor(point / 64) % 64, 0x80 + point % 64)
    if point < 0x10000 then return string.char(0xe0 + floor(point / 4096)) .. low end
    return string.char(0xf0 + floor(point / 262144), 0x80 + floor(point / 4096) % 64) .. low
end

-- Depth and count, before anything is read: the same bounds as for MessagePack.
local function survey(text, most)
    local depth, commas = 0, 0
    local at, in_string = 1, false
    while true do
        local place = find(text, in_string and '["\\]' or '["%[%]{},]', at)
        if not place then return nil end
        local sign = sub(text, place, place)
        at = place + 1
        if sign == '"' then
            in_string = not in_string
        elseif sign == "\\" then
            at = place + 2
        elseif sign == "[" or sign == "{" then
            depth = depth + 1
        elseif sign == "," then
            commas = commas + 1
        else
            depth = math.max(depth - 1, 0)
        end
        if depth > PACKET_DEPTH then return "packet_too_deep", place end
        if commas > most then return "packet_too_many_values", place end
    end
end

local function bad_json(at)
    error({ rule = "packet_bad_json", at = at })
end

-- The text of a string whose first quote stands at `at`, the offset after its last one, and whether it has half a surrogate pair.
local function json_string(text, at)
    local parts, has_half = {}, false
    at = at + 1
    while true do
        local last = find(text, '["\\%c]', at)
        if not last then bad_json(#text + 1) end
        parts[#parts + 1] = sub(text, at, last - 1)
        local sign = sub(text, last, last)
        if sign == '"' then return concat(parts), last + 1, has_half end
        local escape = sub(text, last + 1, last + 1)
        local high = match(text, "^\\u(%x%x%x%x)", last)
        local low = match(text, "^\\u%x%x%x%x\\u(%x%x%x%x)", last)
        local point = high and tonumber(high, 16)
        at = last + 6
        if sign == "\\" and ESCAPES[escape] then
            parts[#parts + 1] = ESCAPES[escape]
            at = last + 2
        elseif sign ~= "\\" and sign ~= "\127" or not point then
            if sign ~= "\127" then bad_json(last) end
            parts[#parts + 1] = sign
            at = last + 1
        elseif point < 0xd800 or point > 0xdfff then
            parts[#parts + 1] = utf8(point)
        else
            local second = low and tonumber(low, 16) or 0
            local is_pair = point < 0xdc00 and second > 0xdbff and second < 0xe000
            has_half = has_half or not is_pair
            parts[#parts + 1] = utf8(is_pair and 0x10000 + (point - 0xd800) * 1024 + second - 0xdc00 or 0xfffd)
            at = is_pair and last + 12 or at
        end
    end
end

local WORDS = { ["null"] = "\192", ["false"] = "\194", ["true"] = "\195" }

-- Appends the value that begins at `at` to `out`; the offset after it.
local function json_value(text, at, out, places)
    at = find(text, "[^ \t\r\n]", at) or bad_json(#text + 1)
    local place = { from = at }
    places[out.length + 1] = place
    local function put(bytes)
        out[#out + 1] = bytes
        out.length = out.length + #bytes
    end
    local sign = sub(text, at, at)
    local word = match(text, "^%l+", at)
    local digits = match(text, "^%-?%d+%.?%d*[eE]?[+-]?%d*", at)
    if sign == "[" or sign == "{" then
        at = out.container(text, at, out, places, sign == "{", put)
    elseif sign == '"' then
        local content, has_half
        content, at, has_half = json_string(text, at)
        -- Of a client, within its arguments, it is what a person typed.
        if has_half and out.depth > 1 and not out.is_key then
            places.has_half = true
        elseif has_half then
            places.broken = places.broken or place.from
        end
        put("\219" .. Struct.pack(">I4", #content) .. content)
    elseif word and WORDS[word] then
        put(WORDS[word])
        at = at + #word
    elseif digits and tonumber(digits) and not match(digits, "^%-?0%d") and not match(digits, "%.$")
        and not match(digits, "%.[eE]") and math.abs(tonumber(digits)) < math.huge then
        -- The greatest integers with a sign would be rounded up to one that is too great.
        local is_greatest = tonumber(digits) == 2 ^ 63 and #digits == 19 and digits < "9223372036854775808"
        put(is_greatest and "\207\127" .. string.rep("\255", 7) or "\203" .. Struct.pack(">d", tonumber(digits)))
        at = at + #digits
    else
        bad_json(at)
    end
    place.to = at
    return at
end

-- Patterns of the whole text of base64. The last digit before the padding has no bits beyond the last byte.
local BASE64 = { "^[%w+/]*$", "^[%w+/]*[%w+/][AEIMQUYcgkosw048]=$", "^[%w+/]*[%w+/][AQgw]==$" }

-- The bytes of a text in base64; nil where it is none, as the server's decoder judges.
local function decode_base64(text)
    if #text % 4 ~= 0 then return nil end
    for _, pattern in ipairs(BASE64) do
        if find(text, pattern) then return text == "" and "" or ByteArray.new(text, true):base64_decode():raw() end
    end
    return nil
end

-- Appends an array or a map. Its head is written first with room for any count, and filled in at the end.
local function json_container(text, at, out, places, is_map, put)
    local slot = #out + 1
    put("\0\0\0\0\0")
    out.depth = out.depth + 1
    local count, close = 0, is_map and "^[ \t\r\n]*}()" or "^[ \t\r\n]*%]()"
    at = at + 1
    local ended = match(text, close, at)
    local keys = {}
    while not ended do
        if is_map then
            at = find(text, '^"', find(text, "[^ \t\r\n]", at) or at) or bad_json(at)
            local key, key_end = json_string(text, at)
            places.has_duplicate, keys[key] = places.has_duplicate or keys[key], true
            out.is_key = true
            json_value(text, at, out, places)
            out.is_key = false
            at = match(text, "^[ \t\r\n]*:()", key_end) or bad_json(key_end)
        end
        at = json_value(text, at, out, places)
        count = count + 1
        ended = match(text, close, at)
        if not ended then at = match(text, "^[ \t\r\n]*,()", at) or bad_json(at) end
    end
    out.depth = out.depth - 1
    -- Bytes, which JSON has no form for, are an object with this one key.
    local text_of = count == 1 and keys.base64 and #out == slot + 2 and match(out[slot + 2], "^\219....(.*)$")
    local bytes = text_of and decode_base64(text_of)
    if bytes then
        out.length = out.length - 5 - #out[slot + 1] - #out[slot + 2]
        out[slot], out[slot + 1], out[slot + 2] = nil, nil, nil
        put("\198" .. Struct.pack(">I4", #bytes) .. bytes)
        return ended
    end
    out[slot] = (is_map and "\223" or "\221") .. Struct.pack(">I4", count)
    return ended
end

-- MessagePack and places of a text; or nil, a rule and where.
function from_json(text, most)
    local rule, where = survey(text, most)
    if rule then return nil, rule, where end
    local out, places = { length = 0, depth = 0, container = json_container }, {}
    local ok, after_it = pcall(json_value, text, 1, out, places)
    if ok and find(text, "[^ \t\r\n]", after_it) then
        ok, after_it = false, { rule = "packet_bad_json", at = find(text, "[^ \t\r\n]", after_it) }
    end
    if not ok and type(after_it) == "table" then return nil, after_it.rule, after_it.at end
    -- What is no JSON at all is said first, as the server does.
    if ok and places.broken then return nil, "packet_invalid_utf8", places.broken end
    if ok and places.has_duplicate then return nil, "packet_duplicate_key", 1 end
    if not ok then error(after_it, 0) end
    return concat(out), places
end
end

