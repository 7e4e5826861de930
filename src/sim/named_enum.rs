//! Enums with a name for each variant, each written once.

/// Generates an enum with a name for each variant, and its methods: from variants with their names,
/// or from rows of variant, name and meaning.
///
/// ```
/// tickwire_sim::named_enum! {
///     /// A direction.
///     #[derive(Debug, Clone, Copy, PartialEq, Eq)]
///     pub enum Direction {
///         /// To the server.
///         Up => "up",
///         /// To the client.
///         Down => "down",
///     }
/// }
/// assert_eq!(Direction::ALL.map(Direction::name), ["up", "down"]);
/// ```
#[macro_export]
macro_rules! named_enum {
    (
        $(#[$meta:meta])* pub enum $kind:ident {
            $($(#[$about:meta])* $variant:ident => $name:literal,)+
        }
    ) => {
        $(#[$meta])*
        pub enum $kind {
            $($(#[$about])* $variant,)+
        }

        impl $kind {
            /// All variants, in order.
            #[allow(dead_code, reason = "some enums are never listed")]
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// The name in tables, documents, log lines, reports and metric labels.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }
        }
    };
    ($(#[$meta:meta])* $kind:ident { $($variant:ident $name:literal $meaning:literal;)+ }) => {
        $crate::named_enum! {
            $(#[$meta])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
            pub enum $kind {
                $(#[doc = $meaning] $variant => $name,)+
            }
        }

        impl $kind {
            /// The meaning, in one sentence.
            pub fn sentence(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)+ }
            }
        }
    };
}
