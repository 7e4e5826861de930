//! Mutated frames: of every packet of the fixtures, in all dialects, both directions and both
//! formats. A seed determines them.

use tickwire::explain::hex;
use tickwire::packet::{Direction, PacketTables, Value, json};
use tickwire::ws::Side;
use tickwire::ws::frame::{self, Header, Opcode};

/// Bytes that mean something in MessagePack.
const TOKENS: [&[u8]; 25] = [
    b"\xa3\xed\xa0\xbd",
    b"\xa6\xed\xa0\xbd\xed\xb0\xa6",
    b"\xed\xa0\xbd",
    b"\xc0",
    b"\xc1",
    b"\xc3",
    b"\xff",
    b"\x80",
    b"\x90",
    b"\xa0",
    b"\x81\xa1x\x00",
    b"\x82\xa1x\x00\xa1x\x01",
    b"\x81\x01\x00",
    b"\xc4\x01\x00",
    b"\xd4\x01\x00",
    b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff",
    b"\xd3\x80\x00\x00\x00\x00\x00\x00\x00",
    b"\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00",
    b"\xcb\x7f\xf0\x00\x00\x00\x00\x00\x00",
    b"\xca\x3f\x80\x00\x00",
    b"\xd9\x02\xc3\xa9",
    b"\xa2\xc3\x28",
    b"\x91\x91\x91\x91\x91\x91\x91\x91",
    b"\xdc\x04\x01",
    b"\xdd\xff\xff\xff\xff",
];
/// Texts that mean something in JSON.
const WORDS: [&str; 29] = [
    "\"\\ud83d\"",
    "\\ud83d",
    "\\udc26",
    "\"",
    "\\",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    " ",
    "\n",
    "null",
    "true",
    "-0",
    "0.1",
    "01",
    "1e2",
    "1e999",
    "18446744073709551616",
    "-9223372036854775809",
    "\\u0000",
    "\\ud800",
    "\\ud83d\\ude00",
    "é",
    "[[[[[[[[",
    "{\"a\":1,\"a\":2}",
    "\u{1}",
];
/// Numbers at which a type of the tables ends, and the kinds of integers of MessagePack.
const NUMBERS: [i128; 22] = [
    0,
    1,
    -1,
    -32,
    -33,
    127,
    128,
    -128,
    -129,
    255,
    256,
    32_767,
    -32_768,
    65_535,
    65_536,
    2_147_483_647,
    -2_147_483_648,
    4_294_967_295,
    4_294_967_296,
    i64::MIN as i128,
    i64::MAX as i128,
    u64::MAX as i128,
];
/// Texts that are odd to show.
const STRINGS: [&str; 12] = [
    "1",
    "17",
    "",
    "a",
    "héllo",
    "€",
    "😀",
    "a\"b\\c",
    "tab\tline\n",
    "\u{1b}[31m",
    "\u{202e}abc",
    "0123456789abcdef0123456789abcdef0",
];
/// Lengths at which something changes: of the header, of a control frame, of a client's message.
const LENGTHS: [usize; 8] = [0, 1, 125, 126, 127, 4_096, 4_097, 65_536];

/// Mutants on which readers differed once: dialect, JSON, side, bytes.
const FOUND: [(&str, bool, Side, &str); 4] = [
    // A length beyond 32 bits, which are all that WebAssembly counts in.
    ("native", false, Side::Server, "827f25921991911e820a920a9196010301020000"),
    // A header without its key: nothing is judged of the message yet.
    ("legacy", false, Side::Client, "82ff17d1616db6b2f3ffd7"),
    ("letters-2023", false, Side::Client, "808bd2"),
    // A code that is a whole number of more than 64 bits.
    ("letters", false, Side::Server, "820b92cb7fe000000000000090"),
];

/// Numbers that look random (splitmix64).
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % sides as u64) as usize
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    pub fn is_one_of(&mut self, sides: usize) -> bool {
        self.below(sides) == 0
    }
}

/// Bytes of one side after the upgrade.
pub struct Mutant {
    pub dialect: String,
    pub is_json: bool,
    pub from: Side,
    pub bytes: Vec<u8>,
    /// Where the bytes are cut into two pieces.
    pub cut: usize,
}

/// The packets of the fixtures.
pub struct Packets {
    rows: Vec<(String, Direction, Vec<u8>)>,
}

impl Packets {
    pub fn read() -> Packets {
        let rows = include_str!("../fixtures/packets.tsv").lines().skip(1).map(|row| {
            let cells: Vec<&str> = row.split('\t').collect();
            let direction = if cells[1] == "to_server" { Direction::ToServer } else { Direction::ToClient };
            (cells[0].to_owned(), direction, hex::parse(cells[4]).expect("hexadecimal"))
        });
        Packets { rows: rows.collect() }
    }

    /// Returns a random packet of a dialect and a direction in MessagePack.
    pub fn pick(&self, rng: &mut Dice, dialect: &str, direction: Direction) -> &[u8] {
        let is_wanted = |row: &&(String, Direction, Vec<u8>)| row.0 == dialect && row.1 == direction;
        let rows: Vec<_> = self.rows.iter().filter(is_wanted).collect();
        &rows[rng.below(rows.len())].2
    }

    /// The mutant with this number.
    pub fn mutant(&self, seed: u64, number: u64) -> Mutant {
        if let Some(found) = FOUND.get(number as usize) {
            let (dialect, bytes) = (found.0.to_owned(), hex::parse(found.3).expect("hexadecimal"));
            return Mutant { dialect, is_json: found.1, from: found.2, bytes, cut: 0 };
        }
        let mut rng =
            Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ number.wrapping_mul(0xd6e8_feb8_6659_fd93));
        let dialect = rng.pick(&["native", "legacy", "letters", "letters-2023", "letters-2024"]);
        let direction = rng.pick(&[Direction::ToServer, Direction::ToClient]);
        let is_json = rng.is_one_of(3);
        let rows: Vec<&[u8]> = self
            .rows
            .iter()
            .filter(|(of, to, _)| of == dialect && *to == direction)
            .map(|(_, _, payload)| &payload[..])
            .collect();
        let table = PacketTables::builtin().dialect(dialect).expect("built in");
        let payload = |rng: &mut Dice| {
            let payload = rng.pick(&rows);
            if !is_json {
                return payload.to_vec();
            }
            table.json_from_msgpack(direction, payload).expect("a packet").into_bytes()
        };
        let from = if direction == Direction::ToServer { Side::Client } else { Side::Server };
        let mut maker = Maker { from, is_json, rng: &mut rng, bytes: Vec::new() };
        let first = payload(maker.rng);
        maker.mutated(first);
        if maker.rng.is_one_of(4) {
            let second = payload(maker.rng);
            maker.frame(maker.kind(), &second);
        }
        let mut bytes = maker.bytes;
        if bytes.is_empty() {
            bytes.push(frame::FIN);
        }
        let cut = if rng.is_one_of(8) { rng.below(bytes.len() + 1) } else { 0 };
        // In its second pass Wireshark loses a segment that is one byte.
        let cut = if cut == 1 { 0 } else { cut };
        Mutant { dialect: dialect.to_owned(), is_json, from, bytes, cut }
    }
}

/// Writes frames of one side.
struct Maker<'a> {
    from: Side,
    is_json: bool,
    rng: &'a mut Dice,
    bytes: Vec<u8>,
}

impl Maker<'_> {
    /// The kind of frame that carries packets.
    fn kind(&self) -> Opcode {
        if self.is_json { Opcode::Text } else { Opcode::Binary }
    }

    fn key(&mut self) -> Option<[u8; 4]> {
        (self.from == Side::Client).then(|| [0; 4].map(|_: u8| self.rng.below(256) as u8))
    }

    fn frame(&mut self, opcode: Opcode, payload: &[u8]) {
        let key = self.key();
        frame::write(&mut self.bytes, opcode, key, payload);
    }

    fn fragment(&mut self, opcode: Opcode, fin: bool, payload: &[u8]) {
        let mask = self.key();
        Header { fin, compressed: false, opcode, mask, length: payload.len() as u64 }.encode(&mut self.bytes);
        let at = self.bytes.len();
        self.bytes.extend_from_slice(payload);
        if let Some(key) = mask {
            frame::mask(&mut self.bytes[at..], key, 0);
        }
    }

    fn mutated(&mut self, mut payload: Vec<u8>) {
        match self.rng.below(32) {
            0..8 => {
                self.mutate(&mut payload);
                self.frame(self.kind(), &payload);
            }
            8..15 => {
                let payload = self.other_values(&payload);
                self.frame(self.kind(), &payload);
            }
            15..23 => {
                self.frame(self.kind(), &payload);
                let front = if self.rng.is_one_of(2) { 2 } else { self.bytes.len() };
                let mut bytes = std::mem::take(&mut self.bytes);
                let rest = bytes.split_off(front.min(bytes.len()));
                self.damage(&mut bytes);
                self.bytes = bytes;
                self.bytes.extend(rest);
            }
            23..26 => self.fragments(&payload),
            26..29 => self.control(),
            29 => {
                let length = self.rng.pick(&LENGTHS);
                payload.resize(length, b'x');
                self.frame(self.kind(), &payload);
            }
            30 => {
                let opcode = self.rng.pick(&[Opcode::Text, Opcode::Binary]);
                self.frame(opcode, &payload);
            }
            _ => self.frame(self.kind(), &payload),
        }
    }

    /// A packet with one or two other values: the encoding stays whole.
    fn other_values(&mut self, payload: &[u8]) -> Vec<u8> {
        let value = if self.is_json {
            json::read(str::from_utf8(payload).expect("UTF-8"), Direction::ToClient).expect("a packet")
        } else {
            rmpv::decode::read_value(&mut &payload[..]).expect("a packet")
        };
        let mut value = value;
        for _ in 0..=self.rng.below(2) {
            self.change(&mut value);
        }
        let mut bytes = Vec::new();
        match self.is_json {
            true => bytes = json::to_text(&value).into_bytes(),
            false => rmpv::encode::write_value(&mut bytes, &value).expect("into a vector"),
        }
        bytes
    }

    /// Changes the value, or one within it.
    fn change(&mut self, value: &mut Value) {
        let inside = match value {
            Value::Array(values) if !values.is_empty() && !self.rng.is_one_of(8) => {
                let at = self.rng.below(values.len());
                match self.rng.below(8) {
                    0 => drop(values.remove(at)),
                    1 => values.insert(at, values[at].clone()),
                    _ => return self.change(&mut values[at]),
                }
                return;
            }
            Value::Map(pairs) if !pairs.is_empty() && !self.rng.is_one_of(8) => {
                let at = self.rng.below(pairs.len());
                if self.rng.is_one_of(4) {
                    pairs.remove(at);
                    return;
                }
                &mut pairs[at].1
            }
            value => value,
        };
        let number = self.rng.pick(&NUMBERS);
        *inside = match (self.rng.below(8), &*inside) {
            (0, _) => Value::Nil,
            (1, _) => Value::from(self.rng.is_one_of(2)),
            (2, _) => Value::from(self.rng.pick(&STRINGS)),
            (3, _) => Value::from(self.rng.pick(&[0.5, -0.0, 1e300, f64::MIN_POSITIVE, 1.0, -2.36])),
            (4, _) => Value::Array(Vec::new()),
            (5, Value::Integer(old)) => Value::from(old.as_i64().unwrap_or_default().wrapping_add(1)),
            (6, Value::String(old)) => Value::from(old.as_str().unwrap_or_default().repeat(3)),
            _ => u64::try_from(number).map_or_else(|_| Value::from(number as i64), Value::from),
        };
    }

    /// One to three changes that mean something in the format.
    fn mutate(&mut self, payload: &mut Vec<u8>) {
        for _ in 0..=self.rng.below(3) {
            let at = self.rng.below(payload.len() + 1);
            let word = if self.is_json { self.rng.pick(&WORDS).as_bytes() } else { self.rng.pick(&TOKENS) };
            match self.rng.below(6) {
                0 => drop(payload.splice(at..at, word.iter().copied())),
                1 | 2 => {
                    let end = payload.len().min(at + 1 + self.rng.below(2));
                    payload.splice(at..end, word.iter().copied());
                }
                3 => {
                    let end = payload.len().min(at + self.rng.below(8));
                    let again = payload[at..end].to_vec();
                    payload.splice(at..at, again);
                }
                _ => self.damage(payload),
            }
        }
    }

    /// Changes that know nothing of the format.
    fn damage(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.rng.below(2) {
            let at = self.rng.below(bytes.len().max(1)).min(bytes.len());
            match self.rng.below(5) {
                0 | 1 if !bytes.is_empty() => bytes[at] ^= 1 << self.rng.below(8),
                2 if !bytes.is_empty() => drop(bytes.remove(at)),
                3 => bytes.insert(at, self.rng.below(256) as u8),
                4 => bytes.truncate(at),
                _ => {}
            }
        }
    }

    /// A message in fragments, perhaps with something between them, perhaps wrong.
    fn fragments(&mut self, payload: &[u8]) {
        let mut payload = payload.to_vec();
        if self.rng.is_one_of(3) {
            self.mutate(&mut payload);
        }
        let (mut rest, mut opcode) = (&payload[..], self.kind());
        for _ in 0..self.rng.below(4) {
            let (piece, after) = rest.split_at(self.rng.below(rest.len() + 1));
            let fin = self.rng.is_one_of(20);
            self.fragment(opcode, fin, piece);
            match self.rng.below(8) {
                0 | 1 => self.frame(Opcode::Ping, b"between"),
                2 => self.control(),
                _ => {}
            }
            rest = after;
            if !self.rng.is_one_of(20) {
                opcode = Opcode::Continuation;
            }
        }
        let fin = !self.rng.is_one_of(10);
        self.fragment(opcode, fin, rest);
    }

    fn control(&mut self) {
        let opcode = self.rng.pick(&[Opcode::Ping, Opcode::Pong, Opcode::Close, Opcode::Close]);
        if opcode != Opcode::Close {
            let length = self.rng.pick(&LENGTHS[..5]);
            return self.frame(opcode, &vec![b'p'; length]);
        }
        let code = self
            .rng
            .pick(&[0, 999, 1000, 1001, 1002, 1004, 1005, 1006, 1008, 1014, 1015, 2999, 3000, 4999, 5000]);
        let reason =
            self.rng.pick(&[&b""[..], b"bye", "schön".as_bytes(), b"\xff", b"a\xc3", b"\xed\xa0\x80"]);
        let mut body = [&u16::to_be_bytes(code)[..], reason].concat();
        match self.rng.below(8) {
            0 => body.clear(),
            1 => body.truncate(1),
            _ => {}
        }
        self.frame(opcode, &body);
    }
}
