-- ---- One message ---------------------------------------------------------------------------------------------------
-- A message is read once, by the types of its packet: what does not fit ends the walk with an error of a rule, and what
-- somebody looks at becomes an item of the tree. What nobody looks at costs no more than a look at its first byte.

local s, places, tvb -- The message as MessagePack, its places if it came as text, and the bytes as they came.
local values, most_values -- Values walked over so far, and the bound.
local verified -- Whether `check` has gone over the message.
local from_client -- Whether the message is one of a client.
local visible, wanted -- Whether the tree is shown; the fields that somebody asks for even so.
local trail = {} -- Names and places of the containers around the value.

local function range(from, to)
    local place = places and places[from]
    if place then return tvb(place.from - 1, place.to - place.from) end
    return tvb(from - 1, to - from)
end

-- Holds the whole message against the rules of MessagePack.
local function verify()
    if verified then return end
    verified = true
    local rule, at = check(s, most_values, from_client)
    if rule then error({ rule = rule, at = at }) end
end

local function ends_here(at)
    verify()
    error({ rule = "packet_truncated", at = at })
end

-- What a value is, in a word or two.
local function describe(at)
    local kind, _, length = token(s, at)
    if kind == "number" then return format("%.14g", (number(s, at)) or 0) end
    if kind == "array" or kind == "map" then return format("%s of %d", kind, length) end
    return kind == "str" and "text" or kind or "nothing"
end

local function wrong(kind, at, expected, found)
    local steps = {}
    for place, step in ipairs(trail) do steps[place] = step end
    steps[#steps + 1] = kind.name
    error({
        rule = "wrong_arguments",
        at = at,
        detail = format("%s should be %s, found %s", #steps > 0 and "argument " .. concat(steps, ".") or "the arguments",
            expected or kind.words, found or describe(at)),
    })
end

-- Reads one scalar: its value and the offset after it.
local READ = {}

function READ.int(kind, at)
    local value, to = number(s, at)
    if not value or value ~= floor(value) or value < kind.low or value > kind.high then wrong(kind, at) end
    return value, to
end

function READ.num(kind, at)
    local value, to = number(s, at)
    if not value or not is_finite(value) then wrong(kind, at) end
    return value, to
end

function READ.flag(kind, at)
    local first = byte(s, at)
    if first == 0xc2 or first == 0xc3 then return first == 0xc3, at + 1 end
    local value, to = number(s, at)
    if value ~= 0 and value ~= 1 then wrong(kind, at) end
    return value == 1, to
end
READ.bool = READ.flag

function READ.str(kind, at)
    local what, head, length = token(s, at)
    if what ~= "str" then wrong(kind, at) end
    local to = at + head + length
    local text = sub(s, at + head, to - 1)
    if to - 1 > #s then ends_here(at) end
    if not is_utf8(text) then text = from_client and typed_text(text) or ends_here(at) end
    return text, to
end

function READ.bin(kind, at)
    local what, head, length = token(s, at)
    if what ~= "bin" then wrong(kind, at) end
    if kind.most and length > kind.most then wrong(kind, at, format("at most %d", kind.most), format("%d", length)) end
    local to = at + head + length
    if to - 1 > #s then ends_here(at) end
    return sub(s, at + head, to - 1), to
end

function READ.any(_, at)
    verify()
    return describe(at), after(s, at)
end

-- A value as the Info column and the tree show it.
local function show(kind, value)
    if kind.degrees then
        local turns = floor(value * kind.degrees * 10 + 0.5) / 10
        return format("%.14g°", turns)
    end
    if kind.shape == "str" then
        if #value > 40 then value = sub(value, 1, 40) .. "…" end
        return '"' .. value:gsub("%c", ".") .. '"'
    end
    if kind.shape == "bin" then return #value == 1 and "1 byte" or #value .. " bytes" end
    if kind.px ~= 1 then return format("%.10g", value / kind.px) end
    if kind.shape == "flag" then return value and "1" or "0" end
    if type(value) == "number" then return format("%.14g", value) end
    return tostring(value)
end

local function add_scalar(kind, tree, from, to, value)
    local shown = value
    if kind.shape == "bin" then
        -- In JSON they stand there in another form.
        if places then return tree:add(kind.field, ByteArray.new(value, true):tvb(kind.name)()) end
        return tree:add(kind.field, range(to - #value, to))
    end
    if type(value) == "number" then
        shown = value / kind.px
    elseif type(value) == "boolean" and kind.as_number then
        shown = value and 1 or 0
    end
    local item = tree:add(kind.field, range(from, to), shown)
    if visible then
        if kind.shape == "bool" then
            item:set_text(kind.name .. ": " .. show(kind, value))
        elseif kind.degrees then
            item:append_text(" " .. kind.unit .. " = " .. show(kind, value))
        elseif kind.unit_text ~= "" then
            item:append_text(kind.unit_text)
        end
    end
end

-- Goes over one value of a group that nobody looks at.
local function skim(kind, at)
    local first = byte(s, at)
    if not first then ends_here(at) end
    if first == 0xc0 and kind.or_nil then return at + 1 end
    local read = READ[kind.shape]
    if not read then ends_here(at) end
    local _, to = read(kind, at)
    return to
end

-- Goes over the values of flat groups that nobody looks at: most of the bytes of most captures.
local function skim_groups(kind, at, count)
    local members, steps = kind.members, kind.steps
    local stride = #members
    -- Names of this function alone are the quickest, and this loop is where the time goes.
    local bytes, look = s, byte
    for group = 0, count / stride - 1 do
        for place = 1, stride do
            local step = steps[place][look(bytes, at)]
            if step then
                at = at + step
            elseif look(bytes, at) == 0xcb and members[place].shape == "num" and (look(bytes, at + 1) or 0) % 128 < 0x7f then
                at = at + 9
            else
                trail[#trail + 1] = group
                at = skim(members[place], at)
                trail[#trail] = nil
            end
        end
    end
    if at > #s + 1 then ends_here(#s + 1) end
    return at
end

local walk

local function walk_groups(kind, tree, at, count)
    local stride = #kind.members
    for group = 0, count / stride - 1 do
        local branch, begin, texts = tree, at, {}
        if visible then branch = tree:add(range(at, at + 1), "[" .. group .. "]") end
        trail[#trail + 1] = group
        for place, member in ipairs(kind.members) do
            local text
            at, text = walk(member, branch, at)
            texts[place] = member.name .. "=" .. text
        end
        trail[#trail] = nil
        if visible then
            branch:set_text(format("[%d] %s", group, concat(texts, " ")))
            if not places then branch:set_len(at - begin) end
        end
    end
    return at
end

local function walk_list(kind, tree, at, count)
    for place = 1, count do
        trail[#trail + 1] = place - 1
        at = walk(kind.each, tree, at)
        trail[#trail] = nil
    end
    return at
end

-- The value of a loose type as JavaScript converts it; nil for what it cannot convert. See PROTOCOL.md.
function READ.loose(kind, at)
    local what, head, length = token(s, at)
    local value = number(s, at)
    local text = what == "str" and sub(s, at + head, at + head + length - 1)
    if kind.shape == "flag" or kind.shape == "bool" then
        if what == "nil" then return false end
        if what == "bool" then return byte(s, at) == 0xc3 end
        if what == "number" then return value ~= 0 and value == value end
        return text ~= ""
    elseif kind.shape == "num" then
        return value and is_finite(value) and value or nil
    elseif kind.shape == "int" then
        if what == "bool" then value = byte(s, at) - 0xc2 end
        if text and (text == "0" or find(text, "^[1-9]%d*$")) then value = tonumber(text) end
        return value and value == floor(value) and value >= kind.low and value <= kind.high and value or nil
    elseif what == "str" then
        return typed_text(text)
    elseif what == "bool" then
        return byte(s, at) == 0xc3 and "true" or "false"
    end
    local is_whole = value and value == floor(value) and math.abs(value) <= (byte(s, at) < 0xcc and byte(s, at) > 0xc9 and 2 ^ 53 or 2 ^ 63 - 1025)
    return is_whole and format("%.0f", value) or nil
end

-- Values of a packet, or of a packet within an argument: in the order of their names. A list without values goes without
-- saying.
local function walk_members(members, tree, at, count)
    local texts = {}
    for place, member in ipairs(members) do
        if place <= count then
            local text, is_list
            at, text, is_list = walk(member, tree, at)
            if not is_list then
                texts[#texts + 1] = member.name .. "=" .. text
            elseif text ~= "×0" then
                texts[#texts + 1] = member.name .. text
            end
        elseif not member.or_nil and not (member.is_loose and READ[member.shape] == READ.flag) then
            wrong(member, math.min(at, #s), nil, "nothing")
        end
    end
    if count > #members then
        verify()
        for _ = #members + 1, count do at = after(s, at) end
    end
    return at, concat(texts, " ")
end

local function walk_map(members, tree, at, pairs_left)
    verify()
    local found, texts = {}, {}
    for _ = 1, pairs_left do
        local key, key_end = READ.str({ words = "str" }, at)
        at = key_end
        for _, member in ipairs(members) do
            if member.name == key then found[key] = at end
        end
        at = after(s, at)
    end
    for _, member in ipairs(members) do
        if found[member.name] then
            local _, text, is_list = walk(member, tree, found[member.name])
            texts[#texts + 1] = member.name .. (is_list and "" or "=") .. text
        elseif not member.or_nil then
            wrong(member, 1, nil, "nothing")
        end
    end
    return at, concat(texts, " ")
end

local function count_values(count)
    values = values + count
    if values > most_values then verify() end
end

-- An array or a map by its type: the offset after it, and its text.
local function walk_container(kind, tree, at)
    local what, head, length = token(s, at)
    if what ~= (kind.shape == "map" and "map" or "array") then wrong(kind, at) end
    count_values(length)
    local stride = kind.shape == "groups" and #kind.members or 1
    if length % stride ~= 0 then
        wrong(kind, at, "groups of " .. stride, length == 1 and "1 value" or format("%d values", length))
    end
    local count = length / stride
    if kind.most and count > kind.most then wrong(kind, at, format("at most %d", kind.most), format("%d", count)) end
    local begin, branch, text = at, tree, format("×%d", count)
    if kind.field and visible then
        branch = tree:add(kind.field, range(at, at + head), count, format("%s: %d", kind.name, count))
    elseif kind.field and wanted[kind.field] then
        tree:add(kind.field, range(at, at + head), count)
    elseif visible then
        branch = tree:add(range(at, at + head), kind.name or "[]")
    end
    trail[#trail + 1] = kind.name
    at = at + head
    if kind.shape == "groups" then
        at = (visible or wanted.any) and walk_groups(kind, branch, at, length) or skim_groups(kind, at, length)
    elseif kind.shape == "list" then
        at = walk_list(kind, branch, at, length)
    else
        local inside
        at, inside = (kind.shape == "map" and walk_map or walk_members)(kind.members, branch, at, length)
        text = "{" .. inside .. "}"
    end
    trail[#trail] = nil
    if visible and not places then branch:set_len(at - begin) end
    return at, text, kind.field ~= nil
end

-- Any value by its type: the offset after it, its text, and whether that is the length of a list.
function walk(kind, tree, at)
    local first = byte(s, at)
    if not first then ends_here(at) end
    local is_nil = first == 0xc0 and kind.or_nil
    local read, value, to = READ[kind.shape], nil, nil
    if kind.is_loose and not is_nil then
        verify()
        to = after(s, at)
        if read then value = READ.loose(kind, at) end
        local is_lost = value == nil and (read or token(s, at) ~= (kind.shape == "map" and "map" or "array"))
        if is_lost and not kind.or_nil then wrong(kind, at) end
        is_nil = is_lost
    end
    if is_nil or kind.or_zero and number(s, at) == 0 then
        to = to or select(2, number(s, at)) or at + 1
        local text = is_nil and "nil" or "0"
        if visible or wanted[F.absent] then
            tree:add(F.absent, range(at, to), kind.name, kind.name .. ": " .. text)
        end
        return to, text
    end
    if not read then return walk_container(kind, tree, at) end
    if value == nil then value, to = read(kind, at) end
    if visible or wanted[kind.field] then add_scalar(kind, tree, at, to, value) end
    return to, show(kind, value)
end

-- Whether a number is whole and fits 64 bits with a sign. The greatest integers of all are rounded up as Lua reads them.
local function is_code(number, at)
    local head, first = byte(s, at, at + 1)
    local is_signed = head == 0xd3 or head == 0xcf and first < 0x80
    return number == floor(number) and (is_signed or number >= -2 ^ 63 and number < 2 ^ 63)
end

-- Code and packet of an envelope: the packet (nil if the dialect lacks it), the code as text, where the arguments begin,
-- how many parts there are, and where the code begins.
local function open_envelope(side)
    local what, head, parts = token(s, 1)
    if what ~= "array" or parts == 0 then
        verify()
        error({ rule = "packet_envelope", at = 1 })
    end
    local at = 1 + head
    local code, to = number(s, at)
    if not code and token(s, at) == "str" then code, to = READ.str({ words = "str" }, at) end
    if not code or type(code) == "number" and not is_code(code, at) then
        verify()
        error({ rule = "packet_envelope", at = 1 })
    end
    local packet = side.by_code[code] or places and side.by_name[code] or nil
    return packet, type(code) == "number" and format("%.0f", code) or code, to, parts, at
end

-- The arguments of a packet, down to the end of the message; their text.
local function read_arguments(packet, tree, at, parts)
    local text = ""
    if parts > 2 then verify() end
    if parts >= 2 then
        local what, head, length = token(s, at)
        if what == "array" then
            count_values(length)
            at, text = walk_members(packet.arguments, tree, at + head, length)
        elseif what == "nil" then
            at = walk_members(packet.arguments, tree, at, 0) + 1
        else
            wrong({}, at, "an array")
        end
    else
        walk_members(packet.arguments, tree, at, 0)
    end
    for _ = 3, parts do at = after(s, at) end
    if at ~= #s + 1 then verify() end
    return text
end

-- Counts from the front of the message that was taken.
local function begin()
    values, verified = 3, false
    if trail[1] then trail = {} end
end

-- Opcodes of the frames that messages begin with.
local TEXT, BINARY = 1, 2

-- Whether a message of which nobody knows how it came looks like JSON: no packet in MessagePack begins so.
local function looks_like_text(bytes)
    local first = byte(bytes, 1)
    return first == 0x5b or first == 0x7b or first == 0x20 or first == 0x0a or first == 0x22
end

-- Makes a message the one that is read, as JSON or as MessagePack by its opcode, where that is known. A text that is no JSON gives
-- its rule and where.
local function take(bytes, view, opcode)
    s, places, tvb = bytes, nil, view
    begin()
    most_values = CLIENT_PACKET_VALUES
    if opcode == TEXT or not opcode and looks_like_text(bytes) then
        local found, rule, where = from_json(bytes, most_values)
        if not found then return { rule = rule, at = where } end
        s, places = found, rule
    end
end

local NOTHING = {}

-- Reads the message that was taken. Gives packet, code, text, and what is wrong: rule, where, detail.
local function read(side, on_envelope)
    visible, wanted = false, NOTHING
    if places and places.has_half and not from_client then
        return nil, nil, nil, { rule = "packet_invalid_utf8", at = 1 }
    end
    local packet, code, text
    local ok, problem = pcall(function()
        local at, parts, from
        packet, code, at, parts, from = open_envelope(side)
        local tree = on_envelope(packet, code, from, at)
        if packet then
            text = read_arguments(packet, tree, at, parts)
        else
            verify()
            error({ rule = "unknown_code", at = 1, detail = format("no packet has the code %q in this direction", code) })
        end
    end)
    if ok then return packet, code, text end
    if type(problem) ~= "table" then problem = { rule = "dissector_error", at = 1, detail = tostring(problem) } end
    -- What does not fit its type is judged after what is no MessagePack, as the server does.
    if not verified then
        local rule, at = check(s, most_values, from_client)
        if rule then problem = { rule = rule, at = at } end
    end
    return packet, code, text, problem
end

