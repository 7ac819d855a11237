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
-- Arrays that begin with r_ have one element for each request, s_ for each stream
-- that a request names, in order of requests, and e_ for each event, in that order.
CREATE FUNCTION hecate_append(
    streams    text[],     -- the distinct streams
    known      bigint[],   -- a version of each that exists, NULL to look it up
    r_command  text[],     -- '' for none
    s_request  bigint[],   -- index into r_
    s_stream   bigint[],   -- index into streams
    s_expected bigint[],   -- -1 for any
    s_events   bigint[],   -- how many
    s_work     bigint[],   -- 0 keep, 1 open, 2 close
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
    OUT outcome  bigint[], -- per request: 0 appended, 1 command known already, 2 conflict
    OUT first    bigint[], -- per request: positions, or of a conflict the index into s_
    OUT last     bigint[],
    OUT versions bigint[]  -- per part: the stream's version before
) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    now_at  bigint[];      -- the version of each stream after the requests so far
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
        first[i] := total + 1;
        FOR p IN start .. part - 1 LOOP
            offsets[p] := total;
            total := total + s_events[p];
            now_at[s_stream[p]] := versions[p] + s_events[p];
        END LOOP;
        last[i] := total;
    END LOOP;

    IF total > 0 THEN
        PERFORM pg_advisory_xact_lock(hashtextextended('hecate_log', 0)); -- once more does no harm
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
                ON CONFLICT ON CONSTRAINT hecate_open_work_pkey DO UPDATE SET since = excluded.since;
        ELSE
            DELETE FROM hecate_open_work w WHERE w.stream = streams[s_stream[p]];
        END IF;
    END LOOP;
END $$;
