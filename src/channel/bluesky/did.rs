//! DIDs and their documents: where each is, and which server it names.

use serde_json::Value;
use url::{Host, Url};

use crate::channel::common::below;
use crate::channel::http::{is_loopback, may_be_public};

/// Longest DID that is believed, by the protocol.
const DID_LENGTH_MAX: usize = 2_048;

/// The letters and digits of a `did:plc` after its prefix.
const PLC_LENGTH: usize = 24;

/// What strangers may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Servers on the public net.
    Public,
    /// Also servers of this machine: the whole network is on it.
    ThisMachine,
}

/// Returns where an account's own site names its DID; none if the identifier is a DID.
pub(super) fn well_known(handle: &str) -> Option<Url> {
    if handle.starts_with("did:") {
        return None;
    }
    let secure = Url::parse(&format!("https://{handle}/.well-known/atproto-did")).ok()?;
    Some(over_http_here(secure))
}

/// This machine's servers have no certificates.
fn over_http_here(mut url: Url) -> Url {
    if is_loopback(&url) {
        url.set_scheme("http").expect("both schemes are of the web");
    }
    url
}

/// Whether a text has the form of a DID, of whatever method.
pub(super) fn is_did(text: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"._:%-".contains(&byte);
    text.len() <= DID_LENGTH_MAX
        && text
            .strip_prefix("did:")
            .and_then(|rest| rest.split_once(':'))
            .is_some_and(|(method, id)| {
                !id.is_empty()
                    && !method.is_empty()
                    && method.bytes().all(|byte| byte.is_ascii_lowercase())
                    && id.bytes().all(legal)
            })
}

/// Returns where the document of a DID is; a sentence says why there can be none.
pub(super) fn document_url(did: &str, directory: &Url, reach: Reach) -> Result<Url, String> {
    if let Some(id) = did.strip_prefix("did:plc:") {
        let legal = |byte: u8| byte.is_ascii_lowercase() || (b'2'..=b'7').contains(&byte);
        if id.len() == PLC_LENGTH && id.bytes().all(legal) {
            return Ok(below(directory, &format!("/{did}")));
        }
        return Err(format!(
            "{did} is no DID: 24 of a-z and 2-7 follow `did:plc:`"
        ));
    }
    let Some(id) = did.strip_prefix("did:web:") else {
        return Err(format!(
            "{did} is a DID of a method that accounts don't have"
        ));
    };
    // A path would stand behind further colons, which accounts' DIDs don't have. A port has its own as `%3A`.
    let (host, port) = match id.split_once("%3A") {
        Some((host, port)) => (host, Some(port)),
        None => (id, None),
    };
    let refused =
        || format!("{did} is no DID of an account: a host's name alone follows `did:web:`");
    let is_name = |host: &str| {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || b".-".contains(&byte);
        !host.is_empty() && host.bytes().all(legal)
    };
    if !is_name(host) || port.is_some_and(|port| port.parse::<u16>().is_err()) {
        return Err(refused());
    }
    let port = port.map_or_else(String::new, |port| format!(":{port}"));
    let url = Url::parse(&format!("https://{host}{port}/.well-known/did.json"))
        .map_err(|_malformed| refused())?;
    if is_loopback(&url) {
        return match reach {
            Reach::ThisMachine => Ok(over_http_here(url)),
            Reach::Public => Err(format!("{did} names this machine")),
        };
    }
    let is_domain = matches!(url.host(), Some(Host::Domain(_)));
    if port.is_empty() && is_domain && may_be_public(&url) {
        return Ok(url);
    }
    Err(refused())
}

/// Reads the server off a DID's document; a sentence says what is wrong with the document.
pub(super) fn server_of(
    document: &Value,
    did: &str,
    handle: Option<&str>,
    reach: Reach,
) -> Result<Url, String> {
    let text =
        |value: &Value, field: &str| value.get(field).and_then(Value::as_str).map(str::to_owned);
    let list = |field: &str| {
        document
            .get(field)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    if text(document, "id").as_deref() != Some(did) {
        return Err(format!("the document of {did} is another's"));
    }
    // Anybody may point a handle of their own to somebody else's account; only the account can name its handle.
    let names = |handle: &str| {
        list("alsoKnownAs")
            .filter_map(Value::as_str)
            .filter_map(|name| name.strip_prefix("at://"))
            .any(|name| name.eq_ignore_ascii_case(handle))
    };
    if let Some(handle) = handle.filter(|handle| !names(handle)) {
        return Err(format!(
            "the handle `{handle}` leads to {did}, but that account does not have this handle: set it there as the account's handle, or write the DID as `handle`"
        ));
    }
    // Both `#atproto_pds` and `did:plc:…#atproto_pds` are met.
    let whole_id = format!("{did}#atproto_pds");
    let endpoint = list("service")
        .filter(|entry| {
            let id = text(entry, "id").unwrap_or_default();
            id == "#atproto_pds" || id == whole_id
        })
        .find(|entry| text(entry, "type").as_deref() == Some("AtprotoPersonalDataServer"))
        .and_then(|entry| text(entry, "serviceEndpoint"))
        .ok_or_else(|| format!("the document of {did} names no server of the account"))?;
    let refused = |why: &str| {
        format!(
            "the document of {did} names the server `{endpoint}`, {why}; `service` may name the right one"
        )
    };
    let mut server = Url::parse(&endpoint)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
        .ok_or_else(|| refused("which is no address"))?;
    if !server.username().is_empty() || server.password().is_some() {
        return Err(refused("which has a user name in it"));
    }
    if is_loopback(&server) {
        if reach != Reach::ThisMachine {
            return Err(refused("which is this machine"));
        }
    } else if server.scheme() != "https" {
        return Err(refused("which is not https"));
    } else if !may_be_public(&server) {
        return Err(refused("which is not on the public net"));
    }
    // An origin: its paths are the protocol's.
    server.set_path("/");
    server.set_query(None);
    server.set_fragment(None);
    Ok(server)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};
    use serde_json::json;

    use super::*;

    const DID: &str = "did:plc:sr5mvwooquzbasmceq2ksxfe";

    fn entry(id: &str, kind: &str, endpoint: &str) -> Value {
        json!({ "id": id, "type": kind, "serviceEndpoint": endpoint })
    }

    fn pds(endpoint: &str) -> Value {
        entry("#atproto_pds", "AtprotoPersonalDataServer", endpoint)
    }

    fn document(services: &[Value]) -> Value {
        json!({
            "@context": ["https://www.w3.org/ns/did/v1"],
            "id": DID,
            "alsoKnownAs": ["https://blog.example", "at://Blog.example"],
            "service": services,
        })
    }

    fn told(read: Result<Url, String>) -> String {
        read.map_or_else(|reason| reason, |url| url.to_string())
    }

    fn read_in(document: &Value, reach: Reach) -> String {
        told(server_of(document, DID, Some("blog.example"), reach))
    }

    fn read(document: &Value) -> String {
        read_in(document, Reach::Public)
    }

    #[test]
    fn the_server_is_the_first_of_its_id_and_type() {
        let check = |services: &[Value]| read(&document(services));
        let right = "https://pds.example/";
        let other = || entry("#other", "Other", "https://other.example");
        let labeler = || {
            entry(
                "#atproto_labeler",
                "AtprotoLabeler",
                "https://labels.example",
            )
        };
        assert_eq!(check(&[pds("https://pds.example")]), right);
        assert_eq!(
            check(&[other(), labeler(), pds("https://pds.example/")]),
            right
        );
        assert_eq!(
            check(&[pds("https://pds.example"), pds("https://second.example")]),
            right
        );
        let kind = "AtprotoPersonalDataServer";
        let whole = entry(&format!("{DID}#atproto_pds"), kind, "https://pds.example");
        assert_eq!(check(&[whole]), right);
        // Only the origin counts.
        assert_eq!(check(&[pds("https://PDS.example:443/a/b?c=d#e")]), right);
        assert_eq!(
            check(&[pds("https://pds.example:8443")]),
            "https://pds.example:8443/"
        );
        let none = format!("the document of {DID} names no server of the account");
        let foreign = "did:plc:zzzzzzzzzzzzzzzzzzzzzzzz#atproto_pds";
        for services in [
            vec![],
            vec![other(), labeler()],
            vec![entry("#atproto_pds", "Other", "https://pds.example")],
            vec![entry(foreign, kind, "https://pds.example")],
            vec![entry("atproto_pds", kind, "https://pds.example")],
            vec![json!({ "id": "#atproto_pds", "type": kind })],
            vec![
                json!({ "id": "#atproto_pds", "type": kind, "serviceEndpoint": { "uri": "https://pds.example" } }),
            ],
            vec![json!("#atproto_pds")],
        ] {
            assert_eq!(check(&services), none, "{services:?}");
        }
        assert_eq!(
            read(&json!({ "id": DID, "alsoKnownAs": ["at://blog.example"] })),
            none
        );
    }

    #[test]
    fn a_server_that_a_document_must_not_name_is_not_used() {
        let check = |endpoint: &str, reach: Reach| {
            let said = read_in(&document(&[pds(endpoint)]), reach);
            let start = format!("the document of {DID} names the server `{endpoint}`, which ");
            let end = "; `service` may name the right one";
            match said
                .strip_prefix(&start)
                .and_then(|rest| rest.strip_suffix(end))
            {
                Some(why) => why.to_owned(),
                None => said,
            }
        };
        for (endpoint, expected) in [
            ("http://pds.example", "is not https"),
            ("ftp://pds.example", "is no address"),
            ("pds.example", "is no address"),
            ("https://", "is no address"),
            ("https://name:word@pds.example", "has a user name in it"),
            ("http://localhost:2583", "is this machine"),
            ("https://127.0.0.1", "is this machine"),
            ("https://[::1]:8443", "is this machine"),
            ("https://pds.localhost", "is this machine"),
            ("https://10.0.0.1", "is not on the public net"),
            ("https://169.254.169.254", "is not on the public net"),
            ("https://[fd00::1]", "is not on the public net"),
            ("https://[::ffff:192.168.0.1]", "is not on the public net"),
            ("https://intranet", "is not on the public net"),
            ("https://8.8.8.8", "https://8.8.8.8/"),
        ] {
            assert_eq!(check(endpoint, Reach::Public), expected, "{endpoint}");
        }
        // On a machine that has a network of its own, all of it may be there.
        for (endpoint, expected) in [
            ("http://localhost:2583/x", "http://localhost:2583/"),
            ("http://127.0.0.1:2583", "http://127.0.0.1:2583/"),
            ("http://pds.example", "is not https"),
            ("https://10.0.0.1", "is not on the public net"),
        ] {
            assert_eq!(check(endpoint, Reach::ThisMachine), expected, "{endpoint}");
        }
    }

    #[test]
    fn the_account_must_have_the_handle_that_leads_to_it() {
        let check = |names: Value| {
            let mut document = document(&[pds("https://pds.example")]);
            document["alsoKnownAs"] = names;
            read(&document)
        };
        assert_eq!(check(json!(["at://blog.example"])), "https://pds.example/");
        let refused = format!(
            "the handle `blog.example` leads to {DID}, but that account does not have this handle: set it there as the account's handle, or write the DID as `handle`"
        );
        for names in [
            json!([]),
            json!(["at://other.example"]),
            json!(["blog.example"]),
            json!(["at://blog.example.evil.example"]),
            json!("at://blog.example"),
            Value::Null,
        ] {
            assert_eq!(check(names), refused);
        }
        // A DID needs no handle.
        let document = json!({ "id": DID, "service": [pds("https://pds.example")] });
        let by_did = server_of(&document, DID, None, Reach::Public);
        assert_eq!(told(by_did), "https://pds.example/");
        assert_eq!(
            read(&json!({ "id": "did:plc:other", "alsoKnownAs": ["at://blog.example"] })),
            format!("the document of {DID} is another's")
        );
    }

    #[test]
    fn a_document_is_where_its_did_says() {
        let check = |did: &str, reach: Reach| {
            let directory = Url::parse("https://plc.directory/").unwrap();
            told(document_url(did, &directory, reach))
        };
        let public = |did: &str| check(did, Reach::Public);
        assert_eq!(public(DID), format!("https://plc.directory/{DID}"));
        assert_eq!(
            public("did:web:blog.example"),
            "https://blog.example/.well-known/did.json"
        );
        for did in [
            "did:plc:short",
            "did:plc:SR5MVWOOQUZBASMCEQ2KSXFE",
            "did:plc:../../etc/passwd1234567",
        ] {
            assert_eq!(
                public(did),
                format!("{did} is no DID: 24 of a-z and 2-7 follow `did:plc:`")
            );
        }
        for did in [
            "did:web:blog.example:users:one",
            "did:web:blog.example%3A8443",
            "did:web:blog.example%2Fa",
            "did:web:blog.example/a",
            "did:web:name@blog.example",
            "did:web:10.0.0.1",
            "did:web:8.8.8.8",
            "did:web:0x7f.1.example:x",
            "did:web:intranet",
            "did:web:",
        ] {
            assert_eq!(
                public(did),
                format!("{did} is no DID of an account: a host's name alone follows `did:web:`")
            );
        }
        let here = "did:web:localhost%3A2582";
        assert_eq!(public(here), format!("{here} names this machine"));
        assert_eq!(
            check(here, Reach::ThisMachine),
            "http://localhost:2582/.well-known/did.json"
        );
        // Another spelling of this machine's address.
        assert_eq!(
            public("did:web:0x7f.1"),
            "did:web:0x7f.1 names this machine"
        );
        assert_eq!(
            public("did:key:z6Mk"),
            "did:key:z6Mk is a DID of a method that accounts don't have"
        );
    }

    #[test]
    fn a_page_is_no_did() {
        for did in [DID, "did:web:blog.example", "did:web:localhost%3A80"] {
            assert!(is_did(did), "{did}");
        }
        for text in [
            "",
            "did:",
            "did:plc:",
            "did::x",
            "did=did:plc:x",
            "did:plc:a b",
            "<!doctype html>",
            "did:plc:<b>",
        ] {
            assert!(!is_did(text), "{text}");
        }
    }

    proptest! {
        /// Whatever a document says, the password goes over TLS to a host that may be on the public net, if anywhere.
        #[test]
        fn no_document_leads_into_this_network(
            endpoint in "(https?|ftp|file)?:?/{0,2}([a-z]{0,4}@)?(localhost|127\\.1|0x7f\\.1|10\\.0\\.0\\.1|2130706433|\\[::1\\]|\\[::ffff:7f00:1\\]|pds\\.example|intranet|[a-z0-9.\\[\\]:%-]{0,9})(:[0-9]{0,5})?(/[a-z]{0,3})?(\\?x)?"
        ) {
            let read = server_of(&document(&[pds(&endpoint)]), DID, None, Reach::Public);
            if let Ok(url) = read {
                prop_assert_eq!(url.scheme(), "https");
                prop_assert!(!is_loopback(&url) && may_be_public(&url), "{}", url);
                prop_assert_eq!((url.path(), url.query(), url.username()), ("/", None, ""));
            }
        }

        #[test]
        fn no_did_leads_into_this_network(id in "(did:)?(web|plc|key)?:?(localhost|127\\.1|0x7f\\.1|10\\.0\\.0\\.1|blog\\.example|[a-z0-9.%:/@-]{0,26})(%3A[0-9]{0,5})?") {
            let directory = Url::parse("https://plc.directory/").unwrap();
            if let Ok(url) = document_url(&id, &directory, Reach::Public) {
                prop_assert_eq!((url.scheme(), url.port()), ("https", None));
                prop_assert!(!is_loopback(&url) && may_be_public(&url), "{}", url);
                let is_known = url.host_str() == directory.host_str() || id.starts_with("did:web:");
                prop_assert!(is_known && is_did(&id), "{}", url);
            }
        }
    }
}
