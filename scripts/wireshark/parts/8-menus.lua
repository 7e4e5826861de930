-- ---- Menus ---------------------------------------------------------------------------------------------------------
-- Entries of Wireshark's menus: statistics of the open capture, and commands and links for the selected packet. Not in tshark.

(function() -- A function of its own, for its local names. Its lines are not indented.
if not gui_enabled() then return end

-- Most bytes of a link. Bound of src/limits/; a test compares.
local INSPECTOR_LINK_BYTES = 16000
-- Most digits in an argument of a command: Linux allows 131072 bytes.
local ARGUMENT_DIGITS = 100000

-- A listener's filter names the fields that Wireshark provides, besides selecting frames.
local FILTER = "tickwire.packet || tickwire.rule || tickwire.direction || tickwire.length"

local function fields_of_frame(names)
    local found = {}
    for _, name in pairs(names) do found[name] = {} end
    for _, info in ipairs({ all_field_infos() }) do
        local values = found[info.name]
        if values then values[#values + 1] = info.value end
    end
    return found
end

-- Opens a window with a table of the open capture. Wireshark updates it when it reads the capture again.
local function open_window(title, name)
    local statistics = require "tickwire.statistics"
    local window, listener = TextWindow.new("tickwire: " .. title), Listener.new("frame", FILTER)
    local counter = statistics.new()
    window:set_atclose(function() listener:remove() end)
    function listener.packet(pinfo)
        local values, found = fields_of_frame(statistics.FIELDS), {}
        for key, field in pairs(statistics.FIELDS) do found[key] = values[field] end
        counter:add(pinfo, found)
    end
    function listener.draw() window:set(counter:text(name)) end
    function listener.reset() counter = statistics.new() end
    retap_packets()
end

-- Wireshark 4.0 and 4.4 show no entry of the group MENU_STAT_GENERIC, and these with their slash.
for _, entry in ipairs({
    { "Packets", "packets" }, { "Packets by second", "seconds" }, { "Broken rules", "rules" }, { "Gaps between packets", "gaps" },
}) do
    register_menu("Tickwire/" .. entry[1], function() open_window(entry[1], entry[2]) end, MENU_PACKET_STAT_UNSORTED or MENU_STAT_UNSORTED)
end

if not register_packet_menu then return end -- Wireshark 4.0 lacks it, 4.4 has it.

-- Returns the value of the first field of a name, and these fields. The action of a packet menu receives all fields of the packet.
local function first_values(infos)
    local first = {}
    for _, info in ipairs(infos) do
        if first[info.name] == nil then first[info.name] = info end
    end
    return function(name) return first[name] and tostring(first[name].value) end, first
end

-- Returns the frames of a packet, as sent: header and payload of each; and whether any has the bit of compression. Frames over
-- several segments are whole. Wireshark's field of a header ends before the payload; the field of a cut frame contains it.
local function frames_of(infos)
    local parts, header, payload, finish, is_compressed = {}, nil, nil, 0, false
    for _, info in ipairs(infos) do
        local name = info.name
        if name == "websocket" or name == "tickwire.tcp" then
            header = info
        elseif name == "websocket.opcode" and header then
            local bytes = header.range:raw()
            parts[#parts + 1], finish = bytes, header.offset + header.len
            payload = (byte(bytes, 2) or 0) >= 0x80 and "websocket.masked_payload" or "websocket.payload"
            is_compressed = is_compressed or floor(byte(bytes) / 64) % 2 == 1
            header = nil
        elseif name == payload then
            if info.offset >= finish and info.len > 0 then parts[#parts + 1] = info.range:raw() end
            payload = nil
        end
    end
    return concat(parts), is_compressed
end

-- Returns the bytes of a segment, or the joined bytes if TCP has reassembled it and the rule is broken there.
local function segment_of_packet(first)
    local payload, joined, rule = first["tcp.payload"], first["tcp.reassembled.data"], first["tickwire.rule"]
    if joined then
        local bytes = joined.range:raw()
        local is_within = not payload or not rule or sub(bytes, rule.offset + 1, rule.offset + rule.len) == rule.range:raw()
        if is_within then return bytes end
    end
    return payload and payload.range:raw() or ""
end

-- Returns the direction of a datagram and its text. The text of a sealed datagram is nil.
local function datagram_of(first)
    local bytes = first["tickwire.datagram"].range:raw()
    local direction, text = lanes.seen(tonumber(tostring(first["frame.number"].value)))
    return direction, text or #bytes < lanes.HEADER_BYTES and bytes or nil
end

-- Returns the direction of bytes of a TCP connection. A head has no field for it.
local function direction_of_bytes(value, bytes)
    local direction = value("tickwire.direction")
    if direction then return direction end
    if find(bytes, "^%u%u%u") then return sub(bytes, 1, 5) == "HTTP/" and "to_client" or "to_server" end
    return direction_of((byte(bytes, 2) or 0) >= 0x80)
end

local function digits_of(bytes)
    return (bytes:gsub(".", function(sign) return format("%02x", byte(sign)) end))
end

-- Describes the bytes of a kind: frames, segment or datagram. Returns nil and a reason if there are none.
local function describe(kind, infos)
    local value, first = first_values(infos)
    local found, direction = { value = value, kind = kind }, nil
    if kind == "datagram" then
        direction, found.bytes = datagram_of(first)
        if not found.bytes then return nil, "the datagram is sealed: set the preference tickwire.key_log to the server's key log" end
    elseif kind == "frames" then
        found.bytes, found.is_deflated = frames_of(infos)
        -- Without compression, the bit breaks a rule.
        found.is_deflated = found.is_deflated and value("tickwire.rule") ~= "reserved_bit"
    else
        found.bytes = segment_of_packet(first)
    end
    if found.bytes == "" then return nil, "the packet has no bytes of a frame" end
    direction = direction or direction_of_bytes(value, found.bytes)
    local dialect = value("tickwire.dialect") or ""
    found.from = direction == "to_server" and "client" or "server"
    found.dialect, found.is_json = match(dialect, "^(%S+)"), find(dialect, " as JSON", 1, true) ~= nil
    return found
end

-- Returns the command that explains the bytes of a packet.
local function command_of(found)
    local words = { "tickwire explain" }
    if found.kind == "datagram" then words[#words + 1] = "--datagram" end
    words[#words + 1] = "--from " .. found.from
    if found.dialect then words[#words + 1] = "--dialect " .. found.dialect end
    if found.is_deflated then words[#words + 1] = "--deflate" end
    local digits = digits_of(found.bytes)
    words[#words + 1] = #digits <= ARGUMENT_DIGITS and digits or "- <<'END'\n" .. digits .. "\nEND"
    return concat(words, " ")
end

-- Returns the link to the page /wire of the packet's server.
local function link_of(found)
    local value, is_from_client = found.value, found.from == "client"
    if #found.bytes > INSPECTOR_LINK_BYTES then
        return nil, format("a link can have %d bytes, and the packet has %d", INSPECTOR_LINK_BYTES, #found.bytes)
    end
    if found.is_deflated then return nil, "a link cannot have compressed frames: copy the command instead" end
    local host = value(is_from_client and "ip.dst" or "ip.src")
    local host_6 = value(is_from_client and "ipv6.dst" or "ipv6.src")
    if not host and host_6 then host = "[" .. host_6 .. "]" end
    local of_port = is_from_client and "dstport" or "srcport"
    local port = value("tcp." .. of_port) or value("udp." .. of_port)
    local parts = { format("%s://%s:%s/wire#frame=%s", value("tls") and "https" or "http", host or "localhost", port or "3000",
        digits_of(found.bytes)) }
    if found.dialect then parts[#parts + 1] = "dialect=" .. found.dialect end
    parts[#parts + 1] = "from=" .. found.from
    if found.dialect and found.kind == "frames" then parts[#parts + 1] = "format=" .. (found.is_json and "json" or "msgpack") end
    if found.kind == "datagram" then parts[#parts + 1] = "kind=datagram" end
    return concat(parts, "&")
end

-- Returns the action of an entry: copies the text that `make` returns, or reports why there is none.
local function copy(kind, make)
    return function(...)
        local found, text, reason
        found, reason = describe(kind, { ... })
        if found then text, reason = make(found) end
        if text then return copy_to_clipboard(text) end
        report_failure("tickwire: " .. reason)
    end
end

-- Each entry appears if the packet has all of the fields. A slash in a name would begin a submenu.
for _, entry in ipairs({
    { "Copy as tickwire explain", "frames", command_of, "websocket.opcode" },
    { "Copy link to the inspector", "frames", link_of, "websocket.opcode" },
    { "Copy upgrade as tickwire explain", "segment", command_of, "http.upgrade,tcp.payload" },
    { "Copy segment as tickwire explain", "segment", command_of, "tickwire.rule,tcp.payload" },
    { "Copy datagram as tickwire explain", "datagram", command_of, "tickwire.datagram" },
    { "Copy datagram as link to the inspector", "datagram", link_of, "tickwire.datagram" },
}) do
    register_packet_menu("Tickwire/" .. entry[1], copy(entry[2], entry[3]), entry[4])
end
end)()

