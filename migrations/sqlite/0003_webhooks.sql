-- Events that the clock brings about, each told once; who is told of events, how far they have been, and what they never took.

CREATE TABLE notices (
    id TEXT PRIMARY KEY NOT NULL,
    revision INTEGER NOT NULL
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

CREATE TABLE dead_letters (
    webhook TEXT NOT NULL REFERENCES webhooks (id),
    revision INTEGER NOT NULL,
    tries INTEGER NOT NULL,
    last_error TEXT NOT NULL,
    given_up_at INTEGER NOT NULL,
    PRIMARY KEY (webhook, revision)
);
