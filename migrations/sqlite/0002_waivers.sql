-- Why a namespace is not enforced; how complete a version's evidence is to be; waivers, and what rests on them.

ALTER TABLE namespaces ADD COLUMN reason TEXT;
ALTER TABLE versions ADD COLUMN class TEXT NOT NULL DEFAULT 'full';
ALTER TABLE evidence ADD COLUMN waived TEXT NOT NULL DEFAULT '[]';

-- A request is never changed; the second person's word and the end are each written once.
CREATE TABLE waivers (
    id TEXT PRIMARY KEY NOT NULL,
    agent TEXT NOT NULL,
    label TEXT NOT NULL,
    request TEXT NOT NULL,
    granted TEXT,
    revoked TEXT,
    asked_revision INTEGER NOT NULL
);
CREATE INDEX waivers_by_label ON waivers (agent, label, asked_revision);
