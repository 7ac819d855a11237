-- How far each build of each read model has come. The row moves in the same
-- transaction as the model's rows.
CREATE TABLE IF NOT EXISTS hecate_view_state (
    model      text   NOT NULL,
    version    bigint NOT NULL, -- of the model's code and tables
    generation bigint NOT NULL, -- counts builds of this version
    stage      text   NOT NULL, -- building, live (readers use it) or retired (its tables are to go)
    log_id     text   NOT NULL,
    position   bigint NOT NULL, -- of the last record that is in the rows
    event_id   bytea  NOT NULL, -- of that record: another one there means another log
    PRIMARY KEY (model, version, generation)
) CLUSTERED;

-- Streams with an event that the model could not take. They wait, the rest goes on.
CREATE TABLE IF NOT EXISTS hecate_view_parked (
    model      text   NOT NULL,
    version    bigint NOT NULL,
    generation bigint NOT NULL,
    stream     text   NOT NULL,
    since      bigint NOT NULL, -- version in the stream of the first event that is not in the rows
    position   bigint NOT NULL, -- of that event
    error      text   NOT NULL,
    attempts   bigint NOT NULL,
    PRIMARY KEY (model, version, generation, stream)
) CLUSTERED;

-- Which process may send to a target outside, where several could.
CREATE TABLE IF NOT EXISTS hecate_view_lease (
    name  text   NOT NULL,
    owner text   NOT NULL,
    until bigint NOT NULL, -- milliseconds since 1970, by the database's clock
    PRIMARY KEY (name)
) CLUSTERED;
