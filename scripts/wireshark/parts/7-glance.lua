-- ---- At a glance ---------------------------------------------------------------------------------------------------
-- A summary wants one line of a packet and nothing else. Most packets are numbers, and lists of groups of numbers: regular
-- expressions go over these, many groups at a time, where Wireshark has them (since 4.0). Comes in: the message that was
-- taken. Goes out: its packet and its line, the same as the walk gives. Never: a judgement. What does not fit, and what has
-- another shape than most, is left to the walk.

local glance_envelope, glance
do -- As in the part on JSON: names of this part alone.
local REGEX = rex_pcre2 and rex_pcre2.new and rex_pcre2.flags and rex_pcre2
local REGEX_FLAGS = REGEX and REGEX.flags().ANCHORED + REGEX.flags().DOTALL

-- So many groups at once, then half as many: an expression for each, made when one is needed.
local MOST_GROUPS = 32

-- Whole numbers: what an encoding holds has to fit whatever its bytes are.
local function whole_pattern(low, high)
    local ways = { format("[\\x00-\\x%02x]", math.min(high, 0x7f)) }
    if low < 0 then ways[2] = format("[\\x%02x-\\xff]", math.max(256 + low, 0xe0)) end
    for size = 0, 2 do
        local bytes = 2 ^ size
        local half = 2 ^ (8 * bytes - 1)
        if high >= 2 * half - 1 then
            ways[#ways + 1] = format("\\x%02x.{%d}", 0xcc + size, bytes)
        elseif high == half - 1 then
            ways[#ways + 1] = format("\\x%02x[\\x00-\\x7f].{%d}", 0xcc + size, bytes - 1)
        end
        if low <= -half and high >= half - 1 then ways[#ways + 1] = format("\\x%02x.{%d}", 0xd0 + size, bytes) end
    end
    return concat(ways, "|")
end

-- A finite number: not all bits of the exponent are set.
local NUMBER_PATTERN = "\\xcb(?:[^\\x7f\\xff].|[\\x7f\\xff][\\x00-\\xef]).{6}|" ..
    "\\xca(?:[^\\x7f\\xff].|[\\x7f\\xff][\\x00-\\x7f])..|[\\xcf\\xd3].{8}|" .. whole_pattern(-2 ^ 31, 2 ^ 32)

-- A short text of ASCII alone, which is UTF-8 whatever it says.
local function text_pattern()
    local ways = {}
    for length = 0, 31 do ways[length + 1] = format("\\x%02x[\\x00-\\x7f]{%d}", 0xa0 + length, length) end
    return concat(ways, "|")
end

-- One scalar of a type, or nil for what is none.
local function scalar_pattern(kind)
    local ways
    if kind.shape == "int" then
        ways = whole_pattern(kind.low, kind.high)
    elseif kind.shape == "num" then
        ways = NUMBER_PATTERN
    elseif kind.shape == "flag" or kind.shape == "bool" then
        ways = "[\\x00\\x01\\xc2\\xc3]"
    elseif kind.shape == "str" then
        ways = text_pattern()
    end
    if not ways then return nil end
    -- The ways begin with different bytes, so there is no way back to try.
    return "(?>" .. ways .. (kind.or_nil and "|\\xc0" or "") .. (kind.or_zero and "|\\x00" or "") .. ")"
end

-- One group of a list's type; false where it holds more than scalars.
local function group_pattern(kind)
    local parts = {}
    for place, member in ipairs(kind.members or { kind.each }) do
        parts[place] = scalar_pattern(member)
        if not parts[place] then return false end
    end
    return concat(parts)
end

-- The expression for so many groups of a list. False where there is none.
local function groups_regex(kind, count)
    if kind.group == nil then kind.group = REGEX and group_pattern(kind) or false end
    local made = false
    if kind.group then
        local ok, regex = pcall(REGEX.new, "(?(DEFINE)(" .. kind.group .. "))" .. string.rep("(?1)", count), REGEX_FLAGS)
        made = ok and regex or false
        -- Not every machine can; it is slower without.
        if made and made.jit_compile then pcall(made.jit_compile, made) end
    end
    kind.regexes[count] = made
    return made
end

-- The offset after so many groups, or nil.
local function glance_groups(kind, at, count)
    local regexes, size = kind.regexes, MOST_GROUPS
    while count > 0 do
        while size > count do size = size / 2 end
        local regex = regexes[size]
        if regex == nil then regex = groups_regex(kind, size) end
        if not regex then return nil end
        local _, to = regex:find(s, at)
        if not to then return nil end
        at, count = to + 1, count - size
    end
    return at
end

-- The offset after a list and its text, or nil. `first` is its first byte.
local function glance_list(kind, at, first)
    local length, head = first - 0x90, 1
    if length == 0 then return at + 1, "" end
    if first == 0xdc then
        local high, low = byte(s, at + 1, at + 2)
        if not low then return nil end
        length, head = high * 256 + low, 3
    elseif length < 0 or length > 15 then
        return nil
    end
    values = values + length
    local count = length / (kind.members and #kind.members or 1)
    if count ~= floor(count) or kind.most and count > kind.most then return nil end
    local text = kind.texts[count]
    if not text then
        text = count > 0 and format("%s×%d", kind.name, count) or ""
        kind.texts[count] = text
    end
    return glance_groups(kind, at + head, count), text
end

-- The packet of the message, where its arguments begin, and its code; nil where the walk has to look.
function glance_envelope(side)
    local first, code = byte(s, 1, 2)
    if first ~= 0x92 or not code then return nil end
    if code < 0x80 then return side.by_code[code], 3, code end
    local length = code - 0xa0
    if length < 1 or length > 31 then return nil end
    code = sub(s, 3, 2 + length)
    return side.by_code[code], 3 + length, code
end

-- A scalar's text and the offset after it.
local function glance_scalar(kind, at, first)
    if kind.is_bare and first < 0x80 then return kind.label .. first, at + 1 end
    local value, to = READ[kind.shape](kind, at)
    -- 8, 16 or 32 bits without a sign need no form of their own.
    local is_plain = kind.is_bare and first >= 0xcc and first <= 0xce
    return kind.label .. (is_plain and value or show(kind, value)), to
end

local glance_members

-- A tuple's text and the offset after it, or nil.
local function glance_tuple(kind, at, first)
    local count = first - 0x90
    if count < 0 or count > 15 then return nil end
    values = values + count
    local text, to = glance_members(kind.members, at + 1, count, {})
    return text and kind.label .. "{" .. text .. "}", to
end

-- Members as the Info column shows them, and the offset after them; nil where the walk has to look. `texts` is what the texts of
-- members are put into.
function glance_members(members, at, count, texts)
    if count > #members then return nil end
    local shown = 0
    for place = 1, count do
        local kind, text = members[place]
        local first = byte(s, at)
        if not first or not kind.label then return nil end
        if first == 0xc0 and kind.or_nil then
            at, text = at + 1, kind.label .. "nil"
        elseif kind.regexes then
            at, text = glance_list(kind, at, first)
        elseif kind.members then
            text, at = glance_tuple(kind, at, first)
        else
            text, at = glance_scalar(kind, at, first)
        end
        if not at then return nil end
        if text ~= "" then
            shown = shown + 1
            texts[shown] = text
        end
    end
    for place = count + 1, #members do
        if not members[place].or_nil then return nil end
    end
    return concat(texts, " ", 1, shown), at
end

local top_texts = {} -- Of one packet after the other.

-- The arguments that begin here, as the Info column shows them; nil where the walk has to look.
function glance(packet, at)
    local first = byte(s, at)
    local count = first and first - 0x90 or -1
    if count < 0 or count > 15 then return nil end
    values = values + count
    local text, to = glance_members(packet.arguments, at + 1, count, top_texts)
    return text and to == #s + 1 and values <= most_values and text or nil
end

-- Prepares a type for a glance; what gets no label is left to the walk.
local function prepare(kind)
    if kind.or_zero or kind.is_loose then return end
    if kind.shape == "groups" or kind.shape == "list" then
        kind.label, kind.regexes, kind.texts = kind.name .. "=", {}, {}
    elseif kind.shape == "tuple" or kind.shape ~= "any" and READ[kind.shape] then
        kind.label = kind.name .. "="
        -- A whole number that is shown as it is.
        kind.is_bare = kind.shape == "int" and kind.low >= 0 and kind.px == 1 and not kind.degrees
        for _, member in ipairs(kind.members or {}) do prepare(member) end
    end
end

for _, packet in ipairs(PACKETS) do
    for _, kind in ipairs(packet.arguments) do prepare(kind) end
end
end

-- ---- Lines that come again -----------------------------------------------------------------------------------------
-- A server says many things to many clients in the same bytes: who is there, what is where. The line of a short message is kept, and
-- found again by these bytes. Long ones rarely come twice.

local MOST_LINE_BYTES = 64
local MOST_LINES = 1024
local kept_lines = 0

-- Begins anew with every capture and every change of the preferences.
local function forget_lines()
    kept_lines = 0
    for _, dialect in pairs(DIALECTS) do
        dialect.to_server.lines, dialect.to_client.lines = {}, {}
    end
end
forget_lines()

local function keep_line(side, bytes, line)
    if #bytes > MOST_LINE_BYTES then return end
    if kept_lines == MOST_LINES then forget_lines() end
    kept_lines = kept_lines + 1
    side.lines[bytes] = line
end
