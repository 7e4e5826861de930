//! The answer to a request for a page, before it is written as a response.

use std::borrow::Cow;

const TEXT: &str = "text/plain; charset=utf-8";

/// The page's content security policy: it may load from and connect to this server only, and run
/// WebAssembly from there.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self' ws: wss:; \
                      img-src 'self' data:; style-src 'self'; \
                      object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

/// See the [module](self).
pub struct PageResponse {
    /// The status.
    pub status: u16,
    /// The content type.
    pub kind: &'static str,
    /// The content security policy.
    pub policy: &'static str,
    /// One header more.
    pub extra_header: (&'static str, Cow<'static, str>),
    /// The body.
    pub body: Cow<'static, [u8]>,
}

impl PageResponse {
    /// What no cache keeps without asking.
    pub fn new(status: u16, kind: &'static str, body: impl Into<Cow<'static, [u8]>>) -> PageResponse {
        PageResponse {
            status,
            kind,
            policy: CONTENT_SECURITY_POLICY,
            extra_header: ("Cache-Control", "no-cache".into()),
            body: body.into(),
        }
    }

    /// The same, as plain text.
    pub fn text(status: u16, text: String) -> PageResponse {
        PageResponse::new(status, TEXT, text.into_bytes())
    }

    /// A redirect.
    pub fn redirect(location: String) -> PageResponse {
        let body = format!("this is at {location}\n");
        PageResponse { extra_header: ("Location", location.into()), ..PageResponse::text(308, body) }
    }
}
