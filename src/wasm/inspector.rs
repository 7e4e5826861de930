//! The exports of the inspector. After an invalid input the output is `{"error":"…"}`.

use std::cell::RefCell;

use serde_json::{Value, json};
use tickwire::internal::limits;
use tickwire::internal::tools::inspector::capture_file::CaptureFile;
use tickwire::internal::tools::inspector::opening::Opening;
use tickwire::internal::tools::inspector::{ExportedClient, Inspector};

use super::buffers::with;

/// The state of a module instance, which has one frame list.
#[derive(Default)]
pub struct Tab {
    /// The inspector of a server's clients, or of a linked frame.
    pub inspector: Option<Inspector>,
    /// An open capture file. It takes precedence over `inspector`.
    pub file: Option<CaptureFile>,
    /// The next capture file, while it is being opened.
    pub opening: Option<Opening>,
    /// The bytes of the next capture file.
    pub file_input: Vec<u8>,
}

thread_local! {
    static TAB: RefCell<Tab> = RefCell::default();
}

/// Calls a function with the state of the instance.
pub fn with_tab<T>(call: impl FnOnce(&mut Tab) -> T) -> T {
    TAB.with_borrow_mut(call)
}

/// Returns the maximum number of frames that the inspector retains.
#[unsafe(no_mangle)]
pub extern "C" fn frames_kept() -> usize {
    limits::INSPECTOR_FRAMES
}

/// Restarts the inspector with the server's first message in the input. Outputs `{}`.
#[unsafe(no_mangle)]
pub extern "C" fn welcome() -> usize {
    answer(|tab, input| {
        tab.inspector = Some(Inspector::new(text(input)?)?);
        Ok(b"{}".to_vec())
    })
}

/// Selects a client by its id, or none with 0. Outputs `{}`.
#[unsafe(no_mangle)]
pub extern "C" fn watch(client: u64) -> usize {
    inspect(|inspector, _| {
        inspector.select_client(Some(client).filter(|client| *client != 0));
        Ok(b"{}".to_vec())
    })
}

/// Selects all clients. Outputs `{}`.
#[unsafe(no_mangle)]
pub extern "C" fn watch_all() -> usize {
    inspect(|inspector, _| {
        inspector.select_all();
        Ok(b"{}".to_vec())
    })
}

/// Pauses with 1, continues with 0. Outputs `{}`.
#[unsafe(no_mangle)]
pub extern "C" fn pause(is_paused: u32) -> usize {
    inspect(|inspector, _| {
        inspector.pause(is_paused != 0);
        Ok(b"{}".to_vec())
    })
}

/// Handles an inspector message in the input. Outputs the changes: `frames`, `gone`, `lost`,
/// `missed`, `ended`.
#[unsafe(no_mangle)]
pub extern "C" fn receive() -> usize {
    inspect(|inspector, input| match input.len() {
        ..=limits::INSPECTOR_MESSAGE_BYTES => inspector.receive(input).map(String::into_bytes),
        long => Err(format!("a message of {long} bytes is too long")),
    })
}

/// Outputs the explanation of a frame by its number.
#[unsafe(no_mangle)]
pub extern "C" fn explain(n: u64) -> usize {
    answer(|tab, _| {
        let reply = match (&mut tab.file, &tab.inspector) {
            (Some(file), _) => file.explain(n),
            (None, inspector) => inspector.as_ref().ok_or(NO_WELCOME)?.explain(n),
        };
        Ok(reply.into_bytes())
    })
}

/// Outputs the summary line of a frame by its number, in `line`, and the values of its packet, in
/// `values`.
#[unsafe(no_mangle)]
pub extern "C" fn line(n: u64) -> usize {
    answer(|tab, _| {
        let line = match (&mut tab.file, &tab.inspector) {
            (Some(file), _) => file.line(n),
            (None, inspector) => inspector.as_ref().ok_or(NO_WELCOME)?.line(n),
        };
        Ok(line.to_string().into_bytes())
    })
}

/// Explains the given bytes as the next bytes of the connection. The input is
/// `{"from":…,"bytes":HEX}`, see [`Inspector::explain_bytes`].
#[unsafe(no_mangle)]
pub extern "C" fn explain_bytes() -> usize {
    inspect(|inspector, input| inspector.explain_bytes(text(input)?).map(String::into_bytes))
}

/// Encodes a client's frame with changed values, and outputs its bytes. The input is
/// `{"n":…,"set":{…}}`, see [`Inspector::rewrite`].
#[unsafe(no_mangle)]
pub extern "C" fn rewrite() -> usize {
    inspect(|inspector, input| inspector.rewrite(text(input)?).map(String::into_bytes))
}

/// Outputs the bytes by packet and field, counted since the last call.
#[unsafe(no_mangle)]
pub extern "C" fn fields() -> usize {
    inspect(|inspector, _| Ok(inspector.fields().into_bytes()))
}

/// Outputs the retained frames as a pcapng file. The input is a list of
/// `{"id":…,"player":…,"name":…}` for clients.
#[unsafe(no_mangle)]
pub extern "C" fn save() -> usize {
    inspect(|inspector, input| {
        let clients: Vec<Value> = serde_json::from_slice(input).map_err(|error| error.to_string())?;
        let clients = clients.iter().filter_map(|client| {
            let player = client["player"].as_u64().and_then(|player| u16::try_from(player).ok()).unwrap_or(0);
            let name = client["name"].as_str().unwrap_or_default().to_owned();
            Some((client["id"].as_u64()?, ExportedClient { player, name }))
        });
        inspector.save(&clients.collect()).ok_or_else(|| "no handshake was seen".to_owned())
    })
}

fn text(input: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(input).map_err(|error| error.to_string())
}

const NO_WELCOME: &str = "the server's first message is missing";

fn inspect(call: impl FnOnce(&mut Inspector, &[u8]) -> Result<Vec<u8>, String>) -> usize {
    answer(|tab, input| call(tab.inspector.as_mut().ok_or(NO_WELCOME)?, input))
}

/// Calls a function with the input, and outputs its result or `{"error":…}`.
pub fn answer(call: impl FnOnce(&mut Tab, &[u8]) -> Result<Vec<u8>, String>) -> usize {
    with(|buffers| {
        let answered = with_tab(|tab| call(tab, &buffers.input));
        let output = answered.unwrap_or_else(|error| json!({ "error": error }).to_string().into_bytes());
        buffers.put_out(output)
    })
}
