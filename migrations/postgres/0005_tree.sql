-- The tree over the hashes of the log, as far as it was sealed. Its hashes stand in the
-- order of golang.org/x/mod/sumdb/tlog, 32 bytes each, some hundred to a row. The primary
-- key lets of two nodes that seal at once only one through: both begin at the same hash.
CREATE TABLE hecate_tree (
    start  bigint PRIMARY KEY, -- index of the first hash of the row
    hashes bytea  NOT NULL
);
ALTER TABLE hecate_tree ALTER COLUMN hashes SET STORAGE EXTERNAL; -- hashes don't compress

-- What was signed about the tree, in the transaction that brought it to that size.
CREATE TABLE hecate_checkpoints (
    size bigint PRIMARY KEY, -- records 1 … size are sealed
    note bytea  NOT NULL     -- signed note, C2SP tlog-checkpoint
);

-- Who signs, beginning with which size of the tree.
CREATE TABLE hecate_log_keys (
    since bigint PRIMARY KEY,
    key   text   NOT NULL -- public, as golang.org/x/mod/sumdb/note writes it
);

CREATE TRIGGER hecate_tree_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON hecate_tree
    FOR EACH STATEMENT EXECUTE FUNCTION hecate_refuse();
CREATE TRIGGER hecate_checkpoints_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON hecate_checkpoints
    FOR EACH STATEMENT EXECUTE FUNCTION hecate_refuse();
CREATE TRIGGER hecate_log_keys_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON hecate_log_keys
    FOR EACH STATEMENT EXECUTE FUNCTION hecate_refuse();
