use sayonce::channel::registry::build;
use sayonce::config::ServiceConfig;
use sayonce::environment::Environment;
use url::Url;

use super::{TestClock, channel_config, site};

#[test]
fn a_missing_secret_names_the_channel_and_the_variable() {
    let config = channel_config(ServiceConfig::Devto {
        server: Url::parse("https://dev.to").unwrap(),
        api_key_env: "DEVTO_API_KEY".to_owned(),
        published: true,
        organization_id: None,
    });
    let environment = Environment::of([("DEVTO_API_KEY", " "), ("OTHER", "x")]);
    let missing = build(&config, &site(), &environment, TestClock::still())
        .err()
        .unwrap();
    assert_eq!(
        missing.to_string(),
        "channel `devto`: the environment variable DEVTO_API_KEY is not set"
    );
    assert_eq!(
        missing.hint(),
        "set DEVTO_API_KEY to the secret itself: locally with `export`, in GitHub Actions from the repository's secrets with `env:`"
    );
}
