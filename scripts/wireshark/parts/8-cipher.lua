-- ---- ChaCha20-Poly1305 ---------------------------------------------------------------------------------------------
-- Decrypts the datagrams of a network (RFC 8439, section 2.8). Wireshark has no ciphers for Lua
-- before 4.4.

-- `open_sealed(key, nonce, additional, sealed)` returns the decrypted text, or nil if the tag is
-- wrong. Bytes are Lua strings; the last 16 bytes of `sealed` are the tag.
local open_sealed
do
    local xor = bit32 and bit32.bxor or bit and bit.bxor or load("local one, other = ... return (one ~ other) & 0xffffffff")
    local rotate = bit32 and bit32.lrotate or bit and bit.rol
        or load("local word, by = ... word = word & 0xffffffff return (word << by | word >> (32 - by)) & 0xffffffff")
    local WORD = 2 ^ 32
    local BLOCK_BYTES, TAG_BYTES = 64, 16
    -- "expand 32-byte k" in four words.
    local CONSTANTS = { 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574 }
    -- The columns and diagonals of the state.
    local QUARTERS = {
        { 1, 5, 9, 13 }, { 2, 6, 10, 14 }, { 3, 7, 11, 15 }, { 4, 8, 12, 16 },
        { 1, 6, 11, 16 }, { 2, 7, 12, 13 }, { 3, 8, 9, 14 }, { 4, 5, 10, 15 },
    }

    -- Returns the little-endian words of a text.
    local function words_of(text)
        local words = {}
        for at = 1, #text, 4 do
            local a, b, c, d = byte(text, at, at + 3)
            words[#words + 1] = a + 256 * (b + 256 * (c + 256 * d))
        end
        return words
    end

    -- Returns 64 bytes of the key stream (section 2.3).
    local function block(key, counter, nonce)
        local start = { CONSTANTS[1], CONSTANTS[2], CONSTANTS[3], CONSTANTS[4] }
        for _, word in ipairs(key) do start[#start + 1] = word end
        start[13] = counter
        for _, word in ipairs(nonce) do start[#start + 1] = word end
        local state = {}
        for place = 1, 16 do state[place] = start[place] end
        for _ = 1, 10 do
            for _, quarter in ipairs(QUARTERS) do
                local a, b, c, d = quarter[1], quarter[2], quarter[3], quarter[4]
                local va, vb, vc, vd = state[a], state[b], state[c], state[d]
                va = va + vb; vd = rotate(xor(vd, va), 16)
                vc = vc + vd; vb = rotate(xor(vb, vc), 12)
                va = va + vb; vd = rotate(xor(vd, va), 8)
                vc = vc + vd; vb = rotate(xor(vb, vc), 7)
                state[a], state[b], state[c], state[d] = va % WORD, vb, vc % WORD, vd
            end
        end
        local bytes = {}
        for place = 1, 16 do
            local word = (state[place] + start[place]) % WORD
            for _ = 1, 4 do
                bytes[#bytes + 1] = word % 256
                word = floor(word / 256)
            end
        end
        return bytes
    end

    -- Numbers below 2^130 have ten limbs of 13 bits, the lowest first. Products of two limbs are
    -- exact in doubles.
    local LIMBS, LIMB = 10, 2 ^ 13

    -- Returns the limbs of little-endian bytes.
    local function limbs_of(bytes)
        local limbs, held, bits = {}, 0, 0
        for place = 1, 17 do
            held, bits = held + (bytes[place] or 0) * 2 ^ bits, bits + 8
            while bits >= 13 and #limbs < LIMBS do
                limbs[#limbs + 1] = held % LIMB
                held, bits = floor(held / LIMB), bits - 13
            end
        end
        return limbs
    end

    -- Propagates carries, modulo 2^130 - 5.
    local function carry(limbs)
        local over = 0
        for place = 1, LIMBS do
            local sum = limbs[place] + over
            limbs[place], over = sum % LIMB, floor(sum / LIMB)
        end
        limbs[1] = limbs[1] + 5 * over
    end

    local function multiply(one, other)
        local product = {}
        for place = 1, LIMBS do
            local sum = 0
            for left = 1, LIMBS do
                local right = place - left + 1
                -- 2^130 is 5, modulo 2^130 - 5.
                sum = sum + one[left] * (right >= 1 and other[right] or 5 * other[right + LIMBS])
            end
            product[place] = sum
        end
        carry(product)
        carry(product)
        return product
    end

    -- Returns the 16 bytes of the sum of a number and other bytes, modulo 2^128.
    local function sum_bytes(limbs, other)
        local bytes, held, bits, at, over = {}, 0, 0, 1, 0
        for place = 1, 16 do
            while bits < 8 do
                held, bits, at = held + limbs[at] * 2 ^ bits, bits + 13, at + 1
            end
            local sum = held % 256 + other[place] + over
            held, bits = floor(held / 256), bits - 8
            bytes[place], over = string.char(sum % 256), floor(sum / 256)
        end
        return concat(bytes)
    end

    -- Returns the tag of a text (section 2.5). The length of the text is a multiple of 16.
    local function poly1305(one_time_key, text)
        local r, s = {}, {}
        for place = 1, 16 do r[place], s[place] = one_time_key[place], one_time_key[place + 16] end
        for _, place in ipairs({ 4, 8, 12, 16 }) do r[place] = r[place] % 16 end
        for _, place in ipairs({ 5, 9, 13 }) do r[place] = r[place] - r[place] % 4 end
        local factor, sum = limbs_of(r), limbs_of({})
        for at = 1, #text, 16 do
            local part = { byte(text, at, at + 15) }
            part[17] = 1
            for place, limb in ipairs(limbs_of(part)) do sum[place] = sum[place] + limb end
            sum = multiply(sum, factor)
        end
        for _ = 1, 3 do carry(sum) end
        -- The sum is below 2^130. If adding 5 overflows 2^130, the sum is at least 2^130 - 5, and
        -- the overflow reduces it.
        local reduced = { sum[1] + 5 }
        for place = 2, LIMBS do reduced[place] = sum[place] end
        local over = 0
        for place = 1, LIMBS do
            local limb = reduced[place] + over
            reduced[place], over = limb % LIMB, floor(limb / LIMB)
        end
        return sum_bytes(over > 0 and reduced or sum, s)
    end

    local function padded(text) return text .. string.rep("\0", -#text % 16) end

    local function length_bytes(text)
        local bytes, length = {}, #text
        for place = 1, 8 do
            bytes[place] = string.char(length % 256)
            length = floor(length / 256)
        end
        return concat(bytes)
    end

    function open_sealed(key, nonce, additional, sealed)
        local text, tag = sub(sealed, 1, -TAG_BYTES - 1), sub(sealed, -TAG_BYTES)
        if #tag < TAG_BYTES then return nil end
        local key_words, nonce_words = words_of(key), words_of(nonce)
        local lengths = length_bytes(additional) .. length_bytes(text)
        if poly1305(block(key_words, 0, nonce_words), padded(additional) .. padded(text) .. lengths) ~= tag then return nil end
        local parts = {}
        for at = 1, #text, BLOCK_BYTES do
            local stream = block(key_words, 1 + (at - 1) / BLOCK_BYTES, nonce_words)
            for place = at, math.min(at + BLOCK_BYTES - 1, #text) do
                parts[place] = string.char(xor(byte(text, place), stream[place - at + 1]) % 256)
            end
        end
        return concat(parts)
    end
end

