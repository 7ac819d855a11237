package postgres

import (
	"strconv"
	"strings"

	"hecate/migrations"
)

const selectRecords = `SELECT l.position, l.stream, l.version, l.event_id, l.type, l.schema, l.at,
	l.actor_kind, l.actor_name, l.actor_org, l.caused_by, l.command_id, l.trace, l.hash, p.salt, p.data
	FROM hecate_log l JOIN hecate_payload p USING (position) `

// statements are the SQL texts under the store's table prefix.
type statements struct {
	newLog, state, head             string
	readAll, readStream, blob, work string
	append, addBlob, erase, erased  string
	readAt, findEvent, findAnswer   string
	beginSession, endSession        string
	awaitSession                    string
	notify, listen                  string

	register, renew, release, claim, unclaim string
	claimable, workers, workStats            string
	takeLocks, dropLocks, heldLocks          string
	putProgress, progress, progresses        string
	dropProgress                             string
}

func newStatements(prefix string) statements {
	p := func(sql string) string { return migrations.Rename(sql, prefix) }
	return statements{
		newLog: p(`INSERT INTO hecate_log_state (one, log_id, floor) VALUES (1, $1, 0) ON CONFLICT DO NOTHING`),
		state:  p(`SELECT log_id, greatest(floor, (SELECT max(position) FROM hecate_log)) FROM hecate_log_state`),
		head:   p(`SELECT greatest(floor, (SELECT max(position) FROM hecate_log)) FROM hecate_log_state`),

		readAll:    p(selectRecords + `WHERE l.position > $1 ORDER BY l.position LIMIT $2`),
		readAt:     p(selectRecords + `WHERE l.position = ANY($1)`),
		readStream: p(selectRecords + `WHERE l.stream = $1 AND l.version > $2 ORDER BY l.version LIMIT $3`),
		blob:       p(`SELECT salt, content, codec FROM hecate_blobs WHERE digest = $1`),
		work:       p(`SELECT stream, since FROM hecate_open_work WHERE since > $1 ORDER BY since LIMIT $2`),

		append:  p(`SELECT outcome, first, last, versions FROM hecate_append(` + parameters(argumentsOfAppend) + `)`),
		addBlob: p(`INSERT INTO hecate_blobs (digest, salt, size, media_type, codec, content) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`),
		erase:   p(`SELECT hecate_erase($1, $2, $3, $4, $5)`),
		erased:  p(`SELECT erased_by FROM hecate_erased WHERE digest = $1`),

		// A renewal or a claim that a crash of the server takes back is as bad as a lost append.
		beginSession: `SELECT pg_advisory_lock(hashtextextended($1, 0)), set_config('synchronous_commit', CASE now WHEN 'off' THEN 'on' ELSE now END, false)
			FROM current_setting('synchronous_commit') AS now`,
		// Sessions of one's own role may be ended by anyone. Two numbers make up the key of the lock.
		endSession: `SELECT pg_terminate_backend(l.pid) FROM hashtextextended($1, 0) AS key, pg_locks l
			WHERE l.locktype = 'advisory' AND l.granted AND l.pid <> pg_backend_pid() AND l.objsubid = 1
				AND l.classid = (key >> 32 & 4294967295)::oid AND l.objid = (key & 4294967295)::oid
				AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
		awaitSession: `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`,

		findEvent:  p(`SELECT position FROM hecate_log WHERE stream = $1 AND event_id = $2`),
		findAnswer: p(`SELECT first, last FROM hecate_commands WHERE command_id = $1`),

		notify: p(`SELECT set_config('synchronous_commit', 'off', true), pg_notify('hecate_log', $1)`),
		listen: p(`LISTEN hecate_log`),

		register: p(`SELECT hecate_register($1, $2, $3, $4)`),
		renew: p(`UPDATE hecate_workers SET expires_at = clock_timestamp() + ttl
			WHERE instance = $1 AND expires_at > clock_timestamp()`),
		release: p(`SELECT hecate_release($1)`),
		claim:   p(`SELECT outcome, claim FROM hecate_claim($1, $2, $3)`),
		unclaim: p(`SELECT hecate_unclaim($1, $2)`),
		claimable: p(`SELECT o.stream, o.since FROM hecate_open_work o
			WHERE o.since > $1 AND NOT EXISTS (SELECT FROM hecate_workers w WHERE w.instance = o.owner AND w.expires_at > now())
			ORDER BY o.since LIMIT $2`),
		workers: p(`SELECT w.instance, w.node, w.reach, (SELECT count(*) FROM hecate_open_work o WHERE o.owner = w.instance)
			FROM hecate_workers w WHERE w.expires_at > now() ORDER BY w.node, w.instance`),
		workStats: p(`WITH work AS (
				SELECT o.since, o.claimed_at, EXISTS (SELECT FROM hecate_workers w WHERE w.instance = o.owner AND w.expires_at > now()) AS held
				FROM hecate_open_work o),
			sums AS (
				SELECT count(*) FILTER (WHERE held) AS claimed, count(*) FILTER (WHERE NOT held) AS waiting,
					min(claimed_at) FILTER (WHERE held) AS begun, min(since) FILTER (WHERE NOT held) AS oldest
				FROM work)
			SELECT waiting, claimed,
				coalesce(now() - (SELECT to_timestamp(0) + l.at * interval '1 microsecond' FROM hecate_log l WHERE l.position = oldest), '0'),
				coalesce(now() - begun, '0')
			FROM sums`),

		takeLocks: p(`SELECT outcome, locked, by_run, by_call FROM hecate_take_locks($1, $2, $3, $4)`),
		dropLocks: p(`SELECT hecate_drop_locks($1, $2)`),
		heldLocks: p(`SELECT l.name, l.run_id, l.call_id, l.instance, w.node, l.since
			FROM hecate_locks l JOIN hecate_workers w USING (instance) WHERE w.expires_at > now() ORDER BY l.name, l.run_id, l.call_id`),

		putProgress: p(`INSERT INTO hecate_progress AS p (run_id, version, text) VALUES ($1, $2, $3)
			ON CONFLICT (run_id) DO UPDATE SET version = excluded.version, text = excluded.text`),
		progress:     p(`SELECT version, text FROM hecate_progress WHERE run_id = $1`),
		progresses:   p(`SELECT run_id, version FROM hecate_progress`),
		dropProgress: p(`DELETE FROM hecate_progress WHERE run_id = $1`),
	}
}

// parameters returns "$1, $2 … $n".
func parameters(n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = "$" + strconv.Itoa(i+1)
	}
	return strings.Join(out, ", ")
}
