//! Private parts of the public modules, for tests and fuzz targets.

/// Parts of modules under their own names, with what they make public.
macro_rules! parts {
    ($($of:ident: $($name:ident)*;)*) => {
        $(pub mod $of {
            $(pub mod $name {
                pub use crate::$of::$name::*;
            })*
        })*
    };
}

parts! {
    ws: utf8;
    packet: angle codes credentials endpoint listing;
    explain: guess input paint piecemeal;
    capture: packet pcapng record writer;
}
