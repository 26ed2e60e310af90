//! What a post needs beside its text, and what was found of it before the claim: pictures, the accounts it mentions.

use std::collections::BTreeMap;

use super::outcome::Remote;
use super::post::Post;
use serde_json::{Map, Value, json};

/// The field of a frozen post that names its pictures.
const MEDIA: &str = "media";
/// The field of a picture that tells how the post that is changed shows it.
const ATTACHED: &str = "attached";
/// The field of a frozen change by which the pictures of the post stay as they are.
const MEDIA_STAYS: &str = "media_stays";
/// The field of a frozen post that names what was made before the claim.
const MADE: &str = "prepared";

/// What has to be found before a post can be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// The pictures, in the order in which they are shown.
    pub pictures: Vec<PictureWish>,
    /// Names of accounts, without `@`, in the order of the text.
    pub mentions: Vec<String>,
    /// The post as far as it is written, where the service wants it before it is published.
    pub draft: Option<Post>,
    /// What is known of the post that stands, where that one is changed.
    pub standing: Option<Standing>,
}

/// A post that is changed, as far as its pictures go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Which it is.
    pub target: Remote,
    /// The pictures that it was last claimed with, in their order, each with the text that stands for it.
    pub pictures: Vec<(Picture, String)>,
}

impl Wants {
    /// Whether there is nothing to find.
    pub fn is_empty(&self) -> bool {
        let Self {
            pictures,
            mentions,
            draft,
            standing,
        } = self;
        pictures.is_empty() && mentions.is_empty() && draft.is_none() && standing.is_none()
    }
}

/// A picture that a post is to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PictureWish {
    /// Its absolute address.
    pub url: String,
    /// The SHA-256 that an earlier attempt named, where only the very same bytes will do.
    pub sha256: Option<String>,
}

/// A picture as people are told of it before it is read, and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedPicture {
    /// Its absolute address.
    pub url: String,
    /// The text that stands for it, where the service shows one.
    pub alt: Option<String>,
}

impl PlannedPicture {
    /// Returns the pictures that a frozen post names.
    pub fn all_of(post: &Post) -> Vec<Self> {
        let named = Picture::with_alts(post).into_iter();
        named
            .map(|(picture, alt)| Self {
                url: picture.source,
                alt: Some(alt).filter(|alt| !alt.is_empty()),
            })
            .collect()
    }
}

/// What was found. What is missing is left out of the post.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    /// The pictures as they will be uploaded, in the order of the wishes.
    pub pictures: Vec<Picture>,
    /// The ids (Bluesky: DIDs) of the accounts that exist, by name.
    pub mentions: BTreeMap<String, String>,
    /// The service's id of what was made of the draft and is not published yet.
    pub made: Option<String>,
    /// Of a post that is changed: it is to show these pictures and no others. Otherwise its pictures stay as they are.
    pub replaces: bool,
    /// Why the post that is to be changed could not be read: nothing is claimed before it was.
    pub unread: Option<String>,
    /// What is missing and why, in plain sentences.
    pub notes: Vec<String>,
}

impl Prepared {
    /// Returns the id of what was made before the claim, if a frozen post names one.
    pub fn made_of(post: &Post) -> Option<String> {
        post.string(MADE).map(str::to_owned)
    }

    /// Names what was made in a post's fields.
    pub fn insert_made_into(&self, fields: &mut Map<String, Value>) {
        if let Some(made) = &self.made {
            fields.insert(MADE.to_owned(), Value::from(made.as_str()));
        }
    }
}

/// A picture, named by its content. Its bytes stay with the channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// The address it was read from.
    pub source: String,
    /// Hex digits.
    pub sha256: String,
    /// `image/jpeg`, `image/png`, or `image/webp`.
    pub mime_type: String,
    /// In bytes.
    pub size: u64,
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
    /// Where the post shows it already: how it is known there.
    pub attached: Option<Attached>,
}

/// A picture of a post that stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    /// The service's id.
    pub id: String,
    /// The text that it was posted with.
    pub alt: String,
}

impl Picture {
    /// Returns the pictures that a frozen post names.
    pub fn all_of(post: &Post) -> Vec<Self> {
        let named = Self::with_alts(post).into_iter();
        named.map(|(picture, _alt)| picture).collect()
    }

    /// Returns the pictures that a frozen change puts in the place of those that stand; none: they stay as they are.
    pub fn replacing(post: &Post) -> Option<Vec<(Self, String)>> {
        let fields = post.fields();
        let says_so = fields.contains_key(MEDIA) && !fields.contains_key(MEDIA_STAYS);
        says_so.then(|| Self::with_alts(post))
    }

    /// Returns the pictures that a frozen post names and that go out with it.
    pub fn sent_with(post: &Post) -> Vec<Self> {
        let named = Self::replacing(post).unwrap_or_default().into_iter();
        named.map(|(picture, _alt)| picture).collect()
    }

    /// Says in a change's fields that its post shows no picture any more.
    pub fn insert_none_into(fields: &mut Map<String, Value>) {
        fields.insert(MEDIA.to_owned(), Value::Array(Vec::new()));
    }

    /// Says in a change's fields that the pictures of `shown` stay as they are.
    pub fn keep_in(fields: &mut Map<String, Value>, shown: &Post) {
        if let Some(media) = shown
            .fields()
            .get(MEDIA)
            .filter(|_| !Self::all_of(shown).is_empty())
        {
            fields.insert(MEDIA.to_owned(), media.clone());
            fields.insert(MEDIA_STAYS.to_owned(), Value::Bool(true));
        }
    }

    /// Takes out of a post's fields how the post before it showed its pictures.
    pub fn forget_kept_in(fields: &mut Map<String, Value>) {
        fields.shift_remove(MEDIA_STAYS);
        let media = fields.get_mut(MEDIA).and_then(Value::as_array_mut);
        for media in media.into_iter().flatten() {
            if let Some(media) = media.as_object_mut() {
                media.shift_remove(ATTACHED);
            }
        }
    }

    /// Returns the pictures that a frozen post names, each with the text that stands for it (empty where it has none).
    pub fn with_alts(post: &Post) -> Vec<(Self, String)> {
        let media = post.fields().get(MEDIA).and_then(Value::as_array);
        media.into_iter().flatten().filter_map(Self::read).collect()
    }

    fn read(media: &Value) -> Option<(Self, String)> {
        let text = |field: &str| media.get(field)?.as_str().map(str::to_owned);
        let number = |field: &str| media.get(field)?.as_u64();
        let picture = Self {
            source: text("source")?,
            sha256: text("sha256")?,
            mime_type: text("type")?,
            size: number("size")?,
            width: u32::try_from(number("width")?).ok()?,
            height: u32::try_from(number("height")?).ok()?,
            attached: media.get(ATTACHED).and_then(|attached| {
                let text = |field: &str| attached.get(field)?.as_str().map(str::to_owned);
                Some(Attached {
                    id: text("id")?,
                    alt: text("alt")?,
                })
            }),
        };
        Some((picture, text("alt").unwrap_or_default()))
    }

    /// Names the picture in a post's fields behind those that stand there, with the text that stands for it where the
    /// service shows one.
    pub fn insert_into(&self, fields: &mut Map<String, Value>, alt: Option<&str>) {
        let mut media = json!({
            "source": self.source,
            "sha256": self.sha256,
            "type": self.mime_type,
            "size": self.size,
            "width": self.width,
            "height": self.height,
        });
        if let (Some(alt), Some(media)) = (alt, media.as_object_mut()) {
            media.insert("alt".to_owned(), Value::from(alt));
        }
        if let (Some(attached), Some(media)) = (&self.attached, media.as_object_mut()) {
            let attached = json!({ "id": attached.id, "alt": attached.alt });
            media.insert(ATTACHED.to_owned(), attached);
        }
        let all = fields
            .entry(MEDIA)
            .or_insert_with(|| Value::Array(Vec::new()));
        if let Some(all) = all.as_array_mut() {
            all.push(media);
        }
    }

    /// Returns the content identifier that AT Protocol servers give to exactly these bytes (`CIDv1`, raw, SHA-256).
    pub fn cid(&self) -> String {
        let digits = self.sha256.as_bytes().chunks(2).filter_map(|pair| {
            let text = std::str::from_utf8(pair).ok()?;
            u8::from_str_radix(text, 16).ok()
        });
        let bytes: Vec<u8> = CID_PREFIX.into_iter().chain(digits).collect();
        format!("b{}", base32(&bytes))
    }
}

/// Version 1, raw bytes, SHA-256, 32 bytes long.
const CID_PREFIX: [u8; 4] = [0x01, 0x55, 0x12, 0x20];

/// RFC 4648 in lower case without padding.
fn base32(bytes: &[u8]) -> String {
    const SYMBOLS: [char; 32] = [
        'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p', 'q', 'r',
        's', 't', 'u', 'v', 'w', 'x', 'y', 'z', '2', '3', '4', '5', '6', '7',
    ];
    let mut text = String::new();
    for chunk in bytes.chunks(5) {
        let mut block = [0; 8];
        for (place, byte) in block.iter_mut().skip(3).zip(chunk) {
            *place = *byte;
        }
        let number = u64::from_be_bytes(block);
        let symbols = (chunk.len() * 8).div_ceil(5);
        for index in 0..symbols {
            let digit = usize::try_from(number >> (35 - 5 * index) & 31).unwrap_or_default();
            text.extend(SYMBOLS.get(digit));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::ids::sha256_hex;
    use super::*;

    fn picture(bytes: &[u8]) -> Picture {
        Picture {
            source: "https://blog.example/a.png".to_owned(),
            sha256: sha256_hex(bytes),
            mime_type: "image/png".to_owned(),
            size: u64::try_from(bytes.len()).unwrap(),
            width: 2,
            height: 1,
            attached: None,
        }
    }

    #[test]
    fn content_identifiers_are_those_of_the_protocol() {
        assert_eq!(
            picture(b"").cid(),
            "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"
        );
        assert_eq!(
            picture(b"hello world").cid(),
            "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e"
        );
    }

    #[test]
    fn a_picture_is_read_back_as_it_was_named() {
        let named = picture(b"x");
        let other = picture(b"y");
        let mut fields = Map::new();
        named.insert_into(&mut fields, Some("a cat"));
        other.insert_into(&mut fields, None);
        let post = Post::new(fields);
        assert_eq!(
            Picture::with_alts(&post),
            [
                (named.clone(), "a cat".to_owned()),
                (other.clone(), String::new())
            ]
        );
        assert_eq!(Picture::all_of(&post), [named, other]);
        assert_eq!(Picture::all_of(&Post::new(Map::new())), []);
    }
}
