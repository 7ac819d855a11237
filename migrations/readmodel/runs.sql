-- Tasks, runs and what runs made. A doc is the item as JSON, without what other
-- columns and the run's own doc already say. Rows of a run are named by the
-- position of its run.created, which is short, unique and the same at each rebuild.
CREATE TABLE hecate_view_tasks_@ (
    task_id    text   NOT NULL PRIMARY KEY,
    pos        bigint NOT NULL, -- of task.created
    project_id text   NOT NULL,
    latest_run text   NOT NULL, -- '' before the first
    words      text   NOT NULL, -- what a search looks at, in lower case
    doc        bytea  NOT NULL
) CLUSTERED;
CREATE INDEX hecate_view_tasks_pos_@ ON hecate_view_tasks_@ (pos);

CREATE TABLE hecate_view_runs_@ (
    pos     bigint NOT NULL PRIMARY KEY,
    run_id  text   NOT NULL,
    task_id text   NOT NULL,
    number  bigint NOT NULL,
    status  text   NOT NULL,
    since   bigint NOT NULL, -- microseconds since 1970 at the last change of status, 0 once it has ended
    waiting bigint NOT NULL, -- 1 while no live worker reaches its workspace
    request text   NOT NULL, -- the id of the request that opened it
    doc     bytea  NOT NULL
);
CREATE UNIQUE INDEX hecate_view_runs_id_@ ON hecate_view_runs_@ (run_id);
CREATE INDEX hecate_view_runs_task_@ ON hecate_view_runs_@ (task_id, number);
CREATE INDEX hecate_view_runs_request_@ ON hecate_view_runs_@ (request, pos);
CREATE INDEX hecate_view_runs_open_@ ON hecate_view_runs_@ (status, since, waiting) WHERE since > 0;

CREATE TABLE hecate_view_steps_@ (
    run     bigint NOT NULL,
    idx     bigint NOT NULL, -- 1, 2, 3 … within the run
    pos     bigint NOT NULL,
    step_id text   NOT NULL,
    pending bigint NOT NULL, -- 1 while an event may still settle it
    doc     bytea  NOT NULL,
    PRIMARY KEY (run, idx)
) CLUSTERED;

CREATE TABLE hecate_view_artifacts_@ (
    run         bigint NOT NULL,
    artifact_id text   NOT NULL,
    pos         bigint NOT NULL,
    pending     bigint NOT NULL, -- 1 while its content may grow
    doc         bytea  NOT NULL,
    PRIMARY KEY (run, artifact_id)
) CLUSTERED;

-- Contents, in pieces that are written once.
CREATE TABLE hecate_view_parts_@ (
    run         bigint NOT NULL,
    artifact_id text   NOT NULL,
    part        bigint NOT NULL, -- position of the event that brought it; those below the artifact's own are older forms
    kind        bigint NOT NULL, -- 0 bytes, 1 digest of a blob of the log, 2 version of the message that holds the text
    body        bytea  NOT NULL,
    PRIMARY KEY (run, artifact_id, part)
) CLUSTERED;

CREATE TABLE hecate_view_approvals_@ (
    run         bigint NOT NULL,
    approval_id text   NOT NULL,
    pos         bigint NOT NULL,
    pending     bigint NOT NULL,
    doc         bytea  NOT NULL,
    PRIMARY KEY (run, approval_id)
) CLUSTERED;
CREATE INDEX hecate_view_approvals_pos_@ ON hecate_view_approvals_@ (pos);

-- What the time line shows besides: checks of the repetition guard and changes of permissions.
CREATE TABLE hecate_view_notes_@ (
    run bigint NOT NULL,
    pos bigint NOT NULL,
    doc bytea  NOT NULL,
    PRIMARY KEY (run, pos)
) CLUSTERED;

CREATE TABLE hecate_view_messages_@ (
    run     bigint NOT NULL,
    idx     bigint NOT NULL, -- 1, 2, 3 … within what this run adds to the conversation
    version bigint NOT NULL, -- of the event in the run's stream that brought it
    call    bigint NOT NULL, -- index of the model call whose tool calls it holds, 0 if it holds none
    doc     bytea  NOT NULL,
    PRIMARY KEY (run, idx)
) CLUSTERED;

-- How a conversation begins: pieces of those of earlier runs of the same task. Their
-- rows go when the task goes, so they are not copied.
CREATE TABLE hecate_view_inherited_@ (
    run      bigint NOT NULL,
    idx      bigint NOT NULL, -- 1, 2, 3 …
    source   text   NOT NULL, -- run_id
    versions bytea  NOT NULL, -- of the events in that run's stream, ascending, as a JSON array
    PRIMARY KEY (run, idx)
) CLUSTERED;
