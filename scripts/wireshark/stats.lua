-- Prints statistics of a capture's packets: kinds, broken rules, and gaps between packets to a client.
--
--   tshark -q -X lua_script:tickwire.lua -X lua_script:stats.lua -r FILE
--
-- `-X lua_script2:seconds` selects a table: packets, seconds, rules or gaps; 2 is the place of this script among the scripts.
-- Wireshark's own statistics count frames of the link; several packets can be in one frame. If tickwire.lua is installed, its `-X`
-- is not needed. The menu Statistics > Tickwire of Wireshark shows the same tables, with the same code (parts/8-statistics.lua).

local is_loaded, statistics = pcall(require, "tickwire.statistics")
if not is_loaded then
    error("stats.lua needs tickwire.lua: install it, or give -X lua_script:tickwire.lua before this one", 0)
end

local fields = {}
for name, field in pairs(statistics.FIELDS) do fields[name] = Field.new(field) end
local selected = { ... }
if #selected == 0 then selected = { "packets", "rules", "gaps" } end

-- Without a filter: fields of a script have no names yet when a filter is read here.
local listener = Listener.new("frame")
local counter = statistics.new()

function listener.reset() counter = statistics.new() end

function listener.packet(pinfo)
    local found = {}
    for name, field in pairs(fields) do
        found[name] = { field() }
        for place, info in ipairs(found[name]) do found[name][place] = info.value end
    end
    counter:add(pinfo, found)
end

function listener.draw()
    for place, name in ipairs(selected) do print((place > 1 and "\n" or "") .. counter:text(name):sub(1, -2)) end
end
