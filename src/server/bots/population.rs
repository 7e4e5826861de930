//! The number of bots in a room.

/// The occupancy of a room without its bots, which determines the number of its bots.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Whether the room is the default room.
    pub is_default: bool,
    /// Connected clients, spectators included.
    pub clients: usize,
    /// Clients that have a player.
    pub players: usize,
    /// Suspended players, whose clients may resume.
    pub suspended: usize,
    /// The maximum number of players in the room, if its game has one.
    pub max_players: Option<usize>,
}

impl Occupancy {
    /// Returns the number of bots of a room that is filled up to `fill` players.
    ///
    /// The default room has bots from the start. Other rooms have bots only while a client is
    /// connected, so that an unused room still sleeps and ends. In a room with a maximum number of
    /// players, each client, and at least one, has a free place.
    pub fn bots(&self, fill: usize) -> usize {
        if !self.is_default && self.clients == 0 {
            return 0;
        }
        let reserved = (self.clients + self.suspended).max(1);
        let free = self.max_players.map_or(usize::MAX, |max| max.saturating_sub(reserved));
        fill.saturating_sub(self.players + self.suspended).min(free)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A default room with this number of playing clients.
    fn playing(players: usize) -> Occupancy {
        Occupancy { is_default: true, clients: players, players, ..Occupancy::default() }
    }

    #[test]
    fn bots_and_people_together_fill_the_room() {
        let bots: Vec<usize> = [0, 1, 3, 11, 12, 13].map(|people| playing(people).bots(12)).to_vec();
        assert_eq!(bots, [12, 11, 9, 1, 0, 0]);
        assert_eq!(playing(0).bots(0), 0, "--bots 0");
    }

    #[test]
    fn a_spectator_takes_no_bots_place_and_a_suspended_player_does() {
        assert_eq!(Occupancy { players: 1, ..playing(5) }.bots(12), 11);
        assert_eq!(Occupancy { suspended: 2, ..playing(1) }.bots(12), 9);
    }

    #[test]
    fn a_named_room_has_bots_only_while_a_client_is_connected() {
        let room = |clients| Occupancy { is_default: false, clients, ..Occupancy::default() };
        assert_eq!([0, 1, 2].map(|clients| room(clients).bots(12)), [0, 12, 12]);
        assert_eq!(Occupancy { suspended: 1, ..room(0) }.bots(12), 0, "the room may sleep");
    }

    #[test]
    fn a_room_with_a_maximum_has_a_free_place_for_each_client() {
        let room =
            |clients, players| Occupancy { players, max_players: Some(4), ..playing(clients) }.bots(12);
        assert_eq!(room(0, 0), 3, "one place is free for the first person");
        assert_eq!(room(1, 0), 3, "which a client on the title page has");
        assert_eq!(room(1, 1), 3);
        assert_eq!(room(2, 1), 2);
        assert_eq!([room(4, 4), room(5, 4)], [0, 0]);
        let pong = Occupancy { max_players: Some(2), ..playing(1) };
        assert_eq!(pong.bots(12), 1, "an opponent");
    }
}
