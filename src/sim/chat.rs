//! Chat texts and names, with the limits that every game needs.

use std::sync::Arc;

use crate::similar_names::are_confusable;

/// Texts that a player may send at once.
const BURST: u32 = 4;
/// Seconds after which a player may send another text.
const INTERVAL_S: u32 = 2;

/// Limits how often one player sends a chat text: four at once, then one every 2 s.
///
/// ```
/// use tickwire_sim::chat::ChatLimit;
///
/// let mut limit = ChatLimit::default();
/// assert_eq!(limit.check(" hello\n", 100, 30).as_deref(), Ok("hello"));
/// assert_eq!(limit.check("\t ", 100, 30), Err("empty_text"));
/// for _ in 0..3 {
///     assert!(limit.check("again", 100, 30).is_ok());
/// }
/// assert_eq!(limit.check("again", 100, 30), Err("too_many_texts"));
/// assert!(limit.check("later", 160, 30).is_ok());
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChatLimit {
    /// Tick at which all texts are available again.
    full_at: u32,
}

crate::fields!(ChatLimit: full_at: u32);

impl ChatLimit {
    /// Removes control characters and surrounding spaces from a text, and counts it.
    ///
    /// # Errors
    /// `empty_text` if nothing is left, or `too_many_texts`.
    pub fn check(&mut self, text: &str, tick: u32, tick_hz: u32) -> Result<Arc<str>, &'static str> {
        let text: String = text.chars().filter(|ch| !ch.is_control()).collect();
        let text = text.trim();
        if text.is_empty() {
            return Err("empty_text");
        }
        let interval = INTERVAL_S * tick_hz;
        let full_at = self.full_at.max(tick).saturating_add(interval);
        if full_at - tick > BURST * interval {
            return Err("too_many_texts");
        }
        self.full_at = full_at;
        Ok(text.into())
    }
}

/// Returns a name that no other player has: the wanted one, or the wanted one with a number.
/// Names that [look alike](crate::similar_names) count as equal. The result has at most `max_chars`
/// characters.
///
/// ```
/// use tickwire_sim::chat::unique_name;
///
/// assert_eq!(unique_name("Ann", 15, &["Bob"]), "Ann");
/// assert_eq!(unique_name("Ann", 15, &["ann", "Ann 2"]), "Ann 3");
/// assert_eq!(unique_name("Bob", 15, &["B0B"]), "Bob 2");
/// assert_eq!(unique_name("Bartholomew", 11, &["Bartholomew"]), "Bartholom 2");
/// ```
pub fn unique_name(wanted: &str, max_chars: usize, taken: &[impl AsRef<str>]) -> String {
    let is_free = |name: &str| !taken.iter().any(|taken| are_confusable(taken.as_ref(), name));
    let numbered = |number: usize| {
        let suffix = if number == 1 { String::new() } else { format!(" {number}") };
        let kept = max_chars.saturating_sub(suffix.len());
        wanted.chars().take(kept).collect::<String>().trim_end().to_owned() + &suffix
    };
    // Numbers with equally many digits make different names, so one of these is free.
    (1..=8 * (taken.len() + 1))
        .map(numbered)
        .find(|name| is_free(name))
        .unwrap_or_else(|| numbered(taken.len() + 1))
}
