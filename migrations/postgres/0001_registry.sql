-- The registry: versions, routes, holds, evidence, approvals, the queue, the audit.
--
-- The twin of the SQLite migration with the same number. Times are nanoseconds since 1970 (UTC) in BIGINT; digests are
-- `sha256:<hex>`; what is a list or an enum with data is JSON. SQL never reads the clock: every time is bound by the store.
-- Keys are compared byte by byte (COLLATE "C"): the order of a list must not depend on the machine's language, and an
-- index must not break when the machine's language tables are upgraded.

CREATE FUNCTION is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END
$$;
CREATE FUNCTION is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a try that ended does not move';
END
$$;

-- One gapless revision and the head of the audit chain, bumped by every transaction that changes the registry.
CREATE TABLE counter (
    id BIGINT PRIMARY KEY NOT NULL CHECK (id = 1),
    revision BIGINT NOT NULL,
    audit_hash TEXT NOT NULL
);
INSERT INTO counter (id, revision, audit_hash)
VALUES (1, 0, 'sha256:e71630492a5bc139c106258e122eba5e261a99620f11b307b8bf5b08f695fe75');

CREATE TABLE audit (
    revision BIGINT PRIMARY KEY NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    record BYTEA NOT NULL,
    previous TEXT NOT NULL,
    hash TEXT COLLATE "C" NOT NULL
);
CREATE INDEX audit_by_subject ON audit (subject, revision);
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit FOR EACH ROW EXECUTE FUNCTION is_append_only();
CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit FOR EACH ROW EXECUTE FUNCTION is_append_only();
CREATE TRIGGER audit_is_not_emptied BEFORE TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION is_append_only();

CREATE TABLE namespaces (
    name TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    enforcement TEXT NOT NULL
);

CREATE TABLE agents (
    id TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    namespace TEXT COLLATE "C" NOT NULL REFERENCES namespaces (name),
    owner TEXT,
    description TEXT
);
CREATE INDEX agents_by_namespace ON agents (namespace);

CREATE TABLE environments (
    name TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    document BYTEA NOT NULL,
    changed_by TEXT NOT NULL,
    changed_at BIGINT NOT NULL
);

CREATE TABLE tokens (
    hash TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    actor TEXT NOT NULL,
    role TEXT NOT NULL,
    namespace TEXT COLLATE "C",
    expires_at BIGINT
);

CREATE TABLE policies (
    digest TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    document TEXT NOT NULL
);
CREATE TABLE policy_in_force (
    id BIGINT PRIMARY KEY NOT NULL CHECK (id = 1),
    digest TEXT COLLATE "C" NOT NULL REFERENCES policies (digest)
);

CREATE TABLE bundles (
    digest TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    archive BYTEA NOT NULL
);
CREATE TABLE objects (
    digest TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    kind TEXT NOT NULL,
    bytes BYTEA NOT NULL
);

CREATE TABLE versions (
    agent TEXT COLLATE "C" NOT NULL REFERENCES agents (id),
    label TEXT COLLATE "C" NOT NULL,
    attempt BIGINT NOT NULL,
    state TEXT NOT NULL CHECK (state IN (
        'DRAFT', 'STATIC_VALIDATED', 'CONFORMANCE_VERIFIED', 'SECURITY_VERIFIED', 'REGISTRY_ADMITTED',
        'CANARY', 'ACTIVE', 'QUARANTINED', 'REJECTED', 'DEPRECATED'
    )),
    facts TEXT NOT NULL,
    bundle TEXT COLLATE "C" NOT NULL REFERENCES bundles (digest),
    activated TEXT NOT NULL,
    environment TEXT COLLATE "C" NOT NULL REFERENCES environments (name),
    submitted_by TEXT NOT NULL,
    submitted_at BIGINT NOT NULL,
    submitted_revision BIGINT NOT NULL,
    change_reason TEXT,
    implementation_diff TEXT,
    newest_outcome TEXT,
    newest_evidence TEXT,
    failing TEXT NOT NULL,
    revision BIGINT NOT NULL,
    row_version BIGINT NOT NULL,
    PRIMARY KEY (agent, label, attempt)
);
CREATE INDEX versions_by_revision ON versions (revision);
-- One ACTIVE and one CANARY an agent, one open try a label: also where a bug of ours would say otherwise.
CREATE UNIQUE INDEX versions_one_active ON versions (agent) WHERE state = 'ACTIVE';
CREATE UNIQUE INDEX versions_one_canary ON versions (agent) WHERE state = 'CANARY';
CREATE UNIQUE INDEX versions_one_open_try ON versions (agent, label) WHERE state NOT IN ('REJECTED', 'DEPRECATED');
CREATE TRIGGER versions_end_is_final BEFORE UPDATE OF state ON versions FOR EACH ROW
WHEN (old.state IN ('REJECTED', 'DEPRECATED') AND new.state <> old.state)
EXECUTE FUNCTION is_final();

CREATE TABLE routes (
    agent TEXT COLLATE "C" PRIMARY KEY NOT NULL REFERENCES agents (id),
    active TEXT,
    canary TEXT,
    previous TEXT,
    revision BIGINT NOT NULL,
    row_version BIGINT NOT NULL
);

CREATE TABLE holds (
    id TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    agent TEXT COLLATE "C" NOT NULL,
    label TEXT COLLATE "C" NOT NULL,
    attempt BIGINT NOT NULL,
    kind TEXT NOT NULL,
    scope TEXT NOT NULL,
    reason TEXT NOT NULL,
    author TEXT NOT NULL,
    evidence TEXT COLLATE "C",
    set_at BIGINT NOT NULL,
    set_revision BIGINT NOT NULL,
    lifted TEXT,
    FOREIGN KEY (agent, label, attempt) REFERENCES versions (agent, label, attempt)
);
CREATE INDEX holds_standing ON holds (agent, label, attempt) WHERE lifted IS NULL;

CREATE TABLE evidence (
    id TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    agent TEXT COLLATE "C" NOT NULL,
    label TEXT COLLATE "C" NOT NULL,
    attempt BIGINT NOT NULL,
    gate TEXT COLLATE "C" NOT NULL,
    outcome TEXT NOT NULL,
    profiles_passed TEXT NOT NULL,
    profiles_failed TEXT NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    policy TEXT NOT NULL,
    harness TEXT NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    run TEXT,
    run_started BIGINT NOT NULL,
    envelope BYTEA NOT NULL,
    verified_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    standing TEXT NOT NULL,
    recorded BIGINT NOT NULL,
    FOREIGN KEY (agent, label, attempt) REFERENCES versions (agent, label, attempt)
);
CREATE INDEX evidence_by_version ON evidence (agent, label, attempt, recorded);
CREATE TRIGGER evidence_is_not_changed BEFORE UPDATE ON evidence FOR EACH ROW EXECUTE FUNCTION is_append_only();
CREATE TRIGGER evidence_is_not_deleted BEFORE DELETE ON evidence FOR EACH ROW EXECUTE FUNCTION is_append_only();
CREATE TRIGGER evidence_is_not_emptied BEFORE TRUNCATE ON evidence FOR EACH STATEMENT EXECUTE FUNCTION is_append_only();

CREATE TABLE reports (
    evidence TEXT COLLATE "C" PRIMARY KEY NOT NULL REFERENCES evidence (id),
    report BYTEA NOT NULL
);

CREATE TABLE approvals (
    id TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    agent TEXT COLLATE "C" NOT NULL,
    label TEXT COLLATE "C" NOT NULL,
    attempt BIGINT NOT NULL,
    edge TEXT NOT NULL,
    actor TEXT NOT NULL,
    manifest TEXT NOT NULL,
    policy TEXT NOT NULL,
    reason TEXT NOT NULL,
    given_at BIGINT NOT NULL,
    given_revision BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    FOREIGN KEY (agent, label, attempt) REFERENCES versions (agent, label, attempt)
);
CREATE INDEX approvals_by_version ON approvals (agent, label, attempt, given_revision);

CREATE TABLE jobs (
    id TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    agent TEXT COLLATE "C" NOT NULL,
    label TEXT COLLATE "C" NOT NULL,
    attempt BIGINT NOT NULL,
    gate TEXT COLLATE "C" NOT NULL,
    bundle TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('queued', 'leased', 'done', 'failed')),
    tries BIGINT NOT NULL,
    queued_at BIGINT NOT NULL,
    not_before BIGINT NOT NULL,
    epoch BIGINT NOT NULL,
    lease_until BIGINT,
    started BIGINT,
    last_error TEXT,
    FOREIGN KEY (agent, label, attempt) REFERENCES versions (agent, label, attempt)
);
CREATE INDEX jobs_open ON jobs (queued_at, id) WHERE state IN ('queued', 'leased');
CREATE UNIQUE INDEX jobs_one_open ON jobs (agent, label, attempt, gate) WHERE state IN ('queued', 'leased');

-- Every lease that was ever given out: a late result is recognised, and its evidence kept, but it moves nothing.
CREATE TABLE leases (
    job TEXT COLLATE "C" NOT NULL REFERENCES jobs (id),
    epoch BIGINT NOT NULL,
    token_digest TEXT NOT NULL,
    worker TEXT NOT NULL,
    started BIGINT NOT NULL,
    committed BIGINT,
    PRIMARY KEY (job, epoch)
);

CREATE TABLE idempotency (
    actor TEXT COLLATE "C" NOT NULL,
    idempotency_key TEXT COLLATE "C" NOT NULL,
    request TEXT NOT NULL,
    answer TEXT NOT NULL,
    answered_at BIGINT NOT NULL,
    PRIMARY KEY (actor, idempotency_key)
);
