//! Pictures of statuses: uploaded as a part of the attempt, and shown nowhere before the status names them.

use std::time::Duration;

use serde_json::Value;
use ureq::http::header::{AUTHORIZATION, CONTENT_TYPE};

use super::{Id, Mastodon};
use crate::channel::answer::Answer;
use crate::channel::common::{below, refused};
use crate::channel::http::{Fence, Request};
use crate::model::media::{Picture, Prepared, Wants};
use crate::model::outcome::{Outcome, Refusal};

/// What small servers take, too; more is nothing that a timeline shows.
pub(super) const PICTURE_BYTES_MAX: usize = 2_000_000;

/// The most that one request for the picture may take of the time in which the status has to be sent.
const UPLOAD_TIME_MAX: Duration = Duration::from_secs(10);

/// How long to wait before asking again whether a picture is ready.
const POLL_WAIT: Duration = Duration::from_secs(1);

/// How often that is asked: servers that work on pictures later take a few seconds.
const POLLS_MAX: usize = 15;

/// The two places for uploads; older servers have only the second.
const PLACES: [&str; 2] = ["/api/v2/media", "/api/v1/media"];

impl Mastodon {
    /// Makes the pictures fit.
    pub(super) fn find(&mut self, wants: &Wants, read: Vec<Result<Vec<u8>, String>>) -> Prepared {
        let without = if wants.pictures.len() > 1 {
            "the post is without one of its pictures"
        } else {
            "the post is without a picture"
        };
        let (pictures, notes) = self.pictures.take_all(&wants.pictures, read, without);
        Prepared {
            pictures,
            notes,
            ..Prepared::default()
        }
    }

    /// Uploads one of the claim's pictures, waits until it may be used, and returns its id. Nothing of the status was sent if
    /// that fails.
    pub(super) fn upload(
        &mut self,
        picture: &Picture,
        alt: &str,
        fence: &Fence,
    ) -> Result<String, Outcome> {
        let Some(bytes) = self.pictures.bytes(picture) else {
            let reason = "this run does not have the picture that the claim names";
            return Err(refused(Refusal::Picture, reason.to_owned()));
        };
        let form = Form::of(picture, bytes, alt);
        let mut answer = None;
        for place in PLACES {
            let url = below(&self.server, place);
            let request = Request::write_bytes(url, form.body.clone(), fence.clone())
                .header(CONTENT_TYPE, form.media_type.as_str())
                .header(AUTHORIZATION, self.authorization());
            let limit = UPLOAD_TIME_MAX.min(fence.left(self.http.clock()));
            let reply = self.http.send_within(&request, limit);
            let got = reply.of_write().map_err(unsent)?;
            let is_elsewhere = matches!(got.status, 404 | 405 | 410 | 501);
            answer = Some(got);
            if !is_elsewhere {
                break;
            }
        }
        let answer = answer.expect("there are two places");
        let media = answer
            .json()
            .filter(|_| matches!(answer.status, 200..=202))
            .and_then(|media| Id::of(media.get("id")?).map(|id| (id.text(), media)));
        let Some((id, media)) = media else {
            return Err(self.not_taken(&answer));
        };
        // Some servers say 200 and are not done either: then there is no address yet.
        if answer.status == 202 || media.get("url") == Some(&Value::Null) {
            self.wait_for(&id, fence)?;
        }
        Ok(id)
    }

    fn wait_for(&mut self, id: &str, fence: &Fence) -> Result<(), Outcome> {
        for _poll in 0..POLLS_MAX {
            if fence.left(self.http.clock()) < POLL_WAIT {
                break;
            }
            self.http.clock().sleep(POLL_WAIT);
            let answer = self
                .get(&format!("/api/v1/media/{id}"), &[])
                .map_err(|reason| refused(Refusal::Temporary(None), reason))?;
            match answer.status {
                200 => return Ok(()),
                206 => {}
                _ => return Err(self.not_taken(&answer)),
            }
        }
        let reason = "the server was not done with the picture in time".to_owned();
        Err(refused(Refusal::Picture, reason))
    }

    /// What becomes of a post whose picture was answered like this.
    fn not_taken(&self, answer: &Answer) -> Outcome {
        let reason = format!("its picture: {}", self.http.describe(answer));
        match answer.status {
            401 => refused(Refusal::Credentials, reason),
            429 => refused(Refusal::RateLimited(answer.wait()), reason),
            // A missing scope (403) is no reason not to post either.
            _ => refused(Refusal::Picture, reason),
        }
    }
}

/// An upload of which nothing is known did nothing to the status: it was not sent.
fn unsent(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::InDoubt { reason } => refused(Refusal::Picture, format!("its picture: {reason}")),
        Outcome::NotSent { .. } | Outcome::Accepted { .. } | Outcome::Refused { .. } => outcome,
    }
}

/// A form as browsers send it.
struct Form {
    media_type: String,
    body: Vec<u8>,
}

impl Form {
    fn of(picture: &Picture, bytes: &[u8], alt: &str) -> Self {
        // Bytes that hold a part of their own digest are not met by chance. A boundary has at most 70 characters.
        let digits: String = picture.sha256.chars().take(40).collect();
        let boundary = format!("sayonce-{digits}");
        let extension = picture.mime_type.rsplit('/').next().unwrap_or_default();
        let head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"description\"\r\n\
             Content-Type: text/plain; charset=utf-8\r\n\r\n{alt}\r\n\
             --{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"picture.{extension}\"\r\n\
             Content-Type: {}\r\n\r\n",
            picture.mime_type
        );
        let tail = format!("\r\n--{boundary}--\r\n");
        Self {
            media_type: format!("multipart/form-data; boundary={boundary}"),
            body: [head.as_bytes(), bytes, tail.as_bytes()].concat(),
        }
    }
}
