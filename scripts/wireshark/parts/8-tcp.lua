-- ---- TCP -----------------------------------------------------------------------------------------------------------
-- Wireshark finds WebSocket by its upgrade. This stands before it on the server's ports: it reads the path of the upgrade,
-- and hands what begins in the middle of a connection to the WebSocket dissector.

local tcp = Proto("tickwire.tcp", "tickwire connections")
local HTTP, WEBSOCKET = Dissector.get("http"), Dissector.get("websocket")
local websocket_call = WEBSOCKET.call

-- Whether a frame can begin with these two bytes.
local function begins_a_frame(first, second, to_server)
    local opcode, length = first % 16, second % 128
    local is_control = opcode >= 8
    local is_known = opcode <= 2 or opcode >= 8 and opcode <= 10
    return is_known and floor(first / 16) % 8 == 0 and not (is_control and (first < 0x80 or length > 125))
        and (second >= 0x80) == to_server
end

-- Hands a segment to the WebSocket dissector; its messages come back to `tickwire.dissector` before this returns.
local function hand_on(way, upgrade, view, pinfo, tree)
    local outer = in_hand
    local segment = { way = way, upgrade = upgrade, at = 0, visited = pinfo.visited }
    if upgrade and upgrade.opcode then segment.view = view end
    in_hand = segment
    local ok, result = pcall(websocket_call, WEBSOCKET, view, pinfo, tree)
    in_hand = outer
    -- Behind the last message there can be the first fragments of the next.
    while segment.view and next_opcode(segment) do end
    if not ok then error(result, 0) end
    return result
end

-- Allows the dissectors that are called next to wait for the rest of a message, if TCP can wait: it cannot put frames together that
-- the capture has cut short, and asking it to would go on for ever.
local function allow_waiting(pinfo)
    if pinfo.can_desegment > 0 then pinfo.can_desegment = 2 end
end

function tcp.dissector(view, pinfo, tree)
    view_len, view_raw = view_len or view.len, view_raw or view.raw
    local length = view_len(view)
    local first, second = byte(view_raw(view, 0, length < 2 and length or 2), 1, 2)
    allow_waiting(pinfo)
    if first >= 0x41 and first <= 0x5a then
        note_head(view:raw(), pinfo)
        return HTTP:call(view, pinfo, tree)
    end
    local way = way_of(pinfo)
    local stream = way.stream
    if stream.is_http and not stream.is_websocket and #stream.upgrades == 0 then
        return HTTP:call(view, pinfo, tree)
    end
    local upgrade = upgrade_of(stream, last.frame)
    stream.client = upgrade and upgrade.client or stream.client or clients_of(pinfo, way.from, way.to)[1]
    if not second or begins_a_frame(first, second, stream.client == way.from) then
        return hand_on(way, upgrade, view, pinfo, tree)
    end
    local root = tree:add(tickwire, view())
    root:add_proto_expert_info(E.cut, "the rest of a frame that began before the capture")
    pinfo.cols.protocol:set("tickwire")
    pinfo.cols.info:set("the rest of a frame that began before the capture")
    return length
end

-- Takes an upgrade on a port that nobody has named, so that its path is known; everything after it is Wireshark's.
local function find_upgrade(view, pinfo, tree)
    if view:len() < 16 or view(0, 4):uint() ~= 0x47455420 or not dialect_of(view:raw()) then return false end
    allow_waiting(pinfo)
    note_head(view:raw(), pinfo)
    -- So that the answer comes here too, and nobody else learns to take such requests before this does.
    pinfo.conversation = tcp
    HTTP:call(view, pinfo, tree)
    return true
end

-- Whether a message of a WebSocket connection that nobody has claimed is a packet.
local function find_packet(view, pinfo, tree)
    if view:len() < 2 then return false end
    local way = way_of(pinfo)
    if not upgrade_of(way.stream, last.frame) then
        if take(view:raw(), view) then return false end
        local _, is_known = guess(way, pinfo)
        if not is_known then return false end
    end
    tickwire.dissector(view, pinfo, tree)
    return true
end

local ports
local function listen()
    if ports then
        DissectorTable.get("ws.port"):remove(ports, tickwire)
        DissectorTable.get("tcp.port"):remove(ports, tcp)
    end
    ports = tostring(prefs.ports)
    if ports ~= "" then
        DissectorTable.get("ws.port"):add(ports, tickwire)
        DissectorTable.get("tcp.port"):add(ports, tcp)
    end
end

function tickwire.prefs_changed()
    show_values = prefs.values
    forget_lines()
    if tostring(prefs.ports) ~= ports then listen() end
end

listen()
DissectorTable.get("ws.protocol"):add("tickwire.v1", tickwire)
tickwire:register_heuristic("ws", find_packet)
tcp:register_heuristic("tcp", find_upgrade)

