//! What the tests of changes and retractions have in common.

use sayonce::channel::Channel;
use sayonce::model::claim::Claim;
use sayonce::model::delivery::Operation;
use sayonce::model::outcome::Remote;
use serde_json::{Value, json};

use super::{claim, pushed, tell, tell_lookup};

/// A post as its receipt names it.
pub(super) fn remote(id: &str, url: &str) -> Remote {
    Remote {
        id: Some(id.to_owned()),
        url: Some(url.to_owned()),
    }
}

/// A claim that changes `target` to `post`.
pub(super) fn change(account: &str, post: &Value, target: Remote) -> Claim {
    Claim {
        operation: Operation::Update(1),
        target: Some(target),
        ..claim(account, post)
    }
}

/// A claim that takes `target` down.
pub(super) fn removal(account: &str, target: Remote) -> Claim {
    Claim {
        operation: Operation::Retract,
        target: Some(target),
        ..claim(account, &json!({}))
    }
}

/// Sends a claim as the engine does, and says what came of it.
pub(super) fn send(channel: &mut dyn Channel, claim: Claim) -> String {
    let is_removal = claim.operation == Operation::Retract;
    let claim = pushed(claim);
    tell(&if is_removal {
        channel.retract(&claim)
    } else {
        channel.update(&claim)
    })
}

/// Asks whether a claim has had its effect.
pub(super) fn effect(channel: &mut dyn Channel, claim: &Claim) -> String {
    tell_lookup(&channel.effect(claim))
}
