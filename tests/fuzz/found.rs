//! What fuzzing found and the general checks can't say: each with the words that people see.

use std::collections::BTreeSet;

use sayonce::config::Config;
use sayonce::model::time::Timestamp;
use sayonce::source::{Fetch, load};

/// An index of sitemaps that names a file of this machine.
struct Index;

impl Fetch for Index {
    fn fetch(&self, _url: &str) -> Result<Vec<u8>, String> {
        Ok(b"<sitemapindex><sitemap><loc>../secret.xml</loc></sitemap></sitemapindex>".to_vec())
    }
}

#[test]
fn a_sitemap_index_can_not_name_a_file_of_this_machine() {
    let directory = tempfile::tempdir().unwrap();
    let repo = directory.path().join("repo");
    std::fs::create_dir_all(repo.join("_site")).unwrap();
    let secret = "<urlset><url><loc>https://blog.example/s/</loc></url></urlset>";
    std::fs::write(directory.path().join("secret.xml"), secret).unwrap();
    let configuration = "[site]\nurl = \"https://blog.example\"\npages = \"_site\"\nsitemap = \"https://blog.example/s.xml\"\n[channels.search]\nkind = \"indexnow\"\nkey = \"0123456789abcdef\"\n";
    let config = Config::parse("sayonce.toml".as_ref(), configuration).unwrap();
    let error = load(
        &config.site,
        &BTreeSet::new(),
        &repo,
        Timestamp::EPOCH,
        &Index,
    )
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "`https://blog.example/s.xml` is no sitemap that can be read: it lists `../secret.xml`, which is not an absolute http or https URL"
    );
}

#[test]
fn a_time_beyond_the_years_that_a_row_can_hold_is_the_last_or_first_one() {
    let check = |text: &str| Timestamp::parse(text).unwrap().to_string();
    assert_eq!(
        check("9999-12-31T23:59:59-23:59"),
        "9999-12-31T23:59:59.999Z"
    );
    assert_eq!(
        check("0000-01-01T00:00:00+23:59"),
        "0000-01-01T00:00:00.000Z"
    );
    let far = Timestamp::EPOCH.plus(std::time::Duration::MAX);
    assert_eq!(Timestamp::parse(&far.to_string()), Ok(far));
}
