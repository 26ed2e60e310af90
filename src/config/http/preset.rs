//! The presets: declarations like any user's, which a channel starts from.

use toml::de::DeTable;

/// A declaration that a channel may start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// What the configuration calls it.
    pub name: &'static str,
    /// The declaration as TOML, with its comments.
    pub text: &'static str,
}

macro_rules! preset {
    ($name:literal) => {
        Preset {
            name: $name,
            text: include_str!(concat!("../../channel/presets/", $name, ".toml")),
        }
    };
}

/// Every preset, in the order of the documentation.
pub const PRESETS: [Preset; 13] = [
    preset!("custom"),
    preset!("discord"),
    preset!("slack-webhook"),
    preset!("slack"),
    preset!("telegram"),
    preset!("weibo"),
    preset!("micropub"),
    preset!("linkedin"),
    preset!("wordpress"),
    preset!("ghost"),
    preset!("threads"),
    preset!("webmention"),
    preset!("websub"),
];

impl Preset {
    /// Returns the preset of that name.
    pub fn find(name: &str) -> Option<Self> {
        PRESETS.into_iter().find(|preset| preset.name == name)
    }

    /// Returns its tables.
    pub(super) fn tables(self) -> DeTable<'static> {
        DeTable::parse(self.text)
            .expect("a test reads every preset")
            .into_inner()
    }
}
