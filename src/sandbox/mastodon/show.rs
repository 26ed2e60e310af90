//! Statuses, the account and the server, as the API shows them.

use serde_json::{Value, json};

use super::media::Attachment;
use super::{ACCOUNT_ID, CHARACTERS_MAX, LINK_LENGTH, Mastodon, Status, VERSION, html};

impl Mastodon {
    pub(super) fn show(&self, status: &Status) -> Value {
        self.show_mended(status, &[])
    }

    /// Shows a status whose pictures have other descriptions from now on.
    pub(super) fn show_mended(&self, status: &Status, mended: &[Attachment]) -> Value {
        let fields = &status.fields;
        let host = self.identity.public_host();
        let url = self.status_url(status.id);
        let media: Vec<Value> = fields
            .media
            .iter()
            .filter_map(|id| {
                let other = mended.iter().find(|attachment| attachment.id == *id);
                Some(self.show_media(other.or_else(|| self.media.get(id))?))
            })
            .collect();
        json!({
            "id": status.id.to_string(),
            "created_at": status.created_at.to_string(),
            "in_reply_to_id": fields.in_reply_to.map(|id| id.to_string()),
            "in_reply_to_account_id": fields.in_reply_to.map(|_| ACCOUNT_ID),
            "sensitive": fields.sensitive || !fields.spoiler_text.is_empty(),
            "spoiler_text": fields.spoiler_text,
            "visibility": fields.visibility,
            "language": fields.language,
            "uri": format!("https://{host}/users/blog/statuses/{}", status.id),
            "url": url,
            "replies_count": 0,
            "reblogs_count": 0,
            "favourites_count": 0,
            "edited_at": status.edited_at,
            "favourited": false,
            "reblogged": false,
            "muted": false,
            "bookmarked": false,
            "pinned": false,
            "content": html::content(&fields.text, &host),
            "filtered": [],
            "reblog": null,
            "application": { "name": "rehearsal", "website": null },
            "account": self.account(),
            "media_attachments": media,
            "mentions": [],
            "tags": html::tags(&fields.text, &host),
            "emojis": [],
            "card": null,
            "poll": null
        })
    }

    pub(super) fn status_url(&self, id: u64) -> String {
        format!("https://{}/@blog/{id}", self.identity.public_host())
    }

    pub(super) fn account(&self) -> Value {
        let host = self.identity.public_host();
        let picture = format!("https://{host}/avatars/original/missing.png");
        let newest = self.statuses.values().next_back();
        json!({
            "id": ACCOUNT_ID,
            "username": "blog",
            "acct": "blog",
            "display_name": "Rehearsal",
            "locked": false,
            "bot": false,
            "discoverable": true,
            "indexable": false,
            "group": false,
            "created_at": "2022-11-16T00:00:00.000Z",
            "note": "",
            "url": format!("https://{host}/@blog"),
            "uri": format!("https://{host}/users/blog"),
            "avatar": picture,
            "avatar_static": picture,
            "header": picture,
            "header_static": picture,
            "followers_count": 0,
            "following_count": 0,
            "statuses_count": self.statuses.len(),
            "last_status_at": newest.map(|status| status.created_at.to_chrono().date_naive().to_string()),
            "hide_collections": null,
            "emojis": [],
            "fields": []
        })
    }

    pub(super) fn credential_account(&self) -> Value {
        let mut account = self.account();
        if let Value::Object(fields) = &mut account {
            fields.insert(
                "source".to_owned(),
                json!({
                    "privacy": "public", "sensitive": false, "language": null, "note": "",
                    "fields": [], "follow_requests_count": 0
                }),
            );
            fields.insert(
                "role".to_owned(),
                json!({ "id": "-99", "name": "", "permissions": "65536", "color": "", "highlighted": false }),
            );
        }
        account
    }

    pub(super) fn instance_v1(&self) -> Value {
        let host = self.identity.public_host();
        json!({
            "uri": host,
            "title": "Rehearsal",
            "short_description": "",
            "description": "",
            "email": "",
            "version": VERSION,
            "urls": { "streaming_api": format!("wss://{host}") },
            "stats": { "user_count": 1, "status_count": self.statuses.len(), "domain_count": 1 },
            "thumbnail": null,
            "languages": ["en"],
            "registrations": false,
            "approval_required": false,
            "invites_enabled": false,
            "configuration": configuration(),
            "contact_account": null,
            "rules": []
        })
    }

    pub(super) fn instance_v2(&self) -> Value {
        json!({
            "domain": self.identity.public_host(),
            "title": "Rehearsal",
            "version": VERSION,
            "source_url": "https://github.com/mastodon/mastodon",
            "description": "",
            "usage": { "users": { "active_month": 1 } },
            "thumbnail": { "url": "" },
            "languages": ["en"],
            "configuration": configuration(),
            "registrations": { "enabled": false, "approval_required": false, "message": null },
            "api_versions": { "mastodon": 7 },
            "contact": { "email": "", "account": null },
            "rules": []
        })
    }
}

/// Returns a status as its author wrote it.
pub(super) fn source(status: &Status) -> Value {
    json!({
        "id": status.id.to_string(),
        "text": status.fields.text,
        "spoiler_text": status.fields.spoiler_text
    })
}

fn configuration() -> Value {
    json!({
        "accounts": { "max_featured_tags": 10, "max_pinned_statuses": 5 },
        "statuses": {
            "max_characters": CHARACTERS_MAX,
            "max_media_attachments": 4,
            "characters_reserved_per_url": LINK_LENGTH
        },
        "media_attachments": {
            "description_limit": 1500,
            "image_matrix_limit": 33_177_600,
            "image_size_limit": 16_777_216,
            "supported_mime_types": ["image/jpeg", "image/png", "image/gif", "image/webp"],
            "video_frame_rate_limit": 120,
            "video_matrix_limit": 8_294_400,
            "video_size_limit": 103_809_024
        },
        "polls": {
            "max_options": 4,
            "max_characters_per_option": 50,
            "min_expiration": 300,
            "max_expiration": 2_629_746
        }
    })
}
