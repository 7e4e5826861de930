-- tickwire for Wireshark and tshark: the packets of a tickwire server, in all of its dialects, by name.
--
-- Comes in: messages that Wireshark's own WebSocket dissector has unmasked and put together, and the records of a
-- server's world in its capture files. Goes out: fields with names, types and units, one line in the Info column, an expert
-- note for each broken rule. Never: a packet that this file names and the server does not; the table below is the server's.
--
-- Made by scripts/wireshark/build.sh from its parts and from packet_codes/. Change those. For Lua 5.1 and 5.2, as Wireshark
-- 3.4 to 4.2 have it, and 5.4, as 4.4 has it.

local byte, sub, find, match, format = string.byte, string.sub, string.find, string.match, string.format
local floor = math.floor
local concat = table.concat

-- Bounds of src/limits.rs; a test compares.
local PACKET_DEPTH = 7
local PACKET_VALUES = 1024
local CLIENT_PACKET_VALUES = 65536

