-- What each running server has given out on older views, and until when it may be used: see domain/src/grants.rs.

CREATE TABLE grants (
    replica TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    given TEXT NOT NULL,
    seen_at BIGINT NOT NULL
);
