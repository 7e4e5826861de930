-- ---- Broken rules --------------------------------------------------------------------------------------------------
-- Shows a broken rule: its name, its definition and the response, and an expert note.

local E = {
    other = ProtoExpert.new("tickwire.expert.other_dialect", "Not a packet of the dialect that the preferences name",
        expert.group.UNDECODED, expert.severity.NOTE),
    cut = ProtoExpert.new("tickwire.expert.cut", "Begins within a frame", expert.group.SEQUENCE, expert.severity.NOTE),
    truncated = ProtoExpert.new("tickwire.expert.truncated", "Cut by the capture", expert.group.SEQUENCE, expert.severity.NOTE),
    not_read = ProtoExpert.new("tickwire.expert.not_read", "The other end has stopped reading", expert.group.SEQUENCE,
        expert.severity.NOTE),
    bug = ProtoExpert.new("tickwire.expert.dissector_error", "A bug in tickwire.lua", expert.group.DEBUG,
        expert.severity.ERROR),
}

-- Rules that are not of the table: their answers are no close frame, or none of MessagePack's.
RULES.wrong_frame_type = { "PROTOCOL.md", "close 1003", "the frame type does not match the endpoint: send text frames with ?format=json, otherwise binary frames" }
RULES.wrong_arguments = { "PROTOCOL.md", "the packet is dropped", "wrong arguments for this packet" }
RULES.unknown_code = { "PROTOCOL.md", "the packet is dropped", "unknown code in this dialect" }

-- Group and severity of rules. All others are malformed, and errors.
local KIND_OF = {
    wrong_arguments = { expert.group.PROTOCOL, expert.severity.WARN },
    unknown_code = { expert.group.UNDECODED, expert.severity.WARN },
}

-- Expert field of each rule: Wireshark's list of expert information groups by field.
local EXPERT_OF = {}
do
    local experts = { E.other, E.cut, E.truncated, E.not_read, E.bug }
    for rule, known in pairs(RULES) do
        local kind = KIND_OF[rule] or { expert.group.MALFORMED, expert.severity.ERROR }
        local summary = format("%s: %s", rule, (known[3]:gsub("%.$", "")))
        EXPERT_OF[rule] = ProtoExpert.new("tickwire.expert." .. rule, summary, kind[1], kind[2])
        experts[#experts + 1] = EXPERT_OF[rule]
    end
    tickwire.experts = experts
end

-- The reaction to a broken rule. A client answers the head of a response with no status.
local function reaction(known, is_response)
    return is_response and match(known[2], "^status ") and "drop the connection" or known[2]
end

-- A broken rule as `tickwire explain` has it in a line: its name, where it is written, and what the other end does.
local function rule_line(rule, is_response)
    local known = RULES[rule]
    return known and format("%s (%s), %s", rule, known[1], reaction(known, is_response)) or rule
end

-- Adds a broken rule and what is known of it. `place` is the byte that breaks it, from 0.
local function add_rule(item, range, rule, detail, place, is_response)
    local known = RULES[rule]
    item:add(F.rule, range, rule):set_generated()
    if known then
        item:add(F.address, range, known[1]):set_generated()
        item:add(F.answer, range, reaction(known, is_response)):set_generated()
    end
    detail = detail or known and known[3]:gsub("%.$", "") or "?"
    item:add_proto_expert_info(EXPERT_OF[rule] or E.bug, format("%s: %s, at byte %d", rule_line(rule, is_response), detail, place))
end

