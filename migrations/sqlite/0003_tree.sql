-- The tree over the hashes of the log, as far as it was sealed. Its hashes stand in the
-- order of golang.org/x/mod/sumdb/tlog, 32 bytes each, some hundred to a row.
CREATE TABLE hecate_tree (
    start  INTEGER PRIMARY KEY, -- index of the first hash of the row
    hashes BLOB    NOT NULL
) STRICT;

-- What was signed about the tree, in the transaction that brought it to that size.
CREATE TABLE hecate_checkpoints (
    size INTEGER PRIMARY KEY, -- records 1 … size are sealed
    note BLOB    NOT NULL     -- signed note, C2SP tlog-checkpoint
) STRICT;

-- Who signs, beginning with which size of the tree.
CREATE TABLE hecate_log_keys (
    since INTEGER PRIMARY KEY,
    key   TEXT    NOT NULL -- public, as golang.org/x/mod/sumdb/note writes it
) STRICT;

CREATE TRIGGER hecate_tree_no_update BEFORE UPDATE ON hecate_tree
BEGIN SELECT raise(ABORT, 'the log cannot be changed'); END;
CREATE TRIGGER hecate_tree_no_delete BEFORE DELETE ON hecate_tree
BEGIN SELECT raise(ABORT, 'the log cannot be changed'); END;
CREATE TRIGGER hecate_checkpoints_no_update BEFORE UPDATE ON hecate_checkpoints
BEGIN SELECT raise(ABORT, 'the log cannot be changed'); END;
CREATE TRIGGER hecate_checkpoints_no_delete BEFORE DELETE ON hecate_checkpoints
BEGIN SELECT raise(ABORT, 'the log cannot be changed'); END;
CREATE TRIGGER hecate_log_keys_no_update BEFORE UPDATE ON hecate_log_keys
BEGIN SELECT raise(ABORT, 'the log cannot be changed'); END;
CREATE TRIGGER hecate_log_keys_no_delete BEFORE DELETE ON hecate_log_keys
BEGIN SELECT raise(ABORT, 'the log cannot be changed'); END;
