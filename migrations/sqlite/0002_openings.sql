-- How often the log was opened. The number is part of every epoch, see the store.
ALTER TABLE hecate_log_state ADD COLUMN opened INTEGER NOT NULL DEFAULT 0;
