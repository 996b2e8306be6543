//! The one list of all scenarios and checks.

use ostiary_canon::Digest;
use ostiary_record::Gate;

use crate::{
    check::Check,
    scenario::{Control, Scenario},
};

/// The version of this build of Ostiary; reports carry [`Harness::version`], which also names the checks.
pub const HARNESS_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Hexadecimal characters by which a version names its checks: no two sets of one build line share them by accident.
const MARK: usize = 12;

/// A set of scenarios and checks.
pub struct Harness {
    scenarios: Vec<Box<dyn Scenario>>,
    checks: Vec<Box<dyn Check>>,
}

// === impl Harness ===

impl Harness {
    /// Everything the product has.
    #[must_use]
    pub fn standard() -> Self {
        Self { scenarios: scenarios(), checks: checks() }
    }

    /// A set of one's own, for tests of the engine.
    #[must_use]
    pub fn of(scenarios: Vec<Box<dyn Scenario>>, checks: Vec<Box<dyn Check>>) -> Self {
        Self { scenarios, checks }
    }

    /// What verifies: the build's version, and a mark that changes with every version of every scenario and check
    /// (P-01). Two harnesses of one version judge alike.
    #[must_use]
    pub fn version(&self) -> String {
        let checks = self.checks().map(|c| format!("check {} {}\n", c.spec().id, c.spec().version));
        let scenarios = self.scenarios().map(|s| format!("scenario {} {}\n", s.spec().id, s.spec().version));
        let mut lines: Vec<String> = checks.chain(scenarios).collect();
        lines.sort_unstable();
        let digest = Digest::of(lines.concat().as_bytes()).hex();
        format!("{HARNESS_VERSION}+{}", &digest[..MARK])
    }

    /// All scenarios, in registry order.
    pub fn scenarios(&self) -> impl Iterator<Item = &dyn Scenario> {
        self.scenarios.iter().map(AsRef::as_ref)
    }

    /// All checks, in registry order.
    pub fn checks(&self) -> impl Iterator<Item = &dyn Check> {
        self.checks.iter().map(AsRef::as_ref)
    }

    /// The scenario of that name.
    #[must_use]
    pub fn scenario(&self, id: &str) -> Option<&dyn Scenario> {
        self.scenarios().find(|s| s.spec().id == id)
    }

    /// The checks that a gate asks for: its own and those of the static gate, which cost no call; from canary on all,
    /// since nothing is promoted on yesterday's answers. `None` = all.
    pub fn checks_for<'a>(&'a self, gate: Option<Gate>, only: &'a [String]) -> impl Iterator<Item = &'a dyn Check> {
        let asked = move |at: Gate| match gate {
            None | Some(Gate::Canary | Gate::Active) => true,
            Some(gate) => at == gate || at == Gate::Static,
        };
        let named = move |c: &dyn Check| {
            let spec = c.spec();
            let hit = |o: &String| {
                let case = spec.id.starts_with("case.") && !self.knows(o);
                o == spec.id || spec.reads.scenarios().contains(&o.as_str()) || case
            };
            only.is_empty() || only.iter().any(hit)
        };
        self.checks().filter(move |c| asked(c.spec().gate) && named(*c))
    }

    /// Whether a name is that of a check or scenario; else it can only be a case's.
    #[must_use]
    pub fn knows(&self, name: &str) -> bool {
        self.checks().any(|c| c.spec().id == name) || self.scenario(name).is_some()
    }

    /// How many controls stand before a scenario.
    #[must_use]
    pub fn control_depth(&self, id: &str) -> u32 {
        let mut depth = 0;
        let mut at = self.scenario(id);
        while let Some(Control::By(control)) = at.map(|s| s.spec().control) {
            depth += 1;
            // a control that controls itself in a circle is a fault that a test over the registry catches
            if depth > 8 {
                break;
            }
            at = self.scenario(control);
        }
        depth
    }
}

/// All scenarios of the product.
#[must_use]
pub fn scenarios() -> Vec<Box<dyn Scenario>> {
    let mut all = crate::scenarios::all();
    all.extend(crate::cases::scenarios());
    all
}

/// All checks of the product, by layer.
#[must_use]
pub fn checks() -> Vec<Box<dyn Check>> {
    let layers = [
        crate::declaration::checks(),
        crate::mcp::checks(),
        crate::schema::checks(),
        crate::protocol::checks(),
        crate::authorization::checks(),
        crate::temporal::checks(),
        crate::cases::checks(),
    ];
    layers.into_iter().flatten().collect()
}
