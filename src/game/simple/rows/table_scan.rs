//! Finds arguments in the text of a packet table while the game is compiled.

/// Returns whether the table has a packet with this argument. With `members`, the argument must be
/// a list of records with exactly these members. Evaluated at compile time by
/// [`rows!`](crate::rows!); the server checks the types at its start.
pub const fn has_argument(
    table: &str,
    direction: &str,
    packet: &str,
    argument: &str,
    members: &[&str],
) -> bool {
    match find_arguments(table.as_bytes(), direction.as_bytes(), packet.as_bytes()) {
        None => false,
        Some((start, end)) => has_name(table.as_bytes(), start, end, argument.as_bytes(), members),
    }
}

/// Returns whether the table has this packet. Evaluated at compile time by [`rows!`](crate::rows!).
pub const fn has_packet(table: &str, direction: &str, packet: &str) -> bool {
    find_arguments(table.as_bytes(), direction.as_bytes(), packet.as_bytes()).is_some()
}

/// Returns whether a table has an entity list: a packet to clients with an argument `enter`.
pub fn has_entity_lists(table: &str) -> bool {
    let mut packets = table.lines().filter(|line| line.starts_with("to_client\t"));
    packets.any(|line| {
        let arguments = line.split('\t').nth(4).unwrap_or_default();
        arguments.split(' ').any(|argument| argument.starts_with("enter:["))
    })
}

/// Returns the range of the arguments of a packet: the fifth column of its line.
const fn find_arguments(table: &[u8], direction: &[u8], packet: &[u8]) -> Option<(usize, usize)> {
    let mut line = 0;
    while line < table.len() {
        let end = find(table, line, table.len(), b'\n');
        let name = find(table, line, end, b'\t') + 1;
        if is_at(table, line, direction, b'\t') && is_at(table, name, packet, b'\t') {
            let lane = find(table, name, end, b'\t') + 1;
            let code = find(table, lane, end, b'\t') + 1;
            let arguments = find(table, code, end, b'\t') + 1;
            return Some((arguments, find(table, arguments, end, b'\t')));
        }
        line = end + 1;
    }
    None
}

/// Returns whether a name occurs in the range, outside of other lists: as an argument of the
/// packet, or as a member of its argument `enter`.
const fn has_name(table: &[u8], start: usize, end: usize, name: &[u8], members: &[&str]) -> bool {
    let mut at = start;
    while at < end {
        if is_at(table, at, name, b':') {
            return members.is_empty() || has_members(table, at + name.len() + 1, members);
        }
        if is_at(table, at, b"enter", b':') {
            at += b"enter:[".len();
            while at < end && table[at] != b']' && !is_at(table, at, name, b':') {
                at = next(table, at, b']');
            }
            if at < end && table[at] != b']' {
                return true;
            }
        }
        at = find(table, at, end, b' ') + 1;
    }
    false
}

/// Returns whether a list of records with exactly these members begins here.
const fn has_members(table: &[u8], list: usize, members: &[&str]) -> bool {
    if list >= table.len() || table[list] != b'[' {
        return false;
    }
    let (mut at, mut member) = (list + 1, 0);
    while member < members.len() {
        if !is_at(table, at, members[member].as_bytes(), b':') {
            return false;
        }
        at = next(table, at, b']');
        member += 1;
    }
    at < table.len() && table[at] == b']'
}

/// Returns the place after the next comma, or the place of `end` if that comes first.
const fn next(table: &[u8], from: usize, end: u8) -> usize {
    let mut at = from;
    while at < table.len() && table[at] != end {
        at += 1;
        if table[at - 1] == b',' {
            return at;
        }
    }
    at
}

/// Returns the first place of a byte in a range, or the end of the range.
const fn find(table: &[u8], from: usize, end: usize, byte: u8) -> usize {
    let mut at = from;
    while at < end && table[at] != byte {
        at += 1;
    }
    if at < end { at } else { end }
}

/// Returns whether the table has this text at a place, followed by `after`.
const fn is_at(table: &[u8], place: usize, text: &[u8], after: u8) -> bool {
    if place + text.len() >= table.len() {
        return false;
    }
    let mut at = 0;
    while at < text.len() {
        if table[place + at] != text[at] {
            return false;
        }
        at += 1;
    }
    table[place + text.len()] == after
}

#[cfg(test)]
mod tests {
    use super::has_argument;

    const TABLE: &str = "direction\tname\tlane\tfog:int\targuments\tmeaning\n\
        to_server\tsay\treliable\t5\tsequence:u32 tick:u32.tick|nil text:str<=60\tsend a text:str\n\
        to_client\tstate\tlatest\t5\ttick:u32.tick walls:[left:u16.px,top:u16.px] map:u8\tthe state\n\
        to_client\tsoldiers\tlatest\t8\ttick:u32.tick enter:[player:u16,x:u16.px] leave:[u16] moved:[player:u16,dx:i8.px]\tsoldiers";

    #[test]
    fn an_argument_is_found_in_its_packet_only() {
        for (direction, packet, argument, members, is_found) in [
            ("to_server", "say", "text", &[][..], true),
            ("to_server", "say", "tex", &[], false),
            ("to_server", "say", "ext", &[], false),
            ("to_client", "say", "text", &[], false),
            ("to_server", "sa", "text", &[], false),
            ("to_client", "state", "walls", &["left", "top"], true),
            ("to_client", "state", "walls", &["left"], false),
            ("to_client", "state", "walls", &["left", "top", "right"], false),
            ("to_client", "state", "walls", &["top", "left"], false),
            ("to_client", "state", "map", &["left"], false),
            ("to_client", "state", "map", &[], true),
            ("to_client", "state", "left", &[], false),
            ("to_client", "soldiers", "player", &[], true),
            ("to_client", "soldiers", "x", &[], true),
            ("to_client", "soldiers", "dx", &[], false),
            ("to_client", "soldiers", "name", &[], false),
            ("to_client", "", "", &[], false),
            ("to_server", "say", "send a text", &[], false),
        ] {
            let found = has_argument(TABLE, direction, packet, argument, members);
            assert_eq!(found, is_found, "{direction} {packet} {argument} {members:?}");
        }
    }
}
