-- Where in the log things are spoken of. What is said there stands in the log alone.
CREATE TABLE hecate_view_audit_records_@ (
    position bigint NOT NULL PRIMARY KEY,
    at       bigint NOT NULL, -- microseconds since 1970
    task     bigint NOT NULL, -- codes of names, 0 for none
    run      bigint NOT NULL
);

-- Everything that can be asked for by name gets a short number.
CREATE TABLE hecate_view_audit_names_@ (
    kind  bigint NOT NULL, -- of the name, see the constants of the package
    value bytea  NOT NULL,
    code  bigint NOT NULL, -- 1, 2, 3 … in the order in which the log first speaks of them
    owner bigint NOT NULL, -- code of the task of a run and of the run of an operation, else 0
    PRIMARY KEY (kind, value)
) CLUSTERED;
CREATE UNIQUE INDEX hecate_view_audit_names_code_@ ON hecate_view_audit_names_@ (code);

-- A record speaks of what the code stands for; of a code below zero it is an effect:
-- the record at minus that position led to it.
CREATE TABLE hecate_view_audit_places_@ (
    code     bigint NOT NULL,
    position bigint NOT NULL,
    PRIMARY KEY (code, position)
) CLUSTERED;

-- Between which positions the records of a piece of time lie. Clocks of several nodes
-- differ, so the pieces may overlap.
CREATE TABLE hecate_view_audit_spans_@ (
    slot          bigint NOT NULL PRIMARY KEY, -- number of the piece since 1970
    first_place   bigint NOT NULL,
    last_place    bigint NOT NULL
) CLUSTERED;
