//! The JSON Schema of every file kind, generated from the types that decode it, so that editors complete and check.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

use crate::{
    environment::EnvironmentFile,
    file::{
        authorization::AuthorizationFile, case::CaseFile, contract::ContractFile, coverage::CoverageFile,
        drift::DriftFile, error::ErrorsFile, evidence::EvidenceSummary, invariants::InvariantsFile,
        machine::MachineFile, operations::OperationsFile, reasons::ReasonsFile, skill::SkillsFile,
        snapshot::CardSnapshot, temporal::TemporalFile,
    },
};

/// All schemas with the names of their files, in the order of the names.
#[must_use]
pub fn all() -> Vec<(&'static str, Value)> {
    vec![
        ("authorization.schema.json", of::<AuthorizationFile>()),
        ("behavior-invariants.schema.json", of::<InvariantsFile>()),
        ("card-snapshot.schema.json", of::<CardSnapshot>()),
        ("case.schema.json", of::<CaseFile>()),
        ("contract.schema.json", of::<ContractFile>()),
        ("coverage.schema.json", of::<CoverageFile>()),
        ("drift.schema.json", of::<DriftFile>()),
        ("environment.schema.json", of::<EnvironmentFile>()),
        ("errors.schema.json", of::<ErrorsFile>()),
        ("evidence.schema.json", of::<EvidenceSummary>()),
        ("operations.schema.json", of::<OperationsFile>()),
        ("reason-codes.schema.json", of::<ReasonsFile>()),
        ("skills.schema.json", of::<SkillsFile>()),
        ("task-machine.schema.json", of::<MachineFile>()),
        ("temporal.schema.json", of::<TemporalFile>()),
    ]
}

fn of<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value()
}
