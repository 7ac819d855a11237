-- Work policies that somebody wrote; the built-in ones are part of the program. A
-- deleted one leaves no row.
CREATE TABLE hecate_view_presets_@ (
    preset_id text   NOT NULL PRIMARY KEY,
    created   bigint NOT NULL, -- microseconds since 1970
    updated   bigint NOT NULL, -- the same
    doc       bytea  NOT NULL  -- the definition as JSON
) CLUSTERED;
