//! Named conditions, and the parser of conditions, which may begin with a name: `wifi,loss=2%`.
//!
//! The parameters describe common connections, not bad days. Rates and round trips come from
//! WebPageTest's connection profiles (`connectivity.ini`) where these have them. Jitter and loss
//! are estimates, because the profiles have none.

use std::str::FromStr;
use std::time::Duration;

use super::conditions::{Conditions, SYNTAX_HINT};
use crate::limits;

/// Conditions with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// The name.
    pub name: &'static str,
    /// A short description for users.
    pub description: &'static str,
    /// The conditions.
    pub conditions: Conditions,
}

const fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

/// All presets, from best to worst.
pub const PRESETS: [Preset; 5] = [
    // Switched Ethernet has a round trip of a millisecond, loses nothing, and is faster than any
    // game needs.
    Preset {
        name: "lan",
        description: "cable in the same building",
        conditions: Conditions { delay: us(500), jitter: us(200), loss_ppm: 0, up: None, down: None },
    },
    // WebPageTest "Cable": 28 ms, 5 and 1 Mbit/s. Wi-Fi waits some milliseconds for a free channel,
    // and resends lost frames itself, so that TCP sees few losses.
    Preset {
        name: "wifi",
        description: "Wi-Fi at home, server in the same country",
        conditions: Conditions {
            delay: us(14_000),
            jitter: us(6_000),
            loss_ppm: 1_000,
            up: Some(125_000),
            down: Some(625_000),
        },
    },
    // WebPageTest "LTE": 70 ms, 12 Mbit/s. A phone must request each transmission and can do so
    // every 10 ms. LTE resends a lost block after 8 ms. TCP sees the remaining losses.
    Preset {
        name: "4g",
        description: "a phone on LTE, standing still",
        conditions: Conditions {
            delay: us(35_000),
            jitter: us(15_000),
            loss_ppm: 5_000,
            up: Some(1_500_000),
            down: Some(1_500_000),
        },
    },
    // Light takes 28 ms through 5,600 km of fibre from London to New York. Cables are longer, and
    // both ends have an access network: a round trip of about 90 ms. Backbones have little jitter
    // and loss.
    Preset {
        name: "transatlantic",
        description: "fixed line, server on the other side of the Atlantic",
        conditions: Conditions {
            delay: us(45_000),
            jitter: us(3_000),
            loss_ppm: 1_000,
            up: None,
            down: None,
        },
    },
    // A phone that changes cells every minute, inside metal: half of the rates of WebPageTest "3G
    // Fast", with a shorter round trip. Not measured: a connection on which a game must still be
    // playable.
    Preset {
        name: "train",
        description: "a phone in a moving train",
        conditions: Conditions {
            delay: us(60_000),
            jitter: us(40_000),
            loss_ppm: 30_000,
            up: Some(50_000),
            down: Some(100_000),
        },
    },
];

/// Finds the preset with this name.
pub fn preset(name: &str) -> Option<Preset> {
    PRESETS.into_iter().find(|preset| preset.name == name)
}

impl FromStr for Conditions {
    type Err = String;

    fn from_str(text: &str) -> Result<Conditions, String> {
        if text.len() > limits::LINK_TEXT_CHARS {
            return Err(format!("{} characters are too many for network conditions", text.len()));
        }
        let mut conditions = Conditions::default();
        for (at, part) in text.split(',').enumerate() {
            match part.split_once('=') {
                Some((name, value)) => conditions.set(name, value)?,
                None if at == 0 => match preset(part) {
                    Some(preset) => conditions = preset.conditions,
                    None => {
                        let names = PRESETS.map(|preset| preset.name).join(", ");
                        return Err(format!(
                            "{part:?}: expected {names}, or conditions such as delay=150ms,loss=2%"
                        ));
                    }
                },
                None => return Err(format!("{part:?}: {SYNTAX_HINT}")),
            }
        }
        conditions.check().map(|()| conditions)
    }
}
