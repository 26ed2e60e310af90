//! Pictures as services take them: still, decodable, and small enough.
//!
//! What is small enough already is passed on byte for byte, so that a later run gets the very same bytes from the
//! site again, whatever version of the encoder it has.

use std::collections::BTreeMap;
use std::io::Cursor;

use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngDecoder;
use image::codecs::webp::WebPDecoder;
use image::imageops::FilterType;
use image::{
    DynamicImage, ExtendedColorType, ImageDecoder as _, ImageError, ImageFormat, ImageReader,
    Limits, Rgb, RgbImage,
};

use crate::model::ids::sha256_hex;
use crate::model::media::{Picture, PictureWish};

/// More pixels in a row are no picture of a blog but an attack on the memory.
const SIDE_MAX: u32 = 12_000;
/// What a decoder may take: a picture of 60 million pixels.
const DECODER_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Longest side and JPEG quality that are tried one after the other until the picture is small enough.
const STEPS: [(u32, u8); 6] = [
    (2_000, 85),
    (1_600, 80),
    (1_200, 80),
    (1_000, 75),
    (800, 70),
    (500, 60),
];

/// The pictures that one channel holds for its claims.
#[derive(Debug)]
pub(crate) struct Pictures {
    size_max: usize,
    held: BTreeMap<String, Vec<u8>>,
    /// How many prepared posts show each of them.
    wanted: BTreeMap<String, usize>,
}

impl Pictures {
    /// Holds pictures of at most `size_max` bytes each.
    pub(crate) fn new(size_max: usize) -> Self {
        Self {
            size_max,
            held: BTreeMap::new(),
            wanted: BTreeMap::new(),
        }
    }

    /// Makes a picture fit and holds it. A sentence says why that can't be done.
    pub(crate) fn take(&mut self, wish: &PictureWish, bytes: Vec<u8>) -> Result<Picture, String> {
        let fitted = fit(bytes, self.size_max)?;
        let sha256 = sha256_hex(&fitted.bytes);
        if wish.sha256.as_ref().is_some_and(|known| *known != sha256) {
            return Err(format!(
                "{} shows another picture than the one that the claim names",
                wish.url
            ));
        }
        let picture = Picture {
            source: wish.url.clone(),
            sha256: sha256.clone(),
            mime_type: fitted.mime_type.to_owned(),
            size: u64::try_from(fitted.bytes.len()).unwrap_or(u64::MAX),
            width: fitted.width,
            height: fitted.height,
            attached: None,
        };
        *self.wanted.entry(sha256.clone()).or_default() += 1;
        self.held.insert(sha256, fitted.bytes);
        Ok(picture)
    }

    /// Makes each picture fit that was read. The sentences say of those that are missing why, behind `without`.
    pub(crate) fn take_all(
        &mut self,
        wishes: &[PictureWish],
        read: Vec<Result<Vec<u8>, String>>,
        without: &str,
    ) -> (Vec<Picture>, Vec<String>) {
        let (mut taken, mut notes) = (Vec::new(), Vec::new());
        for (wish, bytes) in wishes.iter().zip(read) {
            match bytes.and_then(|bytes| self.take(wish, bytes)) {
                Ok(picture) => taken.push(picture),
                Err(reason) => notes.push(format!("{without}: {reason}")),
            }
        }
        (taken, notes)
    }

    /// Returns the bytes of a picture, if this run has them.
    pub(crate) fn bytes(&self, picture: &Picture) -> Option<&[u8]> {
        self.held.get(&picture.sha256).map(Vec::as_slice)
    }

    /// Lets go of a picture that is posted, unless another post that was prepared shows the same one.
    pub(crate) fn forget(&mut self, picture: &Picture) {
        let wanted = self.wanted.entry(picture.sha256.clone()).or_default();
        *wanted = wanted.saturating_sub(1);
        if *wanted == 0 {
            self.wanted.remove(&picture.sha256);
            self.held.remove(&picture.sha256);
        }
    }
}

/// A picture that is small enough.
#[derive(Debug)]
struct Fitted {
    bytes: Vec<u8>,
    mime_type: &'static str,
    width: u32,
    height: u32,
}

fn fit(bytes: Vec<u8>, size_max: usize) -> Result<Fitted, String> {
    let unreadable = |error: ImageError| format!("the picture can't be read: {error}");
    let format = image::guess_format(&bytes)
        .ok()
        .filter(|format| mime_type(*format).is_some())
        .ok_or("the picture is neither PNG, nor JPEG, nor WebP")?;
    if is_animated(&bytes, format).map_err(unreadable)? {
        return Err("the picture is animated".to_owned());
    }
    // Also what is passed on as it is: a broken file would be refused with the whole post.
    let picture = decode(&bytes, format).map_err(unreadable)?;
    let (width, height) = (picture.width(), picture.height());
    if let (true, Some(mime_type)) = (bytes.len() <= size_max, mime_type(format)) {
        return Ok(Fitted {
            bytes,
            mime_type,
            width,
            height,
        });
    }
    let flat = DynamicImage::ImageRgb8(on_white(&picture));
    for (side, quality) in STEPS {
        let smaller = if width.max(height) > side {
            flat.resize(side, side, FilterType::Triangle)
        } else {
            flat.clone()
        };
        let encoded = encode(&smaller, quality).map_err(unreadable)?;
        if encoded.len() <= size_max {
            return Ok(Fitted {
                bytes: encoded,
                mime_type: "image/jpeg",
                width: smaller.width(),
                height: smaller.height(),
            });
        }
    }
    Err(format!(
        "the picture can't be made smaller than {size_max} bytes"
    ))
}

fn mime_type(format: ImageFormat) -> Option<&'static str> {
    [
        (ImageFormat::Png, "image/png"),
        (ImageFormat::Jpeg, "image/jpeg"),
        (ImageFormat::WebP, "image/webp"),
    ]
    .into_iter()
    .find_map(|(known, mime_type)| (known == format).then_some(mime_type))
}

fn is_animated(bytes: &[u8], format: ImageFormat) -> Result<bool, ImageError> {
    if format == ImageFormat::Png {
        return PngDecoder::with_limits(Cursor::new(bytes), limits())?.is_apng();
    }
    Ok(format == ImageFormat::WebP && WebPDecoder::new(Cursor::new(bytes))?.has_animation())
}

fn decode(bytes: &[u8], format: ImageFormat) -> Result<DynamicImage, ImageError> {
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    reader.limits(limits());
    let mut decoder = reader.into_decoder()?;
    // A camera writes how it was held; a picture that is written anew no longer says so.
    let orientation = decoder.orientation()?;
    let mut picture = DynamicImage::from_decoder(decoder)?;
    picture.apply_orientation(orientation);
    Ok(picture)
}

fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.max_image_width = Some(SIDE_MAX);
    limits.max_image_height = Some(SIDE_MAX);
    limits.max_alloc = Some(DECODER_BYTES_MAX);
    limits
}

/// JPEG has no transparency; most pages are white.
fn on_white(picture: &DynamicImage) -> RgbImage {
    let with_alpha = picture.to_rgba8();
    let mut flat = RgbImage::new(with_alpha.width(), with_alpha.height());
    for (place, pixel) in flat.pixels_mut().zip(with_alpha.pixels()) {
        let [red, green, blue, alpha] = pixel.0.map(u32::from);
        let mixed = [red, green, blue].map(|part| {
            let mixed = (part * alpha + 255 * (255 - alpha) + 127) / 255;
            u8::try_from(mixed).unwrap_or(u8::MAX)
        });
        *place = Rgb(mixed);
    }
    flat
}

fn encode(picture: &DynamicImage, quality: u8) -> Result<Vec<u8>, ImageError> {
    let mut bytes = Vec::new();
    let mut encoder = JpegEncoder::new_with_quality(&mut bytes, quality);
    encoder.encode(
        picture.as_bytes(),
        picture.width(),
        picture.height(),
        ExtendedColorType::Rgb8,
    )?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A picture that does not compress: every pixel is a number of its own.
    fn noise(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
        let mut state = 1_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            u8::try_from(state >> 24).unwrap()
        };
        let picture = RgbImage::from_fn(width, height, |_, _| Rgb([next(), next(), next()]));
        let mut bytes = Cursor::new(Vec::new());
        picture.write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
    }

    fn check(bytes: Vec<u8>, size_max: usize) -> Result<(&'static str, u32, u32, bool), String> {
        let given = bytes.clone();
        let fitted = fit(bytes, size_max)?;
        assert!(fitted.bytes.len() <= size_max);
        let untouched = fitted.bytes == given;
        Ok((fitted.mime_type, fitted.width, fitted.height, untouched))
    }

    #[test]
    fn what_is_small_enough_is_passed_on_byte_for_byte() {
        for (format, mime_type) in [
            (ImageFormat::Png, "image/png"),
            (ImageFormat::Jpeg, "image/jpeg"),
            (ImageFormat::WebP, "image/webp"),
        ] {
            let said = check(noise(9, 5, format), 1_000_000);
            assert_eq!(said, Ok((mime_type, 9, 5, true)));
        }
    }

    #[test]
    fn what_is_too_big_becomes_a_smaller_jpeg_the_same_each_time() {
        let big = noise(900, 30, ImageFormat::Png);
        assert_eq!(
            check(big.clone(), 40_000),
            Ok(("image/jpeg", 900, 30, false))
        );
        let (_, width, height, _) = check(big.clone(), 10_000).unwrap();
        assert_eq!((width, height), (500, 17));
        assert_eq!(
            fit(big.clone(), 10_000).unwrap().bytes,
            fit(big.clone(), 10_000).unwrap().bytes
        );
        assert_eq!(
            check(big, 100),
            Err("the picture can't be made smaller than 100 bytes".to_owned())
        );
    }

    #[test]
    fn what_is_see_through_becomes_white() {
        let clear = DynamicImage::new_rgba8(1, 1);
        assert_eq!(on_white(&clear).get_pixel(0, 0), &Rgb([255, 255, 255]));
    }

    #[test]
    fn what_is_no_still_picture_is_left_out() {
        let check = |bytes: &[u8]| check(bytes.to_vec(), 1_000_000).unwrap_err();
        let neither = "the picture is neither PNG, nor JPEG, nor WebP";
        assert_eq!(check(b"<html>not found</html>"), neither);
        assert_eq!(check(b"<svg xmlns='http://www.w3.org/2000/svg'/>"), neither);
        assert_eq!(check(b"GIF89a\x01\0\x01\0\0\0\0;"), neither);
        assert_eq!(check(b""), neither);
        let whole = noise(9, 5, ImageFormat::Png);
        let (cut, _) = whole.split_at(whole.len() - 30);
        assert!(check(cut).starts_with("the picture can't be read: "));
        // The chunk that makes a PNG an animation stands before its data.
        let (head, rest) = whole.split_at(33);
        let mut chunk = b"acTL\0\0\0\x02\0\0\0\0".to_vec();
        let crc = crc32(&chunk);
        chunk.splice(0..0, 8_u32.to_be_bytes());
        chunk.extend(crc.to_be_bytes());
        let animated = [head, &chunk, rest].concat();
        assert_eq!(check(&animated), "the picture is animated");
        // A head that claims more pixels than any machine has memory for.
        let mut ihdr = b"IHDR".to_vec();
        ihdr.extend(60_000_u32.to_be_bytes());
        ihdr.extend(60_000_u32.to_be_bytes());
        ihdr.extend([8, 2, 0, 0, 0]);
        let crc = crc32(&ihdr).to_be_bytes();
        let bomb = [b"\x89PNG\r\n\x1a\n\0\0\0\x0d".as_slice(), &ihdr, &crc, rest].concat();
        assert!(check(&bomb).starts_with("the picture can't be read: "));
    }

    fn crc32(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(u32::MAX, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
                if crc & 1 == 1 {
                    crc >> 1 ^ 0xedb8_8320
                } else {
                    crc >> 1
                }
            })
        })
    }

    #[test]
    fn another_picture_than_the_claim_names_is_not_taken() {
        let mut pictures = Pictures::new(1_000_000);
        let bytes = noise(3, 3, ImageFormat::Png);
        let mut wish = PictureWish {
            url: "https://blog.example/a.png".to_owned(),
            sha256: None,
        };
        let picture = pictures.take(&wish, bytes.clone()).unwrap();
        assert_eq!(pictures.bytes(&picture), Some(bytes.as_slice()));
        wish.sha256 = Some(picture.sha256.clone());
        assert_eq!(pictures.take(&wish, bytes), Ok(picture.clone()));
        let said = pictures.take(&wish, noise(4, 3, ImageFormat::Png));
        assert_eq!(
            said,
            Err(
                "https://blog.example/a.png shows another picture than the one that the claim names"
                    .to_owned()
            )
        );
        // Two posts were prepared with it.
        pictures.forget(&picture);
        assert!(pictures.bytes(&picture).is_some());
        pictures.forget(&picture);
        assert_eq!(pictures.bytes(&picture), None);
    }
}
