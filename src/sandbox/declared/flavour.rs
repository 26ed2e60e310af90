//! What the common services are known to answer beside what a declaration reads.

use serde_json::{Value, json};

use super::super::message::Reply;

/// Returns what an accepting answer carries, the receipt aside.
pub(super) fn body(preset: Option<&str>, text: &str) -> Value {
    match preset {
        Some("discord") => json!({ "type": 0, "content": text, "channel_id": "1", "embeds": [] }),
        Some("telegram") => json!({ "ok": true, "result": { "text": text } }),
        Some("slack") => json!({ "ok": true, "channel": "C1", "message": { "text": text } }),
        Some("weibo") => json!({ "text": text }),
        Some(_) | None => json!({}),
    }
}

/// Returns what the answer to a deletion carries.
pub(super) fn removed(preset: Option<&str>) -> Value {
    match preset {
        Some("telegram") => json!({ "ok": true, "result": true }),
        Some("slack") => json!({ "ok": true, "channel": "C1" }),
        Some(_) | None => json!({}),
    }
}

/// Returns the status with which a change of what is gone is refused, where no rule names one.
pub(super) fn gone_status(preset: Option<&str>) -> u16 {
    match preset {
        Some("telegram" | "micropub") => 400,
        Some(_) | None => 404,
    }
}

/// Whether an id is the time of its post.
pub(super) fn ids_are_times(preset: Option<&str>) -> bool {
    preset == Some("slack")
}

/// Returns an id as the service writes it.
pub(super) fn id(preset: Option<&str>, id: &str) -> Value {
    match (preset, id.parse::<u64>()) {
        (Some("telegram" | "wordpress"), Ok(number)) => json!(number),
        (_, _) => json!(id),
    }
}

/// Returns the body of a failure.
pub(super) fn error(preset: Option<&str>, status: u16, retry_after: Option<u64>) -> Value {
    match preset {
        Some("discord") if status == 429 => json!({
            "message": "You are being rate limited.",
            "retry_after": retry_after,
            "global": false,
        }),
        Some("discord") => json!({ "message": format!("{status}"), "code": 0 }),
        Some("telegram") => {
            let description = match retry_after {
                Some(seconds) => format!("Too Many Requests: retry after {seconds}"),
                None => format!("Error {status}"),
            };
            json!({ "ok": false, "error_code": status, "description": description })
        }
        Some("weibo") => json!({
            "request": "/2/statuses/share.json",
            "error_code": 10001,
            "error": "system error",
        }),
        Some("linkedin") => json!({ "status": status, "message": "error" }),
        Some("threads") => {
            let code = match status {
                401 | 403 => 190,
                429 => 4,
                500..=599 => 2,
                _ => 100,
            };
            json!({ "error": { "message": "error", "type": "OAuthException", "code": code } })
        }
        Some("ghost") => {
            let sort = match status {
                401 => "UnauthorizedError",
                403 => "NoPermissionError",
                429 => "TooManyRequestsError",
                500..=599 => "InternalServerError",
                _ => "ValidationError",
            };
            json!({ "errors": [{ "message": "Request not understood error.", "type": sort }] })
        }
        Some(_) | None => json!({ "error": format!("{status}") }),
    }
}

/// Returns the refusal of a text that is there already, where the service refuses it.
pub(super) fn repeat(preset: Option<&str>) -> Option<Reply> {
    (preset == Some("weibo")).then(|| {
        Reply::json(
            400,
            &json!({
                "request": "/2/statuses/share.json",
                "error_code": 20019,
                "error": "repeat content!",
            }),
        )
    })
}
