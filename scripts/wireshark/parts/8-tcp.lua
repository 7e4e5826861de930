-- ---- TCP -----------------------------------------------------------------------------------------------------------
-- Wireshark finds WebSocket by its upgrade. This stands before it on the server's ports: it reads the path of the upgrade,
-- and hands what begins in the middle of a connection to the WebSocket dissector.

do -- A Lua file has room for 200 names: those of this part end with it. The lines are not indented.
local HTTP, WEBSOCKET = Dissector.get("http"), Dissector.get("websocket")
local websocket_call = WEBSOCKET.call

-- Hands a segment's frames to the WebSocket dissector, except those that it cannot take: see `alone.show`.
local function hand_frames(segment, view, pinfo, tree)
    local length = view_len(view)
    local is_cut = view:reported_len() > length
    local bytes = view_raw(view)
    local room = alone.room_for_frames(pinfo)
    local fit, count = alone.front_of(bytes, room)
    alone.note_frames(pinfo, count)
    if not is_cut and (count < room or fit == length) then return websocket_call(WEBSOCKET, view, pinfo, tree) end
    if fit > 0 then websocket_call(WEBSOCKET, view(0, fit):tvb(), pinfo, tree) end
    alone.show(segment, view, pinfo, tree, fit)
    return length
end

-- Hands a segment to the WebSocket dissector; its messages come back to `tickwire.dissector` before this returns.
local function hand_on(segment, view, pinfo, tree)
    local outer = in_hand
    in_hand = segment
    local ok, result
    if segment.is_single then
        ok, result = pcall(websocket_call, WEBSOCKET, view, pinfo, tree)
    else
        ok, result = pcall(hand_frames, segment, view, pinfo, tree)
    end
    in_hand = outer
    -- Behind the last message there can be the first fragments of the next.
    while segment.is_judged and segment.at < segment.length and next_opcode(segment) do end
    if not ok then error(result, 0) end
    return result
end

-- Allows the dissectors that are called next to wait for the rest of a message, if TCP can wait: it cannot put frames together that
-- the capture has cut short, and asking it to would go on for ever. Gives whether it can.
local function allow_waiting(pinfo)
    local can_wait = pinfo.can_desegment > 0
    if can_wait then pinfo.can_desegment = 2 end
    return can_wait
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

-- Adds what is wrong with a segment's frames, beside what Wireshark shows of them.
local function show_verdict(verdict, view, pinfo, tree, to_server)
    local rest = view(verdict.from, math.min(verdict.count, view_len(view) - verdict.from))
    local arrow = to_server and "→ " or "← "
    local line
    if verdict.rule then
        local root = tree:add(tickwire, rest)
        root:append_text(", " .. verdict.rule .. ", " .. (to_server and "client to server" or "server to client"))
        root:add(F.direction, rest, direction_of(to_server)):set_generated()
        add_rule(root, rest, verdict.rule, nil, verdict.from)
        line = arrow .. rule_line(verdict.rule)
    elseif verdict.count > 0 then
        local ended = verdict.after or verdict
        local root = tree:add(tickwire, rest)
        root:add(F.not_read, rest, rest:len()):set_generated()
        local why = ended.rule and "after " .. rule_line(ended.rule) or "after the close"
        if verdict.after then why = why .. format(" in frame %d", ended.frame) end
        root:add_proto_expert_info(E.not_read, format("%d bytes not read: %s", rest:len(), why))
        line = format("%s%d bytes not read%s", arrow, rest:len(), ended.rule and "" or ", after the close")
    else
        return
    end
    local columns = pinfo.cols
    columns.protocol:set("tickwire")
    columns.info:set(line .. "  ")
    columns.info:fence()
end

-- Where the frames are over that Wireshark can read to their end. Of a length in 64 bits it reads the lower half.
local function end_of_what_wireshark_reads(view, from)
    local at = end_of_frames(view, from)
    local left = view_len(view) - at
    local _, second, third = byte(view_raw(view, at, left < 10 and left or 10), 1, 3)
    if left < 10 or second % 128 ~= 127 or third < 0x80 then return at end
    local size = (second < 0x80 and 10 or 14) + unsigned(view_raw(view, at + 6, 4), 1, 4)
    return size <= left and at + size or at
end

-- Hands a segment to the WebSocket dissector whose frames break a rule, or of which the other end reads nothing more.
local function hand_on_judged(segment, verdict, view, pinfo, tree, to_server)
    local rest, missing = verdict.rest or 0, verdict.missing or 0
    if rest == segment.length then
        alone.call(DATA, view, pinfo, tree)
    elseif rest == 0 and missing == 0 then
        local taken = hand_on(segment, view, pinfo, tree)
        show_verdict(verdict, view, pinfo, tree, to_server)
        return taken
    end
    show_verdict(verdict, view, pinfo, tree, to_server)
    if rest == segment.length then return rest end
    -- The other end does not read these frames to their end, so nobody waits for it. Wireshark is handed those that are there: one that is
    -- not it would give up with an exception that passes by this file, and after some two hundred of these Lua calls nothing any more.
    pinfo.can_desegment = 0
    local finish = end_of_what_wireshark_reads(view, rest)
    if finish > rest then
        hand_on(segment, finish - rest < segment.length and view(rest, finish - rest):tvb() or view, pinfo, tree)
    end
    if finish < segment.length then DATA:call(view(finish):tvb(), pinfo, tree) end
    return segment.length
end

-- Says that a segment begins within a frame.
local function show_rest(why, view, pinfo, tree)
    local root = tree:add(tickwire, view())
    root:add_proto_expert_info(E.cut, why)
    pinfo.cols.protocol:set("tickwire")
    pinfo.cols.info:set(why)
    return view_len(view)
end

-- The head of a direction that came last before a frame: its frame, and the rule that it breaks.
local function head_before(way, frame)
    local heads = way.heads or {}
    for place = #heads, 1, -1 do
        if heads[place].frame <= frame then return heads[place] end
    end
    return nil
end

-- The rule that a head breaks, for the first time and again.
local function head_rule(way, bytes, pinfo)
    if not pinfo.visited then
        local rule = judge_head(bytes, way.stream)
        way.heads, way.has_refused = way.heads or {}, way.has_refused or rule ~= nil
        way.heads[#way.heads + 1] = { frame = pinfo.number, rule = rule, is_request = sub(bytes, 1, 5) ~= "HTTP/" }
    end
    local seen = head_before(way, pinfo.number)
    return seen and seen.rule
end

-- A head as Wireshark shows it, and the rule that it breaks.
local function show_head(way, view, pinfo, tree)
    local bytes = view:raw()
    note_head(bytes, pinfo)
    local rule = head_rule(way, bytes, pinfo)
    if rule then
        local root, is_response = tree:add(tickwire, view()), sub(bytes, 1, 5) == "HTTP/"
        root:append_text(", " .. rule)
        add_rule(root, view(), rule, nil, 0, is_response)
        pinfo.cols.info:set("[" .. rule_line(rule, is_response) .. "] ")
        pinfo.cols.info:fence()
        -- As with frames: what is still to come of such a head, or a body behind it, is not waited for.
        pinfo.can_desegment = 0
        local _, taken = pcall(alone.call, HTTP, view, pinfo, tree)
        return tonumber(taken) or view_len(view)
    end
    return alone.call(HTTP, view, pinfo, tree)
end

function tcp.dissector(view, pinfo, tree)
    view_len, view_raw = view_len or view.len, view_raw or view.raw
    local length = view_len(view)
    if length == 0 then return 0 end
    local head = view_raw(view, 0, length < 4 and length or 4)
    local first, second = byte(head, 1, 2)
    local can_wait = allow_waiting(pinfo)
    local way = way_of(pinfo)
    local stream = way.stream
    local upgrade = upgrade_of(stream, last.frame)
    local head_seen = way.has_refused and head_before(way, last.frame)
    local is_refused = head_seen and head_seen.rule and head_seen.frame < last.frame
    local is_past_heads = stream.is_websocket or is_refused
    if first >= 0x41 and first <= 0x5a and (not is_past_heads or head == "GET " or head == "HTTP") then
        return show_head(way, view, pinfo, tree)
    end
    if is_refused then
        show_verdict({ from = 0, count = length, after = head_seen }, view, pinfo, tree, head_seen.is_request)
        return alone.call(DATA, view, pinfo, tree)
    end
    if stream.is_http and not stream.is_websocket and #stream.upgrades == 0 then
        return alone.call(HTTP, view, pinfo, tree)
    end
    -- Only Wireshark knows what an extension on which both ends agreed makes of the frames, and decompresses the messages.
    if stream.has_extension then return WEBSOCKET:call(view, pinfo, tree) end
    local client = upgrade and upgrade.client or find_client(way, pinfo, view, first, second)
    local to_server = client == way.from
    local state = state_of(way, upgrade)
    local verdict
    local is_good = is_one_good_frame(state, head, length, to_server)
    if not is_good then
        verdict = verdict_of(state, way, upgrade, view, pinfo, client, can_wait, first, second)
        if verdict and verdict.lost then return show_rest(verdict.lost, view, pinfo, tree) end
    end
    -- What `segment_of` fills in has room from the start: a table that grows takes longer.
    local segment = {
        way = way, frame = last.frame, upgrade = upgrade, view = view, pinfo = pinfo, at = 0, length = length, first = first,
        is_judged = upgrade and upgrade.opcode, is_shown = false, is_asked = false, protocol = false, info = false,
        verdict = verdict, seen = 0, is_single = is_good and can_wait, is_fragile = verdict ~= nil or not can_wait,
    }
    if not verdict then return hand_on(segment, view, pinfo, tree) end
    return hand_on_judged(segment, verdict, view, pinfo, tree, to_server)
end

-- Takes an upgrade on a port that nobody has named, so that its path is known; everything after it is Wireshark's.
local function find_upgrade(view, pinfo, tree)
    view_len, view_raw = view_len or view.len, view_raw or view.raw
    if view:len() < 16 or view(0, 4):uint() ~= 0x47455420 or not dialect_of(view:raw()) then return false end
    allow_waiting(pinfo)
    -- So that the answer comes here too, and nobody else learns to take such requests before this does.
    pinfo.conversation = tcp
    show_head(way_of(pinfo), view, pinfo, tree)
    return true
end

-- Whether a message of a WebSocket connection that nobody has claimed is a packet. On the server's ports a dialect that the preferences
-- name claims all, so that it is said what does not fit it.
local function find_packet(view, pinfo, tree)
    if view:len() == 0 then return false end
    local way = way_of(pinfo)
    if way.stream.is_foreign or way.stream.has_extension then return false end
    local is_claimed = in_hand and prefs.dialect ~= 0
    if not is_claimed and not upgrade_of(way.stream, last.frame) then
        if take(view:raw(), view) then return false end
        local _, is_known = guess(way, pinfo)
        if not is_known then return false end
    end
    dissect_message(view, pinfo, tree)
    return true
end

local ports
local function listen()
    if lanes.listen then lanes.listen(ports, tostring(prefs.ports)) end
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
    lanes.forget_log()
    forget_lines()
    if tostring(prefs.ports) ~= ports then listen() end
end

tickwire.dissector = dissect_message
listen()
DissectorTable.get("ws.protocol"):add("tickwire.v1", tickwire)
tickwire:register_heuristic("ws", find_packet)
tcp:register_heuristic("tcp", find_upgrade)
end

