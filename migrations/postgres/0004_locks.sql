-- Which tool call holds which execution lock. A row ends with the row of its lease,
-- whoever deletes that, and counts only while the lease holds. All that writes here takes
-- the lock "hecate_locks", after the log's lock if it takes both. Of a name, the rows
-- under leases that hold are all of one run.
CREATE TABLE hecate_locks (
    name     text        COLLATE "C" NOT NULL,
    run_id   text        COLLATE "C" NOT NULL,
    call_id  text        COLLATE "C" NOT NULL, -- step of the run
    instance text        COLLATE "C" NOT NULL REFERENCES hecate_workers ON DELETE CASCADE,
    since    timestamptz NOT NULL,
    PRIMARY KEY (name, run_id, call_id)
);
CREATE INDEX hecate_locks_holder ON hecate_locks (run_id, call_id);
CREATE INDEX hecate_locks_instance ON hecate_locks (instance);

-- As before, and with the leases end their locks.
CREATE OR REPLACE FUNCTION hecate_register(worker text, home text, places text[], lasts interval) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('hecate_log', 0));
    PERFORM pg_advisory_xact_lock(hashtextextended('hecate_locks', 0));
    UPDATE hecate_open_work o SET owner = NULL, epoch = NULL, claimed_at = NULL
        WHERE o.owner IN (SELECT w.instance FROM hecate_workers w WHERE w.node = home OR w.instance = worker);
    -- Of a lease that ran out the row is kept while it tells whose the claims are.
    DELETE FROM hecate_workers w WHERE w.node = home OR w.instance = worker
        OR w.expires_at <= clock_timestamp() AND NOT EXISTS (SELECT FROM hecate_open_work o WHERE o.owner = w.instance);
    INSERT INTO hecate_workers (instance, node, reach, ttl, expires_at)
        VALUES (worker, home, places, lasts, clock_timestamp() + lasts);
END $$;

CREATE OR REPLACE FUNCTION hecate_release(worker text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('hecate_log', 0));
    PERFORM pg_advisory_xact_lock(hashtextextended('hecate_locks', 0));
    UPDATE hecate_open_work o SET owner = NULL, epoch = NULL, claimed_at = NULL WHERE o.owner = worker;
    DELETE FROM hecate_workers w WHERE w.instance = worker;
END $$;

-- Takes all of the names for one call, or none. Renewals don't take the lock of this
-- table, so a holder is judged dead only with the row of its lease locked: a renewal
-- under way is waited for, and a later one finds that the lease ran out.
CREATE FUNCTION hecate_take_locks(
    worker      text,
    taking_run  text,
    taking_call text,
    wanted      text[],
    OUT outcome bigint, -- 0 taken, 1 the worker's lease is lost, 2 another run holds one
    OUT locked  text,   -- the first that another run holds, and by which call
    OUT by_run  text,
    OUT by_call text
) LANGUAGE plpgsql AS $$
BEGIN
    -- Each statement below must see what was committed before it.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'hecate_take_locks needs READ COMMITTED';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('hecate_locks', 0));
    WITH dead AS (
        SELECT w.instance FROM hecate_workers w
            WHERE w.instance IN (SELECT l.instance FROM hecate_locks l WHERE l.name = ANY (wanted)) AND w.expires_at <= clock_timestamp()
            FOR NO KEY UPDATE)
        DELETE FROM hecate_locks l USING dead d WHERE l.instance = d.instance;
    IF NOT EXISTS (SELECT FROM hecate_workers w WHERE w.instance = worker AND w.expires_at > clock_timestamp()) THEN
        outcome := 1;
        RETURN;
    END IF;
    SELECT l.name, l.run_id, l.call_id INTO locked, by_run, by_call FROM hecate_locks l
        WHERE l.name = ANY (wanted) AND l.run_id <> taking_run ORDER BY l.name, l.run_id, l.call_id LIMIT 1;
    IF FOUND THEN
        outcome := 2;
        RETURN;
    END IF;
    INSERT INTO hecate_locks (name, run_id, call_id, instance, since)
        SELECT n.name, taking_run, taking_call, worker, clock_timestamp() FROM unnest(wanted) AS n(name)
        ON CONFLICT (name, run_id, call_id) DO UPDATE SET instance = excluded.instance;
    outcome := 0;
END $$;

-- Gives back what one call has, or what all calls of the run have if that is NULL.
CREATE FUNCTION hecate_drop_locks(of_run text, of_call text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('hecate_locks', 0));
    DELETE FROM hecate_locks l WHERE l.run_id = of_run AND (of_call IS NULL OR l.call_id = of_call);
END $$;
