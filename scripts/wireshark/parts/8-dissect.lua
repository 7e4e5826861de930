-- ---- Conversations -------------------------------------------------------------------------------------------------
-- Which dialect a connection speaks and who its client is: from the upgrade, else by a guess.

-- The paths of rooms of which the capture does not say them.
local PATHS = { ["/play"] = "native", ["/"] = "legacy", ["/moomoo"] = "legacy", ["/server"] = "letters" }
-- Longest name of a room, whose paths are /r/NAME and one of these.
local ROOM_NAME_CHARS = 32
-- In this order they are tried where the upgrade is not in the capture.
local LIKELY = { "native", "letters", "legacy", "letters-2024", "letters-2023" }
do -- Those that these tables have, and then their others.
    local own, names = {}, concat(LIKELY, " ") .. " " .. concat(TABLES.dialects, " ")
    for name in string.gmatch(names, "%S+") do
        if DIALECTS[name] and not own[name] then own[#own + 1], own[name] = name, true end
    end
    LIKELY = own
end

local prefs = tickwire.prefs
prefs.ports = Pref.range("Ports of the server", "3000", "Its TCP ports. With them, connections that begin before the capture " ..
    "are decoded too, and the client is known. Connections on other ports are found by their upgrade.", 65535)
local choices = { { 1, "guess", 0 } }
for place, name in ipairs(LIKELY) do choices[place + 1] = { place + 1, name, place } end
prefs.dialect = Pref.enum("Dialect without an upgrade", 0, "The dialect of connections whose upgrade is missing from the " ..
    "capture. Dialects share many codes, so a guess can be ambiguous.", choices, false)
prefs.key_log = Pref.string("Key log of lanes", "", "The file of the server's `--key-log`, with which captured datagrams are decrypted.")
prefs.values = Pref.bool("Arguments in the Info column", true, "Show each packet's values after its name.")

local streams = {}
TABLES.rooms = {} -- What the capture says of its rooms: game and paths, by name.
local ways = {} -- The two directions of every connection, by their ports: addresses are quicker compared than written.
local last = {} -- The connection of the frame that was looked at last: a frame is asked for it again and again.
local show_values = true

function tickwire.init()
    lanes.begin()
    lanes.forget_log()
    streams, ways, last, TABLES.rooms = {}, {}, {}, {}
    show_values = prefs.values
    forget_lines()
end

-- Whether a port is one of the preference's: `3000,8000-8010`.
local function is_server_port(port)
    for from, to in string.gmatch(tostring(prefs.ports) .. ",", "(%d+)%-?(%d*),") do
        if port >= tonumber(from) and port <= (tonumber(to) or tonumber(from)) then return true end
    end
    return false
end

-- One direction of a connection that was not seen before.
local function new_way(pinfo, source, target)
    local from = tostring(source) .. " " .. pinfo.src_port
    local to = tostring(target) .. " " .. pinfo.dst_port
    local key = from < to and from .. " " .. to or to .. " " .. from
    local stream = streams[key] or { upgrades = {} }
    streams[key] = stream
    return { source = source, target = target, from = from, to = to, stream = stream, carried = {} }
end

-- The direction of a connection that a packet goes: its stream, from whom and to whom. `last.frame` is its frame.
local function way_of(pinfo)
    local frame, port, way = pinfo.number, pinfo.src_port, last.way
    if last.frame ~= frame or last.port ~= port then
        local ports = port * 65536 + pinfo.dst_port
        local source, target = pinfo.src, pinfo.dst
        local known = ways[ports] or {}
        way = nil
        for place = 1, #known do
            if known[place].source == source and known[place].target == target then way = known[place] end
        end
        if not way then
            way = new_way(pinfo, source, target)
            known[#known + 1] = way
            ways[ports] = known
        end
        last.frame, last.port, last.way = frame, port, way
    end
    return way
end

-- The upgrade that came last before a packet: ports are used again.
local function upgrade_of(stream, frame)
    local upgrades = stream.upgrades
    for place = #upgrades, 1, -1 do
        if upgrades[place].frame <= frame then return upgrades[place] end
    end
    return nil
end

-- What its format makes of a connection: opcodes of its messages. A server takes no other format.
local FORMATS = { json = TEXT, msgpack = BINARY }

-- What a request asks for: the dialect, or nil if it is no upgrade to one; and the opcode of its messages, if that is sure.
local function dialect_of(head)
    local target = match(head, "^GET (/%S*) HTTP/1%.1\r\n")
    if not target or not find(head:lower(), "\r\nupgrade:%s*websocket") then return nil end
    local path, query = match(target, "^([^?]*)%??(.*)$")
    local asked = match("&" .. query, "&dialect=([^&]*)")
    local room, below = match(path, "^/r/([a-z0-9-]+)(/.*)$")
    if room and #room <= ROOM_NAME_CHARS then path = below else room = "" end
    local known = TABLES.rooms[room]
    local of_path = (known and known.paths or PATHS)[path]
    local name = asked or (DIALECTS[of_path] and of_path or TABLES.dialects[1])
    local format_asked = match("&" .. query, "&format=([^&]*)")
    local opcode = FORMATS[format_asked or "msgpack"]
    -- Every server has this path: it does not say that texts are refused.
    if path == "/" and opcode ~= TEXT then opcode = nil end
    return of_path and DIALECTS[name] and name, opcode
end

-- Remembers what the head of a request or of an answer says about a connection.
local function note_head(head, pinfo)
    local way = way_of(pinfo)
    local stream, from = way.stream, way.from
    if find(head, "^HTTP/1%.1 101") then stream.is_websocket = true end
    stream.is_http = true
    local dialect, opcode = dialect_of(head)
    if not dialect or pinfo.visited then return dialect end
    stream.upgrades[#stream.upgrades + 1] = { frame = pinfo.number, dialect = dialect, opcode = opcode, client = from }
    return dialect
end

local function nowhere() return nil end

local function direction_of(to_server) return to_server and "to_server" or "to_client" end

-- Begins the message that was taken anew.
local function again(to_server)
    begin()
    from_client, most_values = to_server, to_server and PACKET_VALUES or CLIENT_PACKET_VALUES
end

-- Whether the message that was taken is a packet of a dialect, to the last value.
local function fits(dialect, to_server)
    again(to_server)
    local _, _, _, problem = read(DIALECTS[dialect][direction_of(to_server)], nowhere)
    return not problem
end

-- Which end of a connection without an upgrade may be the client, likelier first. A server's port is mostly the lower one.
local function clients_of(pinfo, from, to)
    local is_target, is_source = is_server_port(pinfo.dst_port), is_server_port(pinfo.src_port)
    if is_target and not is_source then return { from } end
    if is_source and not is_target then return { to } end
    return pinfo.dst_port < pinfo.src_port and { from, to } or { to, from }
end

-- What a connection without an upgrade may be: dialects, and who is the client, if that is not known already.
local function possibilities(pinfo, from, to, known)
    local found = {}
    for _, client in ipairs(known and { known } or clients_of(pinfo, from, to)) do
        for place, dialect in ipairs(LIKELY) do
            if prefs.dialect == 0 or prefs.dialect == place then
                found[#found + 1] = { dialect = dialect, client = client, read = 0 }
            end
        end
    end
    return found
end

-- The dialects that have read the most messages, likelier first.
local function candidates_of(stream)
    local found, best = {}, 0
    for _, one in ipairs(stream.possible) do best = math.max(best, one.read) end
    for _, one in ipairs(stream.possible) do
        if one.read == best then found[#found + 1] = one end
    end
    return found, best
end

-- What a connection without an upgrade is, as src/tools/explain/dialect_guess.rs has it: each message counts for every dialect that reads it, those that read the
-- most are the candidates, and the first of them is taken. The second value says whether any has read one.
local function guess(way, pinfo)
    local stream, from, to = way.stream, way.from, way.to
    stream.possible = stream.possible or possibilities(pinfo, from, to, stream.client)
    local is_decided = #stream.possible == 1 and stream.possible[1].read > 0
    if not pinfo.visited and not is_decided then
        for _, one in ipairs(stream.possible) do
            if fits(one.dialect, one.client == from) then one.read = one.read + 1 end
        end
        local _, best = candidates_of(stream)
        local left = {}
        for _, one in ipairs(stream.possible) do
            if one.read + EXPLAIN_GUESS_BEHIND > best then left[#left + 1] = one end
        end
        stream.possible = left
    end
    local candidates, best = candidates_of(stream)
    return candidates[1], best > 0
end

-- The guess in the words of `tickwire explain`; nil where somebody named the dialect.
local function words_of_guess(stream)
    if prefs.dialect ~= 0 or not stream.possible then return nil end
    local names, seen = {}, {}
    for _, one in ipairs((candidates_of(stream))) do
        if not seen[one.dialect] then names[#names + 1] = one.dialect end
        seen[one.dialect] = true
    end
    local last = table.remove(names)
    return "a guess, " .. (#names > 0 and concat(names, ", ") .. " or " or "") .. last
end

-- ---- Frames --------------------------------------------------------------------------------------------------------
-- Wireshark does not tell a dissector whether a message is text or binary. So this goes over the heads of a segment's frames beside it:
-- messages come in the order of their last frames.

-- Methods of Wireshark's objects, kept from the first of them that is seen: to look one up by its name takes Wireshark
-- longer than to carry it out.
local view_len, view_raw, column_set, column_fence

-- The next frame that is in a segment to its end: opcode, whether its message ends with it, and bytes of its payload.
local function next_frame(segment)
    local view, at = segment.view, segment.at
    local left = segment.length - at
    if left < 2 then return nil end
    local head = view_raw(view, at, left < 10 and left or 10)
    local first, second = byte(head, 1, 2)
    local length, size = second % 128, second < 0x80 and 2 or 6
    if length > 125 then
        local width = length == 126 and 2 or 8
        length, size = unsigned(head, 3, width), size + width
    end
    if not length or size + length > left then return nil end
    segment.at = at + size + length
    return first % 16, first >= 0x80, length
end

-- The opcode of the first of the fragments that a frame goes on with. When it is asked for again, it is as it was at first.
local function opened_by(segment)
    local way, frame = segment.way, last.frame
    if segment.opened then return segment.opened end
    if not segment.pinfo.visited and not way.carried[frame] then way.carried[frame] = way.opened end
    return way.carried[frame]
end

-- The opcode of a segment's next message, 0 where it is not known, and the message's length unless it comes in fragments; nil where no
-- message ends.
local function next_opcode(segment)
    local opcode, is_last, length = next_frame(segment)
    while opcode do
        local is_data = opcode == TEXT or opcode == BINARY
        if opcode == 0 and is_last and length > 0 then return opened_by(segment) or 0 end
        if is_data and is_last and length > 0 then return opcode, length end
        if is_data and not is_last then
            segment.opened = opcode
            if not segment.pinfo.visited then segment.way.opened = opcode end
        end
        opcode, is_last, length = next_frame(segment)
    end
    return nil
end

-- The rule that the message in hand breaks by coming as text where binary is spoken, or the other way round.
local function wrong_frame_type(segment, length)
    local first, spoken = segment.first, segment.upgrade.opcode
    local head = length < 126 and 2 or length < 65536 and 4 or 10
    -- Mostly the message is all there is in its segment, in one frame: of a client's a mask is in the head too.
    if segment.at == 0 and first == 0x80 + spoken then
        local rest = segment.length - head - length
        if rest == 0 or rest == 4 and segment.upgrade.client == segment.way.from then
            segment.at = segment.length
            return nil
        end
    end
    local opcode, of_frame = next_opcode(segment)
    if not opcode or opcode == 0 or opcode == spoken or of_frame and of_frame ~= length then return nil end
    local detail = spoken == TEXT and "a binary frame where JSON is spoken" or "a text frame where binary is spoken"
    return { rule = "wrong_frame_type", at = 1, detail = detail }
end

-- ---- Dissectors ----------------------------------------------------------------------------------------------------

local INFO_CHARS = 160

local function add_problem(root, problem)
    local place = math.min(problem.at or 1, #s)
    if places then
        while place > 0 and not places[place] do place = place - 1 end
        place = places[place] and places[place].from or 1
    end
    add_rule(root, tvb(), problem.rule, problem.detail, place - 1)
end

-- What the Info column says of a message. The blanks keep it apart from the next one of its frame.
local function line_of(to_server, packet, text, problem)
    local line = (to_server and "→ " or "← ") .. packet
    if show_values and text and text ~= "" then line = line .. " " .. text end
    if #line > INFO_CHARS then line = match(sub(line, 1, INFO_CHARS), "^(.*) ") .. " …" end
    if problem then line = line .. " [" .. problem.rule .. "]" end
    return line .. "  "
end

-- What is the same for all messages of a segment, while it is in hand: to ask Wireshark again for each takes longer than
-- most messages do. Nil where messages do not come by way of `tcp.dissector`.
local in_hand
local DATA, TEXT_LINES = Dissector.get("data"), Dissector.get("data-text-lines")
local handle -- Of this dissector, which exists once this file has been read.

-- What a message's segment is: which way it goes, the upgrade of its connection, whether its tree is shown, whether somebody asks
-- for fields of it, and its columns.
local function segment_of(pinfo, tree)
    local segment = in_hand
    -- An exception of Wireshark's can leave one of another frame behind.
    if not segment or segment.is_fragile and segment.frame ~= pinfo.number then
        segment = { way = way_of(pinfo) }
        segment.upgrade = upgrade_of(segment.way.stream, last.frame)
    end
    if not segment.info then
        segment.way.has_messages = true
        segment.is_shown = tree.visible
        handle = handle or Dissector.get("tickwire")
        -- A protocol is asked for when one of its fields is.
        segment.is_asked = segment.is_shown or tree:referenced(handle)
        local columns = pinfo.cols
        segment.protocol, segment.info = columns.protocol, columns.info
        column_set, column_fence = column_set or segment.info.set, column_fence or segment.info.fence
    end
    return segment
end

local function set_columns(segment, line)
    column_set(segment.protocol, "tickwire")
    -- After the fence of the message before.
    column_set(segment.info, line)
    column_fence(segment.info)
end

-- Which fields of a packet somebody asks for although the tree is not shown: filters, columns, taps.
local function asked_for(root, packet)
    local asked = {}
    for _, field in ipairs(packet.fields) do
        if root:referenced(field) then asked[field], asked.any = true, true end
    end
    return asked
end

-- What every message has, whether or not it can be read.
local function add_own(root, view, direction, known)
    local is_json = places or known.opcode == TEXT
    root:add(F.direction, view, direction):set_generated()
    root:add(F.dialect, view, known.dialect .. (is_json and " as JSON" or "")):set_generated()
    root:add(F.length, view, view:len()):set_generated()
end

-- `of_code` are the bytes of the code alone.
local function add_packet(root, view, name, code, of_code)
    root:add(F.packet, view, name):set_generated()
    root:add(F.code, of_code, code)
end

-- Name and text of a message whose tree nobody looks at; nil where it takes the walk.
local function summarize(side, root, view, is_asked)
    local packet, at, code = glance_envelope(side)
    if not packet or is_asked and asked_for(root, packet).any then return nil end
    -- What does not fit ends a glance as it ends the walk, and the walk says why.
    local ok, text = pcall(glance, packet, at)
    if not ok or not text then return nil end
    if is_asked then add_packet(root, view(), packet.name, tostring(code), view(1, at - 2)) end
    return packet.name, text
end

-- Name and text of a message, with its tree as far as somebody looks at it, and the rule that it breaks.
local function dissect(side, root, whole, is_shown, is_asked)
    local named = false
    local function on_envelope(packet, code, from, to)
        named, visible = true, is_shown
        if is_asked then
            add_packet(root, whole, packet and packet.name or "unknown", code, range(from, to))
            wanted = not visible and packet and asked_for(root, packet) or wanted
        end
        return root
    end
    local packet, code, text, problem = read(side, on_envelope)
    local name = packet and packet.name or code and "unknown " .. code or "malformed"
    return name, text, problem, named
end

-- The line of a message whose tree somebody looks at, or that a glance is not enough for. Adds its tree.
local function dissect_slowly(side, segment, tree, root, whole, to_server, early)
    local is_shown, is_asked = segment.is_shown, segment.is_asked
    local name, text, problem, named = "malformed", nil, early, false
    if not early then name, text, problem, named = dissect(side, root, whole, is_shown, is_asked) end
    if is_asked and not named then root:add(F.packet, whole, "malformed"):set_generated() end
    if is_shown then root:append_text(", " .. name .. ", " .. (to_server and "client to server" or "server to client")) end
    if problem then
        local item = is_asked and root or tree:add(tickwire, whole)
        add_problem(item, problem)
        if not segment.upgrade and prefs.dialect ~= 0 then
            item:add_proto_expert_info(E.other, "not a packet of the dialect that the preferences name")
        end
    end
    return line_of(to_server, name, text, problem)
end

-- Returns the line of the current packet, and whether the line can be cached. Adds the visible part of its tree.
local function dissect_taken(segment, view, tree, known, to_server, early)
    local side, is_asked = DIALECTS[known.dialect][direction_of(to_server)], segment.is_asked
    again(to_server)
    local root = tree
    if is_asked then
        root = tree:add(tickwire, view())
        add_own(root, view(), direction_of(to_server), known)
        local words = not segment.upgrade and words_of_guess(segment.way.stream)
        if words then
            if places then words = words .. ", as JSON" end
            root:add(F.guess, view(), words, "dialect: " .. words):set_generated()
        end
    end
    if not segment.is_shown and not places and not early then
        local name, text = summarize(side, root, view, is_asked)
        if name then return line_of(to_server, name, text), true end
        again(to_server)
    end
    return dissect_slowly(side, segment, tree, root, view(), to_server, early), false
end

-- Dissects a message. A call of `tickwire.dissector` goes through Wireshark, and counts as one more layer of the packet.
-- Whether a message that Wireshark has inflated looks like a packet: a list. The frame, and with it the opcode, is Wireshark's alone.
local function is_inflated_packet(stream, known, bytes)
    if not stream.is_deflate or stream.is_foreign or not known then return false end
    return find(bytes, known.opcode == TEXT and "^%[" or "^[\144-\159\220\221]") ~= nil
end

local function dissect_message(view, pinfo, tree)
    view_len, view_raw = view_len or view.len, view_raw or view.raw
    local length = view_len(view)
    if length == 0 then return 0 end
    local segment, bytes = segment_of(pinfo, tree), view_raw(view)
    local verdict, stream = segment.verdict, segment.way.stream
    if stream.is_foreign or stream.has_extension and not is_inflated_packet(stream, segment.upgrade, bytes) then
        return stream.show(view, pinfo, tree)
    end
    if verdict then
        segment.seen = segment.seen + 1
        -- The other end does not read what stands here: it stays what Wireshark makes of it.
        if segment.seen > verdict.good then
            return (verdict.opcode == TEXT and TEXT_LINES or DATA):call(view, pinfo, tree)
        end
    end
    local way, known, is_asked = segment.way, segment.upgrade, segment.is_asked
    local early
    if not known then
        early = take(bytes, view)
        known = guess(way, pinfo)
    end
    local to_server = known.client == way.from
    local side = DIALECTS[known.dialect][direction_of(to_server)]
    if byte(bytes, 2) == 0x7e and not to_server and side.by_name.lane_offer then lanes.note_offer(bytes, way) end
    local wrong_kind = segment.is_judged and wrong_frame_type(segment, length)
    local line = not is_asked and not wrong_kind and known.opcode ~= TEXT and side.lines[bytes]
    if line then
        set_columns(segment, line)
        return length
    end
    if wrong_kind then
        take(bytes, view, BINARY) -- As bytes, which nobody reads.
        early = wrong_kind
    elseif segment.upgrade then
        early = take(bytes, view, known.opcode)
    end
    local can_keep
    line, can_keep = dissect_taken(segment, view, tree, known, to_server, early)
    if can_keep then keep_line(side, bytes, line) end
    set_columns(segment, line)
    return length
end
