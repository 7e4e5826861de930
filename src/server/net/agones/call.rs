//! The requests to the sidecar: method, path and body, as in its REST interface.

use std::borrow::Cow;

use serde_json::{Value, json};

/// A request to the sidecar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// The server accepts players, and can be allocated.
    Ready,
    /// The server is healthy.
    Health,
    /// The server is in use: Agones neither allocates nor removes it.
    Allocate,
    /// The server has stopped: Agones removes it.
    Shutdown,
    /// Requests the `GameServer`.
    GameServer,
    /// Sets the label `agones.dev/sdk-NAME`.
    Label(&'static str, String),
    /// Sets the annotation `agones.dev/sdk-NAME`.
    Annotation(&'static str, String),
    /// Sets a counter, which the specification of the `GameServer` must declare.
    Counter {
        /// Name of the counter.
        name: &'static str,
        /// The count, at most the capacity.
        count: u64,
        /// The capacity.
        capacity: u64,
    },
}

impl Call {
    /// Returns the name for logs and metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Call::Ready => "ready",
            Call::Health => "health",
            Call::Allocate => "allocate",
            Call::Shutdown => "shutdown",
            Call::GameServer => "gameserver",
            Call::Label(..) => "label",
            Call::Annotation(..) => "annotation",
            Call::Counter { .. } => "counter",
        }
    }

    /// Returns the method.
    pub fn method(&self) -> &'static str {
        match self {
            Call::Ready | Call::Health | Call::Allocate | Call::Shutdown => "POST",
            Call::GameServer => "GET",
            Call::Label(..) | Call::Annotation(..) => "PUT",
            Call::Counter { .. } => "PATCH",
        }
    }

    /// Returns the path.
    pub fn path(&self) -> Cow<'static, str> {
        match self {
            Call::Ready => "/ready".into(),
            Call::Health => "/health".into(),
            Call::Allocate => "/allocate".into(),
            Call::Shutdown => "/shutdown".into(),
            Call::GameServer => "/gameserver".into(),
            Call::Label(..) => "/metadata/label".into(),
            Call::Annotation(..) => "/metadata/annotation".into(),
            Call::Counter { name, .. } => format!("/v1beta1/counters/{name}").into(),
        }
    }

    /// Returns the body. 64-bit numbers are strings, as in the JSON of protocol buffers.
    pub fn body(&self) -> Option<Value> {
        match self {
            Call::Ready | Call::Health | Call::Allocate | Call::Shutdown => Some(json!({})),
            Call::GameServer => None,
            Call::Label(key, value) | Call::Annotation(key, value) => {
                Some(json!({ "key": key, "value": value }))
            }
            Call::Counter { count, capacity, .. } => {
                Some(json!({ "count": count.to_string(), "capacity": capacity.to_string() }))
            }
        }
    }
}
