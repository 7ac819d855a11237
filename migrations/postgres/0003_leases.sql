-- Who executes the open work. A row of hecate_open_work with an owner is a claim. It is
-- written only under the log's lock, by the functions below and by hecate_append, so
-- whoever has the lock may rely on what it reads there. All times are this server's.
CREATE TABLE hecate_workers (
    instance   text        COLLATE "C" PRIMARY KEY, -- one start of one process
    node       text        COLLATE "C" NOT NULL,    -- the installation that it belongs to
    reach      text[]      NOT NULL,
    ttl        interval    NOT NULL,
    expires_at timestamptz NOT NULL                 -- a lease that ran out is lost for good
);

ALTER TABLE hecate_open_work
    ADD COLUMN owner      text COLLATE "C", -- instance; NULL if nobody has claimed it, as are the next two
    ADD COLUMN epoch      bigint,
    ADD COLUMN claimed_at timestamptz;
CREATE INDEX hecate_open_work_owner ON hecate_open_work (owner) WHERE owner IS NOT NULL;

CREATE SEQUENCE hecate_epochs;

-- Half-finished answers of models, see SharedProgress. A crash of the server empties it.
CREATE UNLOGGED TABLE hecate_progress (
    run_id  text   COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL,
    text    bytea  NOT NULL
);

-- Begins a lease, and ends all earlier ones of the node with their claims.
CREATE FUNCTION hecate_register(worker text, home text, places text[], lasts interval) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('hecate_log', 0));
    UPDATE hecate_open_work o SET owner = NULL, epoch = NULL, claimed_at = NULL
        WHERE o.owner IN (SELECT w.instance FROM hecate_workers w WHERE w.node = home OR w.instance = worker);
    -- Of a lease that ran out the row is kept while it tells whose the claims are.
    DELETE FROM hecate_workers w WHERE w.node = home OR w.instance = worker
        OR w.expires_at <= clock_timestamp() AND NOT EXISTS (SELECT FROM hecate_open_work o WHERE o.owner = w.instance);
    INSERT INTO hecate_workers (instance, node, reach, ttl, expires_at)
        VALUES (worker, home, places, lasts, clock_timestamp() + lasts);
END $$;

CREATE FUNCTION hecate_release(worker text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('hecate_log', 0));
    UPDATE hecate_open_work o SET owner = NULL, epoch = NULL, claimed_at = NULL WHERE o.owner = worker;
    DELETE FROM hecate_workers w WHERE w.instance = worker;
END $$;

CREATE FUNCTION hecate_unclaim(worker text, wanted text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('hecate_log', 0));
    UPDATE hecate_open_work o SET owner = NULL, epoch = NULL, claimed_at = NULL WHERE o.stream = wanted AND o.owner = worker;
END $$;

-- Takes an open stream for a worker. Renewals don't take the log's lock, so a holder
-- is judged dead only with its row locked: a renewal under way is waited for, and a
-- later one finds that the lease ran out.
CREATE FUNCTION hecate_claim(
    worker     text,
    wanted     text,
    claims_max bigint,   -- of all live workers; 0 for no bound
    OUT outcome bigint,  -- 0 claimed, 1 the worker's lease is lost, 2 not to be had, 3 the bound is reached
    OUT claim   bigint   -- the epoch
) LANGUAGE plpgsql AS $$
DECLARE
    holder text;
BEGIN
    -- Each statement below must see what was committed before it.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'hecate_claim needs READ COMMITTED';
    END IF;
    claim := 0;
    PERFORM pg_advisory_xact_lock(hashtextextended('hecate_log', 0));
    IF NOT EXISTS (SELECT FROM hecate_workers w WHERE w.instance = worker AND w.expires_at > clock_timestamp()) THEN
        outcome := 1;
        RETURN;
    END IF;
    SELECT o.owner INTO holder FROM hecate_open_work o WHERE o.stream = wanted;
    IF NOT FOUND THEN
        outcome := 2;
        RETURN;
    END IF;
    IF holder <> worker THEN
        PERFORM FROM hecate_workers w WHERE w.instance = holder AND w.expires_at <= clock_timestamp() FOR NO KEY UPDATE;
        IF NOT FOUND AND EXISTS (SELECT FROM hecate_workers w WHERE w.instance = holder) THEN
            outcome := 2;
            RETURN;
        END IF;
    END IF;
    IF claims_max > 0 AND claims_max <= (SELECT count(*) FROM hecate_workers w JOIN hecate_open_work o ON o.owner = w.instance
            WHERE w.expires_at > clock_timestamp() AND o.stream <> wanted) THEN
        outcome := 3;
        RETURN;
    END IF;
    -- The clock keeps a copy of the log that was restored, or a standby that was promoted
    -- without its last records, from giving out the epochs that the original gave out.
    claim := setval('hecate_epochs', greatest(nextval('hecate_epochs'), (extract(epoch FROM clock_timestamp()) * 1000000)::bigint));
    UPDATE hecate_open_work o SET owner = worker, epoch = claim, claimed_at = clock_timestamp() WHERE o.stream = wanted;
    outcome := 0;
END $$;

-- Appends a group of requests in one statement, in a transaction of its own.
--
-- Each request passes as a whole or not at all, and does not touch the others.
-- Positions are given under one lock that is held until the commit is through: so
-- the next append sees all positions before its own, readers see them in order,
-- and a rollback leaves no gap.
--
-- A caller that knows a version to exist, because it wrote or read it, says so in
-- known and spares the server the look-up. If somebody has appended since, the
-- unique (stream, version) refuses the insert, and with it the whole call. The call
-- must then be repeated without that knowledge, as it must when it would lead to a
-- conflict: only what was looked up is told to anyone.
--
-- A part with an epoch passes only under the stream's claim of that epoch. A claim is
-- looked up under the lock, and a mismatch is told only if the versions, which come
-- first, were looked up too.
--
-- Arrays that begin with r_ have one element for each request, s_ for each stream
-- that a request names, in order of requests, and e_ for each event, in that order.
DROP FUNCTION hecate_append;
CREATE FUNCTION hecate_append(
    streams    text[],     -- the distinct streams
    known      bigint[],   -- a version of each that exists, NULL to look it up
    r_command  text[],     -- '' for none
    s_request  bigint[],   -- index into r_
    s_stream   bigint[],   -- index into streams
    s_expected bigint[],   -- -1 for any
    s_events   bigint[],   -- how many
    s_work     bigint[],   -- 0 keep, 1 open, 2 close
    s_epoch    bigint[],   -- 0 for none
    e_part     bigint[],   -- index into s_
    e_number   bigint[],   -- 1, 2, 3 … within the part
    e_stream   text[],
    e_id       uuid[],
    e_type     text[],
    e_schema   bigint[],
    e_at       bigint[],
    e_kind     text[],
    e_name     text[],
    e_org      text[],
    e_caused   bigint[],
    e_command  text[],
    e_trace    text[],
    e_hash     bytea[],    -- NULL where the version was not known:
    e_head     bytea[],    -- then the hashed bytes up to the version
    e_salt     bytea[],
    e_data     bytea[],
    OUT outcome  bigint[], -- per request: 0 appended, 1 command known already, 2 conflict, 3 fenced
    OUT first    bigint[], -- per request: positions, or of what was refused the index into s_
    OUT last     bigint[],
    OUT versions bigint[]  -- per part: the stream's version before
) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    now_at  bigint[];      -- the version of each stream after the requests so far
    claims  bigint[];      -- the epoch of each stream's claim after the requests so far, 0 for none
    offsets bigint[];      -- per part: accepted events before it, -1 if it was rejected
    total   bigint := 0;   -- accepted events so far
    base    bigint;
    part    bigint := 1;
    start   bigint;
    answer  record;
BEGIN
    -- Each statement below must see what was committed before it.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'hecate_append needs READ COMMITTED';
    END IF;
    -- Acknowledged means durable.
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;

    now_at := known;
    -- What is looked up must stay true until the commit.
    IF array_position(known, NULL) IS NOT NULL OR EXISTS (SELECT FROM unnest(r_command) AS c WHERE c <> '') THEN
        PERFORM pg_advisory_xact_lock(hashtextextended('hecate_log', 0));
        -- A statement of its own: it sees what was committed while the lock was waited for.
        SELECT array_agg(coalesce(n.known,
                (SELECT l.version FROM hecate_log l WHERE l.stream = n.stream ORDER BY l.version DESC LIMIT 1), 0) ORDER BY n.index)
            INTO now_at FROM unnest(streams, known) WITH ORDINALITY AS n(stream, known, index);
    END IF;
    IF 0 <> ANY (s_epoch) THEN
        PERFORM pg_advisory_xact_lock(hashtextextended('hecate_log', 0)); -- once more does no harm, here and below
        SELECT array_agg(coalesce((SELECT w.epoch FROM hecate_open_work w WHERE w.stream = n.stream), 0) ORDER BY n.index)
            INTO claims FROM unnest(streams) WITH ORDINALITY AS n(stream, index);
    END IF;

    outcome := array_fill(0::bigint, ARRAY[cardinality(r_command)]);
    first := outcome;
    last := outcome;
    offsets := array_fill(-1::bigint, ARRAY[cardinality(s_request)]);
    versions := offsets;
    FOR i IN 1 .. cardinality(r_command) LOOP
        start := part;
        WHILE s_request[part] = i LOOP
            versions[part] := now_at[s_stream[part]];
            IF outcome[i] = 0 AND s_expected[part] NOT IN (-1, versions[part]) THEN
                IF known[s_stream[part]] IS NOT NULL THEN
                    RAISE unique_violation USING MESSAGE = 'a conflict must be looked up';
                END IF;
                outcome[i] := 2;
                first[i] := part;
            END IF;
            part := part + 1;
        END LOOP;
        IF r_command[i] <> '' THEN
            SELECT c.first, c.last INTO answer FROM hecate_commands c WHERE c.command_id = r_command[i];
            IF FOUND THEN
                outcome[i] := 1;
                first[i] := answer.first;
                last[i] := answer.last;
            END IF;
        END IF;
        CONTINUE WHEN outcome[i] <> 0;
        IF claims IS NOT NULL THEN
            FOR p IN start .. part - 1 LOOP
                CONTINUE WHEN s_epoch[p] IN (0, claims[s_stream[p]]);
                FOR q IN start .. part - 1 LOOP
                    IF known[s_stream[q]] IS NOT NULL THEN
                        RAISE unique_violation USING MESSAGE = 'a lost claim must be looked up';
                    END IF;
                END LOOP;
                outcome[i] := 3;
                first[i] := p;
                EXIT;
            END LOOP;
            CONTINUE WHEN outcome[i] <> 0;
        END IF;
        first[i] := total + 1;
        FOR p IN start .. part - 1 LOOP
            offsets[p] := total;
            total := total + s_events[p];
            now_at[s_stream[p]] := versions[p] + s_events[p];
            IF s_work[p] <> 0 AND claims IS NOT NULL THEN
                claims[s_stream[p]] := 0;
            END IF;
        END LOOP;
        last[i] := total;
    END LOOP;

    IF total > 0 THEN
        PERFORM pg_advisory_xact_lock(hashtextextended('hecate_log', 0));
    END IF;
    SELECT greatest(s.floor, (SELECT max(l.position) FROM hecate_log l)) INTO STRICT base FROM hecate_log_state s;

    IF total > 0 THEN
        INSERT INTO hecate_log AS l (position, stream, version, event_id, type, schema, at,
                actor_kind, actor_name, actor_org, caused_by, command_id, trace, hash)
            SELECT base + offsets[e.part] + e.number, e.stream, versions[e.part] + e.number, e.id, e.type, e.schema, e.at,
                e.kind, e.name, e.org, e.caused, e.command, e.trace,
                coalesce(e.hash, sha256(e.head || int8send(versions[e.part] + e.number)))
            FROM unnest(e_part, e_number, e_stream, e_id, e_type, e_schema, e_at,
                    e_kind, e_name, e_org, e_caused, e_command, e_trace, e_hash, e_head)
                AS e(part, number, stream, id, type, schema, at, kind, name, org, caused, command, trace, hash, head)
            WHERE offsets[e.part] >= 0;
        INSERT INTO hecate_payload AS l (position, salt, data)
            SELECT base + offsets[e.part] + e.number, e.salt, e.data
            FROM unnest(e_part, e_number, e_salt, e_data) AS e(part, number, salt, data)
            WHERE offsets[e.part] >= 0;
    END IF;

    FOR i IN 1 .. cardinality(r_command) LOOP
        CONTINUE WHEN outcome[i] <> 0;
        first[i] := first[i] + base;
        last[i] := last[i] + base;
        IF r_command[i] <> '' THEN
            INSERT INTO hecate_commands AS c (command_id, first, last) VALUES (r_command[i], first[i], last[i]);
        END IF;
    END LOOP;
    FOR p IN 1 .. cardinality(s_work) LOOP
        CONTINUE WHEN s_work[p] = 0 OR offsets[p] < 0;
        IF s_work[p] = 1 THEN
            INSERT INTO hecate_open_work AS w (stream, since) VALUES (streams[s_stream[p]], base + offsets[p] + s_events[p])
                ON CONFLICT ON CONSTRAINT hecate_open_work_pkey DO UPDATE SET
                    since = excluded.since, owner = NULL, epoch = NULL, claimed_at = NULL;
        ELSE
            DELETE FROM hecate_open_work w WHERE w.stream = streams[s_stream[p]];
        END IF;
    END LOOP;
END $$;
