//! Records: entities encoded once per layout, and copied into each client's messages.
//!
//! Encoding an entity takes a fraction of a microsecond, and copying its record less. Without
//! records, 100 players in view of one another would be encoded 10,000 times per update.

use super::encode_values::WireValues;
use crate::packet::msgpack::{write_array_len, write_uint};

/// Encoded entities, found by index.
#[derive(Debug)]
pub struct Records {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    /// Number of values in each record.
    values: usize,
}

impl Records {
    /// Encodes each entity in order. `None` becomes an empty record.
    pub fn new<R: WireValues>(records: impl Iterator<Item = Option<R>>) -> Records {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for record in records {
            if let Some(record) = record {
                record.write(&mut bytes);
            }
            ends.push(bytes.len() as u32);
        }
        Records { bytes, ends, values: R::COUNT }
    }

    /// Creates records of `values` values, with memory for some entities, whose values take two
    /// bytes each.
    pub fn with_capacity(values: usize, entities: usize) -> Records {
        let (bytes, ends) = (Vec::with_capacity(2 * values * entities), Vec::with_capacity(entities));
        Records { bytes, ends, values }
    }

    /// Appends the record that `write` encodes, which may be empty.
    ///
    /// # Errors
    /// The error of `write`.
    pub fn push<E>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
        write(&mut self.bytes)?;
        self.ends.push(self.bytes.len() as u32);
        Ok(())
    }

    #[inline]
    fn get(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        &self.bytes[start..self.ends[index] as usize]
    }
}

/// A list of records under construction. Encoded as an array of all their values.
#[derive(Debug, Default)]
pub struct RecordList {
    /// The encoded records.
    pub bytes: Vec<u8>,
    values: usize,
}

impl RecordList {
    /// Creates an empty list.
    pub const fn new() -> RecordList {
        RecordList { bytes: Vec::new(), values: 0 }
    }

    /// Removes the records and retains the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.values = 0;
    }

    /// Returns whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.values == 0
    }

    /// Copies the record at `index`, unless it is empty.
    #[inline]
    pub fn copy(&mut self, records: &Records, index: usize) {
        let record = records.get(index);
        if !record.is_empty() {
            self.bytes.extend_from_slice(record);
            self.values += records.values;
        }
    }

    /// Appends a number and the record at `index`, which lacks the first value of its width.
    #[inline]
    pub fn copy_after(&mut self, first: u32, records: &Records, index: usize) {
        let record = records.get(index);
        self.bytes.reserve(1 + record.len());
        write_uint(&mut self.bytes, first.into());
        self.bytes.extend_from_slice(record);
        self.values += records.values;
    }

    /// Appends a record of `values` values that `write` encodes.
    pub fn push_encoded(&mut self, values: usize, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        self.values += values;
    }

    /// Encodes and appends a record.
    pub fn push<R: WireValues>(&mut self, record: R) {
        record.write(&mut self.bytes);
        self.values += R::COUNT;
    }
}

impl WireValues for RecordList {
    const COUNT: usize = 1;

    fn write(&self, out: &mut Vec<u8>) {
        write_array_len(out, self.values);
        out.extend_from_slice(&self.bytes);
    }
}
