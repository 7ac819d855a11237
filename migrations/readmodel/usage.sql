-- What model calls used and cost. Nothing here goes when a task is deleted.
CREATE TABLE hecate_view_usage_events_@ (
    position bigint NOT NULL PRIMARY KEY, -- of the event that accounts for the call
    at       bigint NOT NULL, -- microseconds since 1970
    run_id   text   NOT NULL,
    provider text   NOT NULL, -- '' if nobody knows
    model    text   NOT NULL,
    detail   text   NOT NULL, -- why there is no full answer, or repetition_check; else ''
    input    bigint NOT NULL, -- tokens, 0 if the provider did not say
    output   bigint NOT NULL,
    pico_usd bigint NOT NULL,
    known    bigint NOT NULL  -- 0 if pico_usd is not what the call cost
);

CREATE TABLE hecate_view_usage_sums_@ (
    provider text   NOT NULL PRIMARY KEY,
    pico_usd bigint NOT NULL,
    unknown  bigint NOT NULL  -- calls whose cost is not in the sum
) CLUSTERED;

CREATE TABLE hecate_view_usage_runs_@ (
    run_id        text NOT NULL PRIMARY KEY,
    task_id       text NOT NULL,
    request_id    text NOT NULL,
    provider      text NOT NULL, -- of the last call that was begun, as far as it was known then
    model         text NOT NULL,
    checker       text NOT NULL, -- the same of the last check for progress
    checker_model text NOT NULL
) CLUSTERED;
