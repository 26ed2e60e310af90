//! What a Bluesky post needs before its claim and beside its record: the card's picture, and who is mentioned.

use std::time::Duration;

use serde_json::Value;
use ureq::http::header::{AUTHORIZATION, CONTENT_TYPE};

use super::{Bluesky, Login, bearer, xrpc};
use crate::channel::http::{Fence, Request};
use crate::model::media::{Picture, Prepared, Wants};

/// The most that a picture may have, by `app.bsky.embed.external`, and on older servers by `app.bsky.embed.images`.
pub(super) const PICTURE_BYTES_MAX: usize = 1_000_000;

/// The most that the picture's upload may take of the time in which the record has to be sent.
const UPLOAD_TIME_MAX: Duration = Duration::from_secs(10);

/// The most that it may take to find one account.
const RESOLVE_TIME_MAX: Duration = Duration::from_secs(3);

/// Who mentions more waits for each of them; the rest stays plain text.
const MENTIONS_MAX: usize = 10;

impl Bluesky {
    /// Makes the pictures fit, and asks the account's own server who is mentioned.
    pub(super) fn find(&mut self, wants: &Wants, read: Vec<Result<Vec<u8>, String>>) -> Prepared {
        let without = if wants.pictures.len() > 1 {
            "the post is without one of its pictures"
        } else {
            "the card is without a picture"
        };
        let (pictures, notes) = self.pictures.take_all(&wants.pictures, read, without);
        let mut found = Prepared {
            pictures,
            notes,
            ..Prepared::default()
        };
        for (count, name) in wants.mentions.iter().enumerate() {
            let did = if count < MENTIONS_MAX {
                self.did_of(name)
            } else {
                Err(format!("only {MENTIONS_MAX} are looked up"))
            };
            match did {
                Ok(did) => {
                    found.mentions.insert(name.clone(), did);
                }
                Err(reason) => found
                    .notes
                    .push(format!("`@{name}` stays plain text: {reason}")),
            }
        }
        found
    }

    fn did_of(&mut self, name: &str) -> Result<String, String> {
        // A token that was refused takes the login away; the account is where it was.
        let login = self.login.as_ref().map(|login| &login.server);
        let home = self.home.as_ref().map(|home| &home.server);
        let server = login
            .or(home)
            .or(self.whereabouts.service.as_ref())
            .unwrap_or(&self.whereabouts.resolver);
        let mut url = xrpc(server, "com.atproto.identity.resolveHandle");
        url.query_pairs_mut().append_pair("handle", name);
        self.http.begin();
        let answer = self
            .http
            .send_within(&Request::get(url), RESOLVE_TIME_MAX)
            .of_read()?;
        answer
            .json()
            .filter(|_| answer.status == 200)
            .and_then(|found| found.get("did")?.as_str().map(str::to_owned))
            .filter(|did| did.starts_with("did:") && !did.chars().any(char::is_whitespace))
            .ok_or_else(|| self.http.describe(&answer))
    }

    /// Uploads one of the claim's pictures, if this run has it; the server drops what no record names.
    ///
    /// A sentence says what went wrong. The record is sent all the same: the server has the picture of an earlier
    /// attempt, or refuses the record without a trace.
    pub(super) fn upload(
        &mut self,
        picture: &Picture,
        login: &Login,
        fence: Fence,
    ) -> Result<(), String> {
        let bytes = self
            .pictures
            .bytes(picture)
            .ok_or("this run does not have the picture that the claim names")?;
        let url = xrpc(&login.server, "com.atproto.repo.uploadBlob");
        let limit = UPLOAD_TIME_MAX.min(fence.left(self.http.clock()));
        let request = Request::write_bytes(url, bytes.to_vec(), fence)
            .header(CONTENT_TYPE, picture.mime_type.as_str())
            .header(AUTHORIZATION, bearer(&login.token));
        let answer = self.http.send_within(&request, limit).of_read()?;
        let uploaded = answer.json().filter(|_| answer.status == 200);
        let cid = uploaded
            .as_ref()
            .and_then(|uploaded| uploaded.pointer("/blob/ref/$link"))
            .and_then(Value::as_str);
        if cid == Some(&picture.cid()) {
            return Ok(());
        }
        Err(self.http.describe(&answer))
    }
}
