//! Who posts: what another account shows says nothing, and one account is one channel.

use sayonce::model::delivery::State;

use super::{MASTODON, only_record, run_killed_at_write, told, world};
use crate::simulation::Fault;

#[test]
fn what_another_account_shows_says_nothing_about_a_post() {
    let mut world = world(&[MASTODON], 1);
    world.service("mastodon").order(1, Fault::LostRequest);
    run_killed_at_write(&mut world, "mastodon", 1);
    world.service("mastodon").account = Some("https://mastodon.example/@other".to_owned());
    assert_eq!(
        told(&world.run()),
        [
            "exit 6",
            "a1 on mastodon: in_flight: claimed by a run that ended without a result; the next run looks for it"
        ]
    );
    assert_eq!(only_record(&world).state, State::InFlight);
    assert_eq!(world.service("mastodon").writes(), 1);
}
