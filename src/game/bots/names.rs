//! Names of bots that play with people: short given names from many languages.
//!
//! The names are ASCII and have at most 7 letters, so that they fit the name argument of every
//! dialect.

use super::rng::BotRng;

/// The names. No two of them look alike.
pub const NAMES: [&str; 40] = [
    "Ada", "Aiko", "Amara", "Anouk", "Bela", "Bruno", "Carmen", "Chidi", "Dara", "Dilan", "Elif", "Enzo",
    "Farah", "Finn", "Greta", "Hana", "Hugo", "Ines", "Ivo", "Jamal", "Jun", "Kaia", "Kofi", "Lena", "Luca",
    "Maya", "Mateo", "Nadia", "Nils", "Oskar", "Priya", "Quinn", "Rosa", "Sami", "Tariq", "Uma", "Viktor",
    "Wanda", "Yusuf", "Zoe",
];

/// Whether a bot may have this name.
pub fn is_listed(name: &str) -> bool {
    NAMES.contains(&name)
}

/// Chooses a name at random that nothing has taken. `None` if all names are taken.
pub fn choose(random: &mut BotRng, is_taken: impl Fn(&str) -> bool) -> Option<&'static str> {
    let free: Vec<&'static str> = NAMES.into_iter().filter(|name| !is_taken(name)).collect();
    random.choose(&free).copied()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_short_and_differ_also_without_case() {
        let different: BTreeSet<String> = NAMES.iter().map(|name| name.to_lowercase()).collect();
        assert_eq!(different.len(), NAMES.len());
        for name in NAMES {
            assert!(name.len() <= 7 && name.bytes().all(|byte| byte.is_ascii_alphabetic()), "{name}");
        }
    }

    #[test]
    fn each_bot_gets_a_name_that_is_free_until_none_is_left() {
        let (mut random, mut taken) = (BotRng::new(7), BTreeSet::new());
        while let Some(name) = choose(&mut random, |name| taken.contains(name)) {
            assert!(taken.insert(name) && is_listed(name), "{name}");
        }
        assert_eq!(taken.len(), NAMES.len());
        assert!(!is_listed("bot 1") && !is_listed("ada"));
    }

    #[test]
    fn seeds_choose_different_names() {
        let first = |seed| choose(&mut BotRng::new(seed), |_| false);
        let chosen: BTreeSet<_> = (0..20).map(first).collect();
        assert!(chosen.len() > 5, "{chosen:?}");
    }
}
