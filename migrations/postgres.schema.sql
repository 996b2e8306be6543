CREATE FUNCTION public.is_append_only() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END
$$;

CREATE FUNCTION public.is_final() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION 'a try that ended does not move';
END
$$;

CREATE TABLE public.agents (
    id text NOT NULL COLLATE pg_catalog."C",
    namespace text NOT NULL COLLATE pg_catalog."C",
    owner text,
    description text
);

CREATE TABLE public.approvals (
    id text NOT NULL COLLATE pg_catalog."C",
    agent text NOT NULL COLLATE pg_catalog."C",
    label text NOT NULL COLLATE pg_catalog."C",
    attempt bigint NOT NULL,
    edge text NOT NULL,
    actor text NOT NULL,
    manifest text NOT NULL,
    policy text NOT NULL,
    reason text NOT NULL,
    given_at bigint NOT NULL,
    given_revision bigint NOT NULL,
    expires_at bigint NOT NULL
);

CREATE TABLE public.audit (
    revision bigint NOT NULL,
    subject text NOT NULL COLLATE pg_catalog."C",
    record bytea NOT NULL,
    previous text NOT NULL,
    hash text NOT NULL COLLATE pg_catalog."C"
);

CREATE TABLE public.bundles (
    digest text NOT NULL COLLATE pg_catalog."C",
    archive bytea NOT NULL
);

CREATE TABLE public.counter (
    id bigint NOT NULL,
    revision bigint NOT NULL,
    audit_hash text NOT NULL,
    CONSTRAINT counter_id_check CHECK ((id = 1))
);

CREATE TABLE public.dead_letters (
    webhook text NOT NULL COLLATE pg_catalog."C",
    revision bigint NOT NULL,
    tries bigint NOT NULL,
    last_error text NOT NULL,
    given_up_at bigint NOT NULL
);

CREATE TABLE public.drift_reports (
    id text NOT NULL COLLATE pg_catalog."C",
    agent text NOT NULL COLLATE pg_catalog."C",
    label text NOT NULL COLLATE pg_catalog."C",
    attempt bigint NOT NULL,
    reporter text NOT NULL COLLATE pg_catalog."C",
    reported_by text NOT NULL,
    idempotency_key text NOT NULL COLLATE pg_catalog."C",
    request text NOT NULL,
    claim text NOT NULL,
    other_card text COLLATE pg_catalog."C",
    action text NOT NULL,
    taken_at bigint NOT NULL,
    taken_revision bigint NOT NULL,
    conclusion text,
    concluded_at bigint
);

CREATE TABLE public.environments (
    name text NOT NULL COLLATE pg_catalog."C",
    document bytea NOT NULL,
    changed_by text NOT NULL,
    changed_at bigint NOT NULL
);

CREATE TABLE public.evidence (
    id text NOT NULL COLLATE pg_catalog."C",
    agent text NOT NULL COLLATE pg_catalog."C",
    label text NOT NULL COLLATE pg_catalog."C",
    attempt bigint NOT NULL,
    gate text NOT NULL COLLATE pg_catalog."C",
    outcome text NOT NULL,
    profiles_passed text NOT NULL,
    profiles_failed text NOT NULL,
    subject text NOT NULL COLLATE pg_catalog."C",
    policy text NOT NULL,
    harness text NOT NULL,
    environment text NOT NULL COLLATE pg_catalog."C",
    run text,
    run_started bigint NOT NULL,
    envelope bytea NOT NULL,
    verified_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    standing text NOT NULL,
    recorded bigint NOT NULL,
    waived text DEFAULT '[]'::text NOT NULL
);

CREATE TABLE public.grants (
    replica text NOT NULL COLLATE pg_catalog."C",
    given text NOT NULL,
    seen_at bigint NOT NULL
);

CREATE TABLE public.holds (
    id text NOT NULL COLLATE pg_catalog."C",
    agent text NOT NULL COLLATE pg_catalog."C",
    label text NOT NULL COLLATE pg_catalog."C",
    attempt bigint NOT NULL,
    kind text NOT NULL,
    scope text NOT NULL,
    reason text NOT NULL,
    author text NOT NULL,
    evidence text COLLATE pg_catalog."C",
    set_at bigint NOT NULL,
    set_revision bigint NOT NULL,
    lifted text
);

CREATE TABLE public.idempotency (
    actor text NOT NULL COLLATE pg_catalog."C",
    idempotency_key text NOT NULL COLLATE pg_catalog."C",
    request text NOT NULL,
    answer text NOT NULL,
    answered_at bigint NOT NULL
);

CREATE TABLE public.jobs (
    id text NOT NULL COLLATE pg_catalog."C",
    agent text NOT NULL COLLATE pg_catalog."C",
    label text NOT NULL COLLATE pg_catalog."C",
    attempt bigint NOT NULL,
    gate text NOT NULL COLLATE pg_catalog."C",
    bundle text NOT NULL COLLATE pg_catalog."C",
    environment text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL,
    tries bigint NOT NULL,
    queued_at bigint NOT NULL,
    not_before bigint NOT NULL,
    epoch bigint NOT NULL,
    lease_until bigint,
    started bigint,
    last_error text,
    CONSTRAINT jobs_state_check CHECK ((state = ANY (ARRAY['queued'::text, 'leased'::text, 'done'::text, 'failed'::text])))
);

CREATE TABLE public.leases (
    job text NOT NULL COLLATE pg_catalog."C",
    epoch bigint NOT NULL,
    token_digest text NOT NULL,
    worker text NOT NULL,
    started bigint NOT NULL,
    committed bigint
);

CREATE TABLE public.namespaces (
    name text NOT NULL COLLATE pg_catalog."C",
    enforcement text NOT NULL,
    reason text
);

CREATE TABLE public.notices (
    id text NOT NULL COLLATE pg_catalog."C",
    revision bigint NOT NULL
);

CREATE TABLE public.objects (
    digest text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    bytes bytea NOT NULL
);

CREATE TABLE public.outcome_windows (
    reporter text NOT NULL COLLATE pg_catalog."C",
    router text NOT NULL COLLATE pg_catalog."C",
    instance text NOT NULL COLLATE pg_catalog."C",
    number bigint NOT NULL,
    taken_at bigint NOT NULL
);

CREATE TABLE public.outcomes (
    agent text NOT NULL COLLATE pg_catalog."C",
    label text NOT NULL COLLATE pg_catalog."C",
    bucket bigint NOT NULL,
    consumer text NOT NULL COLLATE pg_catalog."C",
    canary bigint NOT NULL,
    card text NOT NULL COLLATE pg_catalog."C",
    signal text NOT NULL COLLATE pg_catalog."C",
    code text NOT NULL COLLATE pg_catalog."C",
    count bigint NOT NULL
);

CREATE TABLE public.policies (
    digest text NOT NULL COLLATE pg_catalog."C",
    document text NOT NULL
);

CREATE TABLE public.policy_in_force (
    id bigint NOT NULL,
    digest text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT policy_in_force_id_check CHECK ((id = 1))
);

CREATE TABLE public.reports (
    evidence text NOT NULL COLLATE pg_catalog."C",
    report bytea NOT NULL
);

CREATE TABLE public.revalidations (
    agent text NOT NULL COLLATE pg_catalog."C",
    label text NOT NULL COLLATE pg_catalog."C",
    attempt bigint NOT NULL,
    hold text COLLATE pg_catalog."C",
    for_all text COLLATE pg_catalog."C",
    observed text NOT NULL,
    since_at bigint NOT NULL,
    since_revision bigint NOT NULL,
    failed bigint NOT NULL,
    not_before bigint NOT NULL,
    last_error text
);

CREATE TABLE public.routes (
    agent text NOT NULL COLLATE pg_catalog."C",
    active text,
    canary text,
    previous text,
    revision bigint NOT NULL,
    row_version bigint NOT NULL
);

CREATE TABLE public.tokens (
    hash text NOT NULL COLLATE pg_catalog."C",
    actor text NOT NULL,
    role text NOT NULL,
    namespace text COLLATE pg_catalog."C",
    expires_at bigint
);

CREATE TABLE public.versions (
    agent text NOT NULL COLLATE pg_catalog."C",
    label text NOT NULL COLLATE pg_catalog."C",
    attempt bigint NOT NULL,
    state text NOT NULL,
    facts text NOT NULL,
    bundle text NOT NULL COLLATE pg_catalog."C",
    activated text NOT NULL,
    environment text NOT NULL COLLATE pg_catalog."C",
    submitted_by text NOT NULL,
    submitted_at bigint NOT NULL,
    submitted_revision bigint NOT NULL,
    change_reason text,
    implementation_diff text,
    newest_outcome text,
    newest_evidence text,
    failing text NOT NULL,
    revision bigint NOT NULL,
    row_version bigint NOT NULL,
    class text DEFAULT 'full'::text NOT NULL,
    CONSTRAINT versions_state_check CHECK ((state = ANY (ARRAY['DRAFT'::text, 'STATIC_VALIDATED'::text, 'CONFORMANCE_VERIFIED'::text, 'SECURITY_VERIFIED'::text, 'REGISTRY_ADMITTED'::text, 'CANARY'::text, 'ACTIVE'::text, 'QUARANTINED'::text, 'REJECTED'::text, 'DEPRECATED'::text])))
);

CREATE TABLE public.waivers (
    id text NOT NULL COLLATE pg_catalog."C",
    agent text NOT NULL COLLATE pg_catalog."C",
    label text NOT NULL COLLATE pg_catalog."C",
    request text NOT NULL,
    granted text,
    revoked text,
    asked_revision bigint NOT NULL
);

CREATE TABLE public.webhooks (
    id text NOT NULL COLLATE pg_catalog."C",
    facts text NOT NULL,
    removed bigint DEFAULT 0 NOT NULL,
    reached bigint NOT NULL,
    tries bigint NOT NULL,
    not_before bigint NOT NULL,
    last_error text
);

ALTER TABLE ONLY public.agents
    ADD CONSTRAINT agents_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.approvals
    ADD CONSTRAINT approvals_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (revision);

ALTER TABLE ONLY public.bundles
    ADD CONSTRAINT bundles_pkey PRIMARY KEY (digest);

ALTER TABLE ONLY public.counter
    ADD CONSTRAINT counter_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.dead_letters
    ADD CONSTRAINT dead_letters_pkey PRIMARY KEY (webhook, revision);

ALTER TABLE ONLY public.drift_reports
    ADD CONSTRAINT drift_reports_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.drift_reports
    ADD CONSTRAINT drift_reports_reporter_idempotency_key_key UNIQUE (reporter, idempotency_key);

ALTER TABLE ONLY public.environments
    ADD CONSTRAINT environments_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.evidence
    ADD CONSTRAINT evidence_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.grants
    ADD CONSTRAINT grants_pkey PRIMARY KEY (replica);

ALTER TABLE ONLY public.holds
    ADD CONSTRAINT holds_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.idempotency
    ADD CONSTRAINT idempotency_pkey PRIMARY KEY (actor, idempotency_key);

ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.leases
    ADD CONSTRAINT leases_pkey PRIMARY KEY (job, epoch);

ALTER TABLE ONLY public.namespaces
    ADD CONSTRAINT namespaces_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.notices
    ADD CONSTRAINT notices_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.objects
    ADD CONSTRAINT objects_pkey PRIMARY KEY (digest);

ALTER TABLE ONLY public.outcome_windows
    ADD CONSTRAINT outcome_windows_pkey PRIMARY KEY (reporter, router, instance, number);

ALTER TABLE ONLY public.outcomes
    ADD CONSTRAINT outcomes_pkey PRIMARY KEY (agent, label, bucket, consumer, canary, card, signal, code);

ALTER TABLE ONLY public.policies
    ADD CONSTRAINT policies_pkey PRIMARY KEY (digest);

ALTER TABLE ONLY public.policy_in_force
    ADD CONSTRAINT policy_in_force_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.reports
    ADD CONSTRAINT reports_pkey PRIMARY KEY (evidence);

ALTER TABLE ONLY public.revalidations
    ADD CONSTRAINT revalidations_pkey PRIMARY KEY (agent, label, attempt);

ALTER TABLE ONLY public.routes
    ADD CONSTRAINT routes_pkey PRIMARY KEY (agent);

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (hash);

ALTER TABLE ONLY public.versions
    ADD CONSTRAINT versions_pkey PRIMARY KEY (agent, label, attempt);

ALTER TABLE ONLY public.waivers
    ADD CONSTRAINT waivers_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.webhooks
    ADD CONSTRAINT webhooks_pkey PRIMARY KEY (id);

CREATE INDEX agents_by_namespace ON public.agents USING btree (namespace);

CREATE INDEX approvals_by_version ON public.approvals USING btree (agent, label, attempt, given_revision);

CREATE INDEX audit_by_subject ON public.audit USING btree (subject, revision);

CREATE INDEX drift_reports_by_age ON public.drift_reports USING btree (taken_at);

CREATE INDEX drift_reports_by_version ON public.drift_reports USING btree (agent, label, attempt, reporter);

CREATE INDEX evidence_by_version ON public.evidence USING btree (agent, label, attempt, recorded);

CREATE INDEX holds_standing ON public.holds USING btree (agent, label, attempt) WHERE (lifted IS NULL);

CREATE UNIQUE INDEX jobs_one_open ON public.jobs USING btree (agent, label, attempt, gate) WHERE (state = ANY (ARRAY['queued'::text, 'leased'::text]));

CREATE INDEX jobs_open ON public.jobs USING btree (queued_at, id) WHERE (state = ANY (ARRAY['queued'::text, 'leased'::text]));

CREATE INDEX outcome_windows_by_age ON public.outcome_windows USING btree (taken_at);

CREATE INDEX outcomes_by_age ON public.outcomes USING btree (bucket);

CREATE INDEX revalidations_due ON public.revalidations USING btree (not_before);

CREATE INDEX versions_by_revision ON public.versions USING btree (revision);

CREATE UNIQUE INDEX versions_one_active ON public.versions USING btree (agent) WHERE (state = 'ACTIVE'::text);

CREATE UNIQUE INDEX versions_one_canary ON public.versions USING btree (agent) WHERE (state = 'CANARY'::text);

CREATE UNIQUE INDEX versions_one_open_try ON public.versions USING btree (agent, label) WHERE (state <> ALL (ARRAY['REJECTED'::text, 'DEPRECATED'::text]));

CREATE INDEX waivers_by_label ON public.waivers USING btree (agent, label, asked_revision);

CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON public.audit FOR EACH ROW EXECUTE FUNCTION public.is_append_only();

CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON public.audit FOR EACH ROW EXECUTE FUNCTION public.is_append_only();

CREATE TRIGGER audit_is_not_emptied BEFORE TRUNCATE ON public.audit FOR EACH STATEMENT EXECUTE FUNCTION public.is_append_only();

CREATE TRIGGER evidence_is_not_changed BEFORE UPDATE ON public.evidence FOR EACH ROW EXECUTE FUNCTION public.is_append_only();

CREATE TRIGGER evidence_is_not_deleted BEFORE DELETE ON public.evidence FOR EACH ROW EXECUTE FUNCTION public.is_append_only();

CREATE TRIGGER evidence_is_not_emptied BEFORE TRUNCATE ON public.evidence FOR EACH STATEMENT EXECUTE FUNCTION public.is_append_only();

CREATE TRIGGER versions_end_is_final BEFORE UPDATE OF state ON public.versions FOR EACH ROW WHEN (((old.state = ANY (ARRAY['REJECTED'::text, 'DEPRECATED'::text])) AND (new.state <> old.state))) EXECUTE FUNCTION public.is_final();

ALTER TABLE ONLY public.agents
    ADD CONSTRAINT agents_namespace_fkey FOREIGN KEY (namespace) REFERENCES public.namespaces(name);

ALTER TABLE ONLY public.approvals
    ADD CONSTRAINT approvals_agent_label_attempt_fkey FOREIGN KEY (agent, label, attempt) REFERENCES public.versions(agent, label, attempt);

ALTER TABLE ONLY public.dead_letters
    ADD CONSTRAINT dead_letters_webhook_fkey FOREIGN KEY (webhook) REFERENCES public.webhooks(id);

ALTER TABLE ONLY public.drift_reports
    ADD CONSTRAINT drift_reports_agent_label_attempt_fkey FOREIGN KEY (agent, label, attempt) REFERENCES public.versions(agent, label, attempt);

ALTER TABLE ONLY public.evidence
    ADD CONSTRAINT evidence_agent_label_attempt_fkey FOREIGN KEY (agent, label, attempt) REFERENCES public.versions(agent, label, attempt);

ALTER TABLE ONLY public.holds
    ADD CONSTRAINT holds_agent_label_attempt_fkey FOREIGN KEY (agent, label, attempt) REFERENCES public.versions(agent, label, attempt);

ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_agent_label_attempt_fkey FOREIGN KEY (agent, label, attempt) REFERENCES public.versions(agent, label, attempt);

ALTER TABLE ONLY public.leases
    ADD CONSTRAINT leases_job_fkey FOREIGN KEY (job) REFERENCES public.jobs(id);

ALTER TABLE ONLY public.policy_in_force
    ADD CONSTRAINT policy_in_force_digest_fkey FOREIGN KEY (digest) REFERENCES public.policies(digest);

ALTER TABLE ONLY public.reports
    ADD CONSTRAINT reports_evidence_fkey FOREIGN KEY (evidence) REFERENCES public.evidence(id);

ALTER TABLE ONLY public.revalidations
    ADD CONSTRAINT revalidations_agent_label_attempt_fkey FOREIGN KEY (agent, label, attempt) REFERENCES public.versions(agent, label, attempt);

ALTER TABLE ONLY public.routes
    ADD CONSTRAINT routes_agent_fkey FOREIGN KEY (agent) REFERENCES public.agents(id);

ALTER TABLE ONLY public.versions
    ADD CONSTRAINT versions_agent_fkey FOREIGN KEY (agent) REFERENCES public.agents(id);

ALTER TABLE ONLY public.versions
    ADD CONSTRAINT versions_bundle_fkey FOREIGN KEY (bundle) REFERENCES public.bundles(digest);

ALTER TABLE ONLY public.versions
    ADD CONSTRAINT versions_environment_fkey FOREIGN KEY (environment) REFERENCES public.environments(name);
