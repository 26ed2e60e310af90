//! What single channels ask of an article beside its text.

use super::{channel, item, show};

#[test]
fn an_address_outside_the_directory_of_its_key_is_refused_before_the_claim() {
    let check = |location: &str| {
        let channel = channel("indexnow", &format!("key_location = \"{location}\""));
        show(&item("Hello"), &channel)
    };
    for location in [
        "https://blog.example/k.txt",
        "https://blog.example/news/k.txt",
    ] {
        assert!(!check(location).starts_with("refused"));
    }
    for location in [
        "https://blog.example/new/k.txt",
        "https://blog.example/news/hello/more/k.txt",
    ] {
        assert_eq!(
            check(location),
            "refused: the article's address `https://blog.example/news/hello/` is outside the directory of `key_location`, and a key is good for its own directory only"
        );
    }
}
