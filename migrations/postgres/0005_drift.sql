-- What routers tell: what differs from what was admitted, and how dispatches went; and the looks of our own that follow.

-- One row a report; the reporter is the name of its token, whatever it calls itself.
CREATE TABLE drift_reports (
    id TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    agent TEXT COLLATE "C" NOT NULL,
    label TEXT COLLATE "C" NOT NULL,
    attempt BIGINT NOT NULL,
    reporter TEXT COLLATE "C" NOT NULL,
    reported_by TEXT NOT NULL,
    idempotency_key TEXT COLLATE "C" NOT NULL,
    request TEXT NOT NULL,
    claim TEXT NOT NULL,
    -- The card that it says differs, where it says so.
    other_card TEXT COLLATE "C",
    action TEXT NOT NULL,
    taken_at BIGINT NOT NULL,
    taken_revision BIGINT NOT NULL,
    conclusion TEXT,
    concluded_at BIGINT,
    UNIQUE (reporter, idempotency_key),
    FOREIGN KEY (agent, label, attempt) REFERENCES versions (agent, label, attempt)
);
CREATE INDEX drift_reports_by_version ON drift_reports (agent, label, attempt, reporter);
CREATE INDEX drift_reports_by_age ON drift_reports (taken_at);

-- One open look a try. A row is handed out by moving `not_before`, and goes when the look concludes.
CREATE TABLE revalidations (
    agent TEXT COLLATE "C" NOT NULL,
    label TEXT COLLATE "C" NOT NULL,
    attempt BIGINT NOT NULL,
    hold TEXT COLLATE "C",
    for_all TEXT COLLATE "C",
    observed TEXT NOT NULL,
    since_at BIGINT NOT NULL,
    since_revision BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    not_before BIGINT NOT NULL,
    last_error TEXT,
    PRIMARY KEY (agent, label, attempt),
    FOREIGN KEY (agent, label, attempt) REFERENCES versions (agent, label, attempt)
);
CREATE INDEX revalidations_due ON revalidations (not_before);

-- Which windows were counted.
CREATE TABLE outcome_windows (
    reporter TEXT COLLATE "C" NOT NULL,
    router TEXT COLLATE "C" NOT NULL,
    instance TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    taken_at BIGINT NOT NULL,
    PRIMARY KEY (reporter, router, instance, number)
);
CREATE INDEX outcome_windows_by_age ON outcome_windows (taken_at);

-- Sums, by version, ten minutes, consumer and signal.
CREATE TABLE outcomes (
    agent TEXT COLLATE "C" NOT NULL,
    label TEXT COLLATE "C" NOT NULL,
    bucket BIGINT NOT NULL,
    consumer TEXT COLLATE "C" NOT NULL,
    canary BIGINT NOT NULL,
    card TEXT COLLATE "C" NOT NULL,
    signal TEXT COLLATE "C" NOT NULL,
    code TEXT COLLATE "C" NOT NULL,
    count BIGINT NOT NULL,
    PRIMARY KEY (agent, label, bucket, consumer, canary, card, signal, code)
);
CREATE INDEX outcomes_by_age ON outcomes (bucket);
