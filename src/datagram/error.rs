//! The rules that a datagram can break.

/// A rule that a datagram breaks. A datagram that breaks a rule is dropped without a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DatagramError {
    /// The datagram is shorter than a header and a tag.
    TooShort,
    /// The datagram is longer than [`limits::DATAGRAM_BYTES`](crate::limits::DATAGRAM_BYTES).
    TooLong,
    /// The connection id is unknown.
    UnknownConnection,
    /// The tag does not fit: a wrong key, or changed bytes.
    WrongTag,
    /// The datagram has arrived before.
    Repeated,
    /// More than 64 newer datagrams have arrived.
    TooOld,
    /// The client has sent more than
    /// [`limits::LANE_DATAGRAMS_PER_SECOND`](crate::limits::LANE_DATAGRAMS_PER_SECOND).
    TooMany,
    /// A message, a command or a count needs more bytes than there are.
    Truncated,
    /// Bytes are left after the content of a message.
    BytesLeft,
    /// The kind of a message is unknown.
    UnknownKind,
    /// A block of commands is empty.
    NoCommand,
    /// The first command of a block refers to a command before it.
    NothingBefore,
    /// The sequence or tick numbers of commands exceed 32 bits.
    NumberTooLarge,
    /// The code or the arguments of a command are not MessagePack.
    NotMessagePack,
}

impl DatagramError {
    /// Every rule.
    pub const ALL: [DatagramError; 14] = [
        DatagramError::TooShort,
        DatagramError::TooLong,
        DatagramError::UnknownConnection,
        DatagramError::WrongTag,
        DatagramError::Repeated,
        DatagramError::TooOld,
        DatagramError::TooMany,
        DatagramError::Truncated,
        DatagramError::BytesLeft,
        DatagramError::UnknownKind,
        DatagramError::NoCommand,
        DatagramError::NothingBefore,
        DatagramError::NumberTooLarge,
        DatagramError::NotMessagePack,
    ];

    /// Returns the rule with this name.
    pub fn from_name(name: &str) -> Option<DatagramError> {
        DatagramError::ALL.into_iter().find(|rule| rule.name() == name)
    }

    /// The name of the rule, for metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            DatagramError::TooShort => "datagram_too_short",
            DatagramError::TooLong => "datagram_too_long",
            DatagramError::UnknownConnection => "datagram_unknown_connection",
            DatagramError::WrongTag => "datagram_wrong_tag",
            DatagramError::Repeated => "datagram_repeated",
            DatagramError::TooOld => "datagram_too_old",
            DatagramError::TooMany => "datagram_too_many",
            DatagramError::Truncated => "datagram_truncated",
            DatagramError::BytesLeft => "datagram_bytes_left",
            DatagramError::UnknownKind => "datagram_unknown_kind",
            DatagramError::NoCommand => "datagram_no_command",
            DatagramError::NothingBefore => "datagram_nothing_before",
            DatagramError::NumberTooLarge => "datagram_number_too_large",
            DatagramError::NotMessagePack => "datagram_not_msgpack",
        }
    }

    /// The receiver's response to the broken rule. Messages before a broken one are still handled.
    pub const fn response(self) -> &'static str {
        match self {
            DatagramError::TooShort
            | DatagramError::TooLong
            | DatagramError::UnknownConnection
            | DatagramError::WrongTag
            | DatagramError::Repeated
            | DatagramError::TooOld
            | DatagramError::TooMany => "the datagram is dropped",
            DatagramError::Truncated
            | DatagramError::BytesLeft
            | DatagramError::UnknownKind
            | DatagramError::NoCommand
            | DatagramError::NothingBefore
            | DatagramError::NumberTooLarge
            | DatagramError::NotMessagePack => "the rest of the datagram is dropped",
        }
    }
}

impl std::fmt::Display for DatagramError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            DatagramError::TooShort => "the datagram is shorter than a header and a tag",
            DatagramError::TooLong => "the datagram is too long",
            DatagramError::UnknownConnection => "the connection id is unknown",
            DatagramError::WrongTag => "the tag does not fit the datagram",
            DatagramError::Repeated => "the datagram has arrived before",
            DatagramError::TooOld => "more than 64 newer datagrams have arrived",
            DatagramError::TooMany => "the client sends too many datagrams",
            DatagramError::Truncated => "a part of the datagram needs more bytes than there are",
            DatagramError::BytesLeft => "bytes are left after the content of a message",
            DatagramError::UnknownKind => "the kind of a message is unknown",
            DatagramError::NoCommand => "a block of commands is empty",
            DatagramError::NothingBefore => "the first command of a block refers to a command before it",
            DatagramError::NumberTooLarge => "the numbers of commands exceed 32 bits",
            DatagramError::NotMessagePack => "a command is not MessagePack",
        })
    }
}

impl std::error::Error for DatagramError {}
