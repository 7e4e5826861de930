//! Bots of a server: `--bots`.

use clap::Args;

use super::output::CliError;
use super::value_parsers::parse_number;
use crate::game::GameInfo;
use crate::limits;

/// The option of `serve` for its bots.
#[derive(Debug, Args)]
pub struct BotArgs {
    /// Number of players up to which bots fill the default room, and other rooms while a client is
    /// connected. Bots leave as people come. Only games with a bot policy have bots. 0: no bots.
    /// Default: 12; 0 with --self-check, which would check each bot.
    #[arg(long, value_name = "COUNT", env = "TICKWIRE_BOTS", value_parser = parse_bots)]
    bots: Option<u32>,
}

fn parse_bots(text: &str) -> Result<u32, String> {
    let rule = "0 for no bots; `tickwire bots --count COUNT URL` runs more";
    parse_number(text, 0, limits::BOTS as u32).map_err(|problem| format!("{problem}: {rule}"))
}

impl BotArgs {
    /// Returns the number of players up to which bots fill a room.
    ///
    /// # Errors
    /// Bots are requested, and none of these games of rooms has a bot policy.
    pub fn count<'a>(
        &self,
        is_self_checked: bool,
        mut games: impl Iterator<Item = &'a GameInfo> + Clone,
    ) -> Result<usize, CliError> {
        let has_policy = games.clone().any(GameInfo::has_bot_policy);
        match self.bots {
            None if is_self_checked || !has_policy => Ok(0),
            None => Ok(limits::BOTS_DEFAULT),
            Some(count) if count > 0 && !has_policy => {
                let game = games.next().map_or("", |info| info.name);
                Err(format!(
                    "--bots {count}: the game {game} has no bots that play it; \
                     give it a bot policy, or leave the flag out"
                ))
            }
            Some(count) => Ok(count as usize),
        }
    }
}

/// Returns a line for the banner; empty without bots.
pub fn line(count: usize) -> String {
    match count {
        0 => String::new(),
        _ => format!("  bots play until {count} people do; --bots 0 for none\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::games;

    fn count(bots: Option<u32>, is_self_checked: bool) -> Result<usize, CliError> {
        BotArgs { bots }.count(is_self_checked, games::INFO.iter().copied())
    }

    #[test]
    fn the_default_is_a_dozen_without_a_self_check() {
        assert!(games::INFO.iter().all(|info| info.has_bot_policy()), "of each game of this project");
        assert_eq!(count(None, false), Ok(12));
        assert_eq!(count(None, true), Ok(0));
        assert_eq!([count(Some(3), true), count(Some(0), false)], [Ok(3), Ok(0)]);
    }

    #[test]
    fn a_game_without_a_bot_policy_has_no_bots() {
        let none = || std::iter::empty::<&GameInfo>();
        assert_eq!(BotArgs { bots: None }.count(false, none()), Ok(0));
        assert_eq!(BotArgs { bots: Some(0) }.count(false, none()), Ok(0));
        let problem = BotArgs { bots: Some(3) }.count(false, none()).expect_err("no game");
        assert!(problem.starts_with("--bots 3: the game "), "{problem}");
    }

    #[test]
    fn a_value_is_refused_with_the_rule_and_the_remedy() {
        assert_eq!([parse_bots("0"), parse_bots("40")], [Ok(0), Ok(40)]);
        for text in ["41", "-1", "many", ""] {
            let problem = parse_bots(text).expect_err(text);
            let rule =
                "must be a whole number from 0 to 40: 0 for no bots; `tickwire bots --count COUNT URL`";
            assert!(problem.starts_with(rule), "{problem}");
        }
    }
}
