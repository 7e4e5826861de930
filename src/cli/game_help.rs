//! Adds the games of the program to the help of the server's flags.

use clap::Command;
use tickwire_sim::OptionSpec;

use super::game_list::GameList;
use super::serve::MAP_SIZE;
use crate::game::GameInfo;

/// Completes the help of `serve`. Hides flags that none of these games uses.
pub fn with_game_help(command: Command, games: &GameList) -> Command {
    let infos = games.info();
    let texts = [
        ("game", Some(game(&infos))),
        ("tick_hz", Some(tick_hz(&infos))),
        ("foreign_update_hz", foreign(&infos)),
        ("map_size", map_size(&infos)),
    ];
    let has_bots = infos.iter().any(|info| info.has_bot_policy());
    let command = command.mut_arg("bots", |argument| argument.hide(!has_bots));
    texts.into_iter().fold(command, |command, (flag, text)| {
        command.mut_arg(flag, |argument| match text {
            Some(text) => argument.help(text),
            None => argument.hide(true),
        })
    })
}

/// Columns of the help if the terminal has no usable width.
const COLUMNS: usize = 100;
/// Minimum usable number of columns. A terminal without a size reports 0.
const MIN_COLUMNS: usize = 20;

/// Sets the width of the help if the variable `COLUMNS` is too small. Clap reads the variable if
/// the terminal has no size, and would wrap the help even to one column.
pub fn within_columns(command: Command, columns: Option<&str>) -> Command {
    match width(columns) {
        Some(columns) => command.term_width(columns),
        None => command,
    }
}

/// The width to use if the value of `columns` is too small. `None` if clap can use the value.
fn width(columns: Option<&str>) -> Option<usize> {
    let columns: usize = columns?.trim().parse().ok()?;
    (columns < MIN_COLUMNS).then_some(COLUMNS)
}

fn game(games: &[&GameInfo]) -> String {
    let names: Vec<&str> = games.iter().map(|info| info.name).collect();
    let options = games.iter().filter(|info| !info.options.is_empty()).map(|info| {
        let option = |own: &OptionSpec| format!("{} ({})", own.flag, own.unit).replace(" ()", "");
        let options: Vec<String> = info.options.iter().map(option).collect();
        format!("{} of {}", options.join(", "), info.name)
    });
    let options: Vec<String> = options.collect();
    let options =
        if options.is_empty() { String::new() } else { format!(" Options: {}.", options.join("; ")) };
    let first = names.first().copied().unwrap_or_default();
    format!(
        "The game of the default room, and of rooms that name none, one of: {}.{options} Default: {first}",
        names.join(", ")
    )
}

fn tick_hz(games: &[&GameInfo]) -> String {
    let allowed: Vec<_> =
        games.iter().map(|info| format!("{} {}", info.name, info.describe_tick_rates())).collect();
    let usual = games.iter().filter_map(|info| Some(format!("{} {}", info.name, info.tick_rates.first()?)));
    let usual: Vec<String> = usual.collect();
    format!(
        "Ticks per second of the world, as its game allows: {}. Default: {}",
        allowed.join("; "),
        usual.join("; ")
    )
}

fn foreign(games: &[&GameInfo]) -> Option<String> {
    let dialects: Vec<&str> = games.iter().filter_map(|info| info.foreign_dialects).collect();
    let dialects = Some(dialects.join(" and ")).filter(|dialects| !dialects.is_empty())?;
    Some(format!("Updates per second for clients of the {dialects}, at most the tick rate"))
}

fn map_size(games: &[&GameInfo]) -> Option<String> {
    let mut options = games.iter().flat_map(|info| info.options);
    let own = options.find(|option| option.flag == MAP_SIZE)?;
    Some(format!(
        "Length of the {}, in {}, {} to {}. Default: {}",
        own.meaning, own.unit, own.min, own.max, own.default
    ))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::{Cli, GameEntry};
    use crate::games;

    fn help(games: &GameList) -> String {
        with_game_help(Cli::command(), games).term_width(0).render_help().to_string()
    }

    #[test]
    fn the_help_names_every_game_with_its_options_and_rates() {
        let help = help(&GameList::built_in());
        for info in games::INFO {
            let rates = format!("{} {}", info.name, info.describe_tick_rates());
            let options = info.options.iter().map(|option| format!("{} (", option.flag));
            for text in options.chain([info.name.to_owned(), rates]) {
                assert!(help.contains(&text), "{text} is not in:\n{help}");
            }
        }
        for text in ["--map-size", "of the MooMoo dialects", "1440 to 32000. Default: 14400"] {
            assert!(help.contains(text), "{text} is not in:\n{help}");
        }
    }

    #[test]
    fn columns_that_no_screen_has_do_not_narrow_the_help() {
        assert_eq!([Some("0"), Some("19"), Some(" 7 ")].map(width), [Some(COLUMNS); 3]);
        assert_eq!([None, Some("20"), Some("80"), Some("wide"), Some("-1"), Some("")].map(width), [None; 6]);
        let lines = |mut command: Command| command.render_long_help().to_string().lines().count();
        let [narrow, usual] = [Some("0"), None].map(|columns| within_columns(Cli::command(), columns));
        assert_eq!(lines(narrow), lines(usual.term_width(COLUMNS)));
    }

    #[test]
    fn a_program_without_them_does_not_show_the_flags_of_other_games() {
        let tanks = GameEntry::of::<crate::game::Simple<crate::games::tanks::Tanks>>();
        let help = help(&GameList::of(&[tanks]).expect("its tables are good"));
        assert!(help.contains("one of: tanks. Options: round (s) of tanks. Default: tanks"), "{help}");
        assert!(help.contains("tanks 60. Default: tanks 60"), "{help}");
        for other in ["moo", "map-size"] {
            assert!(!help.to_lowercase().contains(other), "{other} is in:\n{help}");
        }
    }
}
