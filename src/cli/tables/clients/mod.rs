//! Prints a client in another language: one file with the packets of a dialect as classes, after a
//! part that is the same for all tables: the files in `runtime/`.
//!
//! Each packet is a class in `ToServer` or `ToClient`, such as `CommandAccepted`. The members of a
//! map, a tuple or a group are a class in the class of their packet, such as `RunnersRecord`. A
//! name that the language or the file reserves is followed by `_`.

mod csharp;
mod gdscript;
mod python;
mod source;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod velocity_tests;

use crate::packet::Dialect;

/// A language that a client is printed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the languages")]
pub enum Language {
    Python,
    Csharp,
    Gdscript,
}

impl Language {
    /// The language of a `--format`. Returns `None` for the other formats.
    pub fn from_format(format: &str) -> Option<Language> {
        match format {
            "python" => Some(Language::Python),
            "csharp" => Some(Language::Csharp),
            "gdscript" => Some(Language::Gdscript),
            _ => None,
        }
    }
}

/// Prints the client of one dialect.
pub fn print(dialect: &Dialect, language: Language) -> String {
    match language {
        Language::Python => python::print(dialect),
        Language::Csharp => csharp::print(dialect),
        Language::Gdscript => gdscript::print(dialect),
    }
}
