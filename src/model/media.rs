//! What a post needs beside its text, and what was found of it before the claim: pictures, the accounts it mentions.

use std::collections::BTreeMap;

use super::post::Post;
use serde_json::{Map, Value, json};

/// The field of a frozen post that names its pictures.
const MEDIA: &str = "media";
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
}

impl Wants {
    /// Whether there is nothing to find.
    pub fn is_empty(&self) -> bool {
        self.pictures.is_empty() && self.mentions.is_empty() && self.draft.is_none()
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
}

impl Picture {
    /// Returns the pictures that a frozen post names.
    pub fn all_of(post: &Post) -> Vec<Self> {
        let named = Self::with_alts(post).into_iter();
        named.map(|(picture, _alt)| picture).collect()
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
