-- Erasure takes away data and leaves that it was there. The salt of a record whose data was
-- erased gives way to 40 bytes: the SHA-256 of salt and data, which the record's hash is
-- made of, and the position (8 bytes, big-endian) of the record that says by which rule and
-- whom; its data to what is left of it. Nothing else can be changed.
DROP TRIGGER hecate_payload_no_update;
CREATE TRIGGER hecate_payload_no_update BEFORE UPDATE ON hecate_payload
WHEN new.position <> old.position OR length(old.salt) <> 16 OR length(new.salt) <> 40
BEGIN SELECT raise(ABORT, 'the log cannot be changed'); END;

-- The large contents that were erased, and the position of the record that says so.
CREATE TABLE hecate_erased (
    digest    TEXT    NOT NULL PRIMARY KEY,
    erased_by INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

DROP TRIGGER hecate_blobs_no_delete;
CREATE TRIGGER hecate_blobs_no_delete BEFORE DELETE ON hecate_blobs
WHEN NOT EXISTS (SELECT 1 FROM hecate_erased e WHERE e.digest = old.digest)
BEGIN SELECT raise(ABORT, 'the log cannot be changed'); END;
CREATE TRIGGER hecate_erased_no_update BEFORE UPDATE ON hecate_erased
BEGIN SELECT raise(ABORT, 'the log cannot be changed'); END;
CREATE TRIGGER hecate_erased_no_delete BEFORE DELETE ON hecate_erased
BEGIN SELECT raise(ABORT, 'the log cannot be changed'); END;
