-- The log. Rows are written once; the triggers below refuse everything else.
CREATE TABLE hecate_log (
    position   INTEGER PRIMARY KEY, -- 1, 2, 3 … without gaps
    stream     TEXT    NOT NULL,
    version    INTEGER NOT NULL,    -- 1, 2, 3 … within the stream
    event_id   BLOB    NOT NULL,    -- UUIDv7
    type       TEXT    NOT NULL,
    schema     INTEGER NOT NULL,    -- payload version of the type
    at         INTEGER NOT NULL,    -- microseconds since 1970-01-01 UTC
    actor_kind TEXT    NOT NULL,
    actor_name TEXT    NOT NULL,
    actor_org  TEXT    NOT NULL,
    caused_by  INTEGER NOT NULL,    -- position, 0 for none
    command_id TEXT    NOT NULL,
    trace      TEXT    NOT NULL,
    hash       BLOB    NOT NULL     -- SHA-256 over the canonical record
) STRICT;

-- Where each version of a stream stands, for positions up to log_state.indexed. It
-- is brought up to date some thousand records at a time: an index over the log
-- would dirty one page for each record, and an append to many streams would write
-- ten times its own size.
CREATE TABLE hecate_streams (
    stream   TEXT    NOT NULL,
    version  INTEGER NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (stream, version)
) STRICT, WITHOUT ROWID;

-- The data of each record, apart, so that it can be erased without touching the log.
CREATE TABLE hecate_payload (
    position INTEGER PRIMARY KEY,
    salt     BLOB NOT NULL,
    data     BLOB NOT NULL
) STRICT;

-- Large contents, named by the salted digest that events refer to.
CREATE TABLE hecate_blobs (
    digest     TEXT    NOT NULL UNIQUE, -- hex SHA-256 over salt and content
    salt       BLOB    NOT NULL,
    size       INTEGER NOT NULL,        -- bytes of the content
    media_type TEXT    NOT NULL,
    codec      INTEGER NOT NULL,        -- 0 as it is, 1 zstd
    content    BLOB    NOT NULL
) STRICT;

-- Which commands were carried out, and where their events stand.
CREATE TABLE hecate_commands (
    command_id TEXT PRIMARY KEY,
    first      INTEGER NOT NULL,
    last       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Streams that a worker must look at. Derived, and kept by the append.
CREATE TABLE hecate_open_work (
    stream TEXT PRIMARY KEY,
    since  INTEGER NOT NULL -- position of the event that opened it last
) STRICT, WITHOUT ROWID;
CREATE INDEX hecate_open_work_since ON hecate_open_work (since);

-- One row: which log this is.
CREATE TABLE hecate_log_state (
    one     INTEGER PRIMARY KEY CHECK (one = 1),
    log_id  TEXT    NOT NULL,
    floor   INTEGER NOT NULL, -- positions up to here were given out, whatever the log holds
    indexed INTEGER NOT NULL  -- positions up to here stand in hecate_streams
) STRICT;

CREATE TRIGGER hecate_log_no_update BEFORE UPDATE ON hecate_log
BEGIN SELECT raise(ABORT, 'the log cannot be changed'); END;
CREATE TRIGGER hecate_log_no_delete BEFORE DELETE ON hecate_log
BEGIN SELECT raise(ABORT, 'the log cannot be changed'); END;
CREATE TRIGGER hecate_payload_no_update BEFORE UPDATE ON hecate_payload
BEGIN SELECT raise(ABORT, 'the log cannot be changed'); END;
CREATE TRIGGER hecate_payload_no_delete BEFORE DELETE ON hecate_payload
BEGIN SELECT raise(ABORT, 'the log cannot be changed'); END;
CREATE TRIGGER hecate_blobs_no_update BEFORE UPDATE ON hecate_blobs
BEGIN SELECT raise(ABORT, 'the log cannot be changed'); END;
CREATE TRIGGER hecate_blobs_no_delete BEFORE DELETE ON hecate_blobs
BEGIN SELECT raise(ABORT, 'the log cannot be changed'); END;
CREATE TRIGGER hecate_commands_no_update BEFORE UPDATE ON hecate_commands
BEGIN SELECT raise(ABORT, 'the log cannot be changed'); END;
CREATE TRIGGER hecate_commands_no_delete BEFORE DELETE ON hecate_commands
BEGIN SELECT raise(ABORT, 'the log cannot be changed'); END;
