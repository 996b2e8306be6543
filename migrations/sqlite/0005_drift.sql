-- What routers tell: what differs from what was admitted, and how dispatches went; and the looks of our own that follow.

-- One row a report; the reporter is the name of its token, whatever it calls itself.
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
CREATE INDEX drift_reports_by_version ON drift_reports (agent, label, attempt, reporter);
CREATE INDEX drift_reports_by_age ON drift_reports (taken_at);

-- One open look a try. A row is handed out by moving `not_before`, and goes when the look concludes.
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
CREATE INDEX revalidations_due ON revalidations (not_before);

-- Which windows were counted.
CREATE TABLE outcome_windows (
    reporter TEXT NOT NULL,
    router TEXT NOT NULL,
    instance TEXT NOT NULL,
    number INTEGER NOT NULL,
    taken_at INTEGER NOT NULL,
    PRIMARY KEY (reporter, router, instance, number)
);
CREATE INDEX outcome_windows_by_age ON outcome_windows (taken_at);

-- Sums, by version, ten minutes, consumer and signal.
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
CREATE INDEX outcomes_by_age ON outcomes (bucket);
