//! What this repository's own program, tests, benchmarks and browser package use of the crate besides its
//! public modules. It makes no promise: anything here may change or go with any version.

mod parts;

pub use parts::*;

/// Modules of this crate under their own names, with what they make public.
macro_rules! modules {
    ($($name:ident)*) => {
        $(pub mod $name {
            pub use crate::$name::*;
        })*
    };
}

/// The client of `tickwire echo`.
#[cfg(not(target_family = "wasm"))]
pub mod client {
    pub mod echo {
        pub use crate::client::echo::*;
    }
}

modules! { embedded games host household inspector link peer plural replay room self_check session sync visible }

#[cfg(not(target_family = "wasm"))]
modules! { cli net platform simulate testkit }
