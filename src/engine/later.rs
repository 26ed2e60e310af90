//! What a later write of a delivery carries: a change shows what the article says now under the ids and times of the post
//! that stands, a retraction names it.

use crate::config::ChannelConfig;
use crate::model::delivery::Operation;
use crate::model::post::Post;
use crate::model::row::DeliveryId;
use crate::model::time::Timestamp;
use crate::plan::decide::Again;
use crate::render::Stamp;
use crate::render::change::compose_change;

use super::core::Core;

impl Core {
    /// Returns what a change shows, or which post a retraction is about, and the edition that it belongs to.
    pub(super) fn later_post(
        &mut self,
        now: Timestamp,
        channel: &ChannelConfig,
        id: &DeliveryId,
        operation: Operation,
        again: Again,
    ) -> Result<(Post, u32), String> {
        let entropy = self.entropy.bits();
        let row = self
            .outbox
            .row(id)
            .ok_or_else(|| "it was never announced".to_owned())?;
        let edition = row.publish().map_or(1, |record| record.edition);
        let claimed = row.operations.get(&operation);
        let claimed = claimed.and_then(|record| record.claim.as_ref());
        let claimed = claimed.map(|claim| claim.post.clone());
        let frozen = again == Again::Frozen || operation == Operation::Retract;
        if let Some(post) = claimed.clone().filter(|_| frozen) {
            return Ok((post, edition));
        }
        let shown = row.shown().cloned();
        if operation == Operation::Retract {
            let post = shown.unwrap_or_else(|| Post::new(serde_json::Map::new()));
            return Ok((post, edition));
        }
        let item = self
            .survey
            .as_ref()
            .and_then(|survey| survey.items.get(&id.item));
        let Some(item) = item else {
            return claimed
                .map(|post| (post, edition))
                .ok_or_else(|| "its article is not listed any more".to_owned());
        };
        let stamp = shown
            .as_ref()
            .map_or(Stamp::Fresh { now, entropy }, Stamp::Of);
        let limits = self.limits(channel.name());
        let prepared = self.prepared_for(id);
        compose_change(item, channel, limits, stamp, shown.as_ref(), &prepared)
            .map(|rendered| (rendered.post, edition))
            .map_err(|error| error.about(item, channel.name()))
    }
}
