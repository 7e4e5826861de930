//! Replaces `data_channels.rs` in builds without the feature `webrtc`. No channel can be opened.

// The methods are documented in data_channels.rs.
#![allow(missing_docs)]

use std::net::SocketAddr;

use crate::datagram::DatagramError;
use crate::server::clients::client::NO_LANE_TEXT;
use crate::server::clients::client_lane::ChannelAnswer;

/// The datagrams in one packet of a data channel.
#[derive(Debug)]
pub struct ChannelDatagrams {
    /// The connection id of the lane.
    pub connection: u32,
    /// The datagrams.
    pub datagrams: Vec<Vec<u8>>,
}

/// An empty collection of data channels.
#[derive(Debug)]
pub struct DataChannels;

impl DataChannels {
    /// Whether this program has data channels.
    pub const ARE_BUILT: bool = false;

    pub fn new(_: bool) -> DataChannels {
        DataChannels
    }

    pub fn is_empty(&self) -> bool {
        true
    }

    pub fn open(&self, _: u32, _: &str, _: SocketAddr) -> Result<ChannelAnswer, &'static str> {
        Err(NO_LANE_TEXT)
    }

    pub fn close(&self, _: u32) {}

    pub fn is_for_channel(_: &[u8]) -> bool {
        false
    }

    pub fn send(&self, _: u32, _: &[u8], _: impl FnMut(SocketAddr, &[u8])) -> bool {
        false
    }

    pub fn receive(
        &self,
        _: &[u8],
        _: SocketAddr,
        _: impl FnMut(SocketAddr, &[u8]),
    ) -> Result<ChannelDatagrams, DatagramError> {
        Err(DatagramError::UnknownConnection)
    }

    pub fn advance(&self, _: impl FnMut(SocketAddr, &[u8])) {}
}
