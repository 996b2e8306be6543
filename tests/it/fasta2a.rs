//! A published framework whose card claims A2A 1.0: judged, and each FAIL is explained in docs/targets.md.

use anyhow::Result;
use ostiary_tests::{model::failures, target::root, world::World};

#[test]
fn each_failure_of_fasta2a_is_explained() -> Result<()> {
    let world = World::fasta2a()?;
    let (code, report) = world.verify(world.address(), &[])?;
    assert_eq!(code, 1, "{report:#}");
    let page = std::fs::read_to_string(root().join("docs/targets.md"))?;
    let told = ["declaration", "schema", "protocol", "authorization"]
        .map(|layer| report["layers"][layer].as_str().unwrap_or("not asked for").to_owned())
        .join(" | ");
    let row = page.lines().find(|line| line.contains("`fasta2a`")).unwrap_or_default();
    assert!(row.ends_with(&format!("| {told} |")), "the page says `{row}`, the run says `{told}`");
    let section = page.split("\n## ").find(|s| s.starts_with("fasta2a")).unwrap_or_default();
    let found = failures(&report);
    assert!(!found.is_empty(), "{report:#}");
    for (layer, code) in found {
        assert!(section.contains(&format!("`{code}`")), "{layer} {code} is not explained: {report:#}");
    }
    Ok(())
}
