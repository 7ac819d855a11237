-- Where in the log things are spoken of. What is said there stands in the log alone.
-- Records in groups of neighbours: when each was recorded, and all that it speaks of.
CREATE TABLE hecate_view_audit_records_@ (
    slot bigint NOT NULL PRIMARY KEY, -- of the positions, see the package
    data bytea  NOT NULL
) CLUSTERED;

-- Everything that can be asked for by name gets a short number.
CREATE TABLE hecate_view_audit_names_@ (
    kind  bigint NOT NULL, -- of the name, see the constants of the package
    value bytea  NOT NULL,
    code  bigint NOT NULL, -- 1, 2, 3 … in the order in which the log first speaks of them
    owner bigint NOT NULL, -- code of the task of a run and of the run of an operation, else 0
    PRIMARY KEY (kind, value)
) CLUSTERED;
CREATE UNIQUE INDEX hecate_view_audit_names_code_@ ON hecate_view_audit_names_@ (code);

-- The records that speak of what a code stands for, in pieces of a list. The lists of
-- codes below zero say which records led to which.
CREATE TABLE hecate_view_audit_places_@ (
    code  bigint NOT NULL,
    first bigint NOT NULL, -- the first place of the piece
    data  bytea  NOT NULL, -- how far each of the others is from the one before it
    PRIMARY KEY (code, first)
) CLUSTERED;

-- Between which positions the records of a piece of time lie. Clocks of several nodes
-- differ, so the pieces may overlap.
CREATE TABLE hecate_view_audit_spans_@ (
    level       bigint NOT NULL, -- of the length of the piece, see the package
    slot        bigint NOT NULL, -- number of the piece since 1970
    first_place bigint NOT NULL,
    last_place  bigint NOT NULL,
    PRIMARY KEY (level, slot)
) CLUSTERED;
