//! Network conditions on the command line: `netem` and `between`.

use std::time::Duration;

use clap::Args;

use crate::util::netem::{self, Conditions, PRESETS, Preset};

/// Options of simulated network conditions.
#[derive(Debug, Args)]
pub struct ConditionArgs {
    /// Named conditions: lan, wifi, 4g, transatlantic or train. The other options override their
    /// values.
    #[arg(long, value_name = "NAME", env = "TICKWIRE_NETEM_PRESET", value_parser = preset)]
    pub preset: Option<Preset>,
    /// Average delay of bytes in each direction, such as 150ms.
    #[arg(long, value_name = "TIME", env = "TICKWIRE_NETEM_DELAY", value_parser = netem::parse_time)]
    delay: Option<Duration>,
    /// Maximum deviation of each segment's delay from the average, such as 30ms; at most the delay.
    #[arg(long, value_name = "TIME", env = "TICKWIRE_NETEM_JITTER", value_parser = netem::parse_time)]
    jitter: Option<Duration>,
    /// Share of segments that are lost, such as 2%. A loss delays everything after it until the
    /// segment is retransmitted.
    #[arg(long, value_name = "PERCENT", env = "TICKWIRE_NETEM_LOSS", value_parser = netem::parse_loss)]
    loss: Option<u32>,
    /// Bytes or bits per second in each direction, for each connection, such as 250kB or 2Mbit; or
    /// none.
    #[arg(long, value_name = "RATE", env = "TICKWIRE_NETEM_RATE", value_parser = rate)]
    rate: Option<RateArg>,
    /// Like --rate, from clients to the server only.
    #[arg(long, value_name = "RATE", env = "TICKWIRE_NETEM_RATE_UP", value_parser = rate)]
    rate_up: Option<RateArg>,
    /// Like --rate, from the server to clients only.
    #[arg(long, value_name = "RATE", env = "TICKWIRE_NETEM_RATE_DOWN", value_parser = rate)]
    rate_down: Option<RateArg>,
    /// Seed of the losses and of the delays within the jitter.
    #[arg(long, value_name = "NUMBER", default_value = "1", env = "TICKWIRE_NETEM_SEED")]
    pub seed: u64,
}

/// Bytes per second; `None` for no limit.
#[derive(Debug, Clone, Copy)]
struct RateArg(Option<u64>);

fn rate(text: &str) -> Result<RateArg, String> {
    netem::parse_rate(text).map(RateArg)
}

fn preset(name: &str) -> Result<Preset, String> {
    let names = || PRESETS.map(|preset| preset.name).join(", ");
    netem::preset(name).ok_or_else(|| format!("expected one of {}", names()))
}

impl ConditionArgs {
    /// The conditions of the preset, with the values of the other options.
    ///
    /// # Errors
    /// The option and the rule that it breaks.
    pub fn conditions(&self) -> Result<Conditions, String> {
        let mut conditions = self.preset.map(|preset| preset.conditions).unwrap_or_default();
        conditions.delay = self.delay.unwrap_or(conditions.delay);
        conditions.jitter = self.jitter.unwrap_or(conditions.jitter);
        conditions.loss_ppm = self.loss.unwrap_or(conditions.loss_ppm);
        conditions.up = self.rate_up.or(self.rate).map_or(conditions.up, |rate| rate.0);
        conditions.down = self.rate_down.or(self.rate).map_or(conditions.down, |rate| rate.0);
        conditions.check().map(|()| conditions).map_err(|rule| format!("--{rule}"))
    }
}
