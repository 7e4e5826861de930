//! Tests of the state file in a temporary directory: refusal, renaming, replacement, writing
//! elsewhere.

use super::*;

/// A directory that is removed at the end.
struct Home(PathBuf);

impl Home {
    fn new(name: &str) -> Home {
        let home = std::env::temp_dir().join(format!("tickwire-keep-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&home);
        fs::create_dir(&home).expect("a new directory");
        Home(home)
    }

    fn file(&self) -> PathBuf {
        self.0.join("worlds.kept")
    }

    fn open(&self) -> Result<StateFile, String> {
        StateFile::open(Some(&self.file()))
    }

    /// The names of the files in the directory.
    fn names(&self) -> Vec<String> {
        let entries =
            fs::read_dir(&self.0).expect("a directory").map(|entry| entry.expect("a file").file_name());
        let mut names: Vec<_> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn worlds(names: &[&str]) -> Vec<(String, SavedRoom)> {
    let saved = |name: &str| SavedRoom { state: format!("world of {name}").into_bytes(), keys: Vec::new() };
    names.iter().map(|name| ((*name).to_owned(), saved(name))).collect()
}

fn worlds_in(file: &Path) -> Vec<String> {
    let rooms = saved_rooms::read(&fs::read(file).expect("a file")).expect("worlds");
    rooms.into_iter().map(|(name, _)| name).collect()
}

/// Runs a server that stops cleanly with these worlds.
fn run(home: &Home, names: &[&str]) {
    let mut keep = home.open().expect("it starts");
    keep.begin().expect("it runs");
    keep.rooms.clear();
    keep.write((worlds(names), Vec::new()), &[]).expect("it stops");
}

#[test]
fn what_could_not_be_written_at_the_end_is_refused_at_the_start() {
    let home = Home::new("refused");
    fs::write(home.0.join("notes.txt"), "TW is not the mark").expect("written");
    fs::create_dir(home.0.join("directory")).expect("created");
    fs::write(home.0.join("film.part"), "half a film").expect("written");
    for (path, rule) in [
        ("film", "film.part is another program's file"),
        ("none/worlds.kept", "no such directory; create it first"),
        ("notes.txt/worlds.kept", "cannot be written"),
        ("notes.txt", "is not a file of saved worlds, and would be overwritten"),
        ("directory", "is not a regular file"),
    ] {
        let refused = StateFile::open(Some(&home.0.join(path))).expect_err(path);
        assert!(refused.starts_with("--state-file ") && refused.contains(rule), "{path}: {refused}");
    }
    assert_eq!(fs::read(home.0.join("notes.txt")).expect("it is there"), b"TW is not the mark");
    assert_eq!(
        home.names(),
        ["directory", "film.part", "notes.txt"],
        "nothing is left of a server that does not start"
    );
    assert!(StateFile::open(None).expect("without --state-file").place.is_none());
}

#[test]
fn one_server_at_a_time_uses_a_file() {
    let home = Home::new("locked");
    let first = home.open().expect("it is free");
    let refused = home.open().expect_err("it is in use");
    assert!(refused.contains("another server uses this file"), "{refused}");
    drop(first);
    run(&home, &[""]);
    let again = home.open().expect("it is free again");
    assert_eq!(again.rooms, worlds(&[""]));
    assert!(home.open().is_err());
}

#[test]
fn a_damaged_file_or_one_of_another_version_is_set_aside() {
    let home = Home::new("damaged");
    for (number, bytes) in [&b"TWK2\x05ab"[..], b"TWK1 of another version"].into_iter().enumerate() {
        fs::write(home.file(), bytes).expect("written");
        let mut keep = home.open().expect("it starts");
        assert!(
            keep.reports.iter().any(|(is_bad, report)| *is_bad && report.contains("start over")),
            "{:?}",
            keep.reports
        );
        keep.begin().expect("it runs");
        keep.write((worlds(&[""]), Vec::new()), &[]).expect("it stops");
        let aside = home.0.join(["worlds.kept.damaged", "worlds.kept.damaged.1"][number]);
        assert_eq!(fs::read(aside).expect("set aside"), bytes);
        assert_eq!(worlds_in(&home.file()), [""]);
    }
}

#[test]
fn worlds_of_the_last_stop_do_not_come_back_after_a_run_that_was_killed() {
    let home = Home::new("killed");
    run(&home, &["", "one"]);
    assert_eq!(home.names(), ["worlds.kept"]);
    let unused = home.open().expect("it starts");
    drop(unused);
    assert_eq!(worlds_in(&home.file()), ["", "one"], "a server that does not run leaves the file");
    let mut killed = home.open().expect("it starts");
    assert_eq!(killed.rooms.len(), 2);
    killed.begin().expect("it runs");
    drop(killed);
    let mut next = home.open().expect("it starts");
    assert!(next.rooms.is_empty());
    let [(true, report)] = &next.reports[..] else { panic!("{:?}", next.reports) };
    assert!(report.contains("did not stop cleanly") && report.contains("worlds.kept.outdated"), "{report}");
    next.begin().expect("it runs");
    next.write((worlds(&["two"]), Vec::new()), &[]).expect("it stops");
    assert_eq!(home.names(), ["worlds.kept", "worlds.kept.outdated"], "what was set aside stays");
    run(&home, &["three"]);
    assert_eq!(home.names(), ["worlds.kept", "worlds.kept.outdated"]);
    assert_eq!(worlds_in(&home.0.join("worlds.kept.outdated")), ["", "one"]);
}

#[test]
fn worlds_that_the_file_cannot_store_go_elsewhere_and_the_failure_names_the_place() {
    let (home, other) = (Home::new("lost"), Home::new("other"));
    let directories = [home.0.clone(), other.0.join("none"), other.0.clone()];
    let mut keep = home.open().expect("it starts");
    keep.begin().expect("it runs");
    fs::remove_dir_all(&home.0).expect("the directory is gone");
    let report = keep.write((worlds(&["", "two"]), Vec::new()), &directories).expect_err("it cannot");
    let [name] = &other.names()[..] else { panic!("{:?}", other.names()) };
    let file = other.0.join(name);
    assert_eq!(worlds_in(&file), ["", "two"]);
    assert!(report.contains(&format!("the worlds are in {}", file.display())), "{report}");
    fs::create_dir(&home.0).expect("it is back");
    let mut keep = home.open().expect("it starts");
    keep.begin().expect("it runs");
    fs::remove_dir_all(&home.0).expect("the directory is gone");
    let report = keep.write((worlds(&[""]), Vec::new()), &directories[..2]).expect_err("it cannot");
    assert!(report.ends_with("they are lost"), "{report}");
}

#[test]
fn worlds_without_a_room_stay_in_the_file_and_late_rooms_are_a_failure() {
    let home = Home::new("others");
    run(&home, &["", "one", "two"]);
    let mut keep = home.open().expect("it starts");
    keep.rooms.retain(|(name, _)| name != "one");
    keep.begin().expect("it runs");
    let late = vec!["room one".to_owned()];
    let report = keep.write((worlds(&[""]), late), &[]).expect_err("one is missing");
    assert!(
        report.contains("in time and are not in it: room one; their worlds of the last stop"),
        "{report}"
    );
    assert_eq!(worlds_in(&home.file()), ["", "two"]);
    assert_eq!(worlds_in(&home.0.join("worlds.kept.outdated")), ["", "one", "two"]);
}

#[test]
fn finished_worlds_that_could_not_be_renamed_go_on_at_the_next_start() {
    let home = Home::new("part");
    run(&home, &["old"]);
    let mut keep = home.open().expect("it starts");
    keep.begin().expect("it runs");
    keep.rooms.clear();
    fs::create_dir(home.file()).expect("in the way");
    let report = keep.write((worlds(&["new"]), Vec::new()), &[]).expect_err("in the way");
    assert!(report.contains("the worlds are in") && report.contains("worlds.kept.part"), "{report}");
    fs::remove_dir(home.file()).expect("out of the way");
    let keep = home.open().expect("it starts");
    assert_eq!(keep.rooms, worlds(&["new"]));
    drop(keep);
    let bytes = saved_rooms::write(&worlds(&["half"]));
    fs::write(with_suffix(&home.file(), PART), [&[0; 4][..], &bytes[4..]].concat()).expect("written");
    assert_eq!(home.open().expect("it starts").rooms, worlds(&["new"]), "without a mark it is unfinished");
}
