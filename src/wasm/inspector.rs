//! The inspector as functions that a browser can call. `{"error":"…"}` says what is wrong with an
//! input.

use std::cell::RefCell;

use serde_json::{Value, json};
use tickwire::internal::tools::inspector::capture_file::CaptureFile;
use tickwire::internal::tools::inspector::opening::Opening;
use tickwire::internal::tools::inspector::{ExportedClient, Inspector};
use tickwire::limits;

use super::buffers::with;

/// What an instance shows.
#[derive(Default)]
pub struct Tab {
    /// The clients of a server, or the frame of a link.
    pub inspector: Option<Inspector>,
    /// A capture file: while there is one, it is shown.
    pub file: Option<CaptureFile>,
    /// The next capture file, while it is being opened.
    pub opening: Option<Opening>,
    /// The bytes of the next capture file.
    pub file_input: Vec<u8>,
}

thread_local! {
    static TAB: RefCell<Tab> = RefCell::default();
}

/// Calls with what the instance shows.
pub fn with_tab<T>(call: impl FnOnce(&mut Tab) -> T) -> T {
    TAB.with_borrow_mut(call)
}

/// How many frames the inspector keeps.
#[unsafe(no_mangle)]
pub extern "C" fn frames_kept() -> usize {
    limits::INSPECTOR_FRAMES
}

/// Begins anew with the server's first message, which is in the input. Puts out `{}`.
#[unsafe(no_mangle)]
pub extern "C" fn welcome() -> usize {
    answer(|tab, input| {
        tab.inspector = Some(Inspector::new(text(input)?)?);
        Ok(b"{}".to_vec())
    })
}

/// Watches a client by its number, or none by 0. Puts out `{}`.
#[unsafe(no_mangle)]
pub extern "C" fn watch(client: u64) -> usize {
    inspect(|inspector, _| {
        inspector.select_client(Some(client).filter(|client| *client != 0));
        Ok(b"{}".to_vec())
    })
}

/// Pauses, or goes on after 0. Puts out `{}`.
#[unsafe(no_mangle)]
pub extern "C" fn pause(is_paused: u32) -> usize {
    inspect(|inspector, _| {
        inspector.pause(is_paused != 0);
        Ok(b"{}".to_vec())
    })
}

/// Takes the observed message in the input; puts out what is new: `frames`, `lost`, `missed`, `ended`.
#[unsafe(no_mangle)]
pub extern "C" fn receive() -> usize {
    inspect(|inspector, input| match input.len() {
        ..=limits::INSPECTOR_MESSAGE_BYTES => inspector.receive(input).map(String::into_bytes),
        long => Err(format!("a message of {long} bytes is too long")),
    })
}

/// Puts out the explanation of a frame by its number.
#[unsafe(no_mangle)]
pub extern "C" fn explain(n: u64) -> usize {
    answer(|tab, _| {
        let told = match (&mut tab.file, &tab.inspector) {
            (Some(file), _) => file.explain(n),
            (None, inspector) => inspector.as_ref().ok_or(NO_WELCOME)?.explain(n),
        };
        Ok(told.into_bytes())
    })
}

/// Puts out the explanation of the bytes in the input as the next ones of the connection. The input is
/// `{"from":…,"bytes":HEX}`, see [`Inspector::explain_bytes`].
#[unsafe(no_mangle)]
pub extern "C" fn explain_bytes() -> usize {
    inspect(|inspector, input| inspector.explain_bytes(text(input)?).map(String::into_bytes))
}

/// Puts out the bytes of a frame of the client with other values. The input is `{"n":…,"set":{…}}`,
/// see [`Inspector::rewrite`].
#[unsafe(no_mangle)]
pub extern "C" fn rewrite() -> usize {
    inspect(|inspector, input| inspector.rewrite(text(input)?).map(String::into_bytes))
}

/// Puts out the bytes by packet and field since the last call.
#[unsafe(no_mangle)]
pub extern "C" fn fields() -> usize {
    inspect(|inspector, _| Ok(inspector.fields().into_bytes()))
}

/// Puts out the frames that are kept as the bytes of a pcapng file. The input is
/// `{"player":…,"name":…}`.
#[unsafe(no_mangle)]
pub extern "C" fn save() -> usize {
    inspect(|inspector, input| {
        let whose: Value = serde_json::from_slice(input).map_err(|error| error.to_string())?;
        let player = whose["player"].as_u64().and_then(|player| u16::try_from(player).ok()).unwrap_or(0);
        let name = whose["name"].as_str().unwrap_or_default().to_owned();
        inspector.save(&ExportedClient { player, name }).ok_or_else(|| "no handshake was seen".to_owned())
    })
}

fn text(input: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(input).map_err(|error| error.to_string())
}

const NO_WELCOME: &str = "the server's first message is missing";

fn inspect(call: impl FnOnce(&mut Inspector, &[u8]) -> Result<Vec<u8>, String>) -> usize {
    answer(|tab, input| call(tab.inspector.as_mut().ok_or(NO_WELCOME)?, input))
}

/// Puts out what a call with the input returns; or `{"error":…}`.
pub fn answer(call: impl FnOnce(&mut Tab, &[u8]) -> Result<Vec<u8>, String>) -> usize {
    with(|buffers| {
        let answered = with_tab(|tab| call(tab, &buffers.input));
        let output = answered.unwrap_or_else(|error| json!({ "error": error }).to_string().into_bytes());
        buffers.put_out(output)
    })
}
