//! Pictures of statuses: uploaded as a part of the attempt, and shown nowhere before the status names them.

use std::time::Duration;

use serde_json::Value;
use ureq::http::header::{AUTHORIZATION, CONTENT_TYPE};

use super::{Id, Mastodon};
use crate::channel::answer::Answer;
use crate::channel::common::{below, refused};
use crate::channel::http::{Fence, Request};
use crate::channel::later::Presence;
use crate::model::media::{Attached, Picture, Prepared, Standing, Wants};
use crate::model::outcome::{Outcome, Refusal, Remote};

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
        let (pictures, notes) = self
            .pictures
            .take_all(&wants.pictures, read, without(wants));
        Prepared {
            pictures,
            notes,
            ..Prepared::default()
        }
    }

    /// Finds the pictures for a change: those that the post shows already are known by their content, in their order.
    ///
    /// Whose pictures a post shows is told by their number alone. If it is not as many as it was posted with, a person has
    /// seen to them, and they stay.
    pub(super) fn find_for_change(
        &mut self,
        wants: &Wants,
        standing: &Standing,
        read: Vec<Result<Vec<u8>, String>>,
    ) -> Prepared {
        let shown = match self.attachments(&standing.target) {
            Presence::Stands(shown) => shown,
            // The change itself will tell.
            Presence::Gone => return Prepared::default(),
            Presence::Unknown(reason) => {
                return Prepared {
                    unread: Some(reason),
                    ..Prepared::default()
                };
            }
        };
        if shown.len() != standing.pictures.len() {
            let note = format!(
                "the pictures of the post stay as they are: it was posted with {} and has {} now, so somebody changed them by hand",
                standing.pictures.len(),
                shown.len()
            );
            return Prepared {
                notes: vec![note],
                ..Prepared::default()
            };
        }
        let mut shown: Vec<Picture> = standing
            .pictures
            .iter()
            .zip(shown)
            .map(|((picture, alt), id)| Picture {
                attached: Some(Attached {
                    id,
                    alt: alt.clone(),
                }),
                ..picture.clone()
            })
            .collect();
        let mut found = Prepared {
            replaces: true,
            ..Prepared::default()
        };
        for (wish, bytes) in wants.pictures.iter().zip(read) {
            let (taken, reason) = match bytes.and_then(|bytes| self.pictures.take(wish, bytes)) {
                Ok(picture) => (Some(picture), None),
                Err(reason) => (None, Some(reason)),
            };
            let stands = shown.iter().position(|stands| match &taken {
                Some(picture) => stands.sha256 == picture.sha256,
                None => stands.source == wish.url,
            });
            let stands = stands.map(|place| shown.remove(place));
            let picture = match (taken, stands) {
                (Some(picture), Some(stands)) => {
                    // It is there: its bytes are not needed.
                    self.pictures.forget(&picture);
                    Some(Picture {
                        attached: stands.attached,
                        ..picture
                    })
                }
                (taken, stands) => taken.or(stands),
            };
            match (picture, reason) {
                (Some(picture), reason) => {
                    found.notes.extend(
                        reason.map(|reason| {
                            format!("a picture of the post stays as it is: {reason}")
                        }),
                    );
                    found.pictures.push(picture);
                }
                // What can't be had takes nothing else away.
                (None, reason) => {
                    let reason = reason.unwrap_or_default();
                    return Prepared {
                        notes: vec![format!(
                            "the pictures of the post stay as they are, `sayonce update` tries again: {reason}"
                        )],
                        ..Prepared::default()
                    };
                }
            }
        }
        found
    }

    /// Returns the ids of the pictures that a post shows, in their order.
    fn attachments(&mut self, target: &Remote) -> Presence<Vec<String>> {
        let id = match self.id_of(target) {
            Ok(id) => id,
            Err(Outcome::NotSent { reason }) => return Presence::Unknown(reason),
            Err(Outcome::Refused { .. } | Outcome::InDoubt { .. } | Outcome::Accepted { .. }) => {
                return Presence::Gone;
            }
        };
        match self.status(&id) {
            Presence::Stands(status) => Presence::Stands(media_ids(&status)),
            Presence::Gone => Presence::Gone,
            Presence::Unknown(reason) => Presence::Unknown(reason),
        }
    }

    /// Returns the ids under which a status is to name these pictures: those that the post does not show yet are uploaded.
    /// Nothing of the status was sent if that fails.
    pub(super) fn attach(
        &mut self,
        pictures: &[(Picture, String)],
        fence: &Fence,
    ) -> Result<Vec<String>, Outcome> {
        let mut ids = Vec::new();
        let mut has_uploaded = false;
        // All pictures together leave time for the status.
        let half = fence.first_half(self.http.clock());
        for (picture, alt) in pictures {
            if let Some(attached) = &picture.attached {
                ids.push(attached.id.clone());
                continue;
            }
            match self.upload(picture, alt, &half) {
                Ok(id) => ids.push(id),
                // Next time it would take as long again.
                Err(Outcome::NotSent { reason })
                    if has_uploaded && !half.is_open(self.http.clock()) =>
                {
                    let reason = format!("its pictures took too long: {reason}");
                    return Err(refused(Refusal::Picture, reason));
                }
                Err(outcome) => return Err(outcome),
            }
            has_uploaded = true;
        }
        Ok(ids)
    }

    /// Uploads one of the claim's pictures, waits until it may be used, and returns its id. Nothing of the status was sent if
    /// that fails.
    fn upload(&mut self, picture: &Picture, alt: &str, fence: &Fence) -> Result<String, Outcome> {
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

const fn without(wants: &Wants) -> &'static str {
    if wants.pictures.len() > 1 {
        "the post is without one of its pictures"
    } else {
        "the post is without a picture"
    }
}

/// Returns the ids of the pictures that a status shows.
pub(super) fn media_ids(status: &Value) -> Vec<String> {
    let media = status.get("media_attachments").and_then(Value::as_array);
    media
        .into_iter()
        .flatten()
        .filter_map(|medium| Some(Id::of(medium.get("id")?)?.text()))
        .collect()
}

/// The server may be stricter about a picture when the status names it.
pub(super) fn for_picture(outcome: Outcome, was_uploaded: bool) -> Outcome {
    match outcome {
        Outcome::Refused {
            refusal: Refusal::Permanent,
            reason,
        } if was_uploaded => refused(Refusal::Picture, reason),
        Outcome::Refused { .. }
        | Outcome::NotSent { .. }
        | Outcome::InDoubt { .. }
        | Outcome::Accepted { .. } => outcome,
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
