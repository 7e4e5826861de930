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
local function hand_on(segment, view, pinfo, tree)
    local outer = in_hand
    in_hand = segment
    local ok, result = pcall(websocket_call, WEBSOCKET, view, pinfo, tree)
    in_hand = outer
    -- Behind the last message there can be the first fragments of the next.
    while segment.is_judged and segment.at < segment.length and next_opcode(segment) do end
    if not ok then error(result, 0) end
    return result
end

-- Allows the dissectors that are called next to wait for the rest of a message, if TCP can wait: it cannot put frames together that
-- the capture has cut short, and asking it to would go on for ever.
local function allow_waiting(pinfo)
    if pinfo.can_desegment > 0 then pinfo.can_desegment = 2 end
end

-- Whether a segment's frames end where it ends.
local function ends_with_a_frame(view)
    local segment = { view = view, at = 0, length = view_len(view) }
    while next_frame(segment) do end
    return segment.at == segment.length
end

-- Who is the client of a connection without an upgrade: the port tells, and where both ports are a server's the mask, which clients' frames
-- have. What fits by chance is good for this segment only. Nil where nothing tells.
local function find_client(way, pinfo, view, first, second)
    local stream, from, to = way.stream, way.from, way.to
    if stream.client then return stream.client end
    local clients = clients_of(pinfo, from, to)
    local client = clients[1]
    if is_server_port(pinfo.src_port) and is_server_port(pinfo.dst_port) then
        client = nil
        if second and begins_a_frame(first, second, second >= 0x80) then client = second >= 0x80 and from or to end
        if not client or not ends_with_a_frame(view) then return client end
        stream.possible = nil
    end
    stream.client = client
    return client
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
    local client = upgrade and upgrade.client or find_client(way, pinfo, view, first, second)
    if not second or client and begins_a_frame(first, second, client == way.from) then
        -- What `segment_of` fills in has room from the start: a table that grows takes longer.
        return hand_on({
            way = way, upgrade = upgrade, view = view, pinfo = pinfo, at = 0, length = length, first = first,
            is_judged = upgrade and upgrade.opcode, is_shown = false, is_asked = false, protocol = false, info = false,
        }, view, pinfo, tree)
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

-- Whether a message of a WebSocket connection that nobody has claimed is a packet. On the server's ports a dialect that the preferences
-- name claims all, so that it is said what does not fit it.
local function find_packet(view, pinfo, tree)
    if view:len() < 2 then return false end
    local way = way_of(pinfo)
    local is_claimed = in_hand and prefs.dialect ~= 0
    if not is_claimed and not upgrade_of(way.stream, last.frame) then
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

