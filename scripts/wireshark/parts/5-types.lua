-- ---- Types and fields ----------------------------------------------------------------------------------------------
-- The arguments of the table, read as PROTOCOL.md defines them, and a Wireshark field for each.

local tickwire = Proto("tickwire", "tickwire packets")

-- Lowest and highest value of each width.
local WIDTHS = {
    u8 = { 0, 255 }, u16 = { 0, 65535 }, u32 = { 0, 4294967295 },
    i8 = { -128, 127 }, i16 = { -32768, 32767 }, i32 = { -2147483648, 2147483647 },
}
-- Units whose numbers are shown in pixels: how many of them make one.
local PARTS_PER_PX = { hpx = 2, fix4 = 16, fix16 = 65536 }
-- Units whose numbers are shown as they are, with degrees beside them.
local DEGREES = { rad = 180 / math.pi, turn16 = 360 / 65536, turn8 = 360 / 256 }
local UNIT_TEXT = { px = " px", hpx = " px", fix4 = " px", fix16 = " px", ms = " ms", s = " s", hz = " Hz", px_per_ms = " px/ms" }

local parse_type

-- Arguments between here and the closing sign of `text`, and the offset after it.
local function parse_members(text, at, close)
    local members = {}
    repeat
        local name, from = match(text, "^([a-z][a-z0-9_]*):()", at)
        local kind
        kind, at = parse_type(text, from)
        kind.name = name
        members[#members + 1] = kind
        local sign = sub(text, at, at)
        at = at + 1
    until sign == close
    return members, at
end

-- A type without what may stand in its place, and the offset after it.
local function parse_shape(text, at)
    local sign = sub(text, at, at)
    if sign == "{" then
        local members, to = parse_members(text, at + 1, "}")
        return { shape = "map", members = members }, to
    elseif sign == "(" then
        local members, to = parse_members(text, at + 1, ")")
        return { shape = "tuple", members = members }, to
    elseif sign == "[" and find(text, "^[a-z][a-z0-9_]*:", at + 1) then
        local members, to = parse_members(text, at + 1, "]")
        return { shape = "groups", members = members }, to
    elseif sign == "[" then
        local each, to = parse_type(text, at + 1)
        return { shape = "list", each = each }, to + 1
    end
    local word, to = match(text, "^([a-z]+%d*)()", at)
    local unit, behind = match(text, "^%.([a-z0-9_]+)()", to)
    local kind = { shape = WIDTHS[word] and "int" or word, unit = unit }
    if WIDTHS[word] then kind.low, kind.high = WIDTHS[word][1], WIDTHS[word][2] end
    return kind, behind or to
end

function parse_type(text, at)
    local kind, to = parse_shape(text, at)
    local most, behind = match(text, "^<=(%d+)()", to)
    if most then
        kind.most, to = tonumber(most), behind
        if kind.shape == "int" then kind.high = kind.most end
    end
    local word, behind_word = match(text, "^|(%w+)()", to)
    while word do
        kind.or_zero, kind.or_nil = kind.or_zero or word == "0", kind.or_nil or word == "nil"
        kind.is_loose, to = kind.is_loose or word == "loose", behind_word
        word, behind_word = match(text, "^|(%w+)()", to)
    end
    kind.words = sub(text, at, to - 1)
    return kind, to
end

-- What one of a list is called: players hold a player.
local function singular(name)
    if name == "leaves" then return "leaf" end
    return match(name, "^(.*[^s])s$") or name
end

-- Which kind of field a type needs, and the narrowest that two of them share.
local function field_kind(kind)
    if kind.shape == "str" or kind.shape == "any" then return "string" end
    if kind.shape == "bool" or kind.shape == "bin" then return kind.shape end
    if kind.shape == "flag" then return "uint" end
    if kind.shape == "num" or PARTS_PER_PX[kind.unit] then return "float" end
    return kind.low < 0 and "int" or "uint"
end
local ORDER = { bool = 1, uint = 2, int = 3, float = 4 }

-- The kind that holds the values of both. Text gives way to numbers; a sign and 32 bits together fit a float only.
local function widest(one, other)
    if one ~= other and ORDER[one] and ORDER[other] and ORDER[one] + ORDER[other] == 5 then return "float" end
    return (ORDER[one] or 0) > (ORDER[other] or 0) and one or other
end
local MAKE = {
    string = ProtoField.string, bin = ProtoField.bytes, bool = ProtoField.bool, uint = ProtoField.uint32, int = ProtoField.int32,
    float = ProtoField.double,
}

-- Names that belong to the packet itself. An argument of such a name is `tickwire.PACKET.NAME`.
local OWN_NAMES = { packet = 1, code = 1, direction = 1, dialect = 1, length = 1, rule = 1, absent = 1, world = 1 }

-- What the fields will be: by name, the kind that all who share it can use.
local wanted_fields = {}

-- Notes a leaf under its name; text and numbers cannot share one.
local function want_field(kind, name, packet)
    local own = "tickwire." .. name
    local this = field_kind(kind)
    local is_plain = this == "string" or this == "bin"
    if OWN_NAMES[name] or is_plain and (wanted_fields[own] or this) ~= this then
        own = "tickwire." .. packet .. "." .. name
    end
    wanted_fields[own] = widest(wanted_fields[own] or this, this)
    kind.field_name = own
end

-- Names every leaf below a type. `path` is what it is called so far.
local function name_fields(kind, path, packet)
    if kind.shape == "groups" then
        for _, member in ipairs(kind.members) do
            name_fields(member, singular(path) .. "." .. member.name, packet)
        end
    elseif kind.shape == "list" then
        name_fields(kind.each, singular(path), packet)
    elseif kind.members then
        for _, member in ipairs(kind.members) do name_fields(member, path .. "." .. member.name, packet) end
    else
        want_field(kind, path, packet)
    end
    if kind.shape == "groups" or kind.shape == "list" then
        kind.field_name = "tickwire." .. path .. ".count"
        wanted_fields[kind.field_name] = "uint"
    end
end

local F = {
    packet = ProtoField.string("tickwire.packet", "Packet"),
    code = ProtoField.string("tickwire.code", "Code"),
    direction = ProtoField.string("tickwire.direction", "Direction"),
    dialect = ProtoField.string("tickwire.dialect", "Dialect"),
    guess = ProtoField.string("tickwire.dialect.guess", "Dialect"),
    length = ProtoField.uint32("tickwire.length", "Length"),
    rule = ProtoField.string("tickwire.rule", "Broken rule"),
    address = ProtoField.string("tickwire.rule.address", "Defined in"),
    answer = ProtoField.string("tickwire.rule.answer", "Response"),
    not_read = ProtoField.uint32("tickwire.not_read", "Bytes not read"),
    absent = ProtoField.string("tickwire.absent", "Nil"),
}
local all_fields = {}
for _, field in pairs(F) do all_fields[#all_fields + 1] = field end

-- Every dialect: by direction, its packets by code and by name.
local DIALECTS = {}

-- Adds `lane_request` and `lane_offer` to each dialect with `hello`, unless its table uses their code.
local function add_lane_packets(packets)
    for line in string.gmatch(TABLES.lane, "[^\n]+") do
        local direction, name, code, arguments = match(line, "^(%S+)\t(%S+)\t(%d+)\t(.*)$")
        local packet = { name = name, arguments = arguments == "-" and {} or parse_members(arguments, 1, "") }
        packets[#packets + 1] = packet
        for _, dialect in pairs(DIALECTS) do
            local side = dialect[direction]
            local is_free = not side.by_code[tonumber(code)] and not side.by_name[name]
            if dialect.to_server.by_name.hello and is_free then
                side.by_code[tonumber(code)], side.by_name[name] = packet, packet
            end
        end
    end
end

-- A row of the table to a packet that all of its dialects share.
local function read_row(line, dialects)
    local cells = {}
    for cell in string.gmatch(line, "[^\t]+") do cells[#cells + 1] = cell end
    local text = cells[#cells]
    local packet = { name = cells[2], arguments = {} }
    if text ~= "-" then packet.arguments = parse_members(text, 1, "") end
    for place, dialect in ipairs(dialects) do
        local code = cells[place + 2]
        if code ~= "-" then
            local side = DIALECTS[dialect.name][cells[1]]
            side.by_code[dialect.kind == "int" and tonumber(code) or code] = packet
            side.by_name[packet.name] = packet
        end
    end
    return packet
end

local function read_tables()
    local packets, names = {}, {}
    TABLES.dialects = names
    for _, text in ipairs(TABLES) do
        local dialects
        for line in string.gmatch(text, "[^\n]+") do
            if dialects then
                packets[#packets + 1] = read_row(line, dialects)
            else
                dialects = {}
                for name, kind in string.gmatch(line, "([a-z0-9-]+):(%a+)") do
                    dialects[#dialects + 1] = { name = name, kind = kind }
                    names[#names + 1] = name
                    DIALECTS[name] = {
                        to_server = { by_code = {}, by_name = {} }, to_client = { by_code = {}, by_name = {} },
                    }
                end
            end
        end
    end
    add_lane_packets(packets)
    return packets
end

-- Numbers are named before text, so that it is text that makes way.
local function make_fields(packets)
    for _ = 1, 2 do
        for _, packet in ipairs(packets) do
            for _, kind in ipairs(packet.arguments) do name_fields(kind, kind.name, packet.name) end
        end
    end
    local made = {}
    for name, kind in pairs(wanted_fields) do
        local label = match(name, "([^.]+)%.count$") or match(name, "[^.]+$")
        made[name] = MAKE[kind](name, label)
        all_fields[#all_fields + 1] = made[name]
    end
    tickwire.fields = all_fields
    return made
end

-- How far the next value is, by its first byte, where that byte alone says that the value fits the type. For what is not
-- in it somebody has to look: at text, and at floats, which may be no finite number.
local function strides(kind)
    local steps = {}
    local function allow(from, to, step)
        for first = from, to do steps[first] = step end
    end
    local low, high = kind.low, kind.high
    if kind.shape == "num" then
        low, high = -math.huge, math.huge
    elseif kind.shape == "flag" or kind.shape == "bool" then
        low, high = 0, 1
        allow(0xc2, 0xc3, 1)
    end
    if low then
        allow(0, math.min(high, 0x7f), 1)
        allow(math.max(256 + low, 0xe0), 0xff, 1)
        for size = 0, 2 do
            local bits = 8 * 2 ^ size
            if high >= 2 ^ bits - 1 then steps[0xcc + size] = 1 + 2 ^ size end
            if low <= -2 ^ (bits - 1) and high >= 2 ^ (bits - 1) - 1 then steps[0xd0 + size] = 1 + 2 ^ size end
        end
    end
    if kind.or_nil then steps[0xc0] = 1 end
    return steps
end

-- Hands each type its field, and each packet the list of fields that it can show.
local function hand_out(kind, made, list)
    kind.field = made[kind.field_name]
    kind.as_number = wanted_fields[kind.field_name] ~= "bool"
    kind.px = PARTS_PER_PX[kind.unit] or 1
    kind.degrees = DEGREES[kind.unit]
    kind.unit_text = UNIT_TEXT[kind.unit] or ""
    if kind.field then list[#list + 1] = kind.field end
    for place, member in ipairs(kind.members or {}) do
        hand_out(member, made, list)
        kind.steps = kind.steps or {}
        kind.steps[place] = strides(member)
    end
    if kind.each then hand_out(kind.each, made, list) end
end

local PACKETS = read_tables()
do
    local made = make_fields(PACKETS)
    for _, packet in ipairs(PACKETS) do
        packet.fields = { F.absent }
        for _, kind in ipairs(packet.arguments) do hand_out(kind, made, packet.fields) end
    end
end

