//! Posts with pictures on a real PDS: what stands there is read back, record and bytes.

use std::io::Cursor;

use image::{ImageFormat, RgbImage};
use serde_json::{Value, json};

use super::blog::{Blog, one_article};
use super::bluesky::{LOGIN, PUT, blog, posts};
use super::client::Call;
use super::relay::{Order, Relay};
use super::servers::{Pds, PdsAccount};

const UPLOAD: &str = "com.atproto.repo.uploadBlob";

/// The most that the lexicon allows for a card's picture.
const BYTES_MAX: usize = 1_000_000;

/// A picture that no format makes small.
fn noise(width: u32, height: u32) -> Vec<u8> {
    let mut state = 1_u32;
    let picture = RgbImage::from_fn(width, height, |_, _| {
        let mut byte = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        };
        image::Rgb([byte(), byte(), byte()])
    });
    let mut bytes = Cursor::new(Vec::new());
    picture.write_to(&mut bytes, ImageFormat::Png).unwrap();
    bytes.into_inner()
}

/// A blog with built pages.
fn blog_with_pages(url: &str, account: &PdsAccount, articles: &[Value]) -> Blog {
    let blog = blog(url, account);
    blog.configure(
        "manifest = \"items.json\"",
        "manifest = \"items.json\"\npages = \"_site\"",
    );
    blog.write_articles(articles);
    blog
}

/// A page that names its picture, as generators write it.
fn write_page(blog: &Blog, name: &str, picture: &[u8]) {
    let page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><title>{name}</title>\n\
         <link rel=\"canonical\" href=\"https://blog.example/{name}/\">\n\
         <meta property=\"og:image\" content=\"https://blog.example/{name}/cover.png\"></head></html>\n"
    );
    blog.write_built(&format!("{name}/index.html"), page.as_bytes());
    blog.write_built(&format!("{name}/cover.png"), picture);
}

/// The bytes of a blob as anybody gets them, held against what the record says of them.
#[track_caller]
fn read_back(pds: &Pds, account: &PdsAccount, blob: &Value) -> Vec<u8> {
    assert_eq!(blob["$type"], "blob", "{blob}");
    let url = format!(
        "{}/xrpc/com.atproto.sync.getBlob?did={}&cid={}",
        pds.url(),
        account.did,
        blob["ref"]["$link"].as_str().unwrap()
    );
    let answer = Call::get(url).send();
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(blob["size"], answer.bytes.len());
    assert_eq!(blob["mimeType"], answer.media_type.as_str());
    assert!(answer.bytes.len() <= BYTES_MAX, "{blob}");
    answer.bytes
}

fn size_of(bytes: &[u8]) -> (ImageFormat, u32, u32) {
    let picture = image::load_from_memory(bytes).unwrap();
    let format = image::guess_format(bytes).unwrap();
    (format, picture.width(), picture.height())
}

/// The embed of the account's only post, which is what the row says was sent.
#[track_caller]
fn embed(pds: &Pds, account: &PdsAccount, blog: &Blog, name: &str) -> Value {
    let posts = posts(pds, account);
    let of_article: Vec<_> = posts
        .iter()
        .filter(|post| {
            post["value"]["text"]
                .as_str()
                .unwrap()
                .contains(&format!("/{name}/"))
        })
        .collect();
    assert_eq!(of_article.len(), 1, "{posts:#?}");
    let record = &of_article[0]["value"];
    assert_eq!(*record, blog.sent(name)["record"]);
    record["embed"].clone()
}

#[test]
fn a_card_shows_the_pages_picture_made_small_enough() {
    let Some(pds) = Pds::shared() else { return };
    let account = pds.account("job-card");
    let relay = Relay::before(pds.url());
    let blog = blog_with_pages(
        &relay.url(),
        &account,
        &[one_article("small"), one_article("large")],
    );
    let (small, large) = (noise(40, 20), noise(700, 600));
    assert!(large.len() > BYTES_MAX);
    write_page(&blog, "small", &small);
    write_page(&blog, "large", &large);
    let ran = blog.run();
    ran.assert_code(0);
    assert_eq!(
        ran.deliveries(),
        "large there done response 1\nsmall there done response 1\n"
    );
    assert_eq!((relay.count(UPLOAD), relay.count(LOGIN)), (2, 1));

    // What is small enough is there byte for byte.
    let card = embed(pds, &account, &blog, "small");
    let thumb = &card["external"]["thumb"];
    assert_eq!(card["$type"], "app.bsky.embed.external");
    assert_eq!(card["external"]["uri"], "https://blog.example/small/");
    assert_eq!(thumb["mimeType"], "image/png");
    assert_eq!(read_back(pds, &account, thumb), small);

    let card = embed(pds, &account, &blog, "large");
    let thumb = &card["external"]["thumb"];
    assert_eq!(thumb["mimeType"], "image/jpeg");
    let bytes = read_back(pds, &account, thumb);
    assert_eq!(size_of(&bytes), (ImageFormat::Jpeg, 700, 600));
}

#[test]
fn a_post_shows_two_pictures_with_their_texts_and_shapes() {
    let Some(pds) = Pds::shared() else { return };
    let account = pds.account("job-album");
    let mut article = one_article("album");
    article["sayonce"] = json!({ "there": { "images": [
        { "path": "/one.png", "alt": "Ein Käse 🧀, \"quer\"" },
        { "path": "/two.png", "alt": "Noise" },
    ] } });
    let blog = blog_with_pages(pds.url(), &account, &[article]);
    blog.write_built("one.png", &noise(30, 20));
    blog.write_built("two.png", &noise(600, 700));
    let ran = blog.run();
    ran.assert_code(0);
    assert_eq!(ran.deliveries(), "album there done response 1\n");

    let album = embed(pds, &account, &blog, "album");
    assert_eq!(album["$type"], "app.bsky.embed.images");
    let [one, two] = album["images"].as_array().unwrap().as_slice() else {
        panic!("{album}");
    };
    assert_eq!(one["alt"], "Ein Käse 🧀, \"quer\"");
    assert_eq!(one["aspectRatio"], json!({ "width": 30, "height": 20 }));
    assert_eq!(read_back(pds, &account, &one["image"]), noise(30, 20));
    assert_eq!(two["alt"], "Noise");
    assert_eq!(two["aspectRatio"], json!({ "width": 600, "height": 700 }));
    let bytes = read_back(pds, &account, &two["image"]);
    assert_eq!(size_of(&bytes), (ImageFormat::Jpeg, 600, 700));
}

/// The picture is there, and nothing names it: the next run sends the same record.
#[test]
fn a_run_that_is_killed_between_the_picture_and_the_record_leaves_one_post() {
    let Some(pds) = Pds::shared() else { return };
    let account = pds.account("job-uploads");
    let relay = Relay::before(pds.url());
    let blog = blog_with_pages(&relay.url(), &account, &[one_article("killed")]);
    // The claim is left alone until its request can't take effect any more.
    blog.configure(
        "interval = \"0s\"",
        "interval = \"0s\"\nsend_window = \"4s\"\ntimeout = \"4s\"",
    );
    write_page(&blog, "killed", &noise(40, 20));
    relay.order(UPLOAD, Order::Swallow);
    let running = blog.start();
    relay.until_done();
    blog.kill(running);
    assert_eq!((relay.count(PUT), posts(pds, &account).len()), (0, 0));
    let claimed = blog.row("killed")["operations"]["publish"].clone();
    assert_eq!(claimed["state"], "in_flight");

    let ran = blog.run();
    ran.assert_code(0);
    assert_eq!(ran.deliveries(), "killed there done response 2\n");
    assert_eq!((relay.count(UPLOAD), relay.count(PUT)), (2, 1));
    let card = embed(pds, &account, &blog, "killed");
    assert_eq!(
        read_back(pds, &account, &card["external"]["thumb"]),
        noise(40, 20)
    );
    assert_eq!(blog.sent("killed"), claimed["post"]);
}

/// A record that names a picture which the server does not have is refused, and nothing of it is done.
#[test]
fn a_post_whose_picture_is_refused_goes_without_and_says_so() {
    let Some(pds) = Pds::shared() else { return };
    let account = pds.account("job-refused");
    let relay = Relay::before(pds.url());
    let blog = blog_with_pages(&relay.url(), &account, &[one_article("refused")]);
    write_page(&blog, "refused", &noise(40, 20));
    relay.order(UPLOAD, Order::Drop);
    let ran = blog.run();
    ran.assert_code(0);
    assert_eq!(ran.deliveries(), "refused there done response 2\n");
    let said =
        "its picture was not taken, so it goes without: HTTP 400: {\"error\":\"BlobNotFound\"";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    assert_eq!((relay.count(UPLOAD), relay.count(PUT)), (1, 2));
    let card = embed(pds, &account, &blog, "refused");
    assert_eq!(card["external"]["uri"], "https://blog.example/refused/");
    assert_eq!(card["external"].get("thumb"), None);
}
