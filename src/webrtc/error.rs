//! The rules that a packet of a data channel can break.

/// A rule that a packet of a data channel, or an offer of one, breaks. A packet that breaks a rule
/// is dropped without a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WebRtcError {
    /// The packet is not a complete STUN message.
    StunMalformed,
    /// The STUN message is not a binding request of ICE.
    StunNotARequest,
    /// The CRC of the STUN message is wrong.
    StunWrongFingerprint,
    /// The user name of the STUN message belongs to no data channel.
    StunUnknownUser,
    /// The STUN message was made with another password.
    StunWrongPassword,
    /// The STUN message comes from the address of another data channel.
    StunAddressInUse,
    /// No binding request with the right password has come from the address of a DTLS record.
    DtlsUnknownAddress,
    /// The DTLS connection has failed.
    DtlsFailed,
    /// The client's certificate does not have the fingerprint of its offer.
    DtlsWrongCertificate,
    /// The SCTP association has failed, or uses a stream other than 0.
    SctpFailed,
    /// The DTLS connection or the SCTP association is closed.
    Closed,
    /// The offer lacks a line that a data channel needs.
    OfferIncomplete,
    /// The fingerprint of the offer is not SHA-256.
    OfferFingerprint,
}

impl WebRtcError {
    /// Whether the error closes the data channel.
    pub const fn is_fatal(self) -> bool {
        matches!(
            self,
            WebRtcError::DtlsFailed
                | WebRtcError::DtlsWrongCertificate
                | WebRtcError::SctpFailed
                | WebRtcError::Closed
        )
    }

    /// The name of the rule, for metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            WebRtcError::StunMalformed => "stun_malformed",
            WebRtcError::StunNotARequest => "stun_not_a_request",
            WebRtcError::StunWrongFingerprint => "stun_wrong_fingerprint",
            WebRtcError::StunUnknownUser => "stun_unknown_user",
            WebRtcError::StunWrongPassword => "stun_wrong_password",
            WebRtcError::StunAddressInUse => "stun_address_in_use",
            WebRtcError::DtlsUnknownAddress => "dtls_unknown_address",
            WebRtcError::DtlsFailed => "dtls_failed",
            WebRtcError::DtlsWrongCertificate => "dtls_wrong_certificate",
            WebRtcError::SctpFailed => "sctp_failed",
            WebRtcError::Closed => "data_channel_closed",
            WebRtcError::OfferIncomplete => "offer_incomplete",
            WebRtcError::OfferFingerprint => "offer_fingerprint",
        }
    }
}

impl std::fmt::Display for WebRtcError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            WebRtcError::StunMalformed => "the packet is not a complete STUN message",
            WebRtcError::StunNotARequest => "the STUN message is not a binding request of ICE",
            WebRtcError::StunWrongFingerprint => "the CRC of the STUN message is wrong",
            WebRtcError::StunUnknownUser => "the user name of the STUN message belongs to no data channel",
            WebRtcError::StunWrongPassword => "the STUN message was made with another password",
            WebRtcError::StunAddressInUse => {
                "the STUN message comes from the address of another data channel"
            }
            WebRtcError::DtlsUnknownAddress => {
                "no binding request with the right password has come from the address of the DTLS record"
            }
            WebRtcError::DtlsFailed => "the DTLS connection has failed",
            WebRtcError::DtlsWrongCertificate => {
                "the client's certificate does not have the fingerprint of its offer"
            }
            WebRtcError::SctpFailed => "the SCTP association has failed, or uses a stream other than 0",
            WebRtcError::Closed => "the data channel is closed",
            WebRtcError::OfferIncomplete => {
                "the offer lacks ice-ufrag, ice-pwd, fingerprint, mid, or a data channel"
            }
            WebRtcError::OfferFingerprint => "the fingerprint of the offer is not SHA-256",
        })
    }
}

impl std::error::Error for WebRtcError {}
