-- ---- UDP -----------------------------------------------------------------------------------------------------------
-- Dissects the datagrams of lanes. In captures of the server they are opened, and the comment of
-- each names the TCP connection of its lane. In captures of a network they are sealed, and their
-- key is in the key log of the server or in a captured `lane_offer`.

(function() -- A Lua function may have 200 local names, so this part is a function of its own. Its lines are not indented.
local datagram = Proto("tickwire.datagram", "tickwire datagram")
local D = {
    connection = ProtoField.uint32("tickwire.datagram.connection", "Connection", base.HEX),
    sequence = ProtoField.uint16("tickwire.datagram.sequence", "Sequence, lower 16 bits"),
    newest = ProtoField.uint16("tickwire.datagram.newest", "Newest received, lower 16 bits"),
    received = ProtoField.uint32("tickwire.datagram.received", "Received before it", base.HEX),
    number = ProtoField.uint32("tickwire.datagram.number", "Sequence number"),
    acknowledged = ProtoField.uint32("tickwire.datagram.acknowledged", "Acknowledges"),
    missing = ProtoField.uint32("tickwire.datagram.missing", "Has not arrived"),
    opened_by = ProtoField.string("tickwire.datagram.opened_by", "Opened by"),
    sealed = ProtoField.bytes("tickwire.datagram.sealed", "Sealed messages"),
    tag = ProtoField.bytes("tickwire.datagram.tag", "Tag"),
    message = ProtoField.string("tickwire.datagram.message", "Message"),
    kind = ProtoField.uint8("tickwire.datagram.kind", "Kind", base.DEC, lanes.NAMES),
    length = ProtoField.uint16("tickwire.datagram.length", "Length"),
    received_commands = ProtoField.uint32("tickwire.datagram.received_commands", "Commands received up to"),
    first = ProtoField.uint32("tickwire.datagram.first", "First sequence number"),
    tick = ProtoField.uint32("tickwire.datagram.tick", "Tick"),
    step = ProtoField.uint8("tickwire.datagram.step", "Step"),
    count = ProtoField.uint8("tickwire.datagram.count", "Commands"),
    same = ProtoField.bool("tickwire.datagram.same", "Same as before"),
    command = ProtoField.uint32("tickwire.datagram.command", "Command"),
    command_tick = ProtoField.uint32("tickwire.datagram.command.tick", "Tick"),
    later = ProtoField.uint8("tickwire.datagram.later", "Ticks later"),
    body_length = ProtoField.uint8("tickwire.datagram.body_length", "Length of code and arguments"),
    code = ProtoField.bytes("tickwire.datagram.code", "Code"),
    arguments = ProtoField.bytes("tickwire.datagram.arguments", "Arguments without sequence and tick"),
}
local fields = {}
for _, field in pairs(D) do fields[#fields + 1] = field end
datagram.fields = fields
local no_key = ProtoExpert.new("tickwire.datagram.expert.no_key", "Sealed, and no key is known", expert.group.UNDECODED,
    expert.severity.NOTE)
local cut = ProtoExpert.new("tickwire.datagram.expert.truncated", "Cut by the capture", expert.group.SEQUENCE,
    expert.severity.NOTE)
datagram.experts = { no_key, cut }

local comment_of_frame = Field.new("frame.comment")
local datagram_handle, packet_handle -- Dissectors, which exist once this file has been loaded.
-- Results of `judge` by frame number.
local judged = {}

function datagram.init() judged = {} end

-- Returns the direction of the datagram in a frame, and its header and messages without encryption: nil if it has not been opened.
function lanes.seen(frame)
    local found = judged[frame] or {}
    return found.direction, found.text
end

-- Returns the client's end of the TCP connection of an opened datagram: `tcp=ADDRESS:PORT` at the
-- end of a comment.
local function connection_of_comment()
    for _, comment in ipairs({ comment_of_frame() }) do
        local client = match(tostring(comment.value), "tcp=(%S+)$")
        if client then return client end
    end
    return nil
end

local function is_to_server(pinfo)
    local is_target, is_source = is_server_port(pinfo.dst_port), is_server_port(pinfo.src_port)
    if is_target ~= is_source then return is_target end
    for _, port in ipairs({ pinfo.dst_port, pinfo.src_port }) do
        if lanes.ports[port] then return port == pinfo.dst_port end
    end
    return pinfo.dst_port < pinfo.src_port
end

-- Returns the TCP connection of a client, given as in comments and the key log; nil if the capture
-- does not contain it.
local function stream_of(client, server_port)
    local text, port = match(client or "", "^%[?([%x:.]+)%]?:(%d+)$")
    if not text then return nil end
    local ok, address = pcall(find(text, ":", 1, true) and Address.ipv6 or Address.ip, text)
    for _, way in ipairs(ok and ways[tonumber(port) * 65536 + server_port] or {}) do
        if way.source == address then return way.stream end
    end
    return nil
end

-- Returns the dialect of a packet, and whether it is a guess: the dialect of the lane's connection,
-- or a dialect that decodes it.
local function dialect_of_lane(lane, client, to_server, pinfo)
    local stream = stream_of(client, to_server and pinfo.dst_port or pinfo.src_port) or lane.offer and lane.offer.stream
    local upgrade = stream and upgrade_of(stream, pinfo.number)
    if upgrade then return upgrade.dialect, false end
    if stream and stream.possible then return candidates_of(stream)[1].dialect, true end
    lane.stream = lane.stream or { client = "client", upgrades = {} }
    local ends = to_server and { "client", "server" } or { "server", "client" }
    return guess({ stream = lane.stream, from = ends[1], to = ends[2] }, pinfo).dialect, true
end

-- Opens a sealed datagram with the known keys. Returns its text, the source of the key, and its
-- sequence number; false if all keys are wrong, and nil without a key. In a capture that begins
-- late, the upper bits of the number are unknown: up to MOST_ROUNDS are tried.
local MOST_ROUNDS = 64
local function open(lane, way, bytes, direction, number)
    local keys = {}
    if lane.log then keys[#keys + 1] = { lane.log.key, "the key log" } end
    if lane.offer and lane.offer.key then keys[#keys + 1] = { lane.offer.key, "lane_offer" } end
    for _, one in ipairs(keys) do
        for round = 0, way.newest == 0 and MOST_ROUNDS or 0 do
            local text = lanes.open(bytes, one[1], direction, number + round * 65536)
            if text then return text, one[2], number + round * 65536 end
        end
    end
    if #keys == 0 then return nil end
    return false
end

-- Judges a datagram at its first dissection. Returns its number, the text of header and messages,
-- and the broken rule.
local function judge(bytes, header, client, is_cut, direction, server, frame)
    if not header then return { rule = "datagram_too_short" } end
    local problem = not client and not lanes.is_granted(header.connection) and lanes.read_log(prefs.key_log)
    local lane = lanes.of(header.connection)
    -- Captures may have lost their comments. A datagram with readable messages is opened: sealed
    -- bytes are practically never readable.
    local is_opened = client or not lanes.has_key(lane) and not select(2, lanes.read(bytes))
    if not is_opened and #bytes < lanes.HEADER_BYTES + lanes.TAG_BYTES then return { rule = "datagram_too_short" } end
    if not is_opened and #bytes > lanes.MOST_BYTES then return { rule = "datagram_too_long" } end
    local way = lanes.way(lane, direction, server)
    local found = { lane = lane, problem = problem }
    found.number, found.rule = lanes.number(way, header.sequence)
    if is_opened then
        found.text, found.rule, found.is_opened = bytes, nil, true
    elseif not is_cut and not found.rule then
        local text, opened_by, number = open(lane, way, bytes, direction, found.number)
        found.text, found.opened_by, found.number = text or nil, opened_by, number or found.number
        if text == false then found.rule = "datagram_wrong_tag" end
    end
    if not found.rule then lanes.record(way, found.number, frame) end
    local other = direction == "to_server" and "to_client" or "to_server"
    found.sent = lanes.way(lane, other, server).newest
    return found
end

local function numbers_text(list, none)
    if #list == 0 then return none end
    local parts, from = {}, 1
    for place = 1, #list do
        -- Numbers are in descending order.
        if list[place + 1] ~= list[place] - 1 then
            parts[#parts + 1] = from == place and format("%d", list[from]) or format("%d-%d", list[place], list[from])
            from = place + 1
        end
    end
    return concat(parts, ", ")
end

local function add_header(root, view, header, found)
    root:add(D.connection, view(0, 4))
    root:add(D.sequence, view(4, 2))
    if found.number then root:add(D.number, view(4, 2), found.number % 2 ^ 32):set_generated() end
    local newest = root:add(D.newest, view(6, 2))
    local arrived, missing = lanes.acknowledged(header, found.sent or 0)
    if #arrived == 0 then newest:append_text(": nothing has arrived") end
    local bits, before = root:add(D.received, view(8, 4)), #arrived + #missing - 1
    if before > 0 then bits:append_text(format(": of the %d before it, %s missing", before, numbers_text(missing, "none is"))) end
    for _, number in ipairs(arrived) do
        local item = bits:add(D.acknowledged, number == arrived[1] and view(6, 2) or view(8, 4), number % 2 ^ 32)
        item:set_generated()
    end
    for _, number in ipairs(missing) do bits:add(D.missing, view(8, 4), number % 2 ^ 32):set_generated() end
end

-- Returns the fields that all packets of a datagram share, as in `segment_of`.
local function segment_for(pinfo, tree)
    packet_handle = packet_handle or Dissector.get("tickwire")
    local is_shown = tree.visible
    return { is_shown = is_shown, is_asked = is_shown or tree:referenced(packet_handle), way = { stream = {} }, frame = pinfo.number }
end

-- Returns the line of a packet in MessagePack, which is the whole view. Adds its tree.
local function packet_line(context, view, tree)
    local bytes = view:raw()
    take(bytes, view, BINARY)
    local dialect, is_guess = dialect_of_lane(context.lane, context.client, context.to_server, context.pinfo)
    take(bytes, view, BINARY)
    local segment = context.segment
    segment.upgrade = not is_guess and { dialect = dialect } or nil
    segment.way.stream = is_guess and context.lane.stream or {}
    local line = dissect_taken(segment, view, tree, { dialect = dialect, opcode = BINARY }, context.to_server)
    return (line:gsub("%s+$", ""))
end

local function add_same_bits(tree, view, at, block)
    local branch = tree:add(view(at, block.bits), "same")
    for place, command in ipairs(block.commands) do
        local bit = (place - 1) % 8
        local item = branch:add(D.same, view(at + floor((place - 1) / 8), 1), command.is_same)
        local dots = string.rep(".", bit) .. (command.is_same and "1" or "0") .. string.rep(".", 7 - bit)
        item:set_text(format("%s %s = command %d %s", sub(dots, 1, 4), sub(dots, 5), command.sequence,
            command.is_same and "is the same as the one before it" or "has a body"))
    end
end

-- Adds the body of a command, and the command as a packet of the WebSocket. Returns its line.
local function add_body(context, tree, view, from, command)
    local at, to = from + command.from - 1, from + command.to - 1
    local packet = ByteArray.new(command.packet, true):tvb(format("Command %d as a packet", command.sequence))
    local item = tree and tree:add(view(at, to - at), format("body of command %d", command.sequence))
    if item then
        item:add(D.later, view(at, 1))
        item:add(D.body_length, view(at + 1, 1))
        local code_bytes = #command.body.code
        item:add(D.code, view(at + 2, code_bytes))
        item:add(D.arguments, view(at + 2 + code_bytes, to - at - 2 - code_bytes))
    end
    local line = packet_line(context, packet, item or context.root)
    if item then item:append_text(": " .. (line:gsub("^[^ ]* ", ""))) end
    return line
end

-- Adds commands, and their lines to the context. Repeated commands are counted.
local function add_commands(context, tree, view, message)
    local from, block, lines, same = message.from - 1, message.block, context.lines, 0
    if tree then
        tree:add(D.first, view(from, 4))
        local tick = tree:add(D.tick, view(from + 4, 4))
        if not block.tick then tick:set_text("Tick: none") end
        tree:add(D.step, view(from + 8, 1))
        tree:add(D.count, view(from + 9, 1))
        add_same_bits(tree, view, from + 10, block)
    end
    for _, command in ipairs(block.commands) do
        local item = tree
        if tree then
            local place = command.is_same and view(from, 10) or view(from + command.from - 1, command.to - command.from)
            item = tree:add(D.command, place, command.sequence)
            item:set_generated()
            if command.tick then item:add(D.command_tick, place, command.tick):set_generated() end
        end
        if command.is_same then
            same = same + 1
            if item then item:append_text(": the same as the one before it") end
        else
            if same > 0 then lines[#lines] = format("%s (and %d more)", lines[#lines], same) end
            same = 0
            lines[#lines + 1] = add_body(context, item, view, from, command)
        end
    end
    if same > 0 then lines[#lines] = format("%s (and %d more)", lines[#lines], same) end
end

-- Adds a message. `tree` is nil if the tree is not visible.
local function add_message(context, tree, view, message)
    local name = lanes.NAMES[message.kind]
    local item = tree and tree:add(D.message, view(message.at - 1, message.to - message.at), name)
    if item then
        item:add(D.kind, view(message.at - 1, 1))
        item:add(D.length, view(message.at, 2))
    end
    if message.block then
        add_commands(context, item, view, message)
    elseif message.sequence then
        if item then item:add(D.received_commands, view(message.from - 1, 4)) end
        context.lines[#context.lines + 1] = format("%s received commands up to %d", context.arrow, message.sequence)
    elseif message.length == 0 then
        local range = view(message.at - 1, message.to - message.at)
        local empty = (item or context.root):add(tickwire, range)
        empty:add(F.direction, range, direction_of(context.to_server)):set_generated()
        empty:add(F.length, range, 0):set_generated()
        empty:add(F.packet, range, "malformed"):set_generated()
        add_rule(empty, range, "packet_truncated", nil, message.from - 1)
        context.lines[#context.lines + 1] = context.arrow .. " malformed [packet_truncated]"
    else
        context.lines[#context.lines + 1] = packet_line(context, view(message.from - 1, message.length):tvb(), item or context.root)
    end
end

-- Adds the messages of an opened datagram. Returns the broken rule, if any.
local function add_messages(context, root, view, text)
    local messages, rule, at = lanes.read(text)
    for _, message in ipairs(messages) do add_message(context, root, view, message) end
    if not rule then return end
    add_rule(root or context.root:add(datagram, view()), view(at - 1, #text - at + 1), rule, nil, at - 1)
    return rule
end

-- Adds sealed messages and tag, and a note without a key.
local function add_sealed(root, view, found)
    local most, head, tag = view:len(), lanes.HEADER_BYTES, lanes.TAG_BYTES
    if most > head + tag then root:add(D.sealed, view(head, most - head - tag)) end
    if most >= head + tag then root:add(D.tag, view(most - tag, tag)) end
    if found.rule or found.text then return end
    local why = "no key is known: name the server's key log in the preference tickwire.key_log"
    if found.problem then why = "the key log cannot be read: " .. found.problem end
    root:add_proto_expert_info(no_key, why)
end

local function show(view, pinfo, tree, client)
    local bytes = view:raw()
    local to_server = is_to_server(pinfo)
    local direction = direction_of(to_server)
    local server = to_server and tostring(pinfo.dst) .. " " .. pinfo.dst_port or tostring(pinfo.src) .. " " .. pinfo.src_port
    local header, is_cut = lanes.read_header(bytes), view:reported_len() > #bytes
    local found = judged[pinfo.number]
    if not found then
        found = judge(bytes, header, client, is_cut, direction, server, pinfo.number)
        found.direction = direction
        judged[pinfo.number] = found
    end
    datagram_handle = datagram_handle or Dissector.get("tickwire.datagram")
    local segment = segment_for(pinfo, tree)
    local is_asked = segment.is_asked or tree:referenced(datagram_handle)
    local root = (is_asked or found.rule) and tree:add(datagram, view()) or nil
    local arrow = to_server and "→" or "←"
    local context = {
        lane = found.lane, client = client or found.lane and found.lane.log and found.lane.log.client, to_server = to_server,
        pinfo = pinfo, segment = segment, root = root or tree, arrow = arrow, lines = {},
    }
    local line, rule = arrow .. " datagram", found.rule
    if header then
        line = format("%s %d acknowledges %d", line, header.sequence, header.newest)
        if root then
            root:append_text(format(", %d, %s", found.number or header.sequence, to_server and "client to server" or "server to client"))
            add_header(root, view, header, found)
        end
    end
    if rule then
        add_rule(root, view(), rule, nil, 0)
        if header then add_sealed(root, view, found) end
    elseif not found.text then
        if root and not is_cut then add_sealed(root, view, found) end
        line = line .. format(", %d bytes sealed", math.max(0, view:reported_len() - lanes.HEADER_BYTES - lanes.TAG_BYTES))
    else
        local plain = view
        if not found.is_opened then
            plain = ByteArray.new(found.text, true):tvb("Opened datagram")
            if root then
                root:add(D.opened_by, view(), found.opened_by):set_generated()
                add_sealed(root, view, found)
            end
        end
        if not is_cut then rule = add_messages(context, root, plain, found.text) end
    end
    if is_cut and root then root:add_proto_expert_info(cut, format("the capture has %d of %d bytes", #bytes, view:reported_len())) end
    if show_values and #context.lines > 0 then line = line .. "  " .. concat(context.lines, "  ") end
    if rule then line = line .. " [" .. rule .. "]" end
    pinfo.cols.protocol:set("tickwire")
    pinfo.cols.info:set(line)
    return #bytes
end

-- Other protocols on the socket of the lanes: STUN (RFC 8489, section 5), and DTLS (RFC 7983,
-- section 7).
local STUN, DTLS
local function other_protocol(bytes)
    local first, second = byte(bytes, 1, 2)
    if first < 4 and sub(bytes, 5, 8) == "\33\18\164\66" then
        STUN = STUN or Dissector.get("stun-udp")
        return STUN
    end
    if first >= 20 and first < 64 and second == 0xfe and #bytes >= 13 then
        DTLS = DTLS or Dissector.get("dtls")
        return DTLS
    end
    return nil
end

function datagram.dissector(view, pinfo, tree)
    -- The datagram in an ICMP error is a repetition.
    if view:len() == 0 or pinfo.in_error_pkt then return 0 end
    local client = connection_of_comment()
    local other = not client and other_protocol(view:raw())
    if other then return other:call(view, pinfo, tree) end
    return show(view, pinfo, tree, client)
end

-- Dissects a datagram on another port, if a capture of the server marks it or its lane is known.
local function find_datagram(view, pinfo, tree)
    if view:len() < lanes.HEADER_BYTES or pinfo.in_error_pkt then return false end
    local client = connection_of_comment()
    if not client and not lanes.is_granted(view(0, 4):uint()) then
        lanes.read_log(prefs.key_log)
        if not lanes.is_granted(view(0, 4):uint()) then return false end
    end
    show(view, pinfo, tree, client)
    return true
end

-- Registers the dissector for the server's UDP ports, which have the numbers of its TCP ports.
function lanes.listen(before, after)
    local by_port = DissectorTable.get("udp.port")
    if before and before ~= "" then by_port:remove(before, datagram) end
    if after ~= "" then by_port:add(after, datagram) end
end

lanes.listen(nil, tostring(prefs.ports))
datagram:register_heuristic("udp", find_datagram)
end)()

