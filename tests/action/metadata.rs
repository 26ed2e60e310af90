//! What action.yml declares, and what it must never do.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

/// The parsed action.yml.
pub(crate) fn action() -> Value {
    serde_saphyr::from_str(&read("action.yml")).unwrap()
}

pub(crate) fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

fn steps() -> Vec<Value> {
    action()["runs"]["steps"].as_array().unwrap().clone()
}

fn script(step: &Value) -> &str {
    step["run"].as_str().unwrap()
}

#[test]
fn nothing_is_pasted_into_a_script() {
    for step in steps() {
        assert!(!script(&step).contains("${{"), "{step}");
    }
}

#[test]
fn the_last_step_becomes_the_program_so_that_a_cancellation_reaches_it() {
    let steps = steps();
    assert_eq!(
        script(steps.last().unwrap()).trim(),
        "exec \"$SAYONCE_PROGRAM\" action"
    );
}

#[test]
fn every_input_reaches_a_step_by_its_environment() {
    let action = action();
    let passed: Vec<String> = steps()
        .iter()
        .flat_map(|step| {
            let environment = step["env"].as_object().unwrap().values();
            environment
                .chain(step.get("working-directory"))
                .map(|value| value.as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        })
        .collect();
    let mut lost = String::new();
    for input in action["inputs"].as_object().unwrap().keys() {
        let expression = format!("inputs.{input} ");
        if !passed.iter().any(|value| value.contains(&expression)) {
            writeln!(lost, "{input}").unwrap();
        }
    }
    assert_eq!(lost, "");
}

#[test]
fn the_program_does_not_read_what_only_some_runners_set() {
    // A composite action's step has no INPUT_ variables on GitHub's own runner, though others set them.
    for step in steps() {
        assert!(!script(&step).contains("INPUT_"), "{step}");
    }
    assert!(!read("action/install.sh").contains("INPUT_"));
}

#[test]
fn the_outputs_are_those_of_the_step_under_the_same_names() {
    for (name, output) in action()["outputs"].as_object().unwrap() {
        assert_eq!(
            output["value"],
            format!("${{{{ steps.sayonce.outputs.{name} }}}}"),
        );
        assert!(output["description"].as_str().unwrap().ends_with('.'));
    }
}
