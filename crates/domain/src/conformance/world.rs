//! A store with one namespace, one environment and policy 1, and the steps that cases are told in.

use std::sync::Arc;

use bytes::Bytes;
use jiff::SignedDuration;
use ostiary_canon::Revision;
use ostiary_record::{Gate, NonEmpty, Outcome};

use super::{
    Bench,
    doubles::{ArmedFailpoints, CountedIds, SetClock},
};
use crate::{
    audit::{self, AuditEntry},
    consequence::{Judged, consequence},
    evidence::NewEvidence,
    gate::{GateDecision, GateOutcome, GateReason},
    job::{Job, Lease},
    lifecycle::{State, StateName},
    names::{EnvironmentName, EvidenceId, VersionRef},
    policy::Policy,
    ports::{
        Action, Baseline, Claim, Clock as _, GateCommit, GateCommitted, Guard, Ids as _, Operate, Operated, Store,
        StoreError, StorePorts, Submit, Submitted,
    },
    registry::Namespace,
    sample::{self, authorization, judge, operator},
    version::Version,
};

/// How long leases last here.
pub const LEASE: SignedDuration = SignedDuration::from_mins(1);

/// A store under test, and the ports that it was given.
pub struct World<'a> {
    /// Where the database lives.
    pub bench: &'a dyn Bench,
    /// The store.
    pub store: Arc<dyn Store>,
    /// Its time.
    pub clock: Arc<SetClock>,
    /// Its ids.
    pub ids: Arc<CountedIds>,
    /// Where it stops.
    pub failpoints: Arc<ArmedFailpoints>,
}

// === impl World ===

impl<'a> World<'a> {
    /// A fresh store with what a submission needs.
    pub async fn new(bench: &'a dyn Bench) -> Self {
        let (clock, ids, failpoints) = (Arc::default(), Arc::default(), Arc::default());
        let store = bench.open(ports(&clock, &ids, &failpoints)).await;
        let world = Self { bench, store, clock, ids, failpoints };
        let namespace = Namespace { name: "acme".into(), enforcement: crate::Enforcement::Enforce, reason: None };
        world.store.put_namespace(namespace, operator()).await.expect("a namespace");
        let (name, document) = (EnvironmentName("staging".into()), Bytes::from_static(b"name: staging\n"));
        world.store.put_environment(&name, document, operator()).await.expect("an environment");
        world.store.put_policy(Policy::one(), operator()).await.expect("a policy");
        world
    }

    /// The store that another process left behind; this one gives out other ids.
    pub async fn taken_up(bench: &'a dyn Bench) -> Self {
        let (clock, ids, failpoints) = (Arc::default(), Arc::new(CountedIds::from(1_000)), Arc::default());
        let store = bench.open(ports(&clock, &ids, &failpoints)).await;
        Self { bench, store, clock, ids, failpoints }
    }

    /// Ends the process and starts it again.
    pub async fn restart(self) -> Self {
        let Self { bench, store, clock, ids, failpoints } = self;
        drop(store);
        bench.close().await;
        let store = bench.open(ports(&clock, &ids, &failpoints)).await;
        Self { bench, store, clock, ids, failpoints }
    }

    /// A submission of `label`.
    pub async fn submission(&self, label: &str) -> Submit {
        let archive = Bytes::from(format!("archive of {label}"));
        self.store.put_bundle(&sample::bundle(label), archive).await.expect("a bundle");
        Submit {
            agent: sample::agent(),
            label: label.parse().expect("a label"),
            submission: sample::submission(label),
            idempotency: None,
        }
    }

    /// Submits `label`.
    pub async fn submit(&self, label: &str) -> Submitted {
        let submit = self.submission(label).await;
        self.store.submit(submit).await.expect("a submission")
    }

    /// Claims the next job of any gate.
    pub async fn claim(&self) -> Option<(Job, Lease)> {
        let claim = Claim { worker: "w".into(), gates: Gate::ALL.into(), lease_for: LEASE };
        self.store.claim(claim).await.expect("a claim")
    }

    /// Claims the next job, which must be one of `gate`.
    pub async fn claim_of(&self, gate: Gate) -> (Job, Lease) {
        let (job, lease) = self.claim().await.expect("a job is due");
        assert_eq!(job.gate, gate);
        (job, lease)
    }

    /// The version, which must be there.
    pub async fn version(&self, key: &VersionRef) -> Version {
        self.store.version(key).await.expect("a look-up").expect("the version is there")
    }

    /// The state of a version.
    pub async fn state(&self, key: &VersionRef) -> StateName {
        self.version(key).await.state.name()
    }

    /// What a judge commits who finds `outcome` for a claimed job, looking at the world as it is now.
    pub async fn judged(&self, (job, lease): &(Job, Lease), outcome: Outcome) -> GateCommit {
        let version = self.version(&job.version).await;
        let evidence = self.evidence(job, outcome);
        let decision = decision(outcome);
        let (policy, author, word) = (Policy::one(), judge(), authorization());
        let judged = Judged {
            version: &version,
            decision: &decision,
            evidence: &evidence,
            authorization: (job.gate == Gate::Admission).then_some(&word),
            policy: &policy,
            author: &author,
        };
        let route = self.store.route(&job.version.agent).await.expect("a route");
        GateCommit {
            lease: lease.clone(),
            version: job.version.clone(),
            guard: Guard {
                state: version.state.name(),
                row: version.row,
                policy: policy.digest(),
                baseline: Baseline::Against(route.active),
            },
            consequence: consequence(&judged, &*self.ids, self.clock.now()),
            evidence,
            report: Some(Bytes::from_static(b"{}")),
            actor: judge(),
        }
    }

    fn evidence(&self, job: &Job, outcome: Outcome) -> NewEvidence {
        let label = job.version.label.as_str();
        let sample = sample::evidence(label, job.gate, outcome, 0);
        NewEvidence {
            id: EvidenceId(self.ids.next("ev")),
            run_started: job.started.expect("a claimed job has started"),
            verified_at: self.clock.now(),
            ..sample
        }
    }

    /// Runs the next job, which must be one of `gate`, with `outcome`.
    pub async fn run(&self, gate: Gate, outcome: Outcome) -> GateCommitted {
        let claimed = self.claim_of(gate).await;
        let commit = self.judged(&claimed, outcome).await;
        self.store.commit_gate(commit).await.expect("a commit")
    }

    /// Asks for `gate` and runs it with `outcome`.
    pub async fn ask_and_run(&self, key: &VersionRef, gate: Gate, outcome: Outcome) -> GateCommitted {
        let job = crate::JobId(self.ids.next("job"));
        self.act(key, Action::RequestGate { gate, job }).await.expect("the gate can be asked for");
        self.run(gate, outcome).await
    }

    /// Submits `label` and brings it to `state` by passing gates.
    pub async fn at(&self, label: &str, state: StateName) -> VersionRef {
        let key = self.submit(label).await.version;
        let on_the_road = [
            (Gate::Static, StateName::StaticValidated),
            (Gate::Conformance, StateName::ConformanceVerified),
            (Gate::Security, StateName::SecurityVerified),
            (Gate::Admission, StateName::RegistryAdmitted),
            (Gate::Canary, StateName::Canary),
            (Gate::Active, StateName::Active),
        ];
        for (gate, reached) in on_the_road.into_iter().filter(|(_, reached)| *reached <= state) {
            match gate {
                Gate::Canary | Gate::Active => self.ask_and_run(&key, gate, Outcome::Pass).await,
                _ => self.run(gate, Outcome::Pass).await,
            };
            assert_eq!(self.state(&key).await, reached);
        }
        key
    }

    /// Acts as the operator.
    pub async fn act(&self, key: &VersionRef, action: Action) -> Result<Operated, StoreError> {
        let act = Operate {
            version: key.clone(),
            row: None,
            actor: operator(),
            reason: "because".into(),
            action,
            idempotency: None,
        };
        self.store.operate(act).await
    }

    /// The whole audit.
    pub async fn audit(&self) -> Vec<AuditEntry> {
        self.store.audit(Revision(0), u32::MAX).await.expect("the audit")
    }

    /// What must hold after whatever happened: one gapless revision, an audit that verifies, a route and states that agree.
    pub async fn is_sound(&self) {
        let entries = self.audit().await;
        let head = self.store.audit_head().await.expect("the head");
        let verified = audit::verify((Revision(0), audit::genesis()), &entries, Some(head));
        assert_eq!(verified.map(|(revision, _)| revision.0), Ok(entries.len() as u64), "one entry a revision");
        let versions = self.store.versions(&sample::agent()).await.expect("versions");
        let route = self.store.route(&sample::agent()).await.expect("a route");
        let in_state = |wanted| versions.iter().find(|v| v.state.name() == wanted).map(|v| v.key.clone());
        assert_eq!(in_state(StateName::Active), route.active);
        assert_eq!(in_state(StateName::Canary), route.canary);
        for version in &versions {
            self.is_one_state(version).await;
        }
    }

    /// A version that moved has the evidence that it moved on.
    async fn is_one_state(&self, version: &Version) {
        let evidence = self.store.evidence_of(&version.key).await.expect("evidence");
        let has = |id: &EvidenceId| evidence.iter().any(|e| e.id == *id);
        match &version.state {
            State::StaticValidated { r#static, .. } => assert!(has(&r#static.evidence)),
            State::ConformanceVerified { conformance, .. } => assert!(has(&conformance.evidence)),
            State::SecurityVerified { security, .. } => assert!(has(&security.evidence)),
            State::Canary { gate, .. } | State::Active { gate, .. } => assert!(has(gate)),
            State::Draft
            | State::RegistryAdmitted { .. }
            | State::Quarantined { .. }
            | State::Rejected { .. }
            | State::Deprecated { .. } => {}
        }
        if let Some((_, newest)) = &version.newest {
            assert!(has(newest));
        }
    }
}

fn ports(clock: &Arc<SetClock>, ids: &Arc<CountedIds>, failpoints: &Arc<ArmedFailpoints>) -> StorePorts {
    StorePorts::new(clock.clone(), ids.clone()).with_failpoints(failpoints.clone())
}

fn decision(outcome: Outcome) -> GateDecision {
    let finding = sample::finding(ostiary_record::Layer::Protocol, outcome, None);
    let reason = finding.verdict.reason().map(|code| GateReason::Finding {
        check: finding.check,
        layer: finding.layer,
        profile: None,
        failed: outcome == Outcome::Fail,
        code,
        message: finding.message,
    });
    let reasons = reason.map(NonEmpty::one).map(Vec::from).unwrap_or_default();
    let outcome = reasons.iter().map(GateReason::outcome).max().unwrap_or(GateOutcome::Pass);
    GateDecision { outcome, reasons, profiles_passed: vec![sample::profile()], profiles_failed: vec![], waived: vec![] }
}
