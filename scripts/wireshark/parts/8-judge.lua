-- ---- Segments ------------------------------------------------------------------------------------------------------
-- What is known of each direction of a connection, and what a segment's frames break: for the first time, and when Wireshark shows it again.

-- Whether a frame can begin with these two bytes.
local function begins_a_frame(first, second, to_server)
    local opcode, length = first % 16, second % 128
    local is_control = opcode >= 8
    local is_known = opcode <= 2 or opcode >= 8 and opcode <= 10
    return is_known and floor(first / 16) % 8 == 0 and not (is_control and (first < 0x80 or length > 125))
        and (second >= 0x80) == to_server
end

-- Where the frames that a segment has to their end are over, from an offset on.
local function end_of_frames(view, from)
    local segment = { view = view, at = from, length = view_len(view) }
    while next_frame(segment) do end
    return segment.at
end

-- Whether a segment's frames end where it ends.
local function ends_with_a_frame(view)
    return end_of_frames(view, 0) == view_len(view)
end

-- `state_of(way, upgrade)`, `is_one_good_frame(state, head, length, to_server)`,
-- `verdict_of(state, way, upgrade, view, pinfo, client, can_wait, first, second)`.
local state_of, is_one_good_frame, verdict_of
do
    -- What is known of the frames of one direction of a connection, see `judge_frames`. After an upgrade a frame begins at once.
    function state_of(way, upgrade)
        -- Mostly it is the one that was asked for last.
        if way.state and way.state_upgrade == upgrade then return way.state end
        local holder = upgrade or way.stream
        holder.states = holder.states or {}
        local state = holder.states[way.from]
        if not state then
            local is_known = upgrade ~= nil or way.stream.is_websocket
            state = {
                is_lost = not is_known, is_midway = not is_known, has_begun = is_known, notes = {}, has_notes = false,
                open = nil, ended = nil,
            }
            holder.states[way.from] = state
        end
        way.state, way.state_upgrade = state, upgrade
        return state
    end

    -- Wireshark calls for one segment several times, and for each call again when somebody looks at it.
    local function key_of(view, pinfo, length)
        return format("%d %d %s", pinfo.number, length, view_raw(view, 0, length < 14 and length or 14))
    end

    -- Whether TCP misses bytes before this segment, by the Info column; nil where there is none, as in the first of two passes. A field would say
    -- it too, but for every field that a script asks for Wireshark makes a tree of every frame.
    local function follows_a_gap(pinfo)
        local info = tostring(pinfo.cols.info)
        if info == "(info)" then return nil end
        return find(info, "TCP Previous segment not captured", 1, true) ~= nil
    end

    local BEFORE_CAPTURE = { lost = "the rest of a frame that began before the capture" }
    local AFTER_GAP = { lost = "the rest of a frame: bytes before it are missing" }

    -- What follows the end of the reading. `rest` is how much of it belongs to the frame that ended it.
    local function verdict_after(ended, length)
        local left = ended.left or ended.missing or 0
        local rest = math.min(left, length)
        ended.left = left - rest
        return { good = 0, from = 0, count = length, after = ended, rest = rest }
    end

    -- From here on nobody knows where frames begin.
    local function lose(state)
        state.is_lost, state.is_midway, state.open = true, true, nil
    end

    -- Finds again where frames begin, once a segment holds nothing but whole frames that break no rule.
    local function find_frames(state, view, to_server)
        if not ends_with_a_frame(view) then return end
        local found = { is_midway = true }
        if judge_frames(found, view:raw(), to_server, false) then return end
        state.is_lost, state.is_midway, state.open, state.has_begun = false, found.is_midway, found.open, true
    end

    -- What is said of a segment where nobody knows where frames begin. A rule that is in doubt may have been broken before it.
    local function verdict_when_lost(state, view, length, first, second, client, to_server)
        local verdict
        if second and not (client and begins_a_frame(first, second, to_server)) then
            verdict = state.has_begun and AFTER_GAP or BEFORE_CAPTURE
        else
            find_frames(state, view, to_server)
        end
        local doubtful = state.doubtful and verdict_after(state.doubtful, length)
        return verdict, (verdict or doubtful) and { lost = verdict and verdict.lost, doubtful = doubtful }
    end

    -- What a segment's frames break, seen for the first time; and what to remember for when it is seen again.
    local function first_verdict(state, way, upgrade, view, pinfo, client, can_wait, first, second)
        local length, to_server = view_len(view), client == way.from
        if state.ended then
            local verdict = verdict_after(state.ended, length)
            return verdict, verdict
        end
        if state.is_lost then return verdict_when_lost(state, view, length, first, second, client, to_server) end
        local is_ours = upgrade and upgrade.opcode
        local verdict, is_whole = judge_frames(state, view:raw(), to_server, is_ours)
        if not verdict then
            if not is_whole and not can_wait then lose(state) end
            return nil
        end
        verdict.frame = pinfo.number
        if verdict.rule and verdict.at == 0 then
            local is_gap = follows_a_gap(pinfo)
            if is_gap then
                lose(state)
                return AFTER_GAP, AFTER_GAP
            elseif is_gap == nil then
                lose(state)
                verdict.is_doubtful, state.doubtful = true, state.doubtful or verdict
                return verdict, verdict
            end
        end
        state.ended = verdict
        return verdict, verdict
    end

    -- The verdict on a segment that is seen again. What was in doubt is settled now that TCP can be asked.
    local function verdict_again(state, key, pinfo, length)
        local note, ended, frame = state.notes[key], state.ended, pinfo.number
        if ended and frame > ended.frame then
            return note and (note.after and note or note.doubtful) or { good = 0, from = 0, count = length, after = ended, rest = 0 }
        end
        if note and note.is_doubtful then
            if follows_a_gap(pinfo) then return AFTER_GAP end
            state.ended = note
        end
        return note and (note.rule or note.lost or note.count) and note or nil
    end

    function verdict_of(state, way, upgrade, view, pinfo, client, can_wait, first, second)
        if pinfo.visited then
            return state.has_notes and verdict_again(state, key_of(view, pinfo, view_len(view)), pinfo, view_len(view)) or nil
        end
        local verdict, note = first_verdict(state, way, upgrade, view, pinfo, client, can_wait, first, second)
        if note then
            state.has_notes = true
            state.notes[key_of(view, pinfo, view_len(view))] = note
        end
        return verdict
    end

    -- Whether a segment is one whole data frame, of which nothing can be wrong but what is in the message.
    function is_one_good_frame(state, head, length, to_server)
        local first, second, third, fourth = byte(head, 1, 4)
        if first ~= 0x82 or state.open or state.ended or state.is_midway or state.has_notes or not fourth then return false end
        local size, payload = to_server and 6 or 2, second % 128
        if payload == 126 then
            size, payload = size + 2, third * 256 + fourth
            if payload < 126 then return false end
        end
        return payload < 127 + 65536 and (second >= 0x80) == to_server and size + payload == length
            and not (to_server and payload > MESSAGE_BYTES) and second % 128 ~= 127
    end
end

