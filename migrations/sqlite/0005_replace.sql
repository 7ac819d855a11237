-- REPLACE deletes without firing triggers, unless the connection asks for that. So no row may
-- be put in the place of another.
CREATE TRIGGER hecate_log_no_replace BEFORE INSERT ON hecate_log
WHEN EXISTS (SELECT 1 FROM hecate_log l WHERE l.position = new.position)
BEGIN SELECT raise(ABORT, 'the log cannot be changed'); END;
CREATE TRIGGER hecate_payload_no_replace BEFORE INSERT ON hecate_payload
WHEN EXISTS (SELECT 1 FROM hecate_payload p WHERE p.position = new.position)
BEGIN SELECT raise(ABORT, 'the log cannot be changed'); END;
CREATE TRIGGER hecate_commands_no_replace BEFORE INSERT ON hecate_commands
WHEN EXISTS (SELECT 1 FROM hecate_commands c WHERE c.command_id = new.command_id)
BEGIN SELECT raise(ABORT, 'the log cannot be changed'); END;
CREATE TRIGGER hecate_checkpoints_no_replace BEFORE INSERT ON hecate_checkpoints
WHEN EXISTS (SELECT 1 FROM hecate_checkpoints c WHERE c.size = new.size)
BEGIN SELECT raise(ABORT, 'the log cannot be changed'); END;
CREATE TRIGGER hecate_log_keys_no_replace BEFORE INSERT ON hecate_log_keys
WHEN EXISTS (SELECT 1 FROM hecate_log_keys k WHERE k.since = new.since)
BEGIN SELECT raise(ABORT, 'the log cannot be changed'); END;
CREATE TRIGGER hecate_blobs_no_replace BEFORE INSERT ON hecate_blobs -- the same content again is fine
WHEN EXISTS (SELECT 1 FROM hecate_blobs b WHERE b.digest = new.digest AND (b.content <> new.content OR b.salt <> new.salt))
BEGIN SELECT raise(ABORT, 'the log cannot be changed'); END;
