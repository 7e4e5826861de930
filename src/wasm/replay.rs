//! Replays a captured session, as `tickwire replay --json` does.

use serde_json::json;
use tickwire::internal::games;
use tickwire::internal::tools::replay;

use super::buffers::with;

/// Replays the capture file in the input. Outputs the report as JSON, or `{"error":"…"}` for an
/// invalid capture.
#[unsafe(no_mangle)]
pub extern "C" fn replay() -> usize {
    with(|buffers| {
        let replayed = replay::json::of_file(&buffers.input, games::INFO, None);
        let output = replayed.unwrap_or_else(|error| json!({ "error": error }));
        buffers.put_out(output.to_string().into_bytes())
    })
}
