//! A plain HTTP client, for looking at a server past the program.

use serde_json::Value;
use ureq::Agent;

/// One request.
#[derive(Clone, Debug)]
pub(in crate::contract) struct Call {
    pub(in crate::contract) method: &'static str,
    pub(in crate::contract) url: String,
    pub(in crate::contract) headers: Vec<(&'static str, String)>,
    pub(in crate::contract) body: Option<Value>,
    /// In place of a JSON body: its type, and the bytes.
    pub(in crate::contract) bytes: Option<(&'static str, Vec<u8>)>,
}

/// What came back.
#[derive(Clone, Debug)]
pub(in crate::contract) struct Answer {
    pub(in crate::contract) status: u16,
    pub(in crate::contract) media_type: String,
    pub(in crate::contract) bytes: Vec<u8>,
    /// The bytes as text.
    pub(in crate::contract) text: String,
}

impl Call {
    pub(in crate::contract) fn get(url: impl Into<String>) -> Self {
        Self {
            method: "GET",
            url: url.into(),
            headers: Vec::new(),
            body: None,
            bytes: None,
        }
    }

    pub(in crate::contract) fn post_bytes(
        url: impl Into<String>,
        media_type: &'static str,
        bytes: Vec<u8>,
    ) -> Self {
        Self {
            method: "POST",
            bytes: Some((media_type, bytes)),
            ..Self::get(url)
        }
    }

    pub(in crate::contract) fn post(url: impl Into<String>, body: Value) -> Self {
        Self {
            method: "POST",
            body: Some(body),
            ..Self::get(url)
        }
    }

    pub(in crate::contract) fn header(
        mut self,
        name: &'static str,
        value: impl Into<String>,
    ) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(in crate::contract) fn bearer(self, token: &str) -> Self {
        self.header("Authorization", format!("Bearer {token}"))
    }

    /// Sends it, and reads whatever is answered.
    pub(in crate::contract) fn send(&self) -> Answer {
        let agent: Agent = Agent::config_builder()
            .http_status_as_error(false)
            .build()
            .into();
        let mut request = ureq::http::Request::builder()
            .method(self.method)
            .uri(&self.url);
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        let response = match (&self.body, &self.bytes) {
            (None, Some((media_type, bytes))) => agent.run(
                request
                    .header("Content-Type", *media_type)
                    .body(bytes)
                    .unwrap(),
            ),
            (Some(body), _) => agent.run(
                request
                    .header("Content-Type", "application/json")
                    .body(body.to_string())
                    .unwrap(),
            ),
            (None, None) => agent.run(request.body(()).unwrap()),
        };
        let mut response = response.unwrap();
        let media_type = response.headers().get("Content-Type").cloned();
        let bytes = response.body_mut().read_to_vec().unwrap();
        Answer {
            status: response.status().as_u16(),
            media_type: media_type
                .map_or_else(String::new, |value| value.to_str().unwrap().to_owned()),
            text: String::from_utf8_lossy(&bytes).into_owned(),
            bytes,
        }
    }
}

impl Answer {
    /// The body as JSON; null where it is none.
    pub(in crate::contract) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or(Value::Null)
    }
}
