-- The log. Rows are written once; the triggers below refuse everything else.
CREATE TABLE hecate_log (
    position   bigint PRIMARY KEY, -- 1, 2, 3 … without gaps
    stream     text   COLLATE "C" NOT NULL,
    version    bigint NOT NULL,    -- 1, 2, 3 … within the stream
    event_id   uuid   NOT NULL,
    type       text   NOT NULL,
    schema     bigint NOT NULL,    -- payload version of the type
    at         bigint NOT NULL,    -- microseconds since 1970-01-01 UTC
    actor_kind text   NOT NULL,
    actor_name text   NOT NULL,
    actor_org  text   NOT NULL,
    caused_by  bigint NOT NULL,    -- position, 0 for none
    command_id text   NOT NULL,
    trace      text   NOT NULL,
    hash       bytea  NOT NULL,    -- SHA-256 over the canonical record
    UNIQUE (stream, version)
);

-- The data of each record, apart, so that it can be erased without touching the log.
CREATE TABLE hecate_payload (
    position bigint PRIMARY KEY,
    salt     bytea NOT NULL,
    data     bytea NOT NULL
);

-- Large contents, named by the salted digest that events refer to.
CREATE TABLE hecate_blobs (
    digest     text   COLLATE "C" PRIMARY KEY, -- hex SHA-256 over salt and content
    salt       bytea  NOT NULL,
    size       bigint NOT NULL,    -- bytes of the content
    media_type text   NOT NULL,
    codec      bigint NOT NULL,    -- 0 as it is, 1 zstd
    content    bytea  NOT NULL
);
ALTER TABLE hecate_blobs ALTER COLUMN content SET STORAGE EXTERNAL; -- packed already

-- Which commands were carried out, and where their events stand.
CREATE TABLE hecate_commands (
    command_id text   COLLATE "C" PRIMARY KEY,
    first      bigint NOT NULL,
    last       bigint NOT NULL
);

-- Streams that a worker must look at. Derived, and kept by the append.
CREATE TABLE hecate_open_work (
    stream text   COLLATE "C" PRIMARY KEY,
    since  bigint NOT NULL -- position of the event that opened it last
);
CREATE INDEX hecate_open_work_since ON hecate_open_work (since);

-- One row: which log this is.
CREATE TABLE hecate_log_state (
    one    bigint PRIMARY KEY CHECK (one = 1),
    log_id text   NOT NULL,
    floor  bigint NOT NULL -- positions up to here were given out, whatever the log holds
);

CREATE FUNCTION hecate_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the log cannot be changed: % on %', TG_OP, TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;

CREATE TRIGGER hecate_log_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON hecate_log
    FOR EACH STATEMENT EXECUTE FUNCTION hecate_refuse();
CREATE TRIGGER hecate_payload_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON hecate_payload
    FOR EACH STATEMENT EXECUTE FUNCTION hecate_refuse();
CREATE TRIGGER hecate_blobs_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON hecate_blobs
    FOR EACH STATEMENT EXECUTE FUNCTION hecate_refuse();
CREATE TRIGGER hecate_commands_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON hecate_commands
    FOR EACH STATEMENT EXECUTE FUNCTION hecate_refuse();
