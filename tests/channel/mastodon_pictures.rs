//! The time that the pictures of a status may take.

use sayonce::model::media::{PictureWish, Wants};

use super::mastodon::{ACCOUNT, PNG, media, post, service, status, whoami};
use super::server::{Server, json as json_answer};
use super::{TestClock, channel, claim, pushed, tell};

/// Pictures that take their time must not keep the status from ever going out: then the next attempt is without them.
#[test]
fn pictures_leave_time_for_the_status() {
    let mut outcomes = std::collections::BTreeSet::new();
    for step_ms in (100..=2_500).step_by(100) {
        let place = || media(200, "\"https://m.example/22\"");
        let made = json_answer(200, &status("7", "2026-11-29T10:00:01Z"));
        let server = Server::start([whoami(), place(), place(), made]);
        let mut channel = channel(service(&server), TestClock::stepping(step_ms, 1));
        let wish = PictureWish {
            url: "https://blog.example/dot.png".to_owned(),
            sha256: None,
        };
        let wants = Wants {
            pictures: vec![wish.clone(), wish],
            ..Wants::default()
        };
        let found = channel.prepare(&wants, vec![Ok(PNG.to_vec()), Ok(PNG.to_vec())]);
        let mut post = post();
        for picture in &found.pictures {
            picture.insert_into(post.as_object_mut().unwrap(), Some("Dots"));
        }
        let told = tell(&channel.publish(&[pushed(claim(ACCOUNT, &post))]));
        let was_uploaded = server
            .requests()
            .iter()
            .any(|request| request.starts_with("POST /api/v2/media"));
        if was_uploaded {
            let told = told.split(':').next().unwrap_or_default().to_owned();
            outcomes.insert(told);
        }
    }
    assert_eq!(
        outcomes.into_iter().collect::<Vec<_>>(),
        ["accepted by response", "refused for its picture"]
    );
}
