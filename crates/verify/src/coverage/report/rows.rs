//! The combinations that the policy asks for, and what became of each.

use std::collections::BTreeMap;

use ostiary_contract::file::coverage::OperationCoverage;
use ostiary_record::{Combination, Finding, Outcome, Parts, Recording, RiskCoverage};

use super::cited;
use crate::{
    coverage::{
        covering::held,
        matrix::{Matrix, axes_of},
        space::Row,
    },
    judge::Scene,
    scenarios::combined,
};

/// The policy's word.
pub(super) const fn policy(policy: OperationCoverage) -> &'static str {
    match policy {
        OperationCoverage::ExhaustiveSecurityMatrix => "exhaustive_security_matrix",
        OperationCoverage::PairwisePlusBoundaries => "pairwise_plus_boundaries",
        OperationCoverage::Representative => "representative",
    }
}

/// The combinations of the operations of one risk.
pub(super) fn skill(scene: &Scene<'_>, matrix: &Matrix, findings: &[Finding]) -> RiskCoverage {
    let covering = matrix.covering.as_ref().ok();
    let chosen = covering.map(|c| c.rows.as_slice()).unwrap_or_default();
    let rows: Vec<Combination> =
        chosen.iter().map(|row| Combination { values: row.clone(), verdict: verdict(scene, row, findings) }).collect();
    let driven: Vec<Row> = rows.iter().filter(|row| row.verdict.is_some()).map(|row| row.values.clone()).collect();
    let mut ruled_out: BTreeMap<String, u32> = BTreeMap::new();
    for part in covering.iter().flat_map(|c| &c.infeasible) {
        *ruled_out.entry(part.because.join(", and ")).or_default() += 1;
    }
    let small = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    RiskCoverage {
        operations: matrix.operations.clone(),
        risk: matrix.risk.as_str().to_owned(),
        policy: policy(matrix.policy).to_owned(),
        axes: matrix.space.axes.iter().map(|axis| (axis.name.clone(), axis.values.clone())).collect(),
        product: matrix.space.product().to_string(),
        parts: Parts {
            possible: small(covering.map_or(0, |c| c.feasible)),
            driven: small(held(&matrix.space, &matrix.demand, &driven).unwrap_or(0)),
        },
        rows,
        ruled_out,
    }
}

/// What was said of the recordings of one row; none where it was not driven.
fn verdict(scene: &Scene<'_>, row: &Row, findings: &[Finding]) -> Option<Outcome> {
    let axes = axes_of(row);
    let of =
        |r: &Recording| r.scenario.0 == combined::ID && r.axes.profile == axes.profile && r.axes.values == axes.values;
    let numbered = scene.run.recordings.iter().zip(0_u32..);
    let own: Vec<u32> = numbered.filter(|(r, _)| of(r)).map(|(_, n)| n).collect();
    if own.is_empty() {
        return None;
    }
    let about = |f: &&Finding| f.check.0 == "a2a.message.combinations" && own.iter().any(|n| cited(f).contains(n));
    let said = findings.iter().filter(about).map(|f| f.verdict.outcome()).reduce(Outcome::worst);
    Some(said.unwrap_or(Outcome::Inconclusive))
}
