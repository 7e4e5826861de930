//! Every rule that a peer can break, in one table: name, section, response and description.
//!
//! The close frame, the HTTP status, the log line, the metric label and the test name all come from
//! this table. Each rule is a row; a row without a test fails `tests/rfc6455/coverage.rs`. The
//! table covers only HTTP and WebSocket; rules of packets and of the game are elsewhere.

use std::fmt;

use super::close_code::CloseCode;
use ViolationResponse::{Close, Drop, Status};

/// The response to a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViolationResponse {
    /// A close frame with this code, because the connection was open.
    Close(CloseCode),
    /// An HTTP response with this status, because the request was not accepted.
    Status(u16),
    /// No response: the client only disconnects, because the server's response was invalid.
    Drop,
}

/// One row of the table.
struct Rule {
    name: &'static str,
    rfc: u16,
    section: &'static str,
    answer: ViolationResponse,
    description: &'static str,
}

/// Generates [`Violation`], [`Violation::ALL`] and the table of rules from the rows, so that the
/// three always agree.
macro_rules! violations {
    ($($variant:ident $name:ident $rfc:literal $section:literal $answer:expr, $description:literal;)+) => {
        /// A broken rule of RFC 6455, of its compression (RFC 7692), or of the HTTP RFCs on which
        /// its handshake depends.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Violation {
            $(#[doc = $description] $variant,)+
        }

        impl Violation {
            /// Every rule, in the order in which a connection checks them.
            pub const ALL: &[Violation] = &[$(Violation::$variant),+];
        }

        /// The rows, in the order of the variants.
        const RULES: &[Rule] = &[$(Rule {
            name: stringify!($name),
            rfc: $rfc,
            section: $section,
            answer: $answer,
            description: $description,
        }),+];
    };
}

const PROTOCOL_ERROR: ViolationResponse = Close(CloseCode::PROTOCOL_ERROR);
const NOT_CONSISTENT: ViolationResponse = Close(CloseCode::INVALID_PAYLOAD);
const POLICY: ViolationResponse = Close(CloseCode::POLICY_VIOLATION);
const TOO_BIG: ViolationResponse = Close(CloseCode::MESSAGE_TOO_BIG);

violations! {
    // The head of an HTTP request, byte by byte and line by line.
    NotHttp not_http 9112 "3" Status(400), "The first byte cannot begin an HTTP request.";
    BareLineFeed bare_line_feed 9112 "2.2" Status(400), "A line ends with LF alone instead of CR LF.";
    BareCarriageReturn bare_carriage_return 9112 "2.2" Status(400), "A CR is not followed by LF.";
    ControlCharacter control_character 9110 "5.5" Status(400), "The head contains a control character.";
    HeadTooLong head_too_long 6585 "5" Status(431), "The head is longer than this endpoint accepts.";
    RequestLine request_line 9112 "3" Status(400), "The first line is not a method, a target and a version.";
    HttpVersion http_version 9110 "15.6.6" Status(505), "The HTTP version is neither 1.1 nor 1.0.";
    TargetTooLong target_too_long 6585 "5" Status(431), "The target is longer than the server accepts.";
    TargetForm target_form 9112 "3.2" Status(400), "The target is not a path that begins with a slash.";
    TooManyHeaders too_many_headers 6585 "5" Status(431), "The head has more headers than this endpoint accepts.";
    HeaderFolded header_folded 9112 "5.2" Status(400), "A header continues on the next line.";
    SpaceBeforeColon space_before_colon 9112 "5.1" Status(400), "A header has a space before its colon.";
    HeaderName header_name 9112 "5" Status(400), "A header has no colon, or its name is not a token.";
    HeaderRepeated header_repeated 9110 "5.3" Status(400), "A header that may appear only once appears twice.";
    HostMissing host_missing 9112 "3.2" Status(400), "The request has no Host header.";
    HostMalformed host_malformed 9112 "3.2" Status(400), "The Host header is not a name or an address, with or without a port.";
    TransferEncoding transfer_encoding 9112 "6.1" Status(400), "The request has a Transfer-Encoding header.";
    ContentLengthMalformed content_length_malformed 9110 "8.6" Status(400), "The Content-Length is not a number.";
    BodyAnnounced body_announced 9112 "6.3" Status(400), "The request announces a body.";

    // The upgrade: rules for the request.
    UpgradeInHttp10 upgrade_in_http_1_0 9110 "7.8" Status(426), "The request asks for an upgrade in HTTP/1.0, which has none.";
    MethodNotGet method_not_get 6455 "4.2.1" Status(405), "The method is not GET.";
    UpgradeMissing upgrade_missing 6455 "4.2.1" Status(426), "The Upgrade header does not name websocket.";
    ConnectionMissing connection_missing 6455 "4.2.1" Status(400), "The Connection header does not name upgrade.";
    VersionNot13 version_not_13 6455 "4.4" Status(426), "The Sec-WebSocket-Version is not 13.";
    KeyMissing key_missing 6455 "4.2.1" Status(400), "The request has no Sec-WebSocket-Key.";
    KeyMalformed key_malformed 6455 "4.2.1" Status(400), "The Sec-WebSocket-Key is not base64 of 16 bytes.";
    SubprotocolMalformed subprotocol_malformed 6455 "11.3.4" Status(400), "An offered subprotocol is not a token.";
    TooManySubprotocols too_many_subprotocols 6455 "10.4" Status(400), "The request offers too many subprotocols.";
    OriginForbidden origin_forbidden 6455 "10.2" Status(403), "Pages from this Origin may not connect.";

    // The upgrade: rules for the response.
    StatusLine status_line 9112 "4" Drop, "The response does not begin with an HTTP/1.1 status line.";
    StatusNot101 status_not_101 6455 "4.1" Drop, "The status of the response is not 101.";
    AnswerUpgradeMissing answer_upgrade_missing 6455 "4.1" Drop, "The response's Upgrade header is not websocket.";
    AnswerConnectionMissing answer_connection_missing 6455 "4.1" Drop, "The response's Connection header does not name upgrade.";
    AcceptWrong accept_wrong 6455 "4.1" Drop, "The Sec-WebSocket-Accept does not match the key.";
    SubprotocolNotOffered subprotocol_not_offered 6455 "4.1" Drop, "The response names a subprotocol that the client did not offer.";
    ExtensionNotOffered extension_not_offered 6455 "4.1" Drop, "The response names an extension that the client did not offer.";
    CompressionParameters compression_parameters 7692 "7.1" Drop, "The parameters of permessage-deflate do not fit the client's offer.";

    // The frame header.
    ReservedBit reserved_bit 6455 "5.2" PROTOCOL_ERROR, "A reserved bit is set, and no extension was negotiated.";
    ReservedOpcode reserved_opcode 6455 "5.2" PROTOCOL_ERROR, "The opcode is reserved.";
    ControlFragmented control_fragmented 6455 "5.5" PROTOCOL_ERROR, "A control frame is fragmented (FIN is 0).";
    MaskMissing mask_missing 6455 "5.1" PROTOCOL_ERROR, "A client's frame has no mask.";
    MaskForbidden mask_forbidden 6455 "5.1" PROTOCOL_ERROR, "A server's frame has a mask.";
    ControlTooLong control_too_long 6455 "5.5" PROTOCOL_ERROR, "A control frame carries more than 125 bytes.";
    LengthNotMinimal length_not_minimal 6455 "5.2" PROTOCOL_ERROR, "The length is not in its shortest form.";
    LengthTopBit length_top_bit 6455 "5.2" PROTOCOL_ERROR, "The top bit of the 64-bit length is set.";

    // The frames of a message.
    ContinuationWithoutStart continuation_without_start 6455 "5.4" PROTOCOL_ERROR,
        "A continuation frame has no message to continue.";
    MessageInterrupted message_interrupted 6455 "5.4" PROTOCOL_ERROR,
        "A new message begins before the last fragment of the previous message.";
    TooManyFragments too_many_fragments 6455 "10.4" POLICY, "A message has more fragments than the endpoint accepts.";
    MessageTooLong message_too_long 6455 "10.4" TOO_BIG, "A message is longer than the endpoint accepts.";
    CompressedDataInvalid compressed_data_invalid 7692 "7.2.2" NOT_CONSISTENT, "A compressed message is not valid DEFLATE data.";
    InflatedTooLong inflated_too_long 6455 "10.4" TOO_BIG, "A compressed message inflates to more bytes than the endpoint accepts.";
    TextNotUtf8 text_not_utf8 6455 "8.1" NOT_CONSISTENT, "A text message is not UTF-8.";

    // The body of a close frame.
    CloseOneByte close_one_byte 6455 "5.5.1" PROTOCOL_ERROR, "A close body has only one byte, which is half a code.";
    CloseCodeInvalid close_code_invalid 6455 "7.4" PROTOCOL_ERROR, "The close code must not be sent in a frame.";
    CloseReasonNotUtf8 close_reason_not_utf8 6455 "8.1" NOT_CONSISTENT, "The reason for closing is not UTF-8.";
}

impl Violation {
    fn rule(self) -> &'static Rule {
        &RULES[self as usize]
    }

    /// The rule's name in `snake_case`: the reason of the close frame, the metric label and the
    /// name of its test.
    pub fn name(self) -> &'static str {
        self.rule().name
    }

    /// The number of the RFC that states the rule: 6455, 7692 for compression, or 6585, 9110 and
    /// 9112 for HTTP.
    pub fn rfc(self) -> u16 {
        self.rule().rfc
    }

    /// The section of that RFC, such as `"5.5.1"`.
    pub fn section(self) -> &'static str {
        self.rule().section
    }

    /// The RFC and the section in prose, such as `RFC 6455 section 5.5.1`.
    pub fn citation(self) -> String {
        format!("RFC {} section {}", self.rfc(), self.section())
    }

    /// The response of this end to the violation.
    pub fn response(self) -> ViolationResponse {
        self.rule().answer
    }

    /// The code of the close frame sent in response; `None` for a rule of the handshake.
    pub fn close_code(self) -> Option<CloseCode> {
        match self.response() {
            Close(code) => Some(code),
            Status(_) | Drop => None,
        }
    }

    /// The HTTP status sent in response; `None` unless the rule is about the request.
    pub fn status(self) -> Option<u16> {
        match self.response() {
            Status(status) => Some(status),
            Close(_) | Drop => None,
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.rule().description)
    }
}

impl std::error::Error for Violation {}
