//! Front matter in templates: `front_matter.NAME`, as deep as it goes. What an article lacks is empty there too, at any
//! depth, so that `{% if front_matter.subtitle %}` works without knowing which articles have one.

use std::fmt;
use std::sync::Arc;

use minijinja::Value as Known;
use minijinja::value::{Enumerator, Object, ObjectRepr, Rest, Serde};
use serde_json::Value;

use crate::model::item::FrontMatter;

/// The variable's name.
pub const FRONT_MATTER: &str = "front_matter";

/// Returns the variable of an article.
pub fn front_matter(fields: &FrontMatter) -> Known {
    Known::from_object(Fields(Arc::clone(fields)))
}

/// The filter `default`: what an article lacks is empty, and takes the other value too.
pub(super) fn default(value: &Known, others: Rest<Known>) -> Known {
    let is_lacking = value.is_undefined() || value.is_none() || value.len() == Some(0);
    let mut others = others.0.into_iter();
    let other = others.next().unwrap_or_else(|| Known::from(""));
    let takes_false = others.next().is_some_and(|lax| lax.is_true());
    if is_lacking || takes_false && !value.is_true() {
        other
    } else {
        value.clone()
    }
}

#[derive(Debug)]
struct Fields(FrontMatter);

impl Object for Fields {
    fn get_value(self: &Arc<Self>, key: &Known) -> Option<Known> {
        let value = key.as_str().and_then(|name| self.0.get(name));
        Some(value.map_or_else(lacking, known))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(
            self.0
                .keys()
                .map(|name| Known::from(name.as_str()))
                .collect(),
        )
    }

    fn render(self: &Arc<Self>, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = Value::Object((*self.0).clone());
        write!(formatter, "{fields}")
    }
}

/// A field that is not there: empty text, empty list, and empty map in one.
#[derive(Debug)]
struct Lacking;

impl Object for Lacking {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, _key: &Known) -> Option<Known> {
        Some(lacking())
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Empty
    }

    fn is_true(self: &Arc<Self>) -> bool {
        false
    }

    fn render(self: &Arc<Self>, _formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

fn lacking() -> Known {
    Known::from_object(Lacking)
}

fn known(value: &Value) -> Known {
    match value {
        Value::Null => lacking(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => Known::from(Serde(value.clone())),
        Value::Array(entries) => entries.iter().map(known).collect(),
        Value::Object(fields) => front_matter(&Arc::new(fields.clone())),
    }
}
