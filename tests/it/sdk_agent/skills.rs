//! What a skill returns, beyond its schema: parts and their order, bytes and their type, claims and their sources. An agent
//! on the official Python SDK and its liars (S-02, S-05).

use anyhow::Result;
use ostiary_tests::{
    model::{Caught, failures},
    pair,
    world::World,
};
use serde_json::json;

fn charting(how: &str) -> Result<World> {
    let world = World::charting(&["--chart", how])?;
    world.declaring(|card| card["defaultOutputModes"] = json!(["application/json", "image/png"]))
}

/// covers: S-02, S-05
#[test]
#[ignore = "written after the last end-to-end run; run it before it counts"]
fn lost_swapped_and_false_content_is_caught() -> Result<()> {
    let world = charting("whole")?;
    let (code, honest) = world.verify(world.address(), &[])?;
    assert_eq!((code, failures(&honest)), (0, vec![]), "{honest:#}");
    let table: [(&str, &[Caught]); 5] = [
        ("lost", &[("schema", "CONTENT_LOST")]),
        ("swapped", &[("schema", "CONTENT_LOST")]),
        ("false-type", &[("schema", "CONTENT_LOST"), ("schema", "CONTENT_TYPE_FALSE")]),
        ("sourceless", &[("schema", "CLAIM_WITHOUT_SOURCE")]),
        ("miscounted", &[("schema", "ACCEPTANCE_NOT_KEPT")]),
    ];
    for (fault, wanted) in table {
        let liar = charting(fault)?;
        let (_, report) = liar.verify(liar.address(), &[])?;
        let expected: Vec<(String, String)> = wanted.iter().map(|(l, c)| ((*l).to_owned(), (*c).to_owned())).collect();
        assert_eq!(failures(&report), expected, "{fault}: {report:#}");
        pair::executed(pair::PYTHON, &format!("content is {fault}"), &honest, &report, wanted)?;
    }
    Ok(())
}
