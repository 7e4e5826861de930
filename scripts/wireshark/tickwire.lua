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

-- table:begin, from packet_codes/
local TABLES = {
[[
legacy:str	letters-2023:str	letters-2024:str	letters:str
to_server	enter_game	sp	M	M	M	player:{name:str<=15|nil|loose,moofoll:bool|nil|loose,skin:u8|nil|loose}|nil|loose
to_server	move	33	a	a	9	direction:num.rad|nil
to_server	attack	c	d	n	F	state:flag|loose heading:num.rad|nil|loose
to_server	aim	2	D	D	D	heading:num.rad
to_server	select	5	G	z	z	id:u16|loose is_weapon:bool|nil|loose
to_server	upgrade	6	H	H	H	choice:u16|loose
to_server	toggle	7	K	K	K	what:flag|loose
to_server	reset_move	rmd	e	e	e	-
to_server	chat	ch	6	6	6	text:str<=30
to_server	store	13c	c	c	c	buy:flag|loose id:u16|loose accessory:flag|loose
to_server	map_ping	14	S	S	S	kind:u8|nil|loose
to_server	clan_create	8	L	L	L	name:str<=7
to_server	clan_leave	9	N	N	N	-
to_server	clan_request	10	b	b	b	name:str<=7|loose
to_server	clan_answer	11	P	P	P	sid:u32|loose accept:flag|nil|loose
to_server	clan_kick	12	Q	Q	Q	sid:u32|loose
to_server	ping	pp	0	0	0	-
to_server	stats	-	p	p	p	clicks_per_s:num|nil|loose ping:num.ms|nil|loose
to_client	io_init	io-init	io-init	io-init	io-init	socket_id:str
to_client	init_data	id	A	A	A	data:{teams:[{sid:str,owner:u32}]|nil}
to_client	disconnect	d	B	B	B	reason:str|nil
to_client	setup	1	C	C	C	sid:u32
to_client	add_player	2	D	D	D	player:(id:str,sid:u32,name:str,x:num.px,y:num.px,dir:num.rad,health:num,max_health:num,scale:num.px,skin:u8) is_you:bool
to_client	remove_player	4	E	E	E	id:str
to_client	update_players	33	a	a	a	players:[sid:u32,x:num.px,y:num.px,dir:num.rad,build:i16,weapon:u8,variant:u8,team:str|nil,leader:flag,hat:u16,accessory:u16,icon:u8,z:u8]|nil
to_client	leaderboard	5	G	G	G	rows:[sid:u32,name:str,score:num]|nil
to_client	load_objects	6	H	H	H	objects:[sid:u32,x:num.px,y:num.px,dir:num.rad,scale:num.px,type:u8<=3|nil,item:u16|nil,owner:i32]|nil
to_client	animals	a	I	I	I	animals:[sid:u32,type:u8,x:num.px,y:num.px,dir:num.rad,health:num,name:u16|nil]|nil
to_client	animate_animal	aa	J	J	J	sid:u32
to_client	gather	7	K	K	K	sid:u32 hit:flag weapon:u8
to_client	wiggle	8	L	L	L	dir:num.rad sid:u32
to_client	turret_shot	sp	M	M	M	sid:u32 dir:num.rad
to_client	value	9	N	N	N	name:str value:num update_view:flag|nil
to_client	health	h	O	O	O	sid:u32 health:num
to_client	died	11	P	P	P	-
to_client	remove_object	12	Q	Q	Q	sid:u32
to_client	remove_objects_of	13	R	R	R	owner:u32
to_client	item_count	14	S	S	S	group:u8 count:u16
to_client	age	15	T	T	T	xp:num|nil max_xp:num|nil age:u16|nil
to_client	upgrades	16	U	U	U	points:u16 age:u16
to_client	items	17	V	V	V	ids:[u16] weapons:flag|nil
to_client	add_projectile	18	X	X	X	x:num.px y:num.px dir:num.rad range:num.px speed:num.px_per_ms type:u8 layer:u8 sid:u32
to_client	remove_projectile	19	Y	Y	Y	sid:u32 range:num.px
to_client	shutdown	20	Z	Z	Z	seconds:num.s
to_client	add_clan	ac	g	g	g	clan:{sid:str,owner:u32}
to_client	remove_clan	ad	1	1	1	name:str
to_client	join_request	an	2	2	2	sid:u32 name:str
to_client	own_clan	st	3	3	3	name:str|nil is_owner:flag|nil
to_client	clan_members	sa	4	4	4	members:[sid:u32,name:str]
to_client	store	us	5	5	5	equipped:flag id:u16 accessory:flag
to_client	chat	ch	6	6	6	sid:u32 text:str
to_client	minimap	mm	7	7	7	mates:[x:num.px,y:num.px]|0|nil
to_client	floating_text	t	8	8	8	x:num.px y:num.px value:num type:u8
to_client	map_ping	p	9	9	9	x:num.px y:num.px
to_client	pong	pp	0	0	0	-
]],
[=[
native:int
to_server	hello	1	version:u16 mode:u8<=3 name:str<=15|nil skin:u8|nil resume_tick:u32.tick|nil
to_server	join	2	name:str<=15|nil skin:u8|nil
to_server	move	3	sequence:u32 tick:u32.tick|nil direction:u16.turn16|nil
to_server	aim	4	sequence:u32 tick:u32.tick|nil heading:u16.turn16
to_server	chat	5	sequence:u32 tick:u32.tick|nil text:str<=30
to_server	ping	6	nonce:u32
to_server	spectate	7	player:u16|nil
to_server	attack	8	sequence:u32 tick:u32.tick|nil state:flag
to_server	select	9	sequence:u32 tick:u32.tick|nil id:u8 is_weapon:flag
to_server	upgrade	10	sequence:u32 tick:u32.tick|nil choice:u8
to_server	clan_create	11	sequence:u32 tick:u32.tick|nil name:str<=7
to_server	clan_leave	12	sequence:u32 tick:u32.tick|nil
to_server	clan_request	13	sequence:u32 tick:u32.tick|nil name:str<=7
to_server	clan_answer	14	sequence:u32 tick:u32.tick|nil player:u16 accept:flag
to_server	clan_kick	15	sequence:u32 tick:u32.tick|nil player:u16
to_server	map_ping	16	sequence:u32 tick:u32.tick|nil
to_server	state_sync_request	17	-
to_server	checksum	18	tick:u32.tick checksum:str<=16
to_server	desync_details	19	tick:u32.tick fields:[entity:str<=48,field:str<=48,server:str<=48|nil,own:str<=48|nil]<=8
to_client	welcome	1	version:u16 rules_hash:str<=16 seed:u32 map_size_px:u32.px tick_hz:u8.hz update_hz:u8.hz epoch:str<=16 tick:u32.tick
to_client	update	2	tick:u32.tick own:[sequence:u32,margin:i16.tick,x:i32.fix16,y:i32.fix16,vx:i32.fix16,vy:i32.fix16,heading:u16.turn16,direction:u16.turn16|nil]<=1|nil leaves:[u16]|nil enters:[player:u16,name:str<=15,skin:u8<=9,x:u16.hpx,y:u16.hpx,heading:u8.turn8]|nil full:[player:u16,x:u16.hpx,y:u16.hpx,heading:u8.turn8]|nil moved:[player:u16,dx:i32.hpx,dy:i32.hpx]|nil turned:[player:u16,heading:u8.turn8]|nil animals:[id:u32,kind:u8<=4,x:u16.hpx,y:u16.hpx,heading:u8.turn8,health:u16]|nil animals_gone:[u32]|nil
to_client	spawned	3	player:u16
to_client	objects	4	objects:[id:u32,kind:u8<=3,x:u16.px,y:u16.px,scale:u8.px]|nil
to_client	leaderboard	5	rows:[player:u16,name:str<=15,score:u32]|nil rank:u16|nil players:u16
to_client	chat	6	player:u16 text:str<=30
to_client	pong	7	nonce:u32 tick:u32.tick
to_client	error	8	rule:str detail:str
to_client	spectating	9	player:u16|nil
to_client	swings	10	swings:[player:u16,weapon:u8,hit:flag]
to_client	object_hits	11	object_hits:[object:u32,direction:u8.turn8]
to_client	health	12	health:[player:u16,health:u16]
to_client	stats	13	wood:u32 food:u32 stone:u32 gold:u32 kills:u32 xp:u32 xp_next:u32 age:u8 score:u32
to_client	died	14	killer:u16|nil name:str<=15|nil
to_client	kill	15	killer:u16|nil killer_name:str<=15|nil victim:u16 victim_name:str<=15
to_client	structures	16	structures:[id:u32,item:u8,owner:u16,x:u16.px,y:u16.px,heading:u8.turn8]
to_client	structures_gone	17	objects:[u32]
to_client	inventory	18	weapons:[u8] items:[u8] counts:[group:u8,count:u8]
to_client	upgrade_offers	19	points:u8 age:u8 choices:[u8]
to_client	held_items	20	held_items:[player:u16,weapon:u8,item:u8|nil]
to_client	shots	21	shots:[id:u32,kind:u8<=5,shooter:u32,x:u16.hpx,y:u16.hpx,heading:u16.turn16,range:u16.px]
to_client	shot_ends	22	ends:[id:u32,x:u16.hpx,y:u16.hpx]
to_client	animals	23	animals:[id:u32,kind:u8<=4,x:u16.hpx,y:u16.hpx,heading:u8.turn8,health:u16]
to_client	animals_gone	24	animals:[u32]
to_client	animal_attacks	25	animals:[u32]
to_client	clans	26	clans:[clan:u32,name:str<=7,owner:u16]
to_client	clan_changes	32	ended:[u32] founded:[clan:u32,name:str<=7,owner:u16]|nil
to_client	clan	27	clan:u32|nil owner:flag members:[player:u16,name:str<=15] requests:[player:u16,name:str<=15]
to_client	clan_mates	28	mates:[player:u16,x:u16.px,y:u16.px]
to_client	map_ping	29	player:u16 x:u16.px y:u16.px
to_client	notice	30	text:str<=60
to_client	clan_tags	31	tags:[player:u16,clan:u32|nil]
to_client	command_accepted	33	commands:[sequence:u32,count:u8,tick:u32.tick]
to_client	command_rejected	34	commands:[sequence:u32,reason:str]
to_client	state_sync	35	player:u16|nil tick:u32.tick snapshot_tick:u32.tick checksum_ticks:u16.tick epoch:str<=16
to_client	snapshot	36	tick:u32.tick state:bin
to_client	command_frame	37	frame:bin
to_client	desync_report	38	tick:u32.tick groups:[checksum:str<=16,participants:[str<=48]] omitted:u16 fields:[participant:str<=48,entity:str<=48,field:str<=48,server:str<=48|nil,own:str<=48|nil]
to_client	spawn_protection	39	players:[player:u16,state:flag]
]=],
[=[
tanks:int
to_server	hello	1	version:u16 mode:u8<=3 name:str<=15|nil resume_tick:u32.tick|nil
to_server	join	2	name:str<=15|nil
to_server	ping	3	nonce:u32
to_server	control	4	sequence:u32 tick:u32.tick|nil drive:i8 turn:i8 aim:u16.turn16 is_firing:bool kind:u8<=1 render_tick:u32.tick|nil
to_server	state_sync_request	5	-
to_server	checksum	6	tick:u32.tick checksum:str<=16
to_server	desync_details	7	tick:u32.tick fields:[entity:str<=48,field:str<=48,server:str<=48|nil,own:str<=48|nil]<=8
to_client	welcome	1	version:u16 rules_hash:str<=16 seed:u32 tick_hz:u8.hz update_hz:u8.hz epoch:str<=16 tick:u32.tick
to_client	spawned	2	player:u16
to_client	pong	3	nonce:u32 tick:u32.tick
to_client	error	4	rule:str detail:str
to_client	state	5	tick:u32.tick round:u16 is_over:bool left_s:u16.s winner:u16|nil tanks:[player:u16,x:u16.hpx,y:u16.hpx,hull:u8.turn8,turret:u16.turn16,health:u8,shells:u8,piercing:u8,reload:u8.tick] shells:[id:u16,x:u16.hpx,y:u16.hpx,way:u8.turn8,kind:u8,player:u16]
to_client	roster	6	players:[player:u16,name:str<=15,score:u16,kills:u16,deaths:u16]
to_client	hit	7	player:u16 shooter:u16 damage:u8 destroyed:bool
to_client	command_accepted	8	commands:[sequence:u32,count:u8,tick:u32.tick]
to_client	command_rejected	9	commands:[sequence:u32,reason:str]
to_client	own_state	10	tick:u32.tick sequence:u32 margin:i16.tick x:i32.fix16 y:i32.fix16 hull:u16.turn16 turret:u16.turn16 reload:u8.tick health:u8 shells:u8 piercing:u8
to_client	state_sync	11	player:u16|nil tick:u32.tick snapshot_tick:u32.tick checksum_ticks:u16.tick epoch:str<=16
to_client	snapshot	12	tick:u32.tick state:bin
to_client	command_frame	13	frame:bin
to_client	desync_report	14	tick:u32.tick groups:[checksum:str<=16,participants:[str<=48]] omitted:u16 fields:[participant:str<=48,entity:str<=48,field:str<=48,server:str<=48|nil,own:str<=48|nil]
]=],
}
-- table:end

-- src/packet/lane_packets.rs
TABLES.lane = [[
to_server	lane_request	126	offer:str<=4096|nil
to_client	lane_offer	126	connection:u32 key:bin port:u16 answer:str|nil
]]

-- rules:begin, from src/ws/, src/packet/ and src/datagram/
local RULES = {
    not_http = { "RFC 9112 section 3", "status 400", "The first byte cannot begin an HTTP request." },
    bare_line_feed = { "RFC 9112 section 2.2", "status 400", "A line ends with LF alone instead of CR LF." },
    bare_carriage_return = { "RFC 9112 section 2.2", "status 400", "A CR is not followed by LF." },
    control_character = { "RFC 9110 section 5.5", "status 400", "The head contains a control character." },
    head_too_long = { "RFC 6585 section 5", "status 431", "The head is longer than this endpoint accepts." },
    request_line = { "RFC 9112 section 3", "status 400", "The first line is not a method, a target and a version." },
    http_version = { "RFC 9110 section 15.6.6", "status 505", "The HTTP version is neither 1.1 nor 1.0." },
    target_too_long = { "RFC 6585 section 5", "status 431", "The target is longer than the server accepts." },
    target_form = { "RFC 9112 section 3.2", "status 400", "The target is not a path that begins with a slash." },
    too_many_headers = { "RFC 6585 section 5", "status 431", "The head has more headers than this endpoint accepts." },
    header_folded = { "RFC 9112 section 5.2", "status 400", "A header continues on the next line." },
    space_before_colon = { "RFC 9112 section 5.1", "status 400", "A header has a space before its colon." },
    header_name = { "RFC 9112 section 5", "status 400", "A header has no colon, or its name is not a token." },
    header_repeated = { "RFC 9110 section 5.3", "status 400", "A header that may appear only once appears twice." },
    host_missing = { "RFC 9112 section 3.2", "status 400", "The request has no Host header." },
    host_malformed = { "RFC 9112 section 3.2", "status 400", "The Host header is not a name or an address, with or without a port." },
    transfer_encoding = { "RFC 9112 section 6.1", "status 400", "The request has a Transfer-Encoding header." },
    content_length_malformed = { "RFC 9110 section 8.6", "status 400", "The Content-Length is not a number." },
    body_announced = { "RFC 9112 section 6.3", "status 400", "The request announces a body." },
    upgrade_in_http_1_0 = { "RFC 9110 section 7.8", "status 426", "The request asks for an upgrade in HTTP/1.0, which has none." },
    method_not_get = { "RFC 6455 section 4.2.1", "status 405", "The method is not GET." },
    upgrade_missing = { "RFC 6455 section 4.2.1", "status 426", "The Upgrade header does not name websocket." },
    connection_missing = { "RFC 6455 section 4.2.1", "status 400", "The Connection header does not name upgrade." },
    version_not_13 = { "RFC 6455 section 4.4", "status 426", "The Sec-WebSocket-Version is not 13." },
    key_missing = { "RFC 6455 section 4.2.1", "status 400", "The request has no Sec-WebSocket-Key." },
    key_malformed = { "RFC 6455 section 4.2.1", "status 400", "The Sec-WebSocket-Key is not base64 of 16 bytes." },
    subprotocol_malformed = { "RFC 6455 section 11.3.4", "status 400", "An offered subprotocol is not a token." },
    too_many_subprotocols = { "RFC 6455 section 10.4", "status 400", "The request offers too many subprotocols." },
    origin_forbidden = { "RFC 6455 section 10.2", "status 403", "Pages from this Origin may not connect." },
    status_line = { "RFC 9112 section 4", "drop the connection", "The response does not begin with an HTTP/1.1 status line." },
    status_not_101 = { "RFC 6455 section 4.1", "drop the connection", "The status of the response is not 101." },
    answer_upgrade_missing = { "RFC 6455 section 4.1", "drop the connection", "The response's Upgrade header is not websocket." },
    answer_connection_missing = { "RFC 6455 section 4.1", "drop the connection", "The response's Connection header does not name upgrade." },
    accept_wrong = { "RFC 6455 section 4.1", "drop the connection", "The Sec-WebSocket-Accept does not match the key." },
    subprotocol_not_offered = { "RFC 6455 section 4.1", "drop the connection", "The response names a subprotocol that the client did not offer." },
    extension_not_offered = { "RFC 6455 section 4.1", "drop the connection", "The response names an extension that the client did not offer." },
    compression_parameters = { "RFC 7692 section 7.1", "drop the connection", "The parameters of permessage-deflate do not fit the client's offer." },
    reserved_bit = { "RFC 6455 section 5.2", "close 1002 protocol error", "A reserved bit is set, and no extension was negotiated." },
    reserved_opcode = { "RFC 6455 section 5.2", "close 1002 protocol error", "The opcode is reserved." },
    control_fragmented = { "RFC 6455 section 5.5", "close 1002 protocol error", "A control frame is fragmented (FIN is 0)." },
    mask_missing = { "RFC 6455 section 5.1", "close 1002 protocol error", "A client's frame has no mask." },
    mask_forbidden = { "RFC 6455 section 5.1", "close 1002 protocol error", "A server's frame has a mask." },
    control_too_long = { "RFC 6455 section 5.5", "close 1002 protocol error", "A control frame carries more than 125 bytes." },
    length_not_minimal = { "RFC 6455 section 5.2", "close 1002 protocol error", "The length is not in its shortest form." },
    length_top_bit = { "RFC 6455 section 5.2", "close 1002 protocol error", "The top bit of the 64-bit length is set." },
    continuation_without_start = { "RFC 6455 section 5.4", "close 1002 protocol error", "A continuation frame has no message to continue." },
    message_interrupted = { "RFC 6455 section 5.4", "close 1002 protocol error", "A new message begins before the last fragment of the previous message." },
    too_many_fragments = { "RFC 6455 section 10.4", "close 1008 policy violation", "A message has more fragments than the endpoint accepts." },
    message_too_long = { "RFC 6455 section 10.4", "close 1009 message too big", "A message is longer than the endpoint accepts." },
    compressed_data_invalid = { "RFC 7692 section 7.2.2", "close 1007 inconsistent data", "A compressed message is not valid DEFLATE data." },
    inflated_too_long = { "RFC 6455 section 10.4", "close 1009 message too big", "A compressed message inflates to more bytes than the endpoint accepts." },
    text_not_utf8 = { "RFC 6455 section 8.1", "close 1007 inconsistent data", "A text message is not UTF-8." },
    close_one_byte = { "RFC 6455 section 5.5.1", "close 1002 protocol error", "A close body has only one byte, which is half a code." },
    close_code_invalid = { "RFC 6455 section 7.4", "close 1002 protocol error", "The close code must not be sent in a frame." },
    close_reason_not_utf8 = { "RFC 6455 section 8.1", "close 1007 inconsistent data", "The reason for closing is not UTF-8." },
    packet_truncated = { "PROTOCOL.md", "close 1007 inconsistent data", "the message ends within a value" },
    packet_reserved_byte = { "PROTOCOL.md", "close 1007 inconsistent data", "the byte c1 is never used in MessagePack" },
    packet_declared_size = { "PROTOCOL.md", "close 1007 inconsistent data", "a length is greater than the number of bytes that follow it" },
    packet_invalid_utf8 = { "PROTOCOL.md", "close 1007 inconsistent data", "text is not UTF-8, or half a surrogate pair in a code or a key" },
    packet_trailing_bytes = { "PROTOCOL.md", "close 1007 inconsistent data", "bytes follow the message's only value" },
    packet_duplicate_key = { "PROTOCOL.md", "close 1007 inconsistent data", "a map has the same key twice" },
    packet_key_not_text = { "PROTOCOL.md", "close 1007 inconsistent data", "a map key is not text" },
    packet_too_deep = { "PROTOCOL.md", "close 1007 inconsistent data", "containers are nested too deep" },
    packet_too_many_values = { "PROTOCOL.md", "close 1007 inconsistent data", "the message holds too many values" },
    packet_ext_type = { "PROTOCOL.md", "close 1007 inconsistent data", "extension types are not part of the protocol" },
    packet_bad_json = { "PROTOCOL.md", "close 1007 inconsistent data", "the text is not exactly one JSON value" },
    packet_envelope = { "PROTOCOL.md", "close 1007 inconsistent data", "the message is not an array that begins with a code" },
    datagram_too_short = { "PROTOCOL.md", "the datagram is dropped", "the datagram is shorter than a header and a tag" },
    datagram_too_long = { "PROTOCOL.md", "the datagram is dropped", "the datagram is too long" },
    datagram_unknown_connection = { "PROTOCOL.md", "the datagram is dropped", "the connection id is unknown" },
    datagram_wrong_tag = { "PROTOCOL.md", "the datagram is dropped", "the tag does not fit the datagram" },
    datagram_repeated = { "PROTOCOL.md", "the datagram is dropped", "the datagram has arrived before" },
    datagram_too_old = { "PROTOCOL.md", "the datagram is dropped", "more than 64 newer datagrams have arrived" },
    datagram_too_many = { "PROTOCOL.md", "the datagram is dropped", "the client sends too many datagrams" },
    datagram_truncated = { "PROTOCOL.md", "the rest of the datagram is dropped", "a part of the datagram needs more bytes than there are" },
    datagram_bytes_left = { "PROTOCOL.md", "the rest of the datagram is dropped", "bytes are left after the content of a message" },
    datagram_unknown_kind = { "PROTOCOL.md", "the rest of the datagram is dropped", "the kind of a message is unknown" },
    datagram_no_command = { "PROTOCOL.md", "the rest of the datagram is dropped", "a block of commands is empty" },
    datagram_nothing_before = { "PROTOCOL.md", "the rest of the datagram is dropped", "the first command of a block refers to a command before it" },
    datagram_number_too_large = { "PROTOCOL.md", "the rest of the datagram is dropped", "the numbers of commands exceed 32 bits" },
    datagram_not_msgpack = { "PROTOCOL.md", "the rest of the datagram is dropped", "a command is not MessagePack" },
}
-- rules:end

-- ---- MessagePack ---------------------------------------------------------------------------------------------------
-- Offsets in this file count from 1, as Lua's strings do. Only what a person sees counts from 0.

-- What a first byte begins. `head` is the length of the first byte and its length field.
local KIND, HEAD, WIDTH = {}, {}, {}
do -- A Lua file has room for 200 names: this one ends here.
local function heads(from, to, kind, head, width)
    for first = from, to do
        KIND[first], HEAD[first], WIDTH[first] = kind, head, width
    end
end
heads(0x00, 0x7f, "number", 1, 0)
heads(0x80, 0x8f, "map", 1)
heads(0x90, 0x9f, "array", 1)
heads(0xa0, 0xbf, "str", 1)
heads(0xc0, 0xc0, "nil", 1, 0)
heads(0xc1, 0xc1, "reserved", 1, 0)
heads(0xc2, 0xc3, "bool", 1, 0)
heads(0xc7, 0xc9, "ext", 1, 0)
heads(0xca, 0xca, "number", 1, 4)
heads(0xcb, 0xcb, "number", 1, 8)
heads(0xd4, 0xd8, "ext", 1, 0)
heads(0xe0, 0xff, "number", 1, 0)
for size = 0, 3 do
    heads(0xcc + size, 0xcc + size, "number", 1, 2 ^ size)
    heads(0xd0 + size, 0xd0 + size, "number", 1, 2 ^ size)
end
for size = 0, 2 do
    heads(0xc4 + size, 0xc4 + size, "bin", 1 + 2 ^ size)
    heads(0xd9 + size, 0xd9 + size, "str", 1 + 2 ^ size)
end
for size = 0, 1 do
    heads(0xdc + size, 0xdc + size, "array", 1 + 2 * 2 ^ size)
    heads(0xde + size, 0xde + size, "map", 1 + 2 * 2 ^ size)
end
end

-- An unsigned number of `size` bytes, most significant first; nil where the bytes end before.
local function unsigned(s, at, size)
    local value = 0
    for place = at, at + size - 1 do
        local part = byte(s, place)
        if not part then return nil end
        value = value * 256 + part
    end
    return value
end

-- Kind, length of the head, and bytes (or values, or pairs) after it; nil where the head is not all there.
local function token(s, at)
    local first = byte(s, at)
    if not first then return nil end
    local head = HEAD[first]
    if WIDTH[first] then return KIND[first], head, WIDTH[first] end
    if head > 1 then
        local length = unsigned(s, at + 1, head - 1)
        if not length then return nil end
        return KIND[first], head, length
    end
    return KIND[first], 1, first < 0xa0 and first % 16 or first - 0xa0
end

-- The number that begins here and the offset after it; nil where there is none.
local function number(s, at)
    local first = byte(s, at)
    if not first then return nil end
    if first < 0x80 then return first, at + 1 end
    if first >= 0xe0 then return first - 256, at + 1 end
    if KIND[first] ~= "number" then return nil end
    local size = WIDTH[first]
    if at + size > #s then return nil end
    if first == 0xcb then return Struct.unpack(">d", s, at + 1), at + 9 end
    if first == 0xca then return Struct.unpack(">f", s, at + 1), at + 5 end
    local value = unsigned(s, at + 1, size)
    if first >= 0xd0 and value >= 2 ^ (8 * size - 1) then value = value - 2 ^ (8 * size) end
    return value, at + 1 + size
end

local function is_finite(value)
    return value == value and value ~= math.huge and value ~= -math.huge
end

-- Shapes of one character of more than a byte: first byte, and the second byte where it is not any of 80 to bf.
local is_utf8
do
local UTF8 = {
    "^[\194-\223][\128-\191]",
    "^\224[\160-\191][\128-\191]",
    "^[\225-\236\238\239][\128-\191][\128-\191]",
    "^\237[\128-\159][\128-\191]",
    "^\240[\144-\191][\128-\191][\128-\191]",
    "^[\241-\243][\128-\191][\128-\191][\128-\191]",
    "^\244[\128-\143][\128-\191][\128-\191]",
}

function is_utf8(text)
    local at = find(text, "[\128-\255]")
    while at do
        local last
        for _, shape in ipairs(UTF8) do
            local _, found = find(text, shape, at)
            last = last or found
        end
        if not last then return false end
        at = find(text, "[\128-\255]", last + 1)
    end
    return true
end
end

-- Text that a person typed: surrogates of three bytes each become the character that they stand for, and half a pair becomes U+FFFD.
-- Nil for any other text that is not UTF-8.
local function typed_text(text)
    local parts, at = {}, 1
    local from = find(text, "\237[\160-\191][\128-\191]")
    while from do
        parts[#parts + 1] = sub(text, at, from - 1)
        local _, second, third, lead, fifth, sixth = byte(text, from, from + 5)
        local is_pair = second < 176 and lead == 237 and fifth and fifth > 175 and fifth < 192 and sixth and sixth > 127 and sixth < 192
        local point = is_pair and 0x10000 + (second % 16) * 65536 + third % 64 * 1024 + fifth % 16 * 64 + sixth % 64
        parts[#parts + 1] = point and string.char(0xf0 + floor(point / 262144), 0x80 + floor(point / 4096) % 64,
            0x80 + floor(point / 64) % 64, 0x80 + point % 64) or "\239\191\189"
        at = from + (is_pair and 6 or 3)
        from = find(text, "\237[\160-\191][\128-\191]", at)
    end
    text = concat(parts) .. sub(text, at)
    return is_utf8(text) and text or nil
end

-- The rule that a scalar's content breaks, if it does.
local function content_rule(s, at, kind, head, length, may_be_typed)
    if length > #s - at - head + 1 then
        return kind == "number" and "packet_truncated" or "packet_declared_size"
    end
    if kind == "str" then
        local text = sub(s, at + head, at + head + length - 1)
        if not is_utf8(text) and not (may_be_typed and typed_text(text)) then return "packet_invalid_utf8" end
    end
end

-- The rule that a key breaks, if it does. `keys` are those before it in the same map.
local function key_rule(s, at, kind, head, length, keys)
    if kind ~= "str" then return "packet_key_not_text" end
    local rule = content_rule(s, at, kind, head, length)
    if rule then return rule end
    local key = sub(s, at + head, at + head + length - 1)
    if keys[key] then return "packet_duplicate_key" end
    keys[key] = true
end

-- Whether the bytes are one well-formed value within the bounds: nil, or the rule and where (from 1). In the order of the
-- server's own check, so that of two broken rules both name the same one. Within the arguments of a client is typed text.
local function check(s, most, from_client)
    local open, at, values = {}, 1, 0
    repeat
        local kind, head, length = token(s, at)
        if not kind then return "packet_truncated", at end
        if kind == "reserved" then return "packet_reserved_byte", at end
        if kind == "ext" then return "packet_ext_type", at end
        values = values + 1
        if values > most then return "packet_too_many_values", at end
        local parent, rule = open[#open]
        if parent then
            parent.left = parent.left - 1
            if parent.keys and parent.left % 2 == 1 then
                rule = key_rule(s, at, kind, head, length, parent.keys)
            end
        end
        if not rule and (kind == "array" or kind == "map") then
            local left = kind == "map" and 2 * length or length
            if #open >= PACKET_DEPTH then
                rule = "packet_too_deep"
            elseif left > #s - at - head + 1 then
                rule = "packet_declared_size"
            end
            open[#open + 1] = { left = left, keys = kind == "map" and {} or nil }
            length = 0
        end
        rule = rule or content_rule(s, at, kind, head, length, from_client and #open > 1)
        if rule then return rule, at end
        at = at + head + length
        while #open > 0 and open[#open].left == 0 do open[#open] = nil end
    until #open == 0
    if at <= #s then return "packet_trailing_bytes", at end
end

-- The offset after the value that begins here. Only for bytes that `check` has gone over.
local function after(s, at)
    local left = 1
    while left > 0 do
        local kind, head, length = token(s, at)
        left = left - 1
        at = at + head
        if kind == "array" then
            left = left + length
        elseif kind == "map" then
            left = left + 2 * length
        else
            at = at + length
        end
    end
    return at
end

-- ---- JSON ----------------------------------------------------------------------------------------------------------
-- A text message becomes the MessagePack that says the same, so that one walk reads both. `places` says for each value
-- of it where it stands in the text.

local from_json
do -- A Lua file has room for 200 names: those of this part end with it. So that lines stay, they are not indented.
local ESCAPES = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", ['"'] = '"', ["\\"] = "\\", ["/"] = "/" }

-- A code point as UTF-8.
local function utf8(point)
    if point < 0x80 then return string.char(point) end
    if point < 0x800 then return string.char(0xc0 + floor(point / 64), 0x80 + point % 64) end
    local low = string.char(0x80 + floor(point / 64) % 64, 0x80 + point % 64)
    if point < 0x10000 then return string.char(0xe0 + floor(point / 4096)) .. low end
    return string.char(0xf0 + floor(point / 262144), 0x80 + floor(point / 4096) % 64) .. low
end

-- Depth and count, before anything is read: the same bounds as for MessagePack.
local function survey(text, most)
    local depth, commas = 0, 0
    local at, in_string = 1, false
    while true do
        local place = find(text, in_string and '["\\]' or '["%[%]{},]', at)
        if not place then return nil end
        local sign = sub(text, place, place)
        at = place + 1
        if sign == '"' then
            in_string = not in_string
        elseif sign == "\\" then
            at = place + 2
        elseif sign == "[" or sign == "{" then
            depth = depth + 1
        elseif sign == "," then
            commas = commas + 1
        else
            depth = math.max(depth - 1, 0)
        end
        if depth > PACKET_DEPTH then return "packet_too_deep", place end
        if commas > most then return "packet_too_many_values", place end
    end
end

local function bad_json(at)
    error({ rule = "packet_bad_json", at = at })
end

-- The text of a string whose first quote stands at `at`, the offset after its last one, and whether it has half a surrogate pair.
local function json_string(text, at)
    local parts, has_half = {}, false
    at = at + 1
    while true do
        local last = find(text, '["\\%c]', at)
        if not last then bad_json(#text + 1) end
        parts[#parts + 1] = sub(text, at, last - 1)
        local sign = sub(text, last, last)
        if sign == '"' then return concat(parts), last + 1, has_half end
        local escape = sub(text, last + 1, last + 1)
        local high = match(text, "^\\u(%x%x%x%x)", last)
        local low = match(text, "^\\u%x%x%x%x\\u(%x%x%x%x)", last)
        local point = high and tonumber(high, 16)
        at = last + 6
        if sign == "\\" and ESCAPES[escape] then
            parts[#parts + 1] = ESCAPES[escape]
            at = last + 2
        elseif sign ~= "\\" and sign ~= "\127" or not point then
            if sign ~= "\127" then bad_json(last) end
            parts[#parts + 1] = sign
            at = last + 1
        elseif point < 0xd800 or point > 0xdfff then
            parts[#parts + 1] = utf8(point)
        else
            local second = low and tonumber(low, 16) or 0
            local is_pair = point < 0xdc00 and second > 0xdbff and second < 0xe000
            has_half = has_half or not is_pair
            parts[#parts + 1] = utf8(is_pair and 0x10000 + (point - 0xd800) * 1024 + second - 0xdc00 or 0xfffd)
            at = is_pair and last + 12 or at
        end
    end
end

local WORDS = { ["null"] = "\192", ["false"] = "\194", ["true"] = "\195" }

-- Appends the value that begins at `at` to `out`; the offset after it.
local function json_value(text, at, out, places)
    at = find(text, "[^ \t\r\n]", at) or bad_json(#text + 1)
    local place = { from = at }
    places[out.length + 1] = place
    local function put(bytes)
        out[#out + 1] = bytes
        out.length = out.length + #bytes
    end
    local sign = sub(text, at, at)
    local word = match(text, "^%l+", at)
    local digits = match(text, "^%-?%d+%.?%d*[eE]?[+-]?%d*", at)
    if sign == "[" or sign == "{" then
        at = out.container(text, at, out, places, sign == "{", put)
    elseif sign == '"' then
        local content, has_half
        content, at, has_half = json_string(text, at)
        -- Of a client, within its arguments, it is what a person typed.
        if has_half and out.depth > 1 and not out.is_key then
            places.has_half = true
        elseif has_half then
            places.broken = places.broken or place.from
        end
        put("\219" .. Struct.pack(">I4", #content) .. content)
    elseif word and WORDS[word] then
        put(WORDS[word])
        at = at + #word
    elseif digits and tonumber(digits) and not match(digits, "^%-?0%d") and not match(digits, "%.$")
        and not match(digits, "%.[eE]") and math.abs(tonumber(digits)) < math.huge then
        -- The greatest integers with a sign would be rounded up to one that is too great.
        local is_greatest = tonumber(digits) == 2 ^ 63 and #digits == 19 and digits < "9223372036854775808"
        put(is_greatest and "\207\127" .. string.rep("\255", 7) or "\203" .. Struct.pack(">d", tonumber(digits)))
        at = at + #digits
    else
        bad_json(at)
    end
    place.to = at
    return at
end

-- Patterns of the whole text of base64. The last digit before the padding has no bits beyond the last byte.
local BASE64 = { "^[%w+/]*$", "^[%w+/]*[%w+/][AEIMQUYcgkosw048]=$", "^[%w+/]*[%w+/][AQgw]==$" }

-- The bytes of a text in base64; nil where it is none, as the server's decoder judges.
local function decode_base64(text)
    if #text % 4 ~= 0 then return nil end
    for _, pattern in ipairs(BASE64) do
        if find(text, pattern) then return text == "" and "" or ByteArray.new(text, true):base64_decode():raw() end
    end
    return nil
end

-- Appends an array or a map. Its head is written first with room for any count, and filled in at the end.
local function json_container(text, at, out, places, is_map, put)
    local slot = #out + 1
    put("\0\0\0\0\0")
    out.depth = out.depth + 1
    local count, close = 0, is_map and "^[ \t\r\n]*}()" or "^[ \t\r\n]*%]()"
    at = at + 1
    local ended = match(text, close, at)
    local keys = {}
    while not ended do
        if is_map then
            at = find(text, '^"', find(text, "[^ \t\r\n]", at) or at) or bad_json(at)
            local key, key_end = json_string(text, at)
            places.has_duplicate, keys[key] = places.has_duplicate or keys[key], true
            out.is_key = true
            json_value(text, at, out, places)
            out.is_key = false
            at = match(text, "^[ \t\r\n]*:()", key_end) or bad_json(key_end)
        end
        at = json_value(text, at, out, places)
        count = count + 1
        ended = match(text, close, at)
        if not ended then at = match(text, "^[ \t\r\n]*,()", at) or bad_json(at) end
    end
    out.depth = out.depth - 1
    -- Bytes, which JSON has no form for, are an object with this one key.
    local text_of = count == 1 and keys.base64 and #out == slot + 2 and match(out[slot + 2], "^\219....(.*)$")
    local bytes = text_of and decode_base64(text_of)
    if bytes then
        out.length = out.length - 5 - #out[slot + 1] - #out[slot + 2]
        out[slot], out[slot + 1], out[slot + 2] = nil, nil, nil
        put("\198" .. Struct.pack(">I4", #bytes) .. bytes)
        return ended
    end
    out[slot] = (is_map and "\223" or "\221") .. Struct.pack(">I4", count)
    return ended
end

-- MessagePack and places of a text; or nil, a rule and where.
function from_json(text, most)
    local rule, where = survey(text, most)
    if rule then return nil, rule, where end
    local out, places = { length = 0, depth = 0, container = json_container }, {}
    local ok, after_it = pcall(json_value, text, 1, out, places)
    if ok and find(text, "[^ \t\r\n]", after_it) then
        ok, after_it = false, { rule = "packet_bad_json", at = find(text, "[^ \t\r\n]", after_it) }
    end
    if not ok and type(after_it) == "table" then return nil, after_it.rule, after_it.at end
    -- What is no JSON at all is said first, as the server does.
    if ok and places.broken then return nil, "packet_invalid_utf8", places.broken end
    if ok and places.has_duplicate then return nil, "packet_duplicate_key", 1 end
    if not ok then error(after_it, 0) end
    return concat(out), places
end
end

-- ---- Types and fields ----------------------------------------------------------------------------------------------
-- The arguments of the table, read as PROTOCOL.md defines them, and a Wireshark field for each.

local tickwire = Proto("tickwire", "tickwire packets")

-- Lowest and highest value of each width.
local WIDTHS = {
    u8 = { 0, 255 }, u16 = { 0, 65535 }, u32 = { 0, 4294967295 },
    i8 = { -128, 127 }, i16 = { -32768, 32767 }, i32 = { -2147483648, 2147483647 },
}
-- Units whose numbers are shown in pixels: how many of them make one.
local PARTS_PER_PX = { hpx = 2, fix4 = 16, fix16 = 65536 }
-- Units whose numbers are shown as they are, with degrees beside them.
local DEGREES = { rad = 180 / math.pi, turn16 = 360 / 65536, turn8 = 360 / 256 }
local UNIT_TEXT = { px = " px", hpx = " px", fix4 = " px", fix16 = " px", ms = " ms", s = " s", hz = " Hz", px_per_ms = " px/ms" }

local parse_type

-- Arguments between here and the closing sign of `text`, and the offset after it.
local function parse_members(text, at, close)
    local members = {}
    repeat
        local name, from = match(text, "^([a-z][a-z0-9_]*):()", at)
        local kind
        kind, at = parse_type(text, from)
        kind.name = name
        members[#members + 1] = kind
        local sign = sub(text, at, at)
        at = at + 1
    until sign == close
    return members, at
end

-- A type without what may stand in its place, and the offset after it.
local function parse_shape(text, at)
    local sign = sub(text, at, at)
    if sign == "{" then
        local members, to = parse_members(text, at + 1, "}")
        return { shape = "map", members = members }, to
    elseif sign == "(" then
        local members, to = parse_members(text, at + 1, ")")
        return { shape = "tuple", members = members }, to
    elseif sign == "[" and find(text, "^[a-z][a-z0-9_]*:", at + 1) then
        local members, to = parse_members(text, at + 1, "]")
        return { shape = "groups", members = members }, to
    elseif sign == "[" then
        local each, to = parse_type(text, at + 1)
        return { shape = "list", each = each }, to + 1
    end
    local word, to = match(text, "^([a-z]+%d*)()", at)
    local unit, behind = match(text, "^%.([a-z0-9_]+)()", to)
    local kind = { shape = WIDTHS[word] and "int" or word, unit = unit }
    if WIDTHS[word] then kind.low, kind.high = WIDTHS[word][1], WIDTHS[word][2] end
    return kind, behind or to
end

function parse_type(text, at)
    local kind, to = parse_shape(text, at)
    local most, behind = match(text, "^<=(%d+)()", to)
    if most then
        kind.most, to = tonumber(most), behind
        if kind.shape == "int" then kind.high = kind.most end
    end
    local word, behind_word = match(text, "^|(%w+)()", to)
    while word do
        kind.or_zero, kind.or_nil = kind.or_zero or word == "0", kind.or_nil or word == "nil"
        kind.is_loose, to = kind.is_loose or word == "loose", behind_word
        word, behind_word = match(text, "^|(%w+)()", to)
    end
    kind.words = sub(text, at, to - 1)
    return kind, to
end

-- What one of a list is called: players hold a player.
local function singular(name)
    if name == "leaves" then return "leaf" end
    return match(name, "^(.*[^s])s$") or name
end

-- Which kind of field a type needs, and the narrowest that two of them share.
local function field_kind(kind)
    if kind.shape == "str" or kind.shape == "any" then return "string" end
    if kind.shape == "bool" or kind.shape == "bin" then return kind.shape end
    if kind.shape == "flag" then return "uint" end
    if kind.shape == "num" or PARTS_PER_PX[kind.unit] then return "float" end
    return kind.low < 0 and "int" or "uint"
end
local ORDER = { bool = 1, uint = 2, int = 3, float = 4 }

-- The kind that holds the values of both. Text gives way to numbers; a sign and 32 bits together fit a float only.
local function widest(one, other)
    if one ~= other and ORDER[one] and ORDER[other] and ORDER[one] + ORDER[other] == 5 then return "float" end
    return (ORDER[one] or 0) > (ORDER[other] or 0) and one or other
end
local MAKE = {
    string = ProtoField.string, bin = ProtoField.bytes, bool = ProtoField.bool, uint = ProtoField.uint32, int = ProtoField.int32,
    float = ProtoField.double,
}

-- Names that belong to the packet itself. An argument of such a name is `tickwire.PACKET.NAME`.
local OWN_NAMES = { packet = 1, code = 1, direction = 1, dialect = 1, length = 1, rule = 1, absent = 1, world = 1 }

-- What the fields will be: by name, the kind that all who share it can use.
local wanted_fields = {}

-- Notes a leaf under its name; text and numbers cannot share one.
local function want_field(kind, name, packet)
    local own = "tickwire." .. name
    local this = field_kind(kind)
    local is_plain = this == "string" or this == "bin"
    if OWN_NAMES[name] or is_plain and (wanted_fields[own] or this) ~= this then
        own = "tickwire." .. packet .. "." .. name
    end
    wanted_fields[own] = widest(wanted_fields[own] or this, this)
    kind.field_name = own
end

-- Names every leaf below a type. `path` is what it is called so far.
local function name_fields(kind, path, packet)
    if kind.shape == "groups" then
        for _, member in ipairs(kind.members) do
            name_fields(member, singular(path) .. "." .. member.name, packet)
        end
    elseif kind.shape == "list" then
        name_fields(kind.each, singular(path), packet)
    elseif kind.members then
        for _, member in ipairs(kind.members) do name_fields(member, path .. "." .. member.name, packet) end
    else
        want_field(kind, path, packet)
    end
    if kind.shape == "groups" or kind.shape == "list" then
        kind.field_name = "tickwire." .. path .. ".count"
        wanted_fields[kind.field_name] = "uint"
    end
end

local F = {
    packet = ProtoField.string("tickwire.packet", "Packet"),
    code = ProtoField.string("tickwire.code", "Code"),
    direction = ProtoField.string("tickwire.direction", "Direction"),
    dialect = ProtoField.string("tickwire.dialect", "Dialect"),
    guess = ProtoField.string("tickwire.dialect.guess", "Dialect"),
    length = ProtoField.uint32("tickwire.length", "Length"),
    rule = ProtoField.string("tickwire.rule", "Broken rule"),
    address = ProtoField.string("tickwire.rule.address", "Defined in"),
    answer = ProtoField.string("tickwire.rule.answer", "Response"),
    not_read = ProtoField.uint32("tickwire.not_read", "Bytes not read"),
    absent = ProtoField.string("tickwire.absent", "Nil"),
}
local all_fields = {}
for _, field in pairs(F) do all_fields[#all_fields + 1] = field end

-- Every dialect: by direction, its packets by code and by name.
local DIALECTS = {}

-- Adds `lane_request` and `lane_offer` to each dialect with `hello`, unless its table uses their code.
local function add_lane_packets(packets)
    for line in string.gmatch(TABLES.lane, "[^\n]+") do
        local direction, name, code, arguments = match(line, "^(%S+)\t(%S+)\t(%d+)\t(.*)$")
        local packet = { name = name, arguments = arguments == "-" and {} or parse_members(arguments, 1, "") }
        packets[#packets + 1] = packet
        for _, dialect in pairs(DIALECTS) do
            local side = dialect[direction]
            local is_free = not side.by_code[tonumber(code)] and not side.by_name[name]
            if dialect.to_server.by_name.hello and is_free then
                side.by_code[tonumber(code)], side.by_name[name] = packet, packet
            end
        end
    end
end

-- A row of the table to a packet that all of its dialects share.
local function read_row(line, dialects)
    local cells = {}
    for cell in string.gmatch(line, "[^\t]+") do cells[#cells + 1] = cell end
    local text = cells[#cells]
    local packet = { name = cells[2], arguments = {} }
    if text ~= "-" then packet.arguments = parse_members(text, 1, "") end
    for place, dialect in ipairs(dialects) do
        local code = cells[place + 2]
        if code ~= "-" then
            local side = DIALECTS[dialect.name][cells[1]]
            side.by_code[dialect.kind == "int" and tonumber(code) or code] = packet
            side.by_name[packet.name] = packet
        end
    end
    return packet
end

local function read_tables()
    local packets, names = {}, {}
    TABLES.dialects = names
    for _, text in ipairs(TABLES) do
        local dialects
        for line in string.gmatch(text, "[^\n]+") do
            if dialects then
                packets[#packets + 1] = read_row(line, dialects)
            else
                dialects = {}
                for name, kind in string.gmatch(line, "([a-z0-9-]+):(%a+)") do
                    dialects[#dialects + 1] = { name = name, kind = kind }
                    names[#names + 1] = name
                    DIALECTS[name] = {
                        to_server = { by_code = {}, by_name = {} }, to_client = { by_code = {}, by_name = {} },
                    }
                end
            end
        end
    end
    add_lane_packets(packets)
    return packets
end

-- Numbers are named before text, so that it is text that makes way.
local function make_fields(packets)
    for _ = 1, 2 do
        for _, packet in ipairs(packets) do
            for _, kind in ipairs(packet.arguments) do name_fields(kind, kind.name, packet.name) end
        end
    end
    local made = {}
    for name, kind in pairs(wanted_fields) do
        local label = match(name, "([^.]+)%.count$") or match(name, "[^.]+$")
        made[name] = MAKE[kind](name, label)
        all_fields[#all_fields + 1] = made[name]
    end
    tickwire.fields = all_fields
    return made
end

-- How far the next value is, by its first byte, where that byte alone says that the value fits the type. For what is not
-- in it somebody has to look: at text, and at floats, which may be no finite number.
local function strides(kind)
    local steps = {}
    local function allow(from, to, step)
        for first = from, to do steps[first] = step end
    end
    local low, high = kind.low, kind.high
    if kind.shape == "num" then
        low, high = -math.huge, math.huge
    elseif kind.shape == "flag" or kind.shape == "bool" then
        low, high = 0, 1
        allow(0xc2, 0xc3, 1)
    end
    if low then
        allow(0, math.min(high, 0x7f), 1)
        allow(math.max(256 + low, 0xe0), 0xff, 1)
        for size = 0, 2 do
            local bits = 8 * 2 ^ size
            if high >= 2 ^ bits - 1 then steps[0xcc + size] = 1 + 2 ^ size end
            if low <= -2 ^ (bits - 1) and high >= 2 ^ (bits - 1) - 1 then steps[0xd0 + size] = 1 + 2 ^ size end
        end
    end
    if kind.or_nil then steps[0xc0] = 1 end
    return steps
end

-- Hands each type its field, and each packet the list of fields that it can show.
local function hand_out(kind, made, list)
    kind.field = made[kind.field_name]
    kind.as_number = wanted_fields[kind.field_name] ~= "bool"
    kind.px = PARTS_PER_PX[kind.unit] or 1
    kind.degrees = DEGREES[kind.unit]
    kind.unit_text = UNIT_TEXT[kind.unit] or ""
    if kind.field then list[#list + 1] = kind.field end
    for place, member in ipairs(kind.members or {}) do
        hand_out(member, made, list)
        kind.steps = kind.steps or {}
        kind.steps[place] = strides(member)
    end
    if kind.each then hand_out(kind.each, made, list) end
end

local PACKETS = read_tables()
do
    local made = make_fields(PACKETS)
    for _, packet in ipairs(PACKETS) do
        packet.fields = { F.absent }
        for _, kind in ipairs(packet.arguments) do hand_out(kind, made, packet.fields) end
    end
end

-- ---- One message ---------------------------------------------------------------------------------------------------
-- A message is read once, by the types of its packet: what does not fit ends the walk with an error of a rule, and what
-- somebody looks at becomes an item of the tree. What nobody looks at costs no more than a look at its first byte.

local s, places, tvb -- The message as MessagePack, its places if it came as text, and the bytes as they came.
local values, most_values -- Values walked over so far, and the bound.
local verified -- Whether `check` has gone over the message.
local from_client -- Whether the message is one of a client.
local visible, wanted -- Whether the tree is shown; the fields that somebody asks for even so.
local trail = {} -- Names and places of the containers around the value.

local function range(from, to)
    local place = places and places[from]
    if place then return tvb(place.from - 1, place.to - place.from) end
    return tvb(from - 1, to - from)
end

-- Holds the whole message against the rules of MessagePack.
local function verify()
    if verified then return end
    verified = true
    local rule, at = check(s, most_values, from_client)
    if rule then error({ rule = rule, at = at }) end
end

local function ends_here(at)
    verify()
    error({ rule = "packet_truncated", at = at })
end

-- What a value is, in a word or two.
local function describe(at)
    local kind, _, length = token(s, at)
    if kind == "number" then return format("%.14g", (number(s, at)) or 0) end
    if kind == "array" or kind == "map" then return format("%s of %d", kind, length) end
    return kind == "str" and "text" or kind or "nothing"
end

local function wrong(kind, at, expected, found)
    local steps = {}
    for place, step in ipairs(trail) do steps[place] = step end
    steps[#steps + 1] = kind.name
    error({
        rule = "wrong_arguments",
        at = at,
        detail = format("%s should be %s, found %s", #steps > 0 and "argument " .. concat(steps, ".") or "the arguments",
            expected or kind.words, found or describe(at)),
    })
end

-- Reads one scalar: its value and the offset after it.
local READ = {}

function READ.int(kind, at)
    local value, to = number(s, at)
    if not value or value ~= floor(value) or value < kind.low or value > kind.high then wrong(kind, at) end
    return value, to
end

function READ.num(kind, at)
    local value, to = number(s, at)
    if not value or not is_finite(value) then wrong(kind, at) end
    return value, to
end

function READ.flag(kind, at)
    local first = byte(s, at)
    if first == 0xc2 or first == 0xc3 then return first == 0xc3, at + 1 end
    local value, to = number(s, at)
    if value ~= 0 and value ~= 1 then wrong(kind, at) end
    return value == 1, to
end
READ.bool = READ.flag

function READ.str(kind, at)
    local what, head, length = token(s, at)
    if what ~= "str" then wrong(kind, at) end
    local to = at + head + length
    local text = sub(s, at + head, to - 1)
    if to - 1 > #s then ends_here(at) end
    if not is_utf8(text) then text = from_client and typed_text(text) or ends_here(at) end
    return text, to
end

function READ.bin(kind, at)
    local what, head, length = token(s, at)
    if what ~= "bin" then wrong(kind, at) end
    if kind.most and length > kind.most then wrong(kind, at, format("at most %d", kind.most), format("%d", length)) end
    local to = at + head + length
    if to - 1 > #s then ends_here(at) end
    return sub(s, at + head, to - 1), to
end

function READ.any(_, at)
    verify()
    return describe(at), after(s, at)
end

-- A value as the Info column and the tree show it.
local function show(kind, value)
    if kind.degrees then
        local turns = floor(value * kind.degrees * 10 + 0.5) / 10
        return format("%.14g°", turns)
    end
    if kind.shape == "str" then
        if #value > 40 then value = sub(value, 1, 40) .. "…" end
        return '"' .. value:gsub("%c", ".") .. '"'
    end
    if kind.shape == "bin" then return #value == 1 and "1 byte" or #value .. " bytes" end
    if kind.px ~= 1 then return format("%.10g", value / kind.px) end
    if kind.shape == "flag" then return value and "1" or "0" end
    if type(value) == "number" then return format("%.14g", value) end
    return tostring(value)
end

local function add_scalar(kind, tree, from, to, value)
    local shown = value
    if kind.shape == "bin" then
        -- In JSON they stand there in another form.
        if places then return tree:add(kind.field, ByteArray.new(value, true):tvb(kind.name)()) end
        return tree:add(kind.field, range(to - #value, to))
    end
    if type(value) == "number" then
        shown = value / kind.px
    elseif type(value) == "boolean" and kind.as_number then
        shown = value and 1 or 0
    end
    local item = tree:add(kind.field, range(from, to), shown)
    if visible then
        if kind.shape == "bool" then
            item:set_text(kind.name .. ": " .. show(kind, value))
        elseif kind.degrees then
            item:append_text(" " .. kind.unit .. " = " .. show(kind, value))
        elseif kind.unit_text ~= "" then
            item:append_text(kind.unit_text)
        end
    end
end

-- Goes over one value of a group that nobody looks at.
local function skim(kind, at)
    local first = byte(s, at)
    if not first then ends_here(at) end
    if first == 0xc0 and kind.or_nil then return at + 1 end
    local read = READ[kind.shape]
    if not read then ends_here(at) end
    local _, to = read(kind, at)
    return to
end

-- Goes over the values of flat groups that nobody looks at: most of the bytes of most captures.
local function skim_groups(kind, at, count)
    local members, steps = kind.members, kind.steps
    local stride = #members
    -- Names of this function alone are the quickest, and this loop is where the time goes.
    local bytes, look = s, byte
    for group = 0, count / stride - 1 do
        for place = 1, stride do
            local step = steps[place][look(bytes, at)]
            if step then
                at = at + step
            elseif look(bytes, at) == 0xcb and members[place].shape == "num" and (look(bytes, at + 1) or 0) % 128 < 0x7f then
                at = at + 9
            else
                trail[#trail + 1] = group
                at = skim(members[place], at)
                trail[#trail] = nil
            end
        end
    end
    if at > #s + 1 then ends_here(#s + 1) end
    return at
end

local walk

local function walk_groups(kind, tree, at, count)
    local stride = #kind.members
    for group = 0, count / stride - 1 do
        local branch, begin, texts = tree, at, {}
        if visible then branch = tree:add(range(at, at + 1), "[" .. group .. "]") end
        trail[#trail + 1] = group
        for place, member in ipairs(kind.members) do
            local text
            at, text = walk(member, branch, at)
            texts[place] = member.name .. "=" .. text
        end
        trail[#trail] = nil
        if visible then
            branch:set_text(format("[%d] %s", group, concat(texts, " ")))
            if not places then branch:set_len(at - begin) end
        end
    end
    return at
end

local function walk_list(kind, tree, at, count)
    for place = 1, count do
        trail[#trail + 1] = place - 1
        at = walk(kind.each, tree, at)
        trail[#trail] = nil
    end
    return at
end

-- The value of a loose type as JavaScript converts it; nil for what it cannot convert. See PROTOCOL.md.
function READ.loose(kind, at)
    local what, head, length = token(s, at)
    local value = number(s, at)
    local text = what == "str" and sub(s, at + head, at + head + length - 1)
    if kind.shape == "flag" or kind.shape == "bool" then
        if what == "nil" then return false end
        if what == "bool" then return byte(s, at) == 0xc3 end
        if what == "number" then return value ~= 0 and value == value end
        return text ~= ""
    elseif kind.shape == "num" then
        return value and is_finite(value) and value or nil
    elseif kind.shape == "int" then
        if what == "bool" then value = byte(s, at) - 0xc2 end
        if text and (text == "0" or find(text, "^[1-9]%d*$")) then value = tonumber(text) end
        return value and value == floor(value) and value >= kind.low and value <= kind.high and value or nil
    elseif what == "str" then
        return typed_text(text)
    elseif what == "bool" then
        return byte(s, at) == 0xc3 and "true" or "false"
    end
    local is_whole = value and value == floor(value) and math.abs(value) <= (byte(s, at) < 0xcc and byte(s, at) > 0xc9 and 2 ^ 53 or 2 ^ 63 - 1025)
    return is_whole and format("%.0f", value) or nil
end

-- Values of a packet, or of a packet within an argument: in the order of their names. A list without values goes without
-- saying.
local function walk_members(members, tree, at, count)
    local texts = {}
    for place, member in ipairs(members) do
        if place <= count then
            local text, is_list
            at, text, is_list = walk(member, tree, at)
            if not is_list then
                texts[#texts + 1] = member.name .. "=" .. text
            elseif text ~= "×0" then
                texts[#texts + 1] = member.name .. text
            end
        elseif not member.or_nil and not (member.is_loose and READ[member.shape] == READ.flag) then
            wrong(member, math.min(at, #s), nil, "nothing")
        end
    end
    if count > #members then
        verify()
        for _ = #members + 1, count do at = after(s, at) end
    end
    return at, concat(texts, " ")
end

local function walk_map(members, tree, at, pairs_left)
    verify()
    local found, texts = {}, {}
    for _ = 1, pairs_left do
        local key, key_end = READ.str({ words = "str" }, at)
        at = key_end
        for _, member in ipairs(members) do
            if member.name == key then found[key] = at end
        end
        at = after(s, at)
    end
    for _, member in ipairs(members) do
        if found[member.name] then
            local _, text, is_list = walk(member, tree, found[member.name])
            texts[#texts + 1] = member.name .. (is_list and "" or "=") .. text
        elseif not member.or_nil then
            wrong(member, 1, nil, "nothing")
        end
    end
    return at, concat(texts, " ")
end

local function count_values(count)
    values = values + count
    if values > most_values then verify() end
end

-- An array or a map by its type: the offset after it, and its text.
local function walk_container(kind, tree, at)
    local what, head, length = token(s, at)
    if what ~= (kind.shape == "map" and "map" or "array") then wrong(kind, at) end
    count_values(length)
    local stride = kind.shape == "groups" and #kind.members or 1
    if length % stride ~= 0 then
        wrong(kind, at, "groups of " .. stride, length == 1 and "1 value" or format("%d values", length))
    end
    local count = length / stride
    if kind.most and count > kind.most then wrong(kind, at, format("at most %d", kind.most), format("%d", count)) end
    local begin, branch, text = at, tree, format("×%d", count)
    if kind.field and visible then
        branch = tree:add(kind.field, range(at, at + head), count, format("%s: %d", kind.name, count))
    elseif kind.field and wanted[kind.field] then
        tree:add(kind.field, range(at, at + head), count)
    elseif visible then
        branch = tree:add(range(at, at + head), kind.name or "[]")
    end
    trail[#trail + 1] = kind.name
    at = at + head
    if kind.shape == "groups" then
        at = (visible or wanted.any) and walk_groups(kind, branch, at, length) or skim_groups(kind, at, length)
    elseif kind.shape == "list" then
        at = walk_list(kind, branch, at, length)
    else
        local inside
        at, inside = (kind.shape == "map" and walk_map or walk_members)(kind.members, branch, at, length)
        text = "{" .. inside .. "}"
    end
    trail[#trail] = nil
    if visible and not places then branch:set_len(at - begin) end
    return at, text, kind.field ~= nil
end

-- Any value by its type: the offset after it, its text, and whether that is the length of a list.
function walk(kind, tree, at)
    local first = byte(s, at)
    if not first then ends_here(at) end
    local is_nil = first == 0xc0 and kind.or_nil
    local read, value, to = READ[kind.shape], nil, nil
    if kind.is_loose and not is_nil then
        verify()
        to = after(s, at)
        if read then value = READ.loose(kind, at) end
        local is_lost = value == nil and (read or token(s, at) ~= (kind.shape == "map" and "map" or "array"))
        if is_lost and not kind.or_nil then wrong(kind, at) end
        is_nil = is_lost
    end
    if is_nil or kind.or_zero and number(s, at) == 0 then
        to = to or select(2, number(s, at)) or at + 1
        local text = is_nil and "nil" or "0"
        if visible or wanted[F.absent] then
            tree:add(F.absent, range(at, to), kind.name, kind.name .. ": " .. text)
        end
        return to, text
    end
    if not read then return walk_container(kind, tree, at) end
    if value == nil then value, to = read(kind, at) end
    if visible or wanted[kind.field] then add_scalar(kind, tree, at, to, value) end
    return to, show(kind, value)
end

-- Whether a number is whole and fits 64 bits with a sign. The greatest integers of all are rounded up as Lua reads them.
local function is_code(number, at)
    local head, first = byte(s, at, at + 1)
    local is_signed = head == 0xd3 or head == 0xcf and first < 0x80
    return number == floor(number) and (is_signed or number >= -2 ^ 63 and number < 2 ^ 63)
end

-- Code and packet of an envelope: the packet (nil if the dialect lacks it), the code as text, where the arguments begin,
-- how many parts there are, and where the code begins.
local function open_envelope(side)
    local what, head, parts = token(s, 1)
    if what ~= "array" or parts == 0 then
        verify()
        error({ rule = "packet_envelope", at = 1 })
    end
    local at = 1 + head
    local code, to = number(s, at)
    if not code and token(s, at) == "str" then code, to = READ.str({ words = "str" }, at) end
    if not code or type(code) == "number" and not is_code(code, at) then
        verify()
        error({ rule = "packet_envelope", at = 1 })
    end
    local packet = side.by_code[code] or places and side.by_name[code] or nil
    return packet, type(code) == "number" and format("%.0f", code) or code, to, parts, at
end

-- The arguments of a packet, down to the end of the message; their text.
local function read_arguments(packet, tree, at, parts)
    local text = ""
    if parts > 2 then verify() end
    if parts >= 2 then
        local what, head, length = token(s, at)
        if what == "array" then
            count_values(length)
            at, text = walk_members(packet.arguments, tree, at + head, length)
        elseif what == "nil" then
            at = walk_members(packet.arguments, tree, at, 0) + 1
        else
            wrong({}, at, "an array")
        end
    else
        walk_members(packet.arguments, tree, at, 0)
    end
    for _ = 3, parts do at = after(s, at) end
    if at ~= #s + 1 then verify() end
    return text
end

-- Counts from the front of the message that was taken.
local function begin()
    values, verified = 3, false
    if trail[1] then trail = {} end
end

-- Opcodes of the frames that messages begin with.
local TEXT, BINARY = 1, 2

-- Whether a message of which nobody knows how it came looks like JSON: no packet in MessagePack begins so.
local function looks_like_text(bytes)
    local first = byte(bytes, 1)
    return first == 0x5b or first == 0x7b or first == 0x20 or first == 0x0a or first == 0x22
end

-- Makes a message the one that is read, as JSON or as MessagePack by its opcode, where that is known. A text that is no JSON gives
-- its rule and where.
local function take(bytes, view, opcode)
    s, places, tvb = bytes, nil, view
    begin()
    most_values = CLIENT_PACKET_VALUES
    if opcode == TEXT or not opcode and looks_like_text(bytes) then
        local found, rule, where = from_json(bytes, most_values)
        if not found then return { rule = rule, at = where } end
        s, places = found, rule
    end
end

local NOTHING = {}

-- Reads the message that was taken. Gives packet, code, text, and what is wrong: rule, where, detail.
local function read(side, on_envelope)
    visible, wanted = false, NOTHING
    if places and places.has_half and not from_client then
        return nil, nil, nil, { rule = "packet_invalid_utf8", at = 1 }
    end
    local packet, code, text
    local ok, problem = pcall(function()
        local at, parts, from
        packet, code, at, parts, from = open_envelope(side)
        local tree = on_envelope(packet, code, from, at)
        if packet then
            text = read_arguments(packet, tree, at, parts)
        else
            verify()
            error({ rule = "unknown_code", at = 1, detail = format("no packet has the code %q in this direction", code) })
        end
    end)
    if ok then return packet, code, text end
    if type(problem) ~= "table" then problem = { rule = "dissector_error", at = 1, detail = tostring(problem) } end
    -- What does not fit its type is judged after what is no MessagePack, as the server does.
    if not verified then
        local rule, at = check(s, most_values, from_client)
        if rule then problem = { rule = rule, at = at } end
    end
    return packet, code, text, problem
end

-- ---- At a glance ---------------------------------------------------------------------------------------------------
-- A summary wants one line of a packet and nothing else. Most packets are numbers, and lists of groups of numbers: regular
-- expressions go over these, many groups at a time, where Wireshark has them (since 4.0). Comes in: the message that was
-- taken. Goes out: its packet and its line, the same as the walk gives. Never: a judgement. What does not fit, and what has
-- another shape than most, is left to the walk.

local glance_envelope, glance
do -- As in the part on JSON: names of this part alone.
local REGEX = rex_pcre2 and rex_pcre2.new and rex_pcre2.flags and rex_pcre2
local REGEX_FLAGS = REGEX and REGEX.flags().ANCHORED + REGEX.flags().DOTALL

-- So many groups at once, then half as many: an expression for each, made when one is needed.
local MOST_GROUPS = 32

-- Whole numbers: what an encoding holds has to fit whatever its bytes are.
local function whole_pattern(low, high)
    local ways = { format("[\\x00-\\x%02x]", math.min(high, 0x7f)) }
    if low < 0 then ways[2] = format("[\\x%02x-\\xff]", math.max(256 + low, 0xe0)) end
    for size = 0, 2 do
        local bytes = 2 ^ size
        local half = 2 ^ (8 * bytes - 1)
        if high >= 2 * half - 1 then
            ways[#ways + 1] = format("\\x%02x.{%d}", 0xcc + size, bytes)
        elseif high == half - 1 then
            ways[#ways + 1] = format("\\x%02x[\\x00-\\x7f].{%d}", 0xcc + size, bytes - 1)
        end
        if low <= -half and high >= half - 1 then ways[#ways + 1] = format("\\x%02x.{%d}", 0xd0 + size, bytes) end
    end
    return concat(ways, "|")
end

-- A finite number: not all bits of the exponent are set.
local NUMBER_PATTERN = "\\xcb(?:[^\\x7f\\xff].|[\\x7f\\xff][\\x00-\\xef]).{6}|" ..
    "\\xca(?:[^\\x7f\\xff].|[\\x7f\\xff][\\x00-\\x7f])..|[\\xcf\\xd3].{8}|" .. whole_pattern(-2 ^ 31, 2 ^ 32)

-- A short text of ASCII alone, which is UTF-8 whatever it says.
local function text_pattern()
    local ways = {}
    for length = 0, 31 do ways[length + 1] = format("\\x%02x[\\x00-\\x7f]{%d}", 0xa0 + length, length) end
    return concat(ways, "|")
end

-- One scalar of a type, or nil for what is none.
local function scalar_pattern(kind)
    local ways
    if kind.shape == "int" then
        ways = whole_pattern(kind.low, kind.high)
    elseif kind.shape == "num" then
        ways = NUMBER_PATTERN
    elseif kind.shape == "flag" or kind.shape == "bool" then
        ways = "[\\x00\\x01\\xc2\\xc3]"
    elseif kind.shape == "str" then
        ways = text_pattern()
    end
    if not ways then return nil end
    -- The ways begin with different bytes, so there is no way back to try.
    return "(?>" .. ways .. (kind.or_nil and "|\\xc0" or "") .. (kind.or_zero and "|\\x00" or "") .. ")"
end

-- One group of a list's type; false where it holds more than scalars.
local function group_pattern(kind)
    local parts = {}
    for place, member in ipairs(kind.members or { kind.each }) do
        parts[place] = scalar_pattern(member)
        if not parts[place] then return false end
    end
    return concat(parts)
end

-- The expression for so many groups of a list. False where there is none.
local function groups_regex(kind, count)
    if kind.group == nil then kind.group = REGEX and group_pattern(kind) or false end
    local made = false
    if kind.group then
        local ok, regex = pcall(REGEX.new, "(?(DEFINE)(" .. kind.group .. "))" .. string.rep("(?1)", count), REGEX_FLAGS)
        made = ok and regex or false
        -- Not every machine can; it is slower without.
        if made and made.jit_compile then pcall(made.jit_compile, made) end
    end
    kind.regexes[count] = made
    return made
end

-- The offset after so many groups, or nil.
local function glance_groups(kind, at, count)
    local regexes, size = kind.regexes, MOST_GROUPS
    while count > 0 do
        while size > count do size = size / 2 end
        local regex = regexes[size]
        if regex == nil then regex = groups_regex(kind, size) end
        if not regex then return nil end
        local _, to = regex:find(s, at)
        if not to then return nil end
        at, count = to + 1, count - size
    end
    return at
end

-- The offset after a list and its text, or nil. `first` is its first byte.
local function glance_list(kind, at, first)
    local length, head = first - 0x90, 1
    if length == 0 then return at + 1, "" end
    if first == 0xdc then
        local high, low = byte(s, at + 1, at + 2)
        if not low then return nil end
        length, head = high * 256 + low, 3
    elseif length < 0 or length > 15 then
        return nil
    end
    values = values + length
    local count = length / (kind.members and #kind.members or 1)
    if count ~= floor(count) or kind.most and count > kind.most then return nil end
    local text = kind.texts[count]
    if not text then
        text = count > 0 and format("%s×%d", kind.name, count) or ""
        kind.texts[count] = text
    end
    return glance_groups(kind, at + head, count), text
end

-- The packet of the message, where its arguments begin, and its code; nil where the walk has to look.
function glance_envelope(side)
    local first, code = byte(s, 1, 2)
    if first ~= 0x92 or not code then return nil end
    if code < 0x80 then return side.by_code[code], 3, code end
    local length = code - 0xa0
    if length < 1 or length > 31 then return nil end
    code = sub(s, 3, 2 + length)
    return side.by_code[code], 3 + length, code
end

-- A scalar's text and the offset after it.
local function glance_scalar(kind, at, first)
    if kind.is_bare and first < 0x80 then return kind.label .. first, at + 1 end
    local value, to = READ[kind.shape](kind, at)
    -- 8, 16 or 32 bits without a sign need no form of their own.
    local is_plain = kind.is_bare and first >= 0xcc and first <= 0xce
    return kind.label .. (is_plain and value or show(kind, value)), to
end

local glance_members

-- A tuple's text and the offset after it, or nil.
local function glance_tuple(kind, at, first)
    local count = first - 0x90
    if count < 0 or count > 15 then return nil end
    values = values + count
    local text, to = glance_members(kind.members, at + 1, count, {})
    return text and kind.label .. "{" .. text .. "}", to
end

-- Members as the Info column shows them, and the offset after them; nil where the walk has to look. `texts` is what the texts of
-- members are put into.
function glance_members(members, at, count, texts)
    if count > #members then return nil end
    local shown = 0
    for place = 1, count do
        local kind, text = members[place]
        local first = byte(s, at)
        if not first or not kind.label then return nil end
        if first == 0xc0 and kind.or_nil then
            at, text = at + 1, kind.label .. "nil"
        elseif kind.regexes then
            at, text = glance_list(kind, at, first)
        elseif kind.members then
            text, at = glance_tuple(kind, at, first)
        else
            text, at = glance_scalar(kind, at, first)
        end
        if not at then return nil end
        if text ~= "" then
            shown = shown + 1
            texts[shown] = text
        end
    end
    for place = count + 1, #members do
        if not members[place].or_nil then return nil end
    end
    return concat(texts, " ", 1, shown), at
end

local top_texts = {} -- Of one packet after the other.

-- The arguments that begin here, as the Info column shows them; nil where the walk has to look.
function glance(packet, at)
    local first = byte(s, at)
    local count = first and first - 0x90 or -1
    if count < 0 or count > 15 then return nil end
    values = values + count
    local text, to = glance_members(packet.arguments, at + 1, count, top_texts)
    return text and to == #s + 1 and values <= most_values and text or nil
end

-- Prepares a type for a glance; what gets no label is left to the walk.
local function prepare(kind)
    if kind.or_zero or kind.is_loose then return end
    if kind.shape == "groups" or kind.shape == "list" then
        kind.label, kind.regexes, kind.texts = kind.name .. "=", {}, {}
    elseif kind.shape == "tuple" or kind.shape ~= "any" and READ[kind.shape] then
        kind.label = kind.name .. "="
        -- A whole number that is shown as it is.
        kind.is_bare = kind.shape == "int" and kind.low >= 0 and kind.px == 1 and not kind.degrees
        for _, member in ipairs(kind.members or {}) do prepare(member) end
    end
end

for _, packet in ipairs(PACKETS) do
    for _, kind in ipairs(packet.arguments) do prepare(kind) end
end
end

-- ---- Lines that come again -----------------------------------------------------------------------------------------
-- A server says many things to many clients in the same bytes: who is there, what is where. The line of a short message is kept, and
-- found again by these bytes. Long ones rarely come twice.

local MOST_LINE_BYTES = 64
local MOST_LINES = 1024
local kept_lines = 0

-- Begins anew with every capture and every change of the preferences.
local function forget_lines()
    kept_lines = 0
    for _, dialect in pairs(DIALECTS) do
        dialect.to_server.lines, dialect.to_client.lines = {}, {}
    end
end
forget_lines()

local function keep_line(side, bytes, line)
    if #bytes > MOST_LINE_BYTES then return end
    if kept_lines == MOST_LINES then forget_lines() end
    kept_lines = kept_lines + 1
    side.lines[bytes] = line
end
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

-- ---- Datagrams -----------------------------------------------------------------------------------------------------
-- Parses datagrams of lanes (PROTOCOL.md), and stores their sequence numbers and keys. Input: bytes
-- as Lua strings. Output: the parts of a datagram with their places, or the name of the broken rule
-- (src/datagram/error.rs). Uses no objects of Wireshark.

local lanes = { HEADER_BYTES = 12, TAG_BYTES = 16, MOST_BYTES = 1200 }
do
    local PACKET, COMMANDS, RECEIVED = 1, 2, 3
    local MESSAGE_HEAD_BYTES, BLOCK_HEAD_BYTES, BODY_HEAD_BYTES = 3, 10, 2
    local MOST_NUMBER = 2 ^ 32 - 1
    -- Value of `tick` for commands without a target tick.
    local NO_TICK = MOST_NUMBER
    -- Size of the receive window below the newest number.
    local WINDOW = 64
    lanes.NO_TICK = NO_TICK
    lanes.NAMES = { [PACKET] = "packet", [COMMANDS] = "commands", [RECEIVED] = "received" }

    -- Encodes the head of a MessagePack array.
    local function array_head(length)
        if length < 16 then return string.char(0x90 + length) end
        if length < 65536 then return string.char(0xdc, floor(length / 256), length % 256) end
        return string.char(0xdd, floor(length / 2 ^ 24) % 256, floor(length / 65536) % 256, floor(length / 256) % 256, length % 256)
    end

    -- Encodes a MessagePack number in its shortest form.
    local function uint(value)
        if value < 0x80 then return string.char(value) end
        if value < 0x100 then return string.char(0xcc, value) end
        if value < 0x10000 then return string.char(0xcd, floor(value / 256), value % 256) end
        return string.char(0xce, floor(value / 2 ^ 24), floor(value / 65536) % 256, floor(value / 256) % 256, value % 256)
    end

    -- Returns code and arguments of a command's body; nil if they are not MessagePack.
    local function read_body(body)
        local first, kind, head, length = byte(body, 1), token(body, 1)
        if kind ~= "str" and (kind ~= "number" or first == 0xca or first == 0xcb) then return nil end
        local code_bytes = head + length
        local list, list_head, count = token(body, code_bytes + 1)
        if list ~= "array" then return nil end
        return { code = sub(body, 1, code_bytes), count = count, encoded = sub(body, code_bytes + list_head + 1) }
    end

    -- Encodes a command as a packet of the WebSocket.
    local function packet_of(command)
        local body = command.body
        return "\146" .. body.code .. array_head(body.count + 2) .. uint(command.sequence)
            .. (command.tick and uint(command.tick) or "\192") .. body.encoded
    end

    -- Sets tick and sequence number of the command at a place of a block, from 0. Returns the
    -- broken rule, if any.
    local function number_command(command, place, block, before)
        local tick = block.tick
        if before then tick = before.tick end
        if tick then
            tick = tick + command.later
            if tick >= NO_TICK then return "datagram_number_too_large" end
        end
        command.tick, command.sequence = tick, block.first + place
        return command.sequence > MOST_NUMBER and "datagram_number_too_large" or nil
    end

    -- Returns a block of commands, whose places count from 1 within its content; or nil and the
    -- broken rule.
    local function read_commands(content)
        local most = #content
        if most < BLOCK_HEAD_BYTES then return nil, "datagram_truncated" end
        local tick, step, count = unsigned(content, 5, 4), byte(content, 9, 10)
        local block = { first = unsigned(content, 1, 4), step = step, count = count, bits = floor((count + 7) / 8), commands = {} }
        if tick ~= NO_TICK then block.tick = tick end
        local at, before = BLOCK_HEAD_BYTES + block.bits + 1, nil
        if at > most + 1 then return nil, "datagram_truncated" end
        if count == 0 then return nil, "datagram_no_command" end
        for place = 0, count - 1 do
            local bits = byte(content, BLOCK_HEAD_BYTES + 1 + floor(place / 8))
            local command = { is_same = floor(bits / 2 ^ (7 - place % 8)) % 2 == 1 }
            if command.is_same then
                if not before then return nil, "datagram_nothing_before" end
                command.later, command.body = step, before.body
            else
                local later, length = byte(content, at, at + 1)
                local to = at + BODY_HEAD_BYTES + (length or 0)
                if not length or to > most + 1 then return nil, "datagram_truncated" end
                command.later, command.from, command.to = later, at, to
                command.body = read_body(sub(content, at + BODY_HEAD_BYTES, to - 1))
                if not command.body then return nil, "datagram_not_msgpack" end
                at = to
            end
            local rule = number_command(command, place, block, before)
            if rule then return nil, rule end
            command.packet = packet_of(command)
            block.commands[place + 1], before = command, command
        end
        if at <= most then return nil, "datagram_bytes_left" end
        return block
    end

    -- Returns the message at `at`, or nil and the broken rule.
    local function read_message(bytes, at)
        local kind, length = byte(bytes, at), unsigned(bytes, at + 1, 2)
        local from = at + MESSAGE_HEAD_BYTES
        if not length or from + length > #bytes + 1 then return nil, "datagram_truncated" end
        local message = { at = at, kind = kind, length = length, from = from, to = from + length }
        local content = sub(bytes, from, message.to - 1)
        if kind == PACKET then
            message.packet = content
        elseif kind == COMMANDS then
            local block, rule = read_commands(content)
            if not block then return nil, rule end
            message.block = block
        elseif kind == RECEIVED then
            if length < 4 then return nil, "datagram_truncated" end
            if length > 4 then return nil, "datagram_bytes_left" end
            message.sequence = unsigned(content, 1, 4)
        else
            return nil, "datagram_unknown_kind"
        end
        return message
    end

    -- Returns the messages of an opened datagram with its header; then the broken rule and its
    -- place, from 1.
    function lanes.read(bytes)
        local messages, at = {}, lanes.HEADER_BYTES + 1
        while at <= #bytes do
            local message, rule = read_message(bytes, at)
            if not message then return messages, rule, at end
            messages[#messages + 1], at = message, message.to
        end
        return messages
    end

    -- Returns the fields of a header; nil if it is truncated.
    function lanes.read_header(bytes)
        if #bytes < lanes.HEADER_BYTES then return nil end
        return {
            connection = unsigned(bytes, 1, 4), sequence = unsigned(bytes, 5, 2), newest = unsigned(bytes, 7, 2),
            received = unsigned(bytes, 9, 4),
        }
    end

    -- Returns the number nearest to `near` with these lower 16 bits. If `near` is 0, the capture
    -- may begin late, and `low` is returned.
    local function extend(low, near)
        if near == 0 then return low end
        return math.max(near + (low - near + 0x8000) % 0x10000 - 0x8000, 0)
    end

    -- Lanes by connection number.
    local by_connection = {}

    -- Server ports from captured `lane_offer` packets.
    lanes.ports = {}

    function lanes.begin() by_connection, lanes.ports = {}, {} end

    -- Returns the lane of a connection number. `offer` and `log` have its key, if known.
    function lanes.of(connection)
        local lane = by_connection[connection] or { ways = {} }
        by_connection[connection] = lane
        return lane
    end

    function lanes.has_key(lane) return lane.log ~= nil or lane.offer ~= nil and lane.offer.key ~= nil end

    -- Returns the state of a lane in one direction, to or from one address of the server.
    function lanes.way(lane, direction, server)
        local name = direction .. " " .. server
        local way = lane.ways[name] or { newest = 0, numbers = {} }
        lane.ways[name] = way
        return way
    end

    -- Whether the capture or the key log has a lane with this connection number.
    function lanes.is_granted(connection)
        local lane = by_connection[connection]
        return lane and (lane.offer or lane.log) and true or false
    end

    -- Returns the number of a datagram, and the broken rule if it is repeated or too old.
    function lanes.number(way, low)
        local number = extend(low, way.newest)
        local is_old = way.newest - number > WINDOW or number == 0 and way.newest > 0
        if is_old then return number, "datagram_too_old" end
        return number, way.numbers[number] and "datagram_repeated" or nil
    end

    -- Records an opened datagram.
    function lanes.record(way, number, frame)
        way.newest = math.max(way.newest, number)
        way.numbers[number] = frame
    end

    -- Returns the acknowledged and the missing numbers of a header. `sent` is the newest number of
    -- the other direction.
    function lanes.acknowledged(header, sent)
        local newest = extend(header.newest, sent)
        local arrived, missing = {}, {}
        if newest < 1 then return arrived, missing end
        arrived[1] = newest
        for bit = 0, math.min(31, newest - 2) do
            local list = floor(header.received / 2 ^ bit) % 2 == 1 and arrived or missing
            list[#list + 1] = newest - 1 - bit
        end
        return arrived, missing
    end

    local function from_hex(digits)
        return (digits:gsub("%x%x", function(pair) return string.char(tonumber(pair, 16)) end))
    end

    -- Reads the lines of a key log: `TICKWIRE_LANE connection key client`. Other lines are ignored.
    local function read_key_log(text)
        for connection, key, client in string.gmatch(text, "TICKWIRE_LANE (%x+) (%x+) (%S+)") do
            if #connection == 8 and #key == 64 then
                lanes.of(tonumber(connection, 16)).log = { key = from_hex(key), client = client }
            end
        end
    end

    local log_bytes = 0

    -- Reads the key log if its size has changed. Returns the error text, if any.
    function lanes.read_log(path)
        if path == "" then return nil end
        local file, problem = io.open(path, "rb")
        if not file then return problem end
        local size = file:seek("end")
        if size ~= log_bytes then
            file:seek("set")
            read_key_log(file:read("*a"))
            log_bytes = size
        end
        file:close()
        return nil
    end

    -- Resets the known size of the key log.
    function lanes.forget_log() log_bytes = 0 end

    -- Returns the header and the decrypted messages of a sealed datagram; nil if the tag is wrong.
    function lanes.open(bytes, key, direction, number)
        local nonce = { string.char(0, 0, 0, direction == "to_client" and 1 or 0) }
        for shift = 7, 0, -1 do nonce[#nonce + 1] = string.char(floor(number / 256 ^ shift) % 256) end
        local header = sub(bytes, 1, lanes.HEADER_BYTES)
        local messages = open_sealed(key, concat(nonce), header, sub(bytes, lanes.HEADER_BYTES + 1))
        return messages and header .. messages
    end

    -- Records the lane of a `lane_offer` packet. `way` is the direction to the client.
    function lanes.note_offer(bytes, way)
        if byte(bytes, 1) ~= 0x92 or byte(bytes, 3) ~= 0x93 then return end
        local connection, at = number(bytes, 4)
        if not connection then return end
        local kind, head, length = token(bytes, at)
        if kind ~= "bin" or length ~= 32 then return end
        local key = sub(bytes, at + head, at + head + length - 1)
        -- Captures of the server have a key of zeros.
        if key == string.rep("\0", 32) then key = nil end
        lanes.ports[number(bytes, at + head + length) or 0] = true
        lanes.of(connection).offer = { key = key, stream = way.stream, client = way.to, server = way.from }
    end
end

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
-- ---- Rules of frames -----------------------------------------------------------------------------------------------
-- Wireshark shows broken frames without a word on what is wrong with them. Here each frame is held against RFC 6455, in the order of
-- the server's own check (src/ws/frame.rs and message.rs), so that both name the same rule. Beside Wireshark's dissector, never in its place.

-- Which rule the frames of a segment break: `judge_frames(state, bytes, to_server, is_ours)`. `state` is what is known of one direction:
-- `open` is the message under way, `is_midway` says that one may be. `is_ours` says that the limits are our server's. Gives a verdict, or nil where
-- nothing is wrong: how many messages are good, where the reading ends (from 0) and how many bytes are to blame, the rule, and how many bytes of
-- the frame are missing; without a rule a close frame ended the reading. The second value says whether the last frame ends where the segment does.
local judge_frames, unmasked
do
    local xor = bit and bit.bxor or bit32 and bit32.bxor or load("local one, other = ... return one ~ other")
    local CLOSE = 8

    function unmasked(payload, key)
        local bytes = { byte(payload, 1, -1) }
        for place, value in ipairs(bytes) do bytes[place] = string.char(xor(value, byte(key, (place - 1) % 4 + 1))) end
        return concat(bytes)
    end

    -- The bytes at the end of a text that begin a character and do not end it; nil where the text is not UTF-8, whatever follows.
    local function unfinished_character(text)
        if is_utf8(text) then return "" end
        for size = 1, math.min(3, #text) do
            local lead = byte(text, -size)
            if lead < 0x80 then return nil end
            if lead >= 0xc0 then
                local missing = (lead < 0xe0 and 2 or lead < 0xf0 and 3 or 4) - size
                local tail = sub(text, -size)
                -- Of the second bytes that a first byte allows, one is always 80 or bf.
                local is_good = missing > 0 and is_utf8(sub(text, 1, -size - 1))
                    and (is_utf8(tail .. sub("\128\128\128", 1, missing)) or is_utf8(tail .. sub("\191\128\128", 1, missing)))
                return is_good and tail or nil
            end
        end
        return nil
    end

    -- The header at `at`: its size, the payload's length. Nil where it is not all there; false, the rule, and the place of what breaks it.
    local function read_header(bytes, at, to_server)
        local first, second = byte(bytes, at, at + 1)
        local opcode = first % 16
        if floor(first / 16) % 8 ~= 0 then return false, "reserved_bit", 0, 1 end
        if opcode > 10 or opcode > 2 and opcode < CLOSE then return false, "reserved_opcode", 0, 1 end
        if opcode >= CLOSE and first < 0x80 then return false, "control_fragmented", 0, 1 end
        if not second then return nil end
        if (second >= 0x80) ~= to_server then return false, to_server and "mask_missing" or "mask_forbidden", 1, 1 end
        local length, width = second % 128, 0
        if opcode >= CLOSE and length > 125 then return false, "control_too_long", 1, 1 end
        if length > 125 then
            width = length == 126 and 2 or 8
            local shorter_most = length == 126 and 125 or 65535
            length = unsigned(bytes, at + 2, width)
            if not length then return nil end
            if width == 8 and byte(bytes, at + 2) >= 0x80 then return false, "length_top_bit", 2, width end
            if length <= shorter_most then return false, "length_not_minimal", 2, width end
        end
        -- The server waits for the key before it judges the message. What the key is makes no difference, and Wireshark does not show
        -- a segment that ends in the middle of the payload.
        return 2 + width + (to_server and 4 or 0), length
    end

    -- The rule that a data frame breaks by what came before it, or by its length.
    local function admit(state, opcode, length, is_limited)
        local open = state.open
        if opcode == 0 and not open then return not state.is_midway and "continuation_without_start" or nil end
        if opcode ~= 0 and open then return "message_interrupted" end
        if not is_limited then return nil end
        if open and open.fragments + 1 > MESSAGE_FRAGMENTS then return "too_many_fragments" end
        if length > MESSAGE_BYTES - (open and open.bytes or 0) then return "message_too_long" end
    end

    local function close_rule(body)
        if #body == 1 then return "close_one_byte" end
        local code = unsigned(body, 1, 2)
        if not code then return nil end
        local is_known = code >= 1000 and code <= 1003 or code >= 1007 and code <= 1014 or code >= 3000 and code <= 4999
        if not is_known then return "close_code_invalid" end
        return not is_utf8(sub(body, 3)) and "close_reason_not_utf8" or nil
    end

    -- Notes a whole data frame as a part of its message.
    local function note_part(state, opcode, fin, length, tail)
        if fin then
            state.open = nil
        elseif opcode ~= 0 then
            state.open = { opcode = opcode, fragments = 1, bytes = length, tail = tail }
        elseif state.open then
            local open = state.open
            open.fragments, open.bytes, open.tail = open.fragments + 1, open.bytes + length, tail
        end
        if fin or opcode ~= 0 then state.is_midway = false end
    end

    -- What a payload breaks, as far as it is there; and of a text the beginning of its last character.
    local function payload_rule(state, payload, opcode, fin, is_whole)
        if opcode == CLOSE then return is_whole and close_rule(payload) or nil end
        local tail = unfinished_character((opcode == 0 and state.open.tail or "") .. payload)
        if not tail or tail ~= "" and fin and is_whole then return "text_not_utf8" end
        return nil, tail
    end

    -- Bytes of the frame at `at` that are not there; as many as there are where the header does not say it.
    local function missing_of(bytes, at)
        local second = byte(bytes, at + 1)
        if not second then return math.huge end
        local length, size = second % 128, second < 0x80 and 2 or 6
        if length > 125 then
            local width = length == 126 and 2 or 8
            length, size = unsigned(bytes, at + 2, width) or math.huge, size + width
        end
        return math.max(0, at + size + length - 1 - #bytes)
    end

    local function broken(state, bytes, at, good, rule, from, count)
        local opcode = byte(bytes, at) % 16
        if opcode == 0 and state.open then opcode = state.open.opcode end
        return { good = good, from = from, count = count, rule = rule, at = at - 1, opcode = opcode, missing = missing_of(bytes, at) }
    end

    -- Holds the frame at `at` against the rules: nil where it is not all there, `false` and the verdict where it breaks one, or the offset after
    -- it and whether it ends a message that is not empty.
    local function judge_frame(state, bytes, at, good, to_server, is_ours)
        local size, length, from, count = read_header(bytes, at, to_server)
        if size == nil then return nil end
        if not size then return false, broken(state, bytes, at, good, length, at - 1 + from, count) end
        local first = byte(bytes, at)
        local opcode, fin = first % 16, first >= 0x80
        local rule, tail
        if opcode < CLOSE then rule = admit(state, opcode, length, is_ours and to_server) end
        if rule then return false, broken(state, bytes, at, good, rule, at - 1, size) end
        local most = #bytes
        local is_whole = at + size + length <= most + 1
        if opcode == TEXT or opcode == CLOSE or opcode == 0 and state.open and state.open.opcode == TEXT then
            local payload = sub(bytes, at + size, at + size + math.min(length, most) - 1)
            if to_server then payload = unmasked(payload, sub(bytes, at + size - 4, at + size - 1)) end
            rule, tail = payload_rule(state, payload, opcode, fin, is_whole)
            if rule then return false, broken(state, bytes, at, good, rule, at + size - 1, #payload) end
        end
        if not is_whole then return nil end
        at = at + size + length
        if opcode == CLOSE then return false, { good = good, from = at - 1, count = most + 1 - at } end
        if opcode < CLOSE then note_part(state, opcode, fin, length, tail) end
        return at, opcode < CLOSE and fin and length > 0
    end

    function judge_frames(state, bytes, to_server, is_ours)
        local at, good, most = 1, 0, #bytes
        -- Names of this function alone are the quickest.
        local look, lowest = byte, to_server and 0x80 or 0
        while at <= most do
            -- Most frames are whole, short and binary: of these nothing is left to judge.
            local first, second = look(bytes, at, at + 1)
            local length = (second or 0) - lowest
            local after = at + length + (to_server and 6 or 2)
            if first == 0x82 and second and length >= 0 and length <= 125 and after <= most + 1 and not state.open then
                at, state.is_midway = after, false
                if length > 0 then good = good + 1 end
            else
                local to, is_message = judge_frame(state, bytes, at, good, to_server, is_ours)
                if not to then return to == false and is_message or nil, false end
                at = to
                if is_message then good = good + 1 end
            end
        end
        return nil, true
    end
end

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

-- ---- Menus ---------------------------------------------------------------------------------------------------------
-- Entries of Wireshark's menus: statistics of the open capture, and commands and links for the selected packet. Not in tshark.

(function() -- A function of its own, for its local names. Its lines are not indented.
if not gui_enabled() then return end

-- Most bytes of a link. Bound of src/limits/; a test compares.
local INSPECTOR_LINK_BYTES = 16000
-- Most digits in an argument of a command: Linux allows 131072 bytes.
local ARGUMENT_DIGITS = 100000

-- A listener's filter names the fields that Wireshark provides, besides selecting frames.
local FILTER = "tickwire.packet || tickwire.rule || tickwire.direction || tickwire.length"

local function fields_of_frame(names)
    local found = {}
    for _, name in pairs(names) do found[name] = {} end
    for _, info in ipairs({ all_field_infos() }) do
        local values = found[info.name]
        if values then values[#values + 1] = info.value end
    end
    return found
end

-- Opens a window with a table of the open capture. Wireshark updates it when it reads the capture again.
local function open_window(title, name)
    local statistics = require "tickwire.statistics"
    local window, listener = TextWindow.new("tickwire: " .. title), Listener.new("frame", FILTER)
    local counter = statistics.new()
    window:set_atclose(function() listener:remove() end)
    function listener.packet(pinfo)
        local values, found = fields_of_frame(statistics.FIELDS), {}
        for key, field in pairs(statistics.FIELDS) do found[key] = values[field] end
        counter:add(pinfo, found)
    end
    function listener.draw() window:set(counter:text(name)) end
    function listener.reset() counter = statistics.new() end
    retap_packets()
end

-- Wireshark 4.0 and 4.4 show no entry of the group MENU_STAT_GENERIC, and these with their slash.
for _, entry in ipairs({
    { "Packets", "packets" }, { "Packets by second", "seconds" }, { "Broken rules", "rules" }, { "Gaps between packets", "gaps" },
}) do
    register_menu("Tickwire/" .. entry[1], function() open_window(entry[1], entry[2]) end, MENU_PACKET_STAT_UNSORTED or MENU_STAT_UNSORTED)
end

if not register_packet_menu then return end -- Wireshark 4.0 lacks it, 4.4 has it.

-- Returns the value of the first field of a name, and these fields. The action of a packet menu receives all fields of the packet.
local function first_values(infos)
    local first = {}
    for _, info in ipairs(infos) do
        if first[info.name] == nil then first[info.name] = info end
    end
    return function(name) return first[name] and tostring(first[name].value) end, first
end

-- Returns the frames of a packet, as sent: header and payload of each; and whether any has the bit of compression. Frames over
-- several segments are whole. Wireshark's field of a header ends before the payload; the field of a cut frame contains it.
local function frames_of(infos)
    local parts, header, payload, finish, is_compressed = {}, nil, nil, 0, false
    for _, info in ipairs(infos) do
        local name = info.name
        if name == "websocket" or name == "tickwire.tcp" then
            header = info
        elseif name == "websocket.opcode" and header then
            local bytes = header.range:raw()
            parts[#parts + 1], finish = bytes, header.offset + header.len
            payload = (byte(bytes, 2) or 0) >= 0x80 and "websocket.masked_payload" or "websocket.payload"
            is_compressed = is_compressed or floor(byte(bytes) / 64) % 2 == 1
            header = nil
        elseif name == payload then
            if info.offset >= finish and info.len > 0 then parts[#parts + 1] = info.range:raw() end
            payload = nil
        end
    end
    return concat(parts), is_compressed
end

-- Returns the bytes of a segment, or the joined bytes if TCP has reassembled it and the rule is broken there.
local function segment_of_packet(first)
    local payload, joined, rule = first["tcp.payload"], first["tcp.reassembled.data"], first["tickwire.rule"]
    if joined then
        local bytes = joined.range:raw()
        local is_within = not payload or not rule or sub(bytes, rule.offset + 1, rule.offset + rule.len) == rule.range:raw()
        if is_within then return bytes end
    end
    return payload and payload.range:raw() or ""
end

-- Returns the direction of a datagram and its text. The text of a sealed datagram is nil.
local function datagram_of(first)
    local bytes = first["tickwire.datagram"].range:raw()
    local direction, text = lanes.seen(tonumber(tostring(first["frame.number"].value)))
    return direction, text or #bytes < lanes.HEADER_BYTES and bytes or nil
end

-- Returns the direction of bytes of a TCP connection. A head has no field for it.
local function direction_of_bytes(value, bytes)
    local direction = value("tickwire.direction")
    if direction then return direction end
    if find(bytes, "^%u%u%u") then return sub(bytes, 1, 5) == "HTTP/" and "to_client" or "to_server" end
    return direction_of((byte(bytes, 2) or 0) >= 0x80)
end

local function digits_of(bytes)
    return (bytes:gsub(".", function(sign) return format("%02x", byte(sign)) end))
end

-- Describes the bytes of a kind: frames, segment or datagram. Returns nil and a reason if there are none.
local function describe(kind, infos)
    local value, first = first_values(infos)
    local found, direction = { value = value, kind = kind }, nil
    if kind == "datagram" then
        direction, found.bytes = datagram_of(first)
        if not found.bytes then return nil, "the datagram is sealed: set the preference tickwire.key_log to the server's key log" end
    elseif kind == "frames" then
        found.bytes, found.is_deflated = frames_of(infos)
        -- Without compression, the bit breaks a rule.
        found.is_deflated = found.is_deflated and value("tickwire.rule") ~= "reserved_bit"
    else
        found.bytes = segment_of_packet(first)
    end
    if found.bytes == "" then return nil, "the packet has no bytes of a frame" end
    direction = direction or direction_of_bytes(value, found.bytes)
    local dialect = value("tickwire.dialect") or ""
    found.from = direction == "to_server" and "client" or "server"
    found.dialect, found.is_json = match(dialect, "^(%S+)"), find(dialect, " as JSON", 1, true) ~= nil
    return found
end

-- Returns the command that explains the bytes of a packet.
local function command_of(found)
    local words = { "tickwire explain" }
    if found.kind == "datagram" then words[#words + 1] = "--datagram" end
    words[#words + 1] = "--from " .. found.from
    if found.dialect then words[#words + 1] = "--dialect " .. found.dialect end
    if found.is_deflated then words[#words + 1] = "--deflate" end
    local digits = digits_of(found.bytes)
    words[#words + 1] = #digits <= ARGUMENT_DIGITS and digits or "- <<'END'\n" .. digits .. "\nEND"
    return concat(words, " ")
end

-- Returns the link to the page /wire of the packet's server.
local function link_of(found)
    local value, is_from_client = found.value, found.from == "client"
    if #found.bytes > INSPECTOR_LINK_BYTES then
        return nil, format("a link can have %d bytes, and the packet has %d", INSPECTOR_LINK_BYTES, #found.bytes)
    end
    if found.is_deflated then return nil, "a link cannot have compressed frames: copy the command instead" end
    local host = value(is_from_client and "ip.dst" or "ip.src")
    local host_6 = value(is_from_client and "ipv6.dst" or "ipv6.src")
    if not host and host_6 then host = "[" .. host_6 .. "]" end
    local of_port = is_from_client and "dstport" or "srcport"
    local port = value("tcp." .. of_port) or value("udp." .. of_port)
    local parts = { format("%s://%s:%s/wire#frame=%s", value("tls") and "https" or "http", host or "localhost", port or "3000",
        digits_of(found.bytes)) }
    if found.dialect then parts[#parts + 1] = "dialect=" .. found.dialect end
    parts[#parts + 1] = "from=" .. found.from
    if found.dialect and found.kind == "frames" then parts[#parts + 1] = "format=" .. (found.is_json and "json" or "msgpack") end
    if found.kind == "datagram" then parts[#parts + 1] = "kind=datagram" end
    return concat(parts, "&")
end

-- Returns the action of an entry: copies the text that `make` returns, or reports why there is none.
local function copy(kind, make)
    return function(...)
        local found, text, reason
        found, reason = describe(kind, { ... })
        if found then text, reason = make(found) end
        if text then return copy_to_clipboard(text) end
        report_failure("tickwire: " .. reason)
    end
end

-- Each entry appears if the packet has all of the fields. A slash in a name would begin a submenu.
for _, entry in ipairs({
    { "Copy as tickwire explain", "frames", command_of, "websocket.opcode" },
    { "Copy link to the inspector", "frames", link_of, "websocket.opcode" },
    { "Copy upgrade as tickwire explain", "segment", command_of, "http.upgrade,tcp.payload" },
    { "Copy segment as tickwire explain", "segment", command_of, "tickwire.rule,tcp.payload" },
    { "Copy datagram as tickwire explain", "datagram", command_of, "tickwire.datagram" },
    { "Copy datagram as link to the inspector", "datagram", link_of, "tickwire.datagram" },
}) do
    register_packet_menu("Tickwire/" .. entry[1], copy(entry[2], entry[3]), entry[4])
end
end)()

-- ---- Frames without Wireshark's dissector --------------------------------------------------------------------------
-- Wireshark's WebSocket dissector throws an exception at a frame that the capture has cut, and after some 500 messages of one packet.
-- The exception passes Lua by without unwinding Lua's stack, and after about 100 of them every call of Lua fails. So these frames are
-- shown here, in fields of the same names as Wireshark's.

local tcp = Proto("tickwire.tcp", "tickwire connections")

-- `alone.call(dissector, view, pinfo, tree)` hands bytes to a dissector of Wireshark, without those that the capture lacks.
-- `alone.front_of(bytes, most)` gives the offset after the whole frames at the front, at most that many, and their number.
-- `alone.room_for_frames(pinfo)` is the number of frames that Wireshark's dissector can take of this packet, less the noted ones.
-- `alone.note_frames(pinfo, count)` notes frames that it takes.
-- `alone.show(segment, view, pinfo, tree, at)` shows the frames from an offset on.
local alone = {}
do
    -- Wireshark takes 500 layers in a packet, by its preference gui.max_tree_depth: each message is one, and others are about ten.
    local MOST_FRAMES = 400
    -- Wireshark's words in the Info column for its exception.
    local LIMITED = "[Packet size limited during capture]"
    local OPCODES = {
        [0] = "Continuation", [1] = "Text", [2] = "Binary", [8] = "Connection Close", [9] = "Ping", [10] = "Pong",
    }
    local H = {
        fin = ProtoField.bool("websocket.fin", "Fin", 8, nil, 0x80),
        reserved = ProtoField.uint8("websocket.rsv", "Reserved", base.HEX, nil, 0x70),
        opcode = ProtoField.uint8("websocket.opcode", "Opcode", base.DEC, OPCODES, 0x0f),
        mask = ProtoField.bool("websocket.mask", "Mask", 8, nil, 0x80),
        length = ProtoField.uint8("websocket.payload_length", "Payload length", base.DEC, nil, 0x7f),
        length_16 = ProtoField.uint16("websocket.payload_length_ext_16", "Extended Payload length (16 bits)"),
        length_64 = ProtoField.uint64("websocket.payload_length_ext_64", "Extended Payload length (64 bits)"),
        key = ProtoField.bytes("websocket.masking_key", "Masking-Key"),
        masked = ProtoField.none("websocket.masked_payload", "Masked payload"),
        payload = ProtoField.none("websocket.payload", "Payload"),
    }
    local own_fields = {}
    for _, field in pairs(H) do own_fields[#own_fields + 1] = field end
    tcp.fields = own_fields

    function alone.call(dissector, view, pinfo, tree)
        local length, sent = view_len(view), view:reported_len()
        if sent <= length then return dissector:call(view, pinfo, tree) end
        -- At the end of these bytes Wireshark catches its own exception, shows it, and gives an error.
        pcall(dissector.call, dissector, view(0, length):tvb(), pinfo, tree)
        local detail = format("the capture has %d of %d bytes", length, sent)
        tree:add(tcp, view()):add_proto_expert_info(E.truncated, detail)
        pinfo.cols.info:append(LIMITED)
        return length
    end

    -- Size of the header at `at`, and length of its payload; nil where the length is not all there.
    local function sizes_of(bytes, at)
        local second = byte(bytes, at + 1)
        if not second then return nil end
        local length, size = second % 128, second < 0x80 and 2 or 6
        if length > 125 then
            local width = length == 126 and 2 or 8
            length, size = unsigned(bytes, at + 2, width), size + width
        end
        return length and size, length
    end

    function alone.front_of(bytes, most)
        local at, count = 1, 0
        while count < most do
            local size, length = sizes_of(bytes, at)
            if not size or at + size + length > #bytes + 1 then break end
            at, count = at + size + length, count + 1
        end
        return at - 1, count
    end

    -- Wireshark empties this table whenever it dissects the packet again.
    local function noted(pinfo) return tonumber(pinfo.private["tickwire.frames"]) or 0 end

    function alone.room_for_frames(pinfo) return math.max(0, MOST_FRAMES - noted(pinfo)) end

    function alone.note_frames(pinfo, count) pinfo.private["tickwire.frames"] = tostring(noted(pinfo) + count) end

    -- Adds the header as far as the capture has it. `size` is nil where its length is not all there.
    local function add_header(root, view, at, size)
        local left = view_len(view) - at
        local first = view(at, 1)
        root:add(H.fin, first)
        root:add(H.reserved, first)
        root:add(H.opcode, first)
        if left < 2 then return end
        local second = view(at + 1, 1)
        root:add(H.mask, second)
        root:add(H.length, second)
        local short = second:uint() % 128
        if size and short == 126 then root:add(H.length_16, view(at + 2, 2)) end
        if size and short == 127 then root:add(H.length_64, view(at + 2, 8)) end
        if size and second:uint() >= 0x80 and left >= size then root:add(H.key, view(at + size - 4, 4)) end
    end

    -- The words of Wireshark's Info column for a frame.
    local function words_of(first, second)
        return format("WebSocket %s%s%s", OPCODES[first % 16] or "Unknown Opcode", first < 0x80 and "[FRAGMENT] " or " [FIN]",
            second and second >= 0x80 and " [MASKED]" or " ")
    end

    local function set_column(pinfo, words)
        local columns = pinfo.cols
        columns.protocol:set("WebSocket")
        columns.info:set(words)
        columns.info:fence()
    end

    -- Shows the frame at `at`, which the capture has cut.
    local function show_cut(view, pinfo, tree, at, size, length)
        local rest = view(at, view_len(view) - at)
        local root = tree:add(tcp, rest, "WebSocket")
        add_header(root, view, at, size)
        local first, second = byte(view_raw(view, at, math.min(2, rest:len())), 1, 2)
        local there = size and rest:len() - size or 0
        local detail = "the capture ends within the header"
        if there > 0 then root:add(second >= 0x80 and H.masked or H.payload, view(at + size, there)) end
        if there >= 0 and size then detail = format("the capture has %d of the payload's %.0f bytes", there, length) end
        root:add_proto_expert_info(E.truncated, detail)
        set_column(pinfo, words_of(first, second) .. LIMITED)
    end

    -- Shows the whole frame at `at`. The packet of a message in one frame is dissected if the connection's messages are ours and the
    -- other end reads it.
    local function show_whole(segment, view, pinfo, tree, at, size, length)
        local root = tree:add(tcp, view(at, size), "WebSocket")
        add_header(root, view, at, size)
        local first, second = byte(view_raw(view, at, 2), 1, 2)
        local is_masked = second >= 0x80
        if length == 0 then return set_column(pinfo, words_of(first, second) .. "  ") end
        local range = view(at + size, length)
        root:add(is_masked and H.masked or H.payload, range)
        local opcode, verdict = first % 16, segment.verdict
        local is_read = not verdict or segment.seen < verdict.good
        if first >= 0x80 and (opcode == TEXT or opcode == BINARY) and is_read and segment.way.has_messages then
            local payload = range:tvb()
            if is_masked then
                local bytes = unmasked(view_raw(view, at + size, length), view_raw(view, at + size - 4, 4))
                payload = ByteArray.new(bytes, true):tvb("Unmasked data")
            end
            dissect_message(payload, pinfo, tree)
        else
            set_column(pinfo, words_of(first, second) .. "  ")
        end
    end

    function alone.show(segment, view, pinfo, tree, at)
        local bytes, most = view_raw(view), view_len(view)
        while at < most do
            local size, length = sizes_of(bytes, at + 1)
            if not size or at + size + length > most then
                if pinfo.can_desegment == 0 then return show_cut(view, pinfo, tree, at, size, length) end
                -- TCP completes this frame with the next segment.
                pinfo.desegment_offset, pinfo.desegment_len = at, DESEGMENT_ONE_MORE_SEGMENT
                return
            end
            show_whole(segment, view, pinfo, tree, at, size, length)
            at = at + size + length
        end
    end
end
-- ---- Statistics ----------------------------------------------------------------------------------------------------
-- Counts packets, broken rules and gaps between packets. Input: the fields of each frame. Output: tables as text. The menus of
-- Wireshark (8-menus.lua) and scripts/wireshark/stats.lua use it: `require "tickwire.statistics"`.

(function() -- A function of its own, for its local names. Its lines are not indented.
local FEWEST_GAPS = 10 -- A kind of packet with fewer gaps has no row.
local DIRECTIONS = { "to_server", "to_client" }
local TITLES = { to_server = "client to server", to_client = "server to client" }

local statistics = {}
-- Fields that `add` needs, by their names in the table of values.
statistics.FIELDS = {
    packets = "tickwire.packet", directions = "tickwire.direction", lengths = "tickwire.length", rules = "tickwire.rule",
}
-- Tables that a counter prints, in this order.
statistics.TABLES = { "packets", "seconds", "rules", "gaps" }

local counter = {}
counter.__index = counter

-- Creates a counter. Each capture needs a new one.
function statistics.new()
    return setmetatable({ rows = {}, seconds = {}, rules = {}, gaps = {}, last = {} }, counter)
end

local function add_to(rows, key, bytes)
    local row = rows[key] or { count = 0, bytes = 0 }
    row.count, row.bytes = row.count + 1, row.bytes + bytes
    rows[key] = row
    return row
end

-- Stores the time since the packet of the same name before it, on the same connection.
local function add_gap(self, connection, name, pinfo)
    local key, at = connection .. " " .. name, pinfo.abs_ts
    local before = self.last[key]
    self.last[key] = at
    if not before or before == at then return end
    local row = self.gaps[name] or { name = name, most = 0 }
    row[#row + 1] = at - before
    if at - before > row.most then row.most, row.frame = at - before, pinfo.number end
    self.gaps[name] = row
end

-- Counts a frame. `found` has a list of values for each of FIELDS. Frames that break a rule have a direction without a packet.
function counter:add(pinfo, found)
    for _, rule in ipairs(found.rules) do
        local row = self.rules[rule] or { name = rule, count = 0, frame = pinfo.number }
        row.count = row.count + 1
        self.rules[rule] = row
    end
    if #found.packets == 0 then return end
    self.first_s = math.min(self.first_s or pinfo.abs_ts, pinfo.abs_ts)
    self.last_s = math.max(self.last_s or pinfo.abs_ts, pinfo.abs_ts)
    local connection
    local second = floor(pinfo.rel_ts)
    for place, name in ipairs(found.packets) do
        local direction, length = found.directions[place], found.lengths[place]
        local row = add_to(self.rows, direction .. " " .. name, length)
        row.name, row.direction = name, direction
        self.seconds[second] = self.seconds[second] or {}
        add_to(self.seconds[second], direction, length)
        if direction == "to_client" then
            connection = connection or concat({ tostring(pinfo.src), pinfo.src_port, tostring(pinfo.dst), pinfo.dst_port }, " ")
            add_gap(self, connection, name, pinfo)
        end
    end
end

-- Rows in descending order of a column; names decide between equals, so the same capture gives the same table.
local function sorted(rows, column)
    local list = {}
    for _, row in pairs(rows) do list[#list + 1] = row end
    table.sort(list, function(one, other)
        if one[column] ~= other[column] then return one[column] > other[column] end
        return one.name < other.name
    end)
    return list
end

local function packet_line(name, row, seconds)
    local rate, bytes_rate = "-", "-"
    if seconds > 0 then rate, bytes_rate = format("%.1f", row.count / seconds), format("%.0f", row.bytes / seconds) end
    local average = row.count > 0 and row.bytes / row.count or 0
    return format("  %-20s %8d %10d %9.1f %9s %9s", name, row.count, row.bytes, average, rate, bytes_rate)
end

local PRINT = {}

-- Packets by direction and name, most bytes first.
function PRINT.packets(self, lines)
    local seconds = self.last_s and self.last_s - self.first_s or 0
    lines[#lines + 1] = format("tickwire packets in %.1f s", seconds)
    for _, direction in ipairs(DIRECTIONS) do
        lines[#lines + 1] = format("%-22s %8s %10s %9s %9s %9s", TITLES[direction], "count", "bytes", "average", "a second", "bytes/s")
        local total = { count = 0, bytes = 0 }
        for _, row in ipairs(sorted(self.rows, "bytes")) do
            if row.direction == direction then
                lines[#lines + 1] = packet_line(row.name, row, seconds)
                total.count, total.bytes = total.count + row.count, total.bytes + row.bytes
            end
        end
        lines[#lines + 1] = packet_line("all", total, seconds)
    end
end

-- Packets and bytes of each direction in each second of the capture. Seconds without a packet have no line.
function PRINT.seconds(self, lines)
    lines[#lines + 1] = format("%-10s %10s %10s   %10s %10s", "second", "to server", "bytes", "to client", "bytes")
    local none, seconds = { count = 0, bytes = 0 }, {}
    for second in pairs(self.seconds) do seconds[#seconds + 1] = second end
    table.sort(seconds)
    for _, second in ipairs(seconds) do
        local one, other = self.seconds[second].to_server or none, self.seconds[second].to_client or none
        lines[#lines + 1] = format("  %8d %10d %10d   %10d %10d", second, one.count, one.bytes, other.count, other.bytes)
    end
end

-- Broken rules, most frequent first.
function PRINT.rules(self, lines)
    local list = sorted(self.rules, "count")
    if #list == 0 then
        lines[#lines + 1] = "no broken rules"
        return
    end
    lines[#lines + 1] = format("%-32s %8s %12s", "broken rule", "count", "first frame")
    for _, row in ipairs(list) do
        lines[#lines + 1] = format("  %-30s %8d %12d", row.name, row.count, row.frame)
    end
end

-- The value at or above this share of a sorted list.
local function percentile(list, share) return list[math.max(1, math.ceil(#list * share))] end

-- Times between packets of the same name to the same client. Packets of one name in one frame have no gap.
function PRINT.gaps(self, lines)
    local list = {}
    for name, row in pairs(self.gaps) do
        if #row >= FEWEST_GAPS then list[name] = { name = name, count = #row, row = row } end
    end
    list = sorted(list, "count")
    if #list == 0 then
        lines[#lines + 1] = format("no packet to a client with %d gaps", FEWEST_GAPS)
        return
    end
    lines[#lines + 1] = format("%-22s %8s %9s %9s %9s %9s", "ms between packets", "gaps", "p50", "p99", "max", "in frame")
    for _, one in ipairs(list) do
        local row = one.row
        table.sort(row)
        lines[#lines + 1] = format("  %-20s %8d %9.1f %9.1f %9.1f %9d", one.name, #row, 1000 * percentile(row, 0.5),
            1000 * percentile(row, 0.99), 1000 * row.most, row.frame)
    end
end

-- Returns a table of TABLES as text, with a line break after each line.
function counter:text(name)
    local lines = {}
    PRINT[name](self, lines)
    return concat(lines, "\n") .. "\n"
end

package.loaded["tickwire.statistics"] = statistics
end)()

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

do
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
end
