//! Typed packets of a game: its actions, its state rows, its entities and its events.

mod field_value;
mod row_values;
mod table_scan;
#[cfg(test)]
mod tests;

pub use field_value::{ActionField, FieldValue, ReceivedField, RowField};
pub use row_values::{PlainPacket, ReceivedRow, Row, RowError, RowRef, RowValues, StateRows};
pub use table_scan::{has_argument, has_entity_lists, has_packet};

use crate::packet::DecodedPacket;

/// The actions of a game. Each action is a packet. Implemented by [`rows!`](crate::rows!).
pub trait GameAction: Sized {
    /// Converts a packet of a client. `None` if the packet is no action, or if a value does not fit
    /// its field.
    fn from_packet(packet: &DecodedPacket<'_>) -> Option<Self>;

    /// Converts to the packet that a bot sends.
    fn to_packet(&self) -> RowValues;
}

/// Defines the packets of a game as types. A name that the table lacks does not compile.
///
/// - `enum` defines the actions of the players: one variant for each packet to the server. It
///   implements [`GameAction`] and [`Field`](tickwire_sim::fields::Field). A variant without a
///   packet is an action of the operator
///   ([`SimpleGame::operate`](crate::game::simple::SimpleGame::operate)).
/// - `struct … in "packet"` defines a packet to clients: a state row, an event, or the entities of
///   an entity list, whose fields are the ones of its argument `enter` in the same order. It
///   implements [`Row`], and unless a field is a `&str`, [`ReceivedRow`].
/// - `struct` without a packet defines the records of a list.
///
/// ```
/// use std::sync::Arc;
/// use tickwire::sim::PlayerId;
///
/// const TABLE: &str = "direction\tname\tlane\tchat:int\targuments\tmeaning\n\
///     to_server\tsay\treliable\t4\tsequence:u32 tick:u32.tick|nil text:str<=60\tsend a text\n\
///     to_client\tstate\tlatest\t5\ttick:u32.tick members:[player:u16,name:str<=15]\teverybody\n\
///     to_client\tsaid\treliable\t6\tplayer:u16 text:str<=60\ta player says something\n";
///
/// tickwire::rows! {
///     in TABLE;
///
///     /// The actions of a player.
///     enum Action { Say in "say" { text: Arc<str> } }
///     struct StateRow in "state" { members: Vec<Member> }
///     struct Member { player: PlayerId, name: Arc<str> }
///     struct Said in "said" { player: PlayerId, text: Arc<str> }
/// }
/// ```
///
/// ```compile_fail
/// const TABLE: &str = "direction\tname\tlane\tchat:int\targuments\tmeaning\n\
///     to_client\tsaid\treliable\t6\tplayer:u16 text:str<=60\ta player says something\n";
///
/// tickwire::rows! { in TABLE; struct Said in "said" { player: u16, txt: String } }
/// ```
#[macro_export]
macro_rules! rows {
    (in $table:expr;) => {};
    // An action of the operator has no packet.
    (@from $from:ident $name:ident $variant:ident [] $($field:ident)*) => {};
    (@to $self:ident $name:ident $variant:ident [] $($field:ident)*) => {};
    (@check ($table:expr) [] $($field:ident)*) => {};
    (@from $from:ident $name:ident $variant:ident [$packet:literal] $($field:ident)*) => {
        if $from.row.name == $packet {
            return Some($name::$variant {
                $($field: $crate::game::simple::ActionField::from_argument($from, stringify!($field))?),*
            });
        }
    };
    (@to $self:ident $name:ident $variant:ident [$packet:literal] $($field:ident)*) => {
        #[allow(irrefutable_let_patterns, reason = "an enum may have one variant")]
        if let $name::$variant { $($field),* } = $self {
            return $crate::game::simple::RowValues::new(
                $packet,
                &[$(stringify!($field)),*],
                vec![$($crate::game::simple::RowField::into_value($field.clone())),*],
            );
        }
    };
    (@check ($table:expr) [$packet:literal] $($field:ident)*) => {
        const _: () = assert!(
            $crate::game::simple::has_argument($table, "to_server", $packet, "sequence", &[]),
            concat!(
                "the table has no packet ", $packet, " to the server with an argument sequence: ",
                "compare the name, and the tabs of its line",
            ),
        );
        $(
            const _: () = assert!(
                $crate::game::simple::has_argument($table, "to_server", $packet, stringify!($field), &[]),
                concat!("the packet ", $packet, " of the table has no argument ", stringify!($field)),
            );
        )*
    };
    (
        in $table:expr;
        $(#[$attribute:meta])*
        $visibility:vis enum $name:ident {
            $(
                $(#[$variant_attribute:meta])*
                $variant:ident $(in $packet:literal)? {
                    $($(#[$field_attribute:meta])* $field:ident: $kind:ty),* $(,)?
                }
            ),+ $(,)?
        }
        $($rest:tt)*
    ) => {
        $crate::sim::fields! {
            $(#[$attribute])*
            $visibility enum $name {
                $($(#[$variant_attribute])* $variant { $($(#[$field_attribute])* $field: $kind),* }),+
            }
        }

        impl $crate::game::simple::GameAction for $name {
            fn from_packet(packet: &$crate::packet::DecodedPacket<'_>) -> Option<$name> {
                $($crate::game::simple::rows! { @from packet $name $variant [$($packet)?] $($field)* })+
                None
            }

            fn to_packet(&self) -> $crate::game::simple::RowValues {
                $($crate::game::simple::rows! { @to self $name $variant [$($packet)?] $($field)* })+
                $crate::game::simple::RowValues::new("", &[], Vec::new())
            }
        }

        $($crate::game::simple::rows! { @check ($table) [$($packet)?] $($field)* })+

        $crate::game::simple::rows! { in $table; $($rest)* }
    };
    (
        in $table:expr;
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident in $packet:literal {
            $($(#[$field_attribute:meta])* $field:ident: $kind:ty),+ $(,)?
        }
        $($rest:tt)*
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, PartialEq)]
        $visibility struct $name {
            $($(#[$field_attribute])* $visibility $field: $kind),+
        }

        impl $crate::game::simple::Row for $name {
            const PACKET: &'static str = $packet;
            const FIELDS: &'static [&'static str] = &[$(stringify!($field)),+];

            fn push_values(self, out: &mut Vec<$crate::game::simple::FieldValue>) {
                $(out.push($crate::game::simple::RowField::into_value(self.$field));)+
            }
        }

        // A row with a field of type `&str` can be sent, but not read. The lifetime lets its
        // condition compile, although it is false.
        impl $crate::game::simple::ReceivedRow for $name
        where
            $(for<'field> $kind: $crate::game::simple::ReceivedField),+
        {
            fn from_values<'a>(
                value: impl Fn(&str) -> Option<&'a $crate::packet::Value>,
            ) -> Option<$name> {
                Some($name {
                    $($field: $crate::game::simple::ReceivedField::from_value(
                        value(stringify!($field)).unwrap_or(&$crate::packet::Value::Nil),
                    )?),+
                })
            }
        }

        const _: () = assert!(
            $crate::game::simple::has_packet($table, "to_client", $packet),
            concat!(
                "the table has no packet ", $packet,
                " to clients: compare the name, and the tabs of its line",
            ),
        );
        $(
            const _: () = assert!(
                $crate::game::simple::has_argument(
                    $table,
                    "to_client",
                    $packet,
                    stringify!($field),
                    <$kind as $crate::game::simple::RowField>::MEMBERS,
                ),
                concat!(
                    "the packet ", $packet, " of the table has no argument ", stringify!($field),
                    ", or the records of this list have other members",
                ),
            );
        )+

        $crate::game::simple::rows! { in $table; $($rest)* }
    };
    (
        in $table:expr;
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident {
            $($(#[$field_attribute:meta])* $field:ident: $kind:ty),+ $(,)?
        }
        $($rest:tt)*
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, PartialEq)]
        $visibility struct $name {
            $($(#[$field_attribute])* $visibility $field: $kind),+
        }

        impl $crate::game::simple::RowField for $name {
            const MEMBERS: &'static [&'static str] = &[$(stringify!($field)),+];

            fn into_value(self) -> $crate::game::simple::FieldValue {
                $crate::game::simple::FieldValue::List(vec![
                    $($crate::game::simple::RowField::into_value(self.$field)),+
                ])
            }
        }

        impl $crate::game::simple::ReceivedField for $name
        where
            $(for<'field> $kind: $crate::game::simple::ReceivedField),+
        {
            fn from_value(value: &$crate::packet::Value) -> Option<$name> {
                let mut values = value.as_array()?.iter();
                Some($name { $($field: $crate::game::simple::ReceivedField::from_value(values.next()?)?),+ })
            }
        }

        $crate::game::simple::rows! { in $table; $($rest)* }
    };
}

pub use rows;
