-- ---- Rules of heads ------------------------------------------------------------------------------------------------
-- The request and the answer of an upgrade, held against the rules in the order of the server's own check (src/ws/head_lines.rs, http.rs and
-- upgrade.rs). Wireshark's HTTP dissector shows them; this adds the rule.

-- The rule that a head breaks, as far as it is there: `judge_head(bytes, stream)`; nil where none is broken. `stream.asked` keeps what the request
-- says of the answer. Without the request an answer's key is not judged.
local judge_head
do
    local TOKEN = "^[%w!#$%%&'*+%-.^_`|~]+$"
    -- Headers that may stand once.
    local SINGLE = {
        host = true, origin = true, authorization = true, ["content-length"] = true, ["transfer-encoding"] = true,
        ["sec-websocket-key"] = true, ["sec-websocket-version"] = true, ["sec-websocket-accept"] = true,
    }
    local GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

    -- The next line of a head and the offset after it; nil where it is not all there. Or nil and the rule that its bytes break.
    local function next_line(head, from)
        local at = from
        repeat
            local stop = find(head, "%c", at)
            if (stop or #head) > HEAD_BYTES then return nil, "head_too_long" end
            if not stop then return nil end
            local sign, follower = byte(head, stop, stop + 1)
            if sign == 10 then return nil, "bare_line_feed" end
            if sign == 13 then
                if not follower then return nil end
                if stop + 1 > HEAD_BYTES then return nil, "head_too_long" end
                if follower ~= 10 then return nil, "bare_carriage_return" end
                return sub(head, from, stop - 1), stop + 2
            end
            if sign ~= 9 then return nil, "control_character" end
            at = stop + 1
        until false
    end

    local function request_line(line, head)
        local method, target, version = match(line, "^([^ ]*) ([^ ]*) ([^ ]*)$")
        if not method or not find(method, TOKEN) or not find(target, "^[\33-\126]*$") or sub(version, 1, 5) ~= "HTTP/" then
            return "request_line"
        end
        if version ~= "HTTP/1.1" and version ~= "HTTP/1.0" then return "http_version" end
        if #target > TARGET_BYTES then return "target_too_long" end
        if sub(target, 1, 1) ~= "/" or find(target, "#", 1, true) then return "target_form" end
        head.method, head.is_http_1_0 = method, version == "HTTP/1.0"
    end

    local function status_line(line, head)
        local rest = match(line, "^HTTP/1%.1 (.*)$")
        local digits = rest and match(rest, "^[^ ]*")
        if not digits or not find(digits, "^[1-9]%d%d$") then return "status_line" end
        head.status = tonumber(digits)
    end

    local function header_line(line, head)
        if find(line, "^[ \t]") then return "header_folded" end
        if head.count == HEAD_HEADERS then return "too_many_headers" end
        local name, value = match(line, "^([^:]*):(.*)$")
        if not name then return "header_name" end
        if find(name, "[ \t]$") then return "space_before_colon" end
        if not find(name, TOKEN) then return "header_name" end
        name = name:lower()
        if SINGLE[name] and head[name] then return "header_repeated" end
        head[name] = head[name] or {}
        head[name][#head[name] + 1] = match(value, "^[ \t]*(.-)[ \t]*$")
        head.count = head.count + 1
    end

    -- The lines of a head by their names in lower case, each a list of values; nil where it is not all there. Or nil and the rule.
    local function read_head(bytes, first_line)
        local head, at = { count = 0 }, 1
        repeat
            local line, to = next_line(bytes, at)
            if not line then return nil, to end
            local rule
            if at == 1 then
                rule = first_line(line, head)
            elseif line == "" then
                return head
            else
                rule = header_line(line, head)
            end
            if rule then return nil, rule end
            at = to
        until false
    end

    -- The elements of a header that is a list, over all of its lines.
    local function elements(head, name)
        local found = {}
        for _, value in ipairs(head[name] or {}) do
            for element in string.gmatch(value, "[^,]+") do
                element = match(element, "^[ \t]*(.-)[ \t]*$")
                if element ~= "" then found[#found + 1] = element end
            end
        end
        return found
    end

    local function has_token(head, name, token)
        for _, element in ipairs(elements(head, name)) do
            if element:lower() == token then return true end
        end
        return false
    end

    -- What every request has to have.
    local function request_rule(head)
        local host, length = head.host and head.host[1], head["content-length"] and head["content-length"][1]
        if not host and not head.is_http_1_0 then return "host_missing" end
        if host and not find(host, "^[%w.%-_:%[%]]+$") then return "host_malformed" end
        if head["transfer-encoding"] then return "transfer_encoding" end
        if length and not find(length, "^%d+$") then return "content_length_malformed" end
        if length and not find(length, "^0+$") then return "body_announced" end
    end

    local function upgrade_rule(head)
        if head.is_http_1_0 then return "upgrade_in_http_1_0" end
        if head.method ~= "GET" then return "method_not_get" end
        if not has_token(head, "upgrade", "websocket") then return "upgrade_missing" end
        if not has_token(head, "connection", "upgrade") then return "connection_missing" end
        if not head["sec-websocket-version"] or head["sec-websocket-version"][1] ~= "13" then return "version_not_13" end
        local key = head["sec-websocket-key"] and head["sec-websocket-key"][1]
        if not key then return "key_missing" end
        -- Base64 of 16 bytes: the last of 22 digits has four bits that are 0.
        if #key ~= 24 or not find(key, "^[%w+/]+[AQgw]==$") then return "key_malformed" end
        for place, offered in ipairs(elements(head, "sec-websocket-protocol")) do
            if place > SUBPROTOCOLS then return "too_many_subprotocols" end
            if not find(offered, TOKEN) then return "subprotocol_malformed" end
        end
    end

    -- Rules that only upgrades to one of the server's endpoints have to observe, and rules that plain HTTP need not observe (`counts` in
    -- src/tools/explain/parse/http_head.rs).
    local LIMITS = { head_too_long = true, target_too_long = true, too_many_headers = true, too_many_subprotocols = true }
    local OF_UPGRADES = {
        target_form = true, transfer_encoding = true, body_announced = true, method_not_get = true,
    }

    local function counts(rule, bytes)
        local lower = bytes:lower()
        local is_upgrade = find(lower, "\nupgrade:[^\r\n]*websocket") or find(lower, "\nsec%-websocket%-key:")
        if not is_upgrade then return not LIMITS[rule] and not OF_UPGRADES[rule] end
        return not LIMITS[rule] or dialect_of(bytes) ~= nil
    end

    -- The names of the extensions that a head lists, without their parameters.
    local function extensions(head)
        local names = {}
        for _, element in ipairs(elements(head, "sec-websocket-extensions")) do
            names[#names + 1] = match(element, "^([^;]-)[ \t]*;") or element
        end
        return names
    end

    -- Messages of another protocol, and decompressed ones, are what Wireshark makes of them.
    local function show_as_it_is(view, pinfo, tree)
        return (find(view:raw(), "^[%g%s\128-\255]*$") and TEXT_LINES or DATA):call(view, pinfo, tree)
    end

    local function first_rule(bytes, stream)
        local head, rule = read_head(bytes, request_line)
        if not head then return rule end
        rule = request_rule(head)
        if rule then return rule end
        if not has_token(head, "upgrade", "websocket") and not head["sec-websocket-key"] then return nil end
        local key = head["sec-websocket-key"]
        stream.asked = { key = key and key[1] or "", offered = elements(head, "sec-websocket-protocol"), extensions = {} }
        for _, name in ipairs(extensions(head)) do stream.asked.extensions[name:lower()] = true end
        -- A path that is no endpoint: the messages are no packets. The preferences may name a dialect all the same.
        stream.show, stream.has_extension, stream.is_deflate = show_as_it_is, false, false
        stream.is_foreign = prefs.dialect == 0 and dialect_of(bytes) == nil
        return upgrade_rule(head)
    end

    local function judge_request(bytes, stream)
        local rule = first_rule(bytes, stream)
        return rule and counts(rule, bytes) and rule or nil
    end

    -- SHA-1 of a text, RFC 3174; twenty bytes.
    local function sha1(text)
        local both, either, other
        if bit or bit32 then
            local library = bit or bit32
            both, either, other = library.band, library.bor, library.bxor
        else
            both = load("local one, other = ... return one & other")
            either = load("local one, other = ... return one | other")
            other = load("local one, other = ... return one ~ other")
        end
        local WORD = 4294967296
        local function rotate(value, bits) return value * 2 ^ bits % WORD + floor(value / 2 ^ (32 - bits)) end
        local function mix(round, b, c, d)
            if round < 20 then return either(both(b, c), both(WORD - 1 - b, d)) % WORD, 0x5a827999 end
            if round < 40 then return other(other(b, c), d) % WORD, 0x6ed9eba1 end
            if round < 60 then return either(either(both(b, c), both(b, d)), both(c, d)) % WORD, 0x8f1bbcdc end
            return other(other(b, c), d) % WORD, 0xca62c1d6
        end
        local padded = text .. "\128" .. string.rep("\0", (55 - #text) % 64) .. "\0\0\0\0" .. string.char(
            floor(#text * 8 / 16777216) % 256, floor(#text * 8 / 65536) % 256, floor(#text * 8 / 256) % 256, #text * 8 % 256)
        local hash = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 }
        for from = 1, #padded, 64 do
            local words = {}
            for place = 0, 15 do words[place] = unsigned(padded, from + 4 * place, 4) end
            for place = 16, 79 do
                local mixed = other(other(words[place - 3], words[place - 8]), other(words[place - 14], words[place - 16]))
                words[place] = rotate(mixed % WORD, 1)
            end
            local a, b, c, d, e = hash[1], hash[2], hash[3], hash[4], hash[5]
            for round = 0, 79 do
                local mixed, constant = mix(round, b, c, d)
                local next_a = (rotate(a, 5) + mixed + e + constant + words[round]) % WORD
                a, b, c, d, e = next_a, a, rotate(b, 30), c, d
            end
            for place, value in ipairs({ a, b, c, d, e }) do hash[place] = (hash[place] + value) % WORD end
        end
        local bytes = {}
        for place, value in ipairs(hash) do
            bytes[place] = string.char(floor(value / 16777216), floor(value / 65536) % 256, floor(value / 256) % 256, value % 256)
        end
        return concat(bytes)
    end

    local DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

    -- Base64 of twenty bytes: the answer to a key.
    local function accept_of(key)
        local hash, digits = sha1(key .. GUID) .. "\0", {}
        for from = 1, 21, 3 do
            local value = unsigned(hash, from, 3)
            for place = 3, 0, -1 do
                local digit = floor(value / 64 ^ place) % 64 + 1
                digits[#digits + 1] = sub(DIGITS, digit, digit)
            end
        end
        digits[28] = "="
        return concat(digits)
    end

    local function judge_answer(bytes, stream)
        local head, rule = read_head(bytes, status_line)
        -- The limits, and the version, are of answers that grant an upgrade.
        if not head and not find(bytes, "^HTTP/1%.%d 101") and (LIMITS[rule] or find(bytes, "^HTTP/1%.0 %d%d%d")) then return nil end
        if not head then return rule end
        if head.status ~= 101 then return nil end
        if not head.upgrade or head.upgrade[1]:lower() ~= "websocket" then return "answer_upgrade_missing" end
        if not has_token(head, "connection", "upgrade") then return "answer_connection_missing" end
        local asked, accept = stream.asked, head["sec-websocket-accept"]
        if not asked then return nil end
        if not accept or accept[1] ~= accept_of(asked.key) then return "accept_wrong" end
        for _, name in ipairs(extensions(head)) do
            if not asked.extensions[name:lower()] then return "extension_not_offered" end
            stream.is_deflate = not stream.has_extension and name:lower() == "permessage-deflate"
            stream.has_extension = true
        end
        local agreed = head["sec-websocket-protocol"]
        if not agreed then return nil end
        stream.is_foreign = prefs.dialect == 0 and agreed[1] ~= "tickwire.v1"
        for _, offered in ipairs(asked.offered) do
            if offered == agreed[1] and not agreed[2] then return nil end
        end
        return "subprotocol_not_offered"
    end

    function judge_head(bytes, stream)
        if sub(bytes, 1, 5) == "HTTP/" then return judge_answer(bytes, stream) end
        return find(bytes, "^%u+ ") and judge_request(bytes, stream) or nil
    end
end

