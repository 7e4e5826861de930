-- How many packets of each name a capture holds, how long they are, and how often they come.
--
--   tshark -q -X lua_script:tickwire.lua -X lua_script:stats.lua -r FILE
--
-- Wireshark's own statistics count frames of the link; several packets can be in one of them. Where tickwire.lua is installed, its
-- `-X` is not needed. Comes in: the fields of tickwire.lua. Goes out: a table on standard output, when the capture ends.

local found, fields = pcall(function()
    return { packet = Field.new("tickwire.packet"), direction = Field.new("tickwire.direction"), length = Field.new("tickwire.length") }
end)
if not found then
    error("stats.lua needs tickwire.lua: install it, or give -X lua_script:tickwire.lua before this one", 0)
end

-- Without a filter: fields of a script are no names yet when a filter is read here.
local listener = Listener.new("frame")
local rows, first_s, last_s

local function reset()
    rows, first_s, last_s = {}, nil, nil
end
reset()
listener.reset = reset

function listener.packet(pinfo)
    local packets, directions, lengths = { fields.packet() }, { fields.direction() }, { fields.length() }
    if #packets == 0 then return end
    first_s = math.min(first_s or pinfo.abs_ts, pinfo.abs_ts)
    last_s = math.max(last_s or pinfo.abs_ts, pinfo.abs_ts)
    for place, packet in ipairs(packets) do
        local key = tostring(directions[place]) .. " " .. tostring(packet)
        local row = rows[key] or { name = tostring(packet), direction = tostring(directions[place]), count = 0, bytes = 0 }
        row.count, row.bytes = row.count + 1, row.bytes + lengths[place].value
        rows[key] = row
    end
end

local function print_row(name, row, seconds)
    local rate = seconds > 0 and string.format("%.1f", row.count / seconds) or "-"
    print(string.format("  %-20s %8d %10d %9.1f %9s", name, row.count, row.bytes, row.count > 0 and row.bytes / row.count or 0, rate))
end

-- Most bytes first; names decide between equals, so that the same capture gives the same table.
local function sorted(direction)
    local list = {}
    for _, row in pairs(rows) do
        if row.direction == direction then list[#list + 1] = row end
    end
    table.sort(list, function(one, other)
        if one.bytes ~= other.bytes then return one.bytes > other.bytes end
        return one.name < other.name
    end)
    return list
end

function listener.draw()
    local seconds = last_s and last_s - first_s or 0
    print(string.format("tickwire packets in %.1f s", seconds))
    for _, direction in ipairs({ "to_server", "to_client" }) do
        print(string.format("%-22s %8s %10s %9s %9s", direction == "to_server" and "client to server" or "server to client",
            "count", "bytes", "average", "a second"))
        local total = { count = 0, bytes = 0 }
        for _, row in ipairs(sorted(direction)) do
            print_row(row.name, row, seconds)
            total.count, total.bytes = total.count + row.count, total.bytes + row.bytes
        end
        print_row("all", total, seconds)
    end
end
