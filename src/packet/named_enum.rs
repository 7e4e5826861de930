//! Enums with a name and a meaning for each variant, each written once.

/// Generates an enum and its methods from rows of variant, name and meaning.
macro_rules! named_enum {
    ($(#[$meta:meta])* $kind:ident { $($variant:ident $name:literal $meaning:literal;)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $kind {
            $(#[doc = $meaning] $variant,)+
        }

        impl $kind {
            /// All variants, in order.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// The name in tables, documents, log lines and metric labels.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// The meaning, in one sentence.
            pub fn sentence(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)+ }
            }
        }
    };
}

pub(super) use named_enum;
