//! Tests of the journal with a model of a disk, without files.

mod crashes;
mod faults;
mod fences;
mod formats;
mod history;
mod model_room;
