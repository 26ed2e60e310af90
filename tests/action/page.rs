//! docs/github-action.md says what action.yml and the workflows say.

use std::fmt::Write as _;

use super::metadata::{action, read};

const PAGE: &str = "docs/github-action.md";

/// The text between a marker line and the next `<!-- end -->`.
#[track_caller]
fn section(marker: &str) -> String {
    let page = read(PAGE);
    let start = format!("<!-- {marker} -->\n");
    let (_, rest) = page.split_once(&start).expect("the page has the section");
    let (section, _) = rest
        .split_once("<!-- end -->")
        .expect("the section has an end");
    section.to_owned()
}

#[test]
fn the_workflow_is_the_one_of_the_examples() {
    let example = "examples/workflows/announce.yml";
    assert_eq!(
        section(&format!("workflow: {example}")),
        format!("```yaml\n{}```\n", read(example))
    );
}

#[test]
fn the_inputs_are_those_of_the_action() {
    let mut table = "| input | means |\n| --- | --- |\n".to_owned();
    for (name, input) in action()["inputs"].as_object().unwrap() {
        let description = input["description"].as_str().unwrap();
        writeln!(table, "| `{name}` | {description} |").unwrap();
    }
    assert_eq!(section("inputs: of action.yml"), table);
}

#[test]
fn the_outputs_are_those_of_the_action() {
    let mut table = "| output | means |\n| --- | --- |\n".to_owned();
    for (name, output) in action()["outputs"].as_object().unwrap() {
        let description = output["description"].as_str().unwrap();
        writeln!(table, "| `{name}` | {description} |").unwrap();
    }
    assert_eq!(section("outputs: of action.yml"), table);
}
