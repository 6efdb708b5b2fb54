-- The hops of one party: journals, leases, sealed secrets, and what was taken. Who has answered in an epoch is a table of
-- its own, `answered_HOP_EPOCH`, from the first upload until the epoch closes.

-- Whose schema this is.
CREATE TABLE owner (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    name text NOT NULL
);

-- One row for each hop, with the newest lease on its journal.
CREATE TABLE hops (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    survey bytea NOT NULL,
    place text NOT NULL,
    lease bigint NOT NULL DEFAULT 0,
    deadline timestamptz NOT NULL DEFAULT '-infinity',
    UNIQUE (survey, place)
);

-- The write-ahead logs. Nothing in them is secret.
CREATE TABLE journal (
    hop bigint NOT NULL,
    number bigint NOT NULL,
    lease bigint NOT NULL,
    record bytea NOT NULL,
    PRIMARY KEY (hop, number)
);

-- Draws and epoch keys, sealed under keys that are not in the database.
CREATE TABLE secrets (
    hop bigint NOT NULL,
    name text NOT NULL,
    sealed bytea NOT NULL,
    PRIMARY KEY (hop, name)
);

-- Which channels take uploads. A row stays when its channel is closed, so that nothing opens it again.
CREATE TABLE intakes (
    hop bigint NOT NULL,
    epoch bigint NOT NULL,
    label bigint NOT NULL,
    closed boolean NOT NULL,
    PRIMARY KEY (hop, epoch, label)
);

-- The objects with bodies. The number is the upper half of a place among a channel's uploads, so it has 32 bits.
-- Segments of one channel have different numbers; those of long ago are gone when it begins again.
CREATE SEQUENCE segment_numbers MINVALUE 0 MAXVALUE 4294967295 CYCLE;
CREATE TABLE segments (
    hop bigint NOT NULL,
    epoch bigint NOT NULL,
    label bigint NOT NULL,
    number bigint NOT NULL,
    len bigint NOT NULL,
    bodies bigint NOT NULL,
    digest bytea NOT NULL,
    tag bytea NOT NULL,
    PRIMARY KEY (hop, epoch, label, number)
);
