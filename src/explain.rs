//! Explains the bytes of a frame.
