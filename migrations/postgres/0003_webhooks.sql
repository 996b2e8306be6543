-- Events that the clock brings about, each told once; who is told of events, how far they have been, and what they never took.

CREATE TABLE notices (
    id TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    revision BIGINT NOT NULL
);

CREATE TABLE webhooks (
    id TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    facts TEXT NOT NULL,
    removed BIGINT NOT NULL DEFAULT 0,
    reached BIGINT NOT NULL,
    tries BIGINT NOT NULL,
    not_before BIGINT NOT NULL,
    last_error TEXT
);

CREATE TABLE dead_letters (
    webhook TEXT COLLATE "C" NOT NULL REFERENCES webhooks (id),
    revision BIGINT NOT NULL,
    tries BIGINT NOT NULL,
    last_error TEXT NOT NULL,
    given_up_at BIGINT NOT NULL,
    PRIMARY KEY (webhook, revision)
);
