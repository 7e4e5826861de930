-- tickwire for Wireshark and tshark: the packets of a tickwire server, in all of its dialects, by name.
--
-- Wireshark's own WebSocket dissector unmasks the messages and puts them together; this file adds fields with names, types and units, one line
-- in the Info column, and an expert note for each broken rule, of the frames and of the packets. It hides nothing that Wireshark shows of a frame. The
-- tables of packets and of rules below are the server's.
--
-- Printed by `tickwire codes --format wireshark` from scripts/wireshark/parts/, the packet tables and the rules of src/. Change those. For Lua
-- 5.1 and 5.2, as Wireshark 3.4 to 4.2 have it, and 5.4, as 4.4 has it.

-- Once is enough: the file may be installed and be named with `-X lua_script:` as well.
if pcall(Dissector.get, "tickwire") and Dissector.get("tickwire") then return end

local byte, sub, find, match, format = string.byte, string.sub, string.find, string.match, string.format
local floor = math.floor
local concat = table.concat

-- Bounds of src/limits/mod.rs; a test compares.
local PACKET_DEPTH = 7
local PACKET_VALUES = 1024
local CLIENT_PACKET_VALUES = 65536
local MESSAGE_BYTES = 4096
local MESSAGE_FRAGMENTS = 64
local HEAD_BYTES = 40960
local HEAD_HEADERS = 64
local TARGET_BYTES = 2048
local SUBPROTOCOLS = 16
local EXPLAIN_GUESS_BEHIND = 8

