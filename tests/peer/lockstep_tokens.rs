//! Lockstep and tokens: who may follow, and who goes on as the player of a token.

use tickwire::game::CloseReason;
use tickwire::internal::connection::DisconnectReason;
use tickwire::internal::limits;
use tickwire::internal::server::admission::tokens::{Authenticator, PlayAccess, Tokens};
use tickwire::internal::server::room::lockstep::LockstepAccess;

use crate::hall::{Hall, SPECTATOR, Who};

const ANN: &str = "anns-token-0123456789";

/// A room whose world is shown to holders of tokens alone; others may watch.
fn hall() -> Hall {
    let mut hall = Hall::new(LockstepAccess::Token);
    let tokens = Some(Tokens::read(&format!("ann {ANN}\n")).expect("a token file"));
    hall.authenticator = Authenticator::new(PlayAccess { tokens, spectators: true });
    hall
}

fn holder(mode: u8) -> Who {
    Who { mode, token: Some(ANN), ..SPECTATOR }
}

#[test]
fn with_tokens_their_holders_follow_and_neither_spectators_nor_wrong_tokens_do() {
    let wrong = Some("a-wrong-token-of-the-test");
    for (who, why) in [
        (holder(2), None),
        (holder(3), None),
        (SPECTATOR, Some(CloseReason::LockstepOff)),
        (Who { mode: 3, ..SPECTATOR }, Some(CloseReason::LockstepOff)),
        (Who { is_local: true, ..SPECTATOR }, None),
        (Who { token: wrong, ..SPECTATOR }, Some(CloseReason::TokenWrong)),
        (Who { token: wrong, is_local: true, ..SPECTATOR }, Some(CloseReason::TokenWrong)),
    ] {
        let mut hall = hall();
        let at = hall.comes(who);
        hall.ticks(3);
        assert_eq!(hall.ends[at].follower.world().is_some(), why.is_none(), "{who:?}");
        let client = &hall.ends[at].client;
        client.check_deadlines(hall.now + limits::WRONG_TOKEN_DELAY);
        assert_eq!(client.sender.disconnect_reason(), why.map(DisconnectReason::Closed), "{who:?}");
        assert_eq!(hall.counts().followers, u64::from(why.is_none()), "{who:?}");
    }
}

#[test]
fn a_second_connection_with_a_token_takes_the_player_over_and_has_the_world_of_the_room() {
    let mut hall = hall();
    let first = hall.comes(holder(3));
    hall.ticks(7);
    let player = hall.ends[first].follower.player();
    assert!(player.is_some());
    // The first one waits for a snapshot.
    hall.say(first, "state_sync_request", &[]);
    let second = hall.comes(Who { is_json: true, address: 2, ..holder(3) });
    hall.ends[first].client.close_taken_over(hall.now);
    assert_eq!(
        hall.ends[first].client.sender.disconnect_reason(),
        Some(DisconnectReason::Closed(CloseReason::TakenOver))
    );
    hall.ends[first].client.leave_world(hall.now);
    hall.ticks(30);
    assert_eq!(hall.ends[second].follower.player(), player);
    assert_eq!((hall.players().len(), hall.counts().followers), (1, 1));
    hall.agree(&[second]);
}

#[test]
fn a_player_whose_connection_is_lost_comes_back_in_lockstep() {
    let mut hall = hall();
    let watches = hall.comes(holder(2));
    let first = hall.comes(holder(3));
    hall.ticks(7);
    let player = hall.ends[first].follower.player();
    hall.ends[first].client.leave_world(hall.now);
    hall.ticks(5);
    let alone = hall.ends[watches].follower.world().expect("it follows").players().len();
    assert_eq!(alone, 1, "its seat is kept");
    let again = hall.comes(Who { is_json: true, ..holder(3) });
    hall.ticks(40);
    assert_eq!(hall.ends[again].follower.player(), player);
    hall.agree(&[watches, again]);
    assert_eq!(hall.counts().desyncs, 0);
}
