-- Stands in for the windows of Wireshark, so that tshark runs the entries of its menus. Loads tickwire.lua: the first argument is its path.
-- The second is `statistics`, or the name of an entry for packets: tshark then prints what each frame's entry copies.

local path, wanted = ...
-- A script of Wireshark has an environment of its own, and files that it loads have not: stand-ins are set in `_G`.
local menus, packet_menus = {}, {}

local function escaped(text) return (text:gsub("\\", "\\\\"):gsub("\n", "\\n")) end

function _G.gui_enabled() return true end
function _G.register_menu(name, action, group)
    assert(group == (MENU_PACKET_STAT_UNSORTED or MENU_STAT_UNSORTED))
    menus[#menus + 1] = { name = name, action = action }
end
function _G.register_packet_menu(name, action, fields)
    packet_menus[#packet_menus + 1] = { name = name, action = action, fields = fields }
end

dofile(path)

-- Copies or reports for one frame.
local copied
function _G.copy_to_clipboard(text) copied = text end
function _G.report_failure(text) copied = "! " .. text end

-- Opens each window. Filters cannot be read while scripts load, so the fields of the filter are asked for one by one.
local function open_statistics()
    local fields, closers, new_listener = {}, {}, Listener.new
    _G.Listener = { new = function(tap, filter)
        for name in filter:gmatch("tickwire[%w_.]*") do fields[name] = fields[name] or Field.new(name) end
        print("filter\t" .. filter)
        return new_listener(tap)
    end }
    _G.TextWindow = { new = function(title)
        local window = {}
        function window:set(text) print("window\t" .. title .. "\t" .. escaped(text)) end
        function window:set_atclose(closer) closers[#closers + 1] = closer end
        return window
    end }
    local retaps = 0
    function _G.retap_packets() retaps = retaps + 1 end
    for _, menu in ipairs(menus) do
        print("menu\t" .. menu.name)
        menu.action()
    end
    assert(retaps == #menus and #closers == #menus)
end

-- Prints what an entry copies for each frame that has its fields.
local function run_entry()
    local entry
    for _, one in ipairs(packet_menus) do
        print("entry\t" .. one.name .. "\t" .. one.fields)
        if one.name == "Tickwire/" .. wanted then entry = one end
    end
    local listener = Listener.new("frame", nil, true)
    function listener.packet(pinfo)
        local infos, has = { all_field_infos() }, {}
        for _, info in ipairs(infos) do has[info.name] = true end
        for name in entry.fields:gmatch("[^,]+") do
            if not has[name] then return end
        end
        copied = nil
        entry.action((table.unpack or unpack)(infos))
        print(string.format("copied\t%d\t%s", pinfo.number, escaped(tostring(copied))))
    end
end

if wanted == "statistics" then open_statistics() else run_entry() end
