//! The content of a page's response, before it is encoded.

use std::borrow::Cow;

use sha1_smol::Sha1;

const TEXT: &str = "text/plain; charset=utf-8";

/// Content security policy: a page may load from and connect to this server only, and run
/// WebAssembly from there.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self' ws: wss:; \
                      img-src 'self' data:; style-src 'self'; \
                      object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

/// Returns the entity tag of a body, which changes with its bytes (RFC 9110, section 8.8.3).
pub fn entity_tag(body: &[u8]) -> String {
    format!("\"{}\"", Sha1::from(body).digest())
}

/// A page or an error, with its headers.
pub struct PageResponse {
    /// Status of the response.
    pub status: u16,
    /// Content type.
    pub content_type: &'static str,
    /// Content security policy.
    pub policy: &'static str,
    /// One additional header.
    pub extra_header: (&'static str, Cow<'static, str>),
    /// Entity tag, with which a cache revalidates the body.
    pub entity_tag: Option<String>,
    /// Body of the response.
    pub body: Cow<'static, [u8]>,
}

impl PageResponse {
    /// Creates a response that caches must revalidate before each use.
    pub fn new(status: u16, content_type: &'static str, body: impl Into<Cow<'static, [u8]>>) -> PageResponse {
        PageResponse {
            status,
            content_type,
            policy: CONTENT_SECURITY_POLICY,
            extra_header: ("Cache-Control", "no-cache".into()),
            entity_tag: None,
            body: body.into(),
        }
    }

    /// Creates a plain-text response.
    pub fn text(status: u16, text: String) -> PageResponse {
        PageResponse::new(status, TEXT, text.into_bytes())
    }

    /// Creates a permanent redirect.
    pub fn redirect(location: String) -> PageResponse {
        let body = format!("this is at {location}\n");
        PageResponse { extra_header: ("Location", location.into()), ..PageResponse::text(308, body) }
    }
}
