-- ---- The world's records -------------------------------------------------------------------------------------------
-- In a capture of the server's a second interface holds what no client says: snapshots, and the commands and the checksum
-- of every tick. Numbers are written least significant byte first. PROTOCOL.md has the layout.

local world = Proto("tickwire.world", "tickwire world")
local W = {
    kind = ProtoField.string("tickwire.world.kind", "Record"),
    version = ProtoField.uint8("tickwire.world.version", "Version"),
    room = ProtoField.string("tickwire.world.room", "Room"),
    tick = ProtoField.uint32("tickwire.world.tick", "Tick"),
    checksum = ProtoField.uint64("tickwire.world.checksum", "Checksum before the tick", base.HEX),
    seed = ProtoField.uint32("tickwire.world.seed", "Seed"),
    map_size = ProtoField.uint32("tickwire.world.map_size", "Side length of the map in px"),
    options = ProtoField.uint8("tickwire.world.options", "Options of the game"),
    option = ProtoField.string("tickwire.world.option", "Option"),
    game = ProtoField.string("tickwire.world.game", "Game"),
    paths = ProtoField.uint8("tickwire.world.paths", "Paths"),
    path = ProtoField.string("tickwire.world.path", "Path"),
    tick_hz = ProtoField.uint32("tickwire.world.tick_hz", "Ticks per second"),
    rules_hash = ProtoField.uint64("tickwire.world.rules_hash", "Rules hash", base.HEX),
    part = ProtoField.uint16("tickwire.world.part", "Part of the snapshot"),
    parts = ProtoField.uint16("tickwire.world.parts", "Parts of the snapshot"),
    snapshot = ProtoField.bytes("tickwire.world.snapshot", "Bytes of the snapshot"),
    frame = ProtoField.bytes("tickwire.world.frame", "Bytes of the commands"),
    commands = ProtoField.uint16("tickwire.world.commands", "Commands"),
    command = ProtoField.string("tickwire.world.command", "Command"),
    player = ProtoField.uint16("tickwire.world.player", "Player"),
    sequence = ProtoField.uint64("tickwire.world.sequence", "Sequence"),
    client = ProtoField.uint64("tickwire.world.client", "Client"),
    address = ProtoField.string("tickwire.world.address", "Address"),
    dialect = ProtoField.string("tickwire.world.dialect", "Dialect"),
    flags = ProtoField.uint8("tickwire.world.flags", "Session flags", base.HEX),
    session = ProtoField.bytes("tickwire.world.session", "State of the session"),
    lost = ProtoField.uint32("tickwire.world.lost_messages", "Messages lost"),
    lost_bytes = ProtoField.uint64("tickwire.world.lost_bytes", "Bytes lost"),
    port = ProtoField.uint16("tickwire.world.port", "Client's port"),
    table_number = ProtoField.uint16("tickwire.world.table", "Packet table"),
    tables = ProtoField.uint16("tickwire.world.tables", "Packet tables"),
    file = ProtoField.string("tickwire.world.file", "File of the table"),
    text = ProtoField.string("tickwire.world.text", "Text of the table"),
}
local world_fields = {}
for _, field in pairs(W) do world_fields[#world_fields + 1] = field end
world.fields = world_fields
local broken_record = ProtoExpert.new("tickwire.world.expert.malformed", "Not a record of this version",
    expert.group.MALFORMED, expert.severity.ERROR)
local other_tables = ProtoExpert.new("tickwire.world.expert.tables", "Other packet tables than those of this dissector",
    expert.group.UNDECODED, expert.severity.WARN)
world.experts = { broken_record, other_tables }

-- A reader from the front of a record. Each call adds what it reads; beyond the end it says so and stops. Where nobody looks at
-- the tree there is none to add to: items are nil, and only the numbers and names that the line needs are read.
local function reader(view)
    local at = 0
    local bytes = view:raw()
    local length = #bytes
    local read = {}
    -- Where so many bytes begin, that are then behind.
    function read.pass(count)
        local from = at
        if from + count > length then error({ at = from, why = "the record ends too early" }) end
        at = from + count
        return from
    end
    function read.take(count) return view(read.pass(count), count) end
    function read.number(count)
        local from, value = read.pass(count), 0
        for place = from + count, from + 1, -1 do value = value * 256 + byte(bytes, place) end
        return value
    end
    function read.text() return read.take(read.number(1)):string(ENC_UTF_8) end
    function read.add(tree, field, count)
        local from = read.pass(count)
        return tree and tree:add_le(field, view(from, count))
    end
    function read.add_rest(tree, field)
        local from = read.pass(length - at)
        if tree and at > from then tree:add(field, view(from, at - from)) end
    end
    function read.add_text(tree, field)
        local from = at
        local said = read.text()
        if tree then tree:add(field, view(from, at - from), said) end
        return said
    end
    -- Names with values: a count, and then each name and what `read_value` reads. `fields` are those of the count and of a pair.
    function read.pairs(tree, fields, read_value, each)
        local count = read.number(1)
        local branch = tree and tree:add(fields[1], view(at - 1, 1))
        for _ = 1, count do
            local from = at
            local name, value = read.text(), read_value()
            if branch then branch:add(fields[2], view(from, at - from), name .. "=" .. value) end
            if each then each(name, value) end
        end
    end
    function read.at() return at end
    function read.rest() return length - at end
    return read
end

local RESOURCES = { [0] = "wood", "food", "stone", "gold" }
local function angle(read) return format("%.14g°", floor(read.number(2) * 3600 / 65536 + 0.5) / 10) end
local function whole(read, bytes) return format("%d", read.number(bytes)) end
local function quoted(read) return '"' .. read.text() .. '"' end
local function player(read) return "player=" .. whole(read, 2) end
local function join(read) return player(read) .. " skin=" .. whole(read, 1) .. " name=" .. quoted(read) end

-- Of the game moo: the name of each kind of command, and what reads the rest of it. Only a game knows where its commands end.
local COMMANDS = {
    [0] = { "join", join },
    { "leave", player },
    { "move", function(read) return "direction=" .. (read.number(1) == 0 and "nil" or angle(read)) end },
    { "aim", function(read) return "heading=" .. angle(read) end },
    { "chat", quoted },
    { "attack", function(read) return "state=" .. whole(read, 1) end },
    { "respawn", function(read) return "skin=" .. whole(read, 1) .. " name=" .. quoted(read) end },
    { "grant", function(read)
        local who, what = player(read), read.number(1)
        return format("%s resource=%s amount=%d", who, RESOURCES[what] or what, read.number(4))
    end },
    { "upgrade", function(read) return "choice=" .. whole(read, 1) end },
    { "select", function(read) return (read.number(1) == 0 and "weapon=" or "item=") .. whole(read, 1) end },
    { "clan_create", quoted },
    { "clan_leave", function() return "" end },
    { "clan_request", quoted },
    { "clan_answer", function(read) return player(read) .. " accept=" .. whole(read, 1) end },
    { "clan_kick", player },
    { "ping", function() return "" end },
    { "spawn", function(read)
        local what = (read.number(1) == 0 and "animal=" or "item=") .. whole(read, 1)
        return format("%s x=%d y=%d", what, read.number(2), read.number(2))
    end },
    { "announce", quoted },
    { "disconnect", player },
}

local function world_command(view, tree, read)
    local from = read.at()
    local item = tree and tree:add(view(from), "command")
    read.add(item, W.player, 2)
    read.add(item, W.sequence, 8)
    local kind = read.number(1)
    local known = COMMANDS[kind]
    if not known then error({ at = from, why = "no command has the kind " .. kind }) end
    local text = known[1] .. " " .. known[2](read)
    if not tree then return known[1] end
    local issuer, sequence = view(from, 2):le_uint(), tostring(view(from + 2, 8):le_uint64())
    item:add(W.command, view(from + 10, read.at() - from - 10), known[1], "Command: " .. text)
    item:set_text(format("player %d, sequence %s: %s", issuer, sequence, text))
    item:set_len(read.at() - from)
    return known[1]
end

-- What tickwire.lua has of a table: a line with its dialects, and one for each packet, without its lane and its meaning.
local function rows_of(text)
    local rows = {}
    for line in string.gmatch(text, "[^\r\n]+") do
        local cells = {}
        for cell in string.gmatch(line .. "\t", "([^\t]*)\t") do cells[#cells + 1] = cell end
        local shown = #rows == 0 and {} or { cells[1], cells[2] }
        for place = 4, #cells - (#rows == 0 and 2 or 1) do shown[#shown + 1] = cells[place] end
        rows[#rows + 1] = concat(shown, "\t")
    end
    return concat(rows, "\n") .. "\n"
end

-- The text of a table that comes in several records, and whether this dissector has it. What is there of a table is kept by its
-- frames: a frame is looked at again and again.
local parts_of_tables = {}
function world.init() parts_of_tables = {} end

local function is_ours(number, part, parts, bytes)
    local known = parts_of_tables[number] or {}
    parts_of_tables[number], known[part] = known, bytes
    for place = 0, parts - 1 do
        if not known[place] then return true end
    end
    if part ~= parts - 1 then return true end
    local rows = rows_of(concat(known, "", 0, parts - 1))
    for _, text in ipairs(TABLES) do
        if text == rows then return true end
    end
    return false
end

-- Each kind of record: its name, and what reads its own fields, which begin at `at`, of this room, and gives its line.
local RECORDS = {
    { "world", function(view, tree, read, at)
        read.add(tree, W.seed, 4)
        if view(0, 1):uint() == 3 then read.add(tree, W.map_size, 4) end
        read.add(tree, W.tick_hz, 4)
        if view(0, 1):uint() ~= 3 then
            read.pairs(tree, { W.options, W.option }, function() return whole(read, 4) end)
        end
        read.add(tree, W.rules_hash, 8)
        local then_at = read.at()
        read.add(tree, W.tick, 4)
        read.add(tree, W.part, 2)
        read.add(tree, W.parts, 2)
        read.add_rest(tree, W.snapshot)
        return format("seed=%d tick=%d part %d of %d", view(at, 4):le_uint(), view(then_at, 4):le_uint(),
            view(then_at + 4, 2):le_uint() + 1, view(then_at + 6, 2):le_uint())
    end },
    { "tick", function(view, tree, read, at, room)
        read.add(tree, W.checksum, 8)
        read.add(tree, W.tick, 4)
        local from = read.at()
        local count = read.number(2)
        local branch = tree and tree:add_le(W.commands, view(from, 2))
        local game = TABLES.rooms[room] and TABLES.rooms[room].game or "moo"
        if game ~= "moo" then
            read.add_rest(branch, W.frame)
            return format("tick=%d checksum=%s commands=%d of %s", view(at + 8, 4):le_uint(), view(at, 8):le_uint64():tohex(),
                count, game)
        end
        local names = {}
        for place = 1, count do names[place] = world_command(view, branch, read) end
        if read.rest() > 0 then error({ at = read.at(), why = "the record has extra bytes after its last command" }) end
        return format("tick=%d checksum=%s commands=%d %s", view(at + 8, 4):le_uint(), view(at, 8):le_uint64():tohex(),
            count, concat(names, " "))
    end },
    { "client", function(_, tree, read)
        read.add(tree, W.client, 8)
        local address = read.add_text(tree, W.address)
        local dialect = read.add_text(tree, W.dialect)
        read.add(tree, W.player, 2)
        read.add(tree, W.sequence, 8)
        read.add(tree, W.flags, 1)
        read.add_rest(tree, W.session)
        return address .. " speaks " .. dialect
    end },
    { "lost", function(view, tree, read, at)
        read.add(tree, W.lost, 4)
        read.add(tree, W.lost_bytes, 8)
        read.add(tree, W.tick, 4)
        return format("%d messages since tick %d", view(at, 4):le_uint(), view(at + 12, 4):le_uint())
    end },
    { "join", function(view, tree, read, at)
        read.add(tree, W.client, 8)
        read.add(tree, W.player, 2)
        read.add(tree, W.port, 2)
        return format("client at %s is player %d", read.add_text(tree, W.address), view(at + 8, 2):le_uint())
    end },
    { "table", function(view, tree, read, at)
        read.add(tree, W.table_number, 2)
        read.add(tree, W.tables, 2)
        read.add(tree, W.part, 2)
        read.add(tree, W.parts, 2)
        local file = read.add_text(tree, W.file)
        local from = read.pass(read.rest())
        local bytes = view:raw(from)
        if tree then tree:add(W.text, view(from), bytes) end
        local number, tables = view(at, 2):le_uint(), view(at + 2, 2):le_uint()
        local part, parts = view(at + 4, 2):le_uint(), view(at + 6, 2):le_uint()
        local line = format("%s, table %d of %d, part %d of %d", file, number + 1, tables, part + 1, parts)
        if is_ours(number, part, parts, bytes) then return line end
        return line .. " [other tables than those of this dissector: build theirs with `tickwire codes --codes FILE " ..
            "--format wireshark`, FILE being this capture]", other_tables
    end },
    { "room", function(view, tree, read, _, room)
        local game, paths = read.add_text(tree, W.game), {}
        read.pairs(tree, { W.paths, W.path }, read.text, function(path, dialect) paths[path] = dialect end)
        TABLES.rooms[room] = { game = game ~= "" and game or nil, paths = paths }
        return game == "" and "a game that is not named" or game
    end },
}

local world_handle -- Of this dissector, which exists once this file has been read.

function world.dissector(view, pinfo, tree)
    world_handle = world_handle or Dissector.get("tickwire.world")
    local root = (tree.visible or tree:referenced(world_handle)) and tree:add(world, view()) or nil
    local read = reader(view)
    local name, line = "unknown", ""
    local ok, problem = pcall(function()
        read.add(root, W.version, 1)
        local version = view(0, 1):uint()
        local record = (version == 3 or version == 4) and RECORDS[read.number(1)]
        if not record then error({ at = 0, why = "no record of a version and kind that is known" }) end
        name = record[1]
        if root then root:add(W.kind, view(1, 1), name) end
        local room = read.add_text(root, W.room)
        local note
        line, note = record[2](view, root, read, read.at(), room)
        if note and root then root:add_proto_expert_info(note, line) end
        if room ~= "" then line = "room=" .. room .. " " .. line end
    end)
    if not ok then
        root = root or tree:add(world, view())
        local why = type(problem) == "table" and problem.why or tostring(problem)
        root:add_proto_expert_info(broken_record, why)
        line = "[" .. why .. "]"
    end
    pinfo.cols.protocol:set("tickwire.world")
    pinfo.cols.info:set(name .. " " .. line)
    return view:len()
end

DissectorTable.get("wtap_encap"):add(wtap.USER0, world)
