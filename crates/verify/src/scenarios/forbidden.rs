//! A task of a subject, reached for by another subject of the same tenant whom the contract forbids it.

use ostiary_contract::{
    Bundle,
    file::authorization::{AuthorizationRow, ExpectedAccess},
};
use ostiary_record::{
    ActorId, Axes, CredentialKind, EnvironmentFacts, Gate,
    ports::{BoxFuture, CouldNotRun},
};

use crate::{
    plan::PlanInput,
    scenario::{Clearance, Control, Needs, Scenario, ScenarioSpec},
    scenarios::{client::Client, credential, tenant},
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "a2a.tenant.forbidden";
/// The axes that name who is refused, and whose task it is.
pub(crate) const SUBJECT: &str = "subject";
const OWNER: &str = "owner";
/// The axis that names what is forbidden: `get` or `cancel`.
pub(crate) const OPERATION: &str = "operation";
/// The mark of the owner's task, with its id; what is forbidden comes after it.
pub(crate) const TASK: &str = "forbidden_task";

/// To be of one tenant is no permission.
pub(super) struct Forbidden;

static SPEC: ScenarioSpec = ScenarioSpec {
    gate: Gate::Security,
    control: Control::Within,
    clearance: Clearance::Write,
    needs: Needs { roles: &[], ..Needs::USUAL },
    ..ScenarioSpec::new(ID, "A task is reached for within its tenant by a subject that authorization.yaml refuses it.")
};

impl Scenario for Forbidden {
    fn spec(&self) -> &'static ScenarioSpec {
        &SPEC
    }

    fn variants(&self, input: &PlanInput<'_>) -> Vec<Axes> {
        if !credential::declares_security(input) {
            return Vec::new();
        }
        let of = |row: &AuthorizationRow| {
            let owner = owner(row, input.environment);
            input
                .each_profile()
                .into_iter()
                .map(move |mut axes| {
                    let named = [(SUBJECT, Some(row.subject.value.clone())), (OWNER, owner.clone())];
                    axes.values.extend(named.into_iter().filter_map(|(axis, name)| Some((axis.to_owned(), name?))));
                    axes.values.insert(OPERATION.to_owned(), row.operation.value.clone());
                    axes
                })
                .collect::<Vec<_>>()
        };
        rows(input.bundle).into_iter().flat_map(of).collect()
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(drive(stage))
    }
}

/// The rows of the matrix that refuse a task of the subject's own tenant.
pub(crate) fn rows(bundle: &Bundle) -> Vec<&AuthorizationRow> {
    let refused = |row: &&AuthorizationRow| {
        matches!(row.expected, ExpectedAccess::Deny | ExpectedAccess::NotFoundPolicy)
            && row.object.kind == "task"
            && row.tenant.as_deref() == Some(row.object.tenant.as_str())
            && matches!(row.operation.value.as_str(), "get" | "cancel")
    };
    bundle.authorization.iter().flat_map(|a| &a.matrix).filter(refused).collect()
}

/// Another subject of the tenant, with a credential that works.
fn owner(row: &AuthorizationRow, environment: &EnvironmentFacts) -> Option<String> {
    let fits = |(name, subject): &(&String, &ostiary_record::SubjectFacts)| {
        **name != row.subject.value
            && subject.credential == CredentialKind::Valid
            && subject.tenant.as_ref() == Some(&row.object.tenant)
    };
    environment.subjects.iter().find(fits).map(|(name, _)| name.clone())
}

async fn drive(stage: &mut Stage<'_>) -> Result<(), CouldNotRun> {
    let cast = stage.axes().values.clone();
    let name = |axis: &str| cast.get(axis).map(|n| ActorId(n.clone()));
    let (Some(subject), Some(owner)) = (name(SUBJECT), name(OWNER)) else {
        return Err(
            stage.no_subject("the environment has no other subject of the tenant whose task could be reached for")
        );
    };
    let mut owner = Client::open_subject(stage, &owner).await?;
    let mut subject = Client::open_subject(stage, &subject).await?;
    let Some(task) = tenant::own_task(stage, &mut owner).await? else { return Ok(()) };
    let Some(own) = tenant::own_task(stage, &mut subject).await? else { return Ok(()) };
    stage.control_ok();
    stage.mark(TASK, Some(&task));
    match cast.get(OPERATION).map(String::as_str) {
        Some("cancel") => subject.cancel(stage, &task).await?,
        _ => subject.get(stage, &task).await?,
    };
    // the subject is still served what is its own, and the owner what is the owner's
    subject.get(stage, &own).await?;
    owner.get(stage, &task).await.map(drop)
}
