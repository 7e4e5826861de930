-- ---- Statistics ----------------------------------------------------------------------------------------------------
-- Counts packets, broken rules and gaps between packets. Input: the fields of each frame. Output: tables as text. The menus of
-- Wireshark (8-menus.lua) and scripts/wireshark/stats.lua use it: `require "tickwire.statistics"`.

(function() -- A function of its own, for its local names. Its lines are not indented.
local FEWEST_GAPS = 10 -- A kind of packet with fewer gaps has no row.
local DIRECTIONS = { "to_server", "to_client" }
local TITLES = { to_server = "client to server", to_client = "server to client" }

local statistics = {}
-- Fields that `add` needs, by their names in the table of values.
statistics.FIELDS = {
    packets = "tickwire.packet", directions = "tickwire.direction", lengths = "tickwire.length", rules = "tickwire.rule",
}
-- Tables that a counter prints, in this order.
statistics.TABLES = { "packets", "seconds", "rules", "gaps" }

local counter = {}
counter.__index = counter

-- Creates a counter. Each capture needs a new one.
function statistics.new()
    return setmetatable({ rows = {}, seconds = {}, rules = {}, gaps = {}, last = {} }, counter)
end

local function add_to(rows, key, bytes)
    local row = rows[key] or { count = 0, bytes = 0 }
    row.count, row.bytes = row.count + 1, row.bytes + bytes
    rows[key] = row
    return row
end

-- Stores the time since the packet of the same name before it, on the same connection.
local function add_gap(self, connection, name, pinfo)
    local key, at = connection .. " " .. name, pinfo.abs_ts
    local before = self.last[key]
    self.last[key] = at
    if not before or before == at then return end
    local row = self.gaps[name] or { name = name, most = 0 }
    row[#row + 1] = at - before
    if at - before > row.most then row.most, row.frame = at - before, pinfo.number end
    self.gaps[name] = row
end

-- Counts a frame. `found` has a list of values for each of FIELDS. Frames that break a rule have a direction without a packet.
function counter:add(pinfo, found)
    for _, rule in ipairs(found.rules) do
        local row = self.rules[rule] or { name = rule, count = 0, frame = pinfo.number }
        row.count = row.count + 1
        self.rules[rule] = row
    end
    if #found.packets == 0 then return end
    self.first_s = math.min(self.first_s or pinfo.abs_ts, pinfo.abs_ts)
    self.last_s = math.max(self.last_s or pinfo.abs_ts, pinfo.abs_ts)
    local connection
    local second = floor(pinfo.rel_ts)
    for place, name in ipairs(found.packets) do
        local direction, length = found.directions[place], found.lengths[place]
        local row = add_to(self.rows, direction .. " " .. name, length)
        row.name, row.direction = name, direction
        self.seconds[second] = self.seconds[second] or {}
        add_to(self.seconds[second], direction, length)
        if direction == "to_client" then
            connection = connection or concat({ tostring(pinfo.src), pinfo.src_port, tostring(pinfo.dst), pinfo.dst_port }, " ")
            add_gap(self, connection, name, pinfo)
        end
    end
end

-- Rows in descending order of a column; names decide between equals, so the same capture gives the same table.
local function sorted(rows, column)
    local list = {}
    for _, row in pairs(rows) do list[#list + 1] = row end
    table.sort(list, function(one, other)
        if one[column] ~= other[column] then return one[column] > other[column] end
        return one.name < other.name
    end)
    return list
end

local function packet_line(name, row, seconds)
    local rate, bytes_rate = "-", "-"
    if seconds > 0 then rate, bytes_rate = format("%.1f", row.count / seconds), format("%.0f", row.bytes / seconds) end
    local average = row.count > 0 and row.bytes / row.count or 0
    return format("  %-20s %8d %10d %9.1f %9s %9s", name, row.count, row.bytes, average, rate, bytes_rate)
end

local PRINT = {}

-- Packets by direction and name, most bytes first.
function PRINT.packets(self, lines)
    local seconds = self.last_s and self.last_s - self.first_s or 0
    lines[#lines + 1] = format("tickwire packets in %.1f s", seconds)
    for _, direction in ipairs(DIRECTIONS) do
        lines[#lines + 1] = format("%-22s %8s %10s %9s %9s %9s", TITLES[direction], "count", "bytes", "average", "a second", "bytes/s")
        local total = { count = 0, bytes = 0 }
        for _, row in ipairs(sorted(self.rows, "bytes")) do
            if row.direction == direction then
                lines[#lines + 1] = packet_line(row.name, row, seconds)
                total.count, total.bytes = total.count + row.count, total.bytes + row.bytes
            end
        end
        lines[#lines + 1] = packet_line("all", total, seconds)
    end
end

-- Packets and bytes of each direction in each second of the capture. Seconds without a packet have no line.
function PRINT.seconds(self, lines)
    lines[#lines + 1] = format("%-10s %10s %10s   %10s %10s", "second", "to server", "bytes", "to client", "bytes")
    local none, seconds = { count = 0, bytes = 0 }, {}
    for second in pairs(self.seconds) do seconds[#seconds + 1] = second end
    table.sort(seconds)
    for _, second in ipairs(seconds) do
        local one, other = self.seconds[second].to_server or none, self.seconds[second].to_client or none
        lines[#lines + 1] = format("  %8d %10d %10d   %10d %10d", second, one.count, one.bytes, other.count, other.bytes)
    end
end

-- Broken rules, most frequent first.
function PRINT.rules(self, lines)
    local list = sorted(self.rules, "count")
    if #list == 0 then
        lines[#lines + 1] = "no broken rules"
        return
    end
    lines[#lines + 1] = format("%-32s %8s %12s", "broken rule", "count", "first frame")
    for _, row in ipairs(list) do
        lines[#lines + 1] = format("  %-30s %8d %12d", row.name, row.count, row.frame)
    end
end

-- The value at or above this share of a sorted list.
local function percentile(list, share) return list[math.max(1, math.ceil(#list * share))] end

-- Times between packets of the same name to the same client. Packets of one name in one frame have no gap.
function PRINT.gaps(self, lines)
    local list = {}
    for name, row in pairs(self.gaps) do
        if #row >= FEWEST_GAPS then list[name] = { name = name, count = #row, row = row } end
    end
    list = sorted(list, "count")
    if #list == 0 then
        lines[#lines + 1] = format("no packet to a client with %d gaps", FEWEST_GAPS)
        return
    end
    lines[#lines + 1] = format("%-22s %8s %9s %9s %9s %9s", "ms between packets", "gaps", "p50", "p99", "max", "in frame")
    for _, one in ipairs(list) do
        local row = one.row
        table.sort(row)
        lines[#lines + 1] = format("  %-20s %8d %9.1f %9.1f %9.1f %9d", one.name, #row, 1000 * percentile(row, 0.5),
            1000 * percentile(row, 0.99), 1000 * row.most, row.frame)
    end
end

-- Returns a table of TABLES as text, with a line break after each line.
function counter:text(name)
    local lines = {}
    PRINT[name](self, lines)
    return concat(lines, "\n") .. "\n"
end

package.loaded["tickwire.statistics"] = statistics
end)()

