//! Player tokens in a cluster: each process with the same file accepts them, also through a relay, and a token has one
//! player per room in all processes.

use tickwire::client::blocking_client::BlockingClient;
use tickwire::internal::games;

use super::fixture::{NO_REDIS, Redis};
use super::serve;
use crate::journal::Directory;
use crate::program::Program;
use crate::support::PATIENCE;

const ANN: &str = "anns-token-0123456789";

/// Plays in a room with a token. Returns the client, and its player or the reason of the close.
fn play(process: &Program, token: &str) -> (BlockingClient, Result<u16, String>) {
    let url = format!("ws://{}/r/room-1/play?token={token}", process.address).parse().expect("a URL");
    let dialect = games::built_in_tables().dialect("native").expect("the dialect");
    let mut client: BlockingClient = BlockingClient::connect(&url, None, dialect).expect("the upgrade");
    client.send("hello", &[1.into(), 1.into(), "Ann".into(), 2.into()]).expect("sent");
    while let Ok(Some(packet)) = client.receive(PATIENCE) {
        if packet.name == "spawned" {
            let player = packet.number("player").expect("a number");
            return (client, Ok(player));
        }
    }
    let reason = client.close_reason().expect("a close frame").to_owned();
    (client, Err(reason))
}

#[test]
fn a_token_is_accepted_by_each_process_and_has_one_player_per_room_in_all() {
    let Some(redis) = Redis::start(None) else { return println!("{NO_REDIS}") };
    let directory = Directory::new("cluster-tokens");
    let start = |tokens: &str| {
        let mut command = serve(&directory.0, redis.address(), &[]);
        Program::start(command.env("TICKWIRE_TOKENS", tokens))
    };
    let file = format!("ann {ANN}");
    let (owner, other, outdated) = (start(&file), start(&file), start("bob bobs-token-0123456789"));
    let (mut first, player) = play(&owner, ANN);
    let player = player.expect("a player");
    let (mut second, again) = play(&other, ANN);
    assert_eq!(again, Ok(player), "the token's player, through a relay");
    while first.receive(PATIENCE).is_ok_and(|packet| packet.is_some()) {}
    assert_eq!(first.close_reason(), Some("1008 taken_over"));
    // Only the owner of the room compares the token of a relayed client.
    assert_eq!(play(&outdated, "bobs-token-0123456789").1, Err("1008 token_wrong".to_owned()));
    assert_eq!(play(&outdated, ANN).1, Ok(player));
    while second.receive(PATIENCE).is_ok_and(|packet| packet.is_some()) {}
    assert_eq!(second.close_reason(), Some("1008 taken_over"));
}
