//! The frame list of the selected client, a capture file or a linked frame: rows, filters and
//! explanations. Each instance of the module has one list. A page creates one instance for each
//! list.

use serde_json::{Value, json};
use tickwire::internal::limits;
use tickwire::internal::tools::inspector::capture_file::CaptureFile;
use tickwire::internal::tools::inspector::opening::Opening;
use tickwire::internal::tools::inspector::pasted;
use tickwire::internal::tools::inspector::{FilterError, FrameList, ListRequest};
use tickwire::packet::PacketTables;

use super::inspector::{Tab, answer, with_tab};

/// The active list: the list of the open file, or without a file the list of the inspector.
fn list(tab: &Tab) -> Option<&FrameList> {
    tab.file
        .as_ref()
        .map(CaptureFile::list)
        .or_else(|| tab.inspector.as_ref().and_then(|inspector| inspector.list()))
}

fn with_list(call: impl FnOnce(&FrameList) -> String) -> usize {
    answer(|tab, _| {
        let reply = list(tab).map_or_else(|| "{}".to_owned(), call);
        Ok(reply.into_bytes())
    })
}

/// Allocates `length` bytes for a capture file and returns their address; 0 above
/// [`limits::INSPECTOR_FILE_BYTES`]. Drops the open file.
#[unsafe(no_mangle)]
pub extern "C" fn list_file_input(length: usize) -> *mut u8 {
    with_tab(|tab| {
        if length > limits::INSPECTOR_FILE_BYTES {
            return std::ptr::null_mut();
        }
        (tab.file, tab.opening) = (None, None);
        tab.file_input = vec![0; length];
        tab.file_input.as_mut_ptr()
    })
}

/// Returns the maximum size of a capture file in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn list_max_file_bytes() -> usize {
    limits::INSPECTOR_FILE_BYTES
}

/// Opens the capture file in steps of about `bytes` bytes. Outputs `{"percent":…}` until the file
/// is open. Then outputs the same as `list_file_summary`, and the file becomes the active list.
#[unsafe(no_mangle)]
pub extern "C" fn list_open_file(bytes: usize) -> usize {
    answer(|tab, _| {
        let mut opening = match tab.opening.take() {
            Some(opening) => opening,
            None => Opening::new(std::mem::take(&mut tab.file_input))?,
        };
        let Some(file) = opening.work(bytes)? else {
            let percent = opening.percent();
            tab.opening = Some(opening);
            return Ok(json!({ "percent": percent }).to_string().into_bytes());
        };
        let summary = file.summary_json().to_string();
        tab.file = Some(file);
        Ok(summary.into_bytes())
    })
}

/// Outputs how much of the file was read, and its notes and connections.
#[unsafe(no_mangle)]
pub extern "C" fn list_file_summary() -> usize {
    answer(|tab, _| {
        let file = tab.file.as_ref().ok_or("no file is open")?;
        Ok(file.summary_json().to_string().into_bytes())
    })
}

/// Continues to read and filter, for about `bytes` bytes. Outputs the object of [`count`] with
/// `"more":bool`, and for a file also with `pieces` and `read`.
#[unsafe(no_mangle)]
pub extern "C" fn list_advance(bytes: usize) -> usize {
    answer(|tab, _| {
        let (more, progress) = match (&mut tab.file, &mut tab.inspector) {
            (Some(file), _) => (file.advance(bytes), file.progress()),
            (None, Some(inspector)) => (inspector.advance(bytes), json!({})),
            (None, None) => (false, json!({})),
        };
        let mut reply = list(tab).map_or_else(|| json!({}), FrameList::count);
        reply["more"] = more.into();
        if let (Value::Object(reply), Value::Object(progress)) = (&mut reply, progress) {
            reply.extend(progress);
        }
        Ok(reply.to_string().into_bytes())
    })
}

/// Sets the filter that the input contains: `{"text":…,"from":…,"client":…,"automatic":…}`. Outputs
/// `{}`, or `{"wrong":…,"begin":…,"end":…}` with the range of the error in the text.
#[unsafe(no_mangle)]
pub extern "C" fn filter() -> usize {
    answer(|tab, input| {
        let request: Value = serde_json::from_slice(input).map_err(|error| error.to_string())?;
        let request = match ListRequest::read(&request) {
            Ok(request) => request,
            Err(FilterError { message: sentence, place }) => {
                let reply = json!({ "wrong": sentence, "begin": place.start, "end": place.end });
                return Ok(reply.to_string().into_bytes());
            }
        };
        match (&mut tab.file, &mut tab.inspector) {
            (Some(file), _) => file.filter(&request),
            (None, inspector) => inspector.get_or_insert_default().filter(request),
        }
        Ok(b"{}".to_vec())
    })
}

/// Outputs how many frames there are, and how many are visible. If no frame is visible, `why`
/// contains the reason.
#[unsafe(no_mangle)]
pub extern "C" fn count() -> usize {
    with_list(|list| list.count().to_string())
}

/// Outputs `count` visible entries, starting at index `first`.
#[unsafe(no_mangle)]
pub extern "C" fn rows(first: usize, count: usize) -> usize {
    with_list(|list| json!({ "rows": list.rows(first, count) }).to_string())
}

/// Returns the index of a frame among the visible frames. For a hidden frame, returns `-1 - index`
/// with the index of the next visible frame.
#[unsafe(no_mangle)]
pub extern "C" fn place(n: u64) -> f64 {
    with_tab(|tab| list(tab).map_or(-1.0, |list| list.visible_index(n) as f64))
}

/// Outputs the entry of a frame, visible or not.
#[unsafe(no_mangle)]
pub extern "C" fn entry(n: u64) -> usize {
    with_list(|list| list.entry(n))
}

/// Outputs the updates of a client up to a frame: `{"normal_ms":…,"updates":[[n, at, gap, bytes,
/// ticks],…]}`.
#[unsafe(no_mangle)]
pub extern "C" fn list_timeline(client: u32, until: u64, count: usize) -> usize {
    with_list(|list| list.timeline(client, until, count).to_string())
}

/// Outputs the changes since the previous frame of the same packet.
#[unsafe(no_mangle)]
pub extern "C" fn list_packet_diff(n: u64) -> usize {
    answer(|tab, _| {
        let reply = match (&mut tab.file, &tab.inspector) {
            (Some(file), _) => file.difference(n),
            (None, Some(inspector)) => inspector.difference(n),
            (None, None) => "{}".to_owned(),
        };
        Ok(reply.into_bytes())
    })
}

/// Outputs the URL fragment of a link to a frame, as `{"link":…}`.
#[unsafe(no_mangle)]
pub extern "C" fn link(n: u64) -> usize {
    answer(|tab, _| {
        let link = match (&mut tab.file, &tab.inspector) {
            (Some(file), _) => file.link(n)?,
            (None, inspector) => inspector.as_ref().ok_or("no client is selected")?.link(n)?,
        };
        Ok(json!({ "link": link }).to_string().into_bytes())
    })
}

/// Opens the frame of the link in the input. Outputs `{}`.
#[unsafe(no_mangle)]
pub extern "C" fn list_open_share_link() -> usize {
    answer(|tab, input| {
        let text = std::str::from_utf8(input).map_err(|error| error.to_string())?;
        tab.inspector.get_or_insert_default().open_link(text)?;
        Ok(b"{}".to_vec())
    })
}

/// Reads pasted bytes in any notation. Outputs the fragment of a link to them, and what was
/// recognised: `{"link":…,"note":…}`.
#[unsafe(no_mangle)]
pub extern "C" fn list_read_pasted() -> usize {
    answer(|_, input| {
        let text = std::str::from_utf8(input).map_err(|error| error.to_string())?;
        let pasted = pasted::read(text, PacketTables::builtin_ref())?;
        Ok(json!({ "link": pasted.link, "note": pasted.note }).to_string().into_bytes())
    })
}
