-- Erasure takes away data and leaves that it was there. The salt of a record whose data was
-- erased gives way to 40 bytes: the SHA-256 of salt and data, which the record's hash is
-- made of, and the position (8 bytes, big-endian) of the record that says by which rule and
-- whom; its data to what is left of it. Nothing else can be changed.
CREATE FUNCTION hecate_refuse_but_erasure() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF new.position = old.position AND length(old.salt) = 16 AND length(new.salt) = 40
            AND substr(new.salt, 1, 32) = sha256(old.salt || old.data)
            AND EXISTS (SELECT FROM hecate_log l WHERE l.type = 'log.erased'
                AND l.position = ('x' || encode(substr(new.salt, 33), 'hex'))::bit(64)::bigint) THEN
        RETURN new;
    END IF;
    RAISE EXCEPTION 'the log cannot be changed: % on %', TG_OP, TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;

DROP TRIGGER hecate_payload_immutable ON hecate_payload;
CREATE TRIGGER hecate_payload_immutable BEFORE DELETE OR TRUNCATE ON hecate_payload
    FOR EACH STATEMENT EXECUTE FUNCTION hecate_refuse();
CREATE TRIGGER hecate_payload_only_erased BEFORE UPDATE ON hecate_payload
    FOR EACH ROW EXECUTE FUNCTION hecate_refuse_but_erasure();

-- The large contents that were erased, and the position of the record that says so.
CREATE TABLE hecate_erased (
    digest    text   COLLATE "C" PRIMARY KEY,
    erased_by bigint NOT NULL
);
CREATE TRIGGER hecate_erased_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON hecate_erased
    FOR EACH STATEMENT EXECUTE FUNCTION hecate_refuse();

CREATE FUNCTION hecate_refuse_unless_erased() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM hecate_erased e WHERE e.digest = old.digest) THEN
        RETURN old;
    END IF;
    RAISE EXCEPTION 'the log cannot be changed: % on %', TG_OP, TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;

DROP TRIGGER hecate_blobs_immutable ON hecate_blobs;
CREATE TRIGGER hecate_blobs_immutable BEFORE UPDATE OR TRUNCATE ON hecate_blobs
    FOR EACH STATEMENT EXECUTE FUNCTION hecate_refuse();
CREATE TRIGGER hecate_blobs_only_erased BEFORE DELETE ON hecate_blobs
    FOR EACH ROW EXECUTE FUNCTION hecate_refuse_unless_erased();

-- Carries out what the record at a position names, in the transaction that appends it. It
-- fails if a record is not as whoever decided on the erasure has read it.
CREATE FUNCTION hecate_erase(
    named_by  bigint,
    positions bigint[],
    salts     bytea[], -- as they were read
    forms     bytea[], -- what is left
    digests   text[]   -- of large contents
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    erased bigint;
BEGIN
    UPDATE hecate_payload p SET salt = sha256(p.salt || p.data) || int8send(named_by), data = f.form
        FROM unnest(positions, salts, forms) AS f(position, salt, form)
        WHERE p.position = f.position AND p.salt = f.salt;
    GET DIAGNOSTICS erased = ROW_COUNT;
    IF erased <> cardinality(positions) THEN
        RAISE EXCEPTION 'only % of % records are as they were read', erased, cardinality(positions) USING ERRCODE = 'HE001';
    END IF;
    INSERT INTO hecate_erased (digest, erased_by) SELECT d, named_by FROM unnest(digests) AS d ON CONFLICT DO NOTHING;
    DELETE FROM hecate_blobs b USING unnest(digests) AS d WHERE b.digest = d;
END $$;
