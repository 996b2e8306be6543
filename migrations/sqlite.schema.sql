CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;

CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;

CREATE TRIGGER evidence_is_not_changed BEFORE UPDATE ON evidence
BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;

CREATE TRIGGER evidence_is_not_deleted BEFORE DELETE ON evidence
BEGIN SELECT RAISE(ABORT, 'evidence is append-only'); END;

CREATE TRIGGER versions_end_is_final BEFORE UPDATE OF state ON versions
WHEN old.state IN ('REJECTED', 'DEPRECATED') AND new.state <> old.state
BEGIN SELECT RAISE(ABORT, 'a try that ended does not move'); END;

CREATE TABLE agents (
    id TEXT PRIMARY KEY NOT NULL,
    namespace TEXT NOT NULL REFERENCES namespaces (name),
    owner TEXT,
    description TEXT
);

CREATE TABLE approvals (
    id TEXT PRIMARY KEY NOT NULL,
    agent TEXT NOT NULL,
    label TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    edge TEXT NOT NULL,
    actor TEXT NOT NULL,
    manifest TEXT NOT NULL,
    policy TEXT NOT NULL,
    reason TEXT NOT NULL,
    given_at INTEGER NOT NULL,
    given_revision INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    FOREIGN KEY (agent, label, attempt) REFERENCES versions (agent, label, attempt)
);

CREATE TABLE audit (
    revision INTEGER PRIMARY KEY NOT NULL,
    subject TEXT NOT NULL,
    record BLOB NOT NULL,
    previous TEXT NOT NULL,
    hash TEXT NOT NULL
);

CREATE TABLE bundles (
    digest TEXT PRIMARY KEY NOT NULL,
    archive BLOB NOT NULL
);

CREATE TABLE counter (
    id INTEGER PRIMARY KEY NOT NULL CHECK (id = 1),
    revision INTEGER NOT NULL,
    audit_hash TEXT NOT NULL
);

CREATE TABLE dead_letters (
    webhook TEXT NOT NULL REFERENCES webhooks (id),
    revision INTEGER NOT NULL,
    tries INTEGER NOT NULL,
    last_error TEXT NOT NULL,
    given_up_at INTEGER NOT NULL,
    PRIMARY KEY (webhook, revision)
);

CREATE TABLE drift_reports (
    id TEXT PRIMARY KEY NOT NULL,
    agent TEXT NOT NULL,
    label TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    reporter TEXT NOT NULL,
    reported_by TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    request TEXT NOT NULL,
    claim TEXT NOT NULL,
    -- The card that it says differs, where it says so.
    other_card TEXT,
    action TEXT NOT NULL,
    taken_at INTEGER NOT NULL,
    taken_revision INTEGER NOT NULL,
    conclusion TEXT,
    concluded_at INTEGER,
    UNIQUE (reporter, idempotency_key),
    FOREIGN KEY (agent, label, attempt) REFERENCES versions (agent, label, attempt)
);

CREATE TABLE environments (
    name TEXT PRIMARY KEY NOT NULL,
    document BLOB NOT NULL,
    changed_by TEXT NOT NULL,
    changed_at INTEGER NOT NULL
);

CREATE TABLE evidence (
    id TEXT PRIMARY KEY NOT NULL,
    agent TEXT NOT NULL,
    label TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    gate TEXT NOT NULL,
    outcome TEXT NOT NULL,
    profiles_passed TEXT NOT NULL,
    profiles_failed TEXT NOT NULL,
    subject TEXT NOT NULL,
    policy TEXT NOT NULL,
    harness TEXT NOT NULL,
    environment TEXT NOT NULL,
    run TEXT,
    run_started INTEGER NOT NULL,
    envelope BLOB NOT NULL,
    verified_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    standing TEXT NOT NULL,
    recorded INTEGER NOT NULL, waived TEXT NOT NULL DEFAULT '[]',
    FOREIGN KEY (agent, label, attempt) REFERENCES versions (agent, label, attempt)
);

CREATE TABLE grants (
    replica TEXT PRIMARY KEY NOT NULL,
    given TEXT NOT NULL,
    seen_at INTEGER NOT NULL
);

CREATE TABLE holds (
    id TEXT PRIMARY KEY NOT NULL,
    agent TEXT NOT NULL,
    label TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    kind TEXT NOT NULL,
    scope TEXT NOT NULL,
    reason TEXT NOT NULL,
    author TEXT NOT NULL,
    evidence TEXT,
    set_at INTEGER NOT NULL,
    set_revision INTEGER NOT NULL,
    lifted TEXT,
    FOREIGN KEY (agent, label, attempt) REFERENCES versions (agent, label, attempt)
);

CREATE TABLE idempotency (
    actor TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    request TEXT NOT NULL,
    answer TEXT NOT NULL,
    answered_at INTEGER NOT NULL,
    PRIMARY KEY (actor, idempotency_key)
);

CREATE TABLE jobs (
    id TEXT PRIMARY KEY NOT NULL,
    agent TEXT NOT NULL,
    label TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    gate TEXT NOT NULL,
    bundle TEXT NOT NULL,
    environment TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('queued', 'leased', 'done', 'failed')),
    tries INTEGER NOT NULL,
    queued_at INTEGER NOT NULL,
    not_before INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    lease_until INTEGER,
    started INTEGER,
    last_error TEXT,
    FOREIGN KEY (agent, label, attempt) REFERENCES versions (agent, label, attempt)
);

CREATE TABLE leases (
    job TEXT NOT NULL REFERENCES jobs (id),
    epoch INTEGER NOT NULL,
    token_digest TEXT NOT NULL,
    worker TEXT NOT NULL,
    started INTEGER NOT NULL,
    committed INTEGER,
    PRIMARY KEY (job, epoch)
);

CREATE TABLE namespaces (
    name TEXT PRIMARY KEY NOT NULL,
    enforcement TEXT NOT NULL
, reason TEXT);

CREATE TABLE notices (
    id TEXT PRIMARY KEY NOT NULL,
    revision INTEGER NOT NULL
);

CREATE TABLE objects (
    digest TEXT PRIMARY KEY NOT NULL,
    kind TEXT NOT NULL,
    bytes BLOB NOT NULL
);

CREATE TABLE outcome_windows (
    reporter TEXT NOT NULL,
    router TEXT NOT NULL,
    instance TEXT NOT NULL,
    number INTEGER NOT NULL,
    taken_at INTEGER NOT NULL,
    PRIMARY KEY (reporter, router, instance, number)
);

CREATE TABLE outcomes (
    agent TEXT NOT NULL,
    label TEXT NOT NULL,
    bucket INTEGER NOT NULL,
    consumer TEXT NOT NULL,
    canary INTEGER NOT NULL,
    card TEXT NOT NULL,
    signal TEXT NOT NULL,
    code TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (agent, label, bucket, consumer, canary, card, signal, code)
);

CREATE TABLE policies (
    digest TEXT PRIMARY KEY NOT NULL,
    document TEXT NOT NULL
);

CREATE TABLE policy_in_force (
    id INTEGER PRIMARY KEY NOT NULL CHECK (id = 1),
    digest TEXT NOT NULL REFERENCES policies (digest)
);

CREATE TABLE reports (
    evidence TEXT PRIMARY KEY NOT NULL REFERENCES evidence (id),
    report BLOB NOT NULL
);

CREATE TABLE revalidations (
    agent TEXT NOT NULL,
    label TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    hold TEXT,
    for_all TEXT,
    observed TEXT NOT NULL,
    since_at INTEGER NOT NULL,
    since_revision INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    not_before INTEGER NOT NULL,
    last_error TEXT,
    PRIMARY KEY (agent, label, attempt),
    FOREIGN KEY (agent, label, attempt) REFERENCES versions (agent, label, attempt)
);

CREATE TABLE routes (
    agent TEXT PRIMARY KEY NOT NULL REFERENCES agents (id),
    active TEXT,
    canary TEXT,
    previous TEXT,
    revision INTEGER NOT NULL,
    row_version INTEGER NOT NULL
);

CREATE TABLE tokens (
    hash TEXT PRIMARY KEY NOT NULL,
    actor TEXT NOT NULL,
    role TEXT NOT NULL,
    namespace TEXT,
    expires_at INTEGER
);

CREATE TABLE versions (
    agent TEXT NOT NULL REFERENCES agents (id),
    label TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN (
        'DRAFT', 'STATIC_VALIDATED', 'CONFORMANCE_VERIFIED', 'SECURITY_VERIFIED', 'REGISTRY_ADMITTED',
        'CANARY', 'ACTIVE', 'QUARANTINED', 'REJECTED', 'DEPRECATED'
    )),
    facts TEXT NOT NULL,
    bundle TEXT NOT NULL REFERENCES bundles (digest),
    activated TEXT NOT NULL,
    environment TEXT NOT NULL REFERENCES environments (name),
    submitted_by TEXT NOT NULL,
    submitted_at INTEGER NOT NULL,
    submitted_revision INTEGER NOT NULL,
    change_reason TEXT,
    implementation_diff TEXT,
    newest_outcome TEXT,
    newest_evidence TEXT,
    failing TEXT NOT NULL,
    revision INTEGER NOT NULL,
    row_version INTEGER NOT NULL, class TEXT NOT NULL DEFAULT 'full',
    PRIMARY KEY (agent, label, attempt)
);

CREATE TABLE waivers (
    id TEXT PRIMARY KEY NOT NULL,
    agent TEXT NOT NULL,
    label TEXT NOT NULL,
    request TEXT NOT NULL,
    granted TEXT,
    revoked TEXT,
    asked_revision INTEGER NOT NULL
);

CREATE TABLE webhooks (
    id TEXT PRIMARY KEY NOT NULL,
    facts TEXT NOT NULL,
    removed INTEGER NOT NULL DEFAULT 0,
    reached INTEGER NOT NULL,
    tries INTEGER NOT NULL,
    not_before INTEGER NOT NULL,
    last_error TEXT
);

CREATE INDEX agents_by_namespace ON agents (namespace);

CREATE INDEX approvals_by_version ON approvals (agent, label, attempt, given_revision);

CREATE INDEX audit_by_subject ON audit (subject, revision);

CREATE INDEX drift_reports_by_age ON drift_reports (taken_at);

CREATE INDEX drift_reports_by_version ON drift_reports (agent, label, attempt, reporter);

CREATE INDEX evidence_by_version ON evidence (agent, label, attempt, recorded);

CREATE INDEX holds_standing ON holds (agent, label, attempt) WHERE lifted IS NULL;

CREATE UNIQUE INDEX jobs_one_open ON jobs (agent, label, attempt, gate) WHERE state IN ('queued', 'leased');

CREATE INDEX jobs_open ON jobs (queued_at, id) WHERE state IN ('queued', 'leased');

CREATE INDEX outcome_windows_by_age ON outcome_windows (taken_at);

CREATE INDEX outcomes_by_age ON outcomes (bucket);

CREATE INDEX revalidations_due ON revalidations (not_before);

CREATE INDEX versions_by_revision ON versions (revision);

CREATE UNIQUE INDEX versions_one_active ON versions (agent) WHERE state = 'ACTIVE';

CREATE UNIQUE INDEX versions_one_canary ON versions (agent) WHERE state = 'CANARY';

CREATE UNIQUE INDEX versions_one_open_try ON versions (agent, label) WHERE state NOT IN ('REJECTED', 'DEPRECATED');

CREATE INDEX waivers_by_label ON waivers (agent, label, asked_revision);
