//! The fields of this world: see [`tickwire_sim::fields`].

pub(crate) use tickwire_sim::fields::{Bytes, Field, Reader, Sink, Unreadable};
pub(crate) use tickwire_sim::{fields, scalar};

use crate::fixed::{Angle, Fixed};

scalar!(Fixed, 4, |value| u64::from(value.0 as u32), |raw| Some(Fixed(raw as u32 as i32)));
scalar!(Angle, 2, |value| u64::from(value.0), |raw| Some(Angle(raw as u16)));
