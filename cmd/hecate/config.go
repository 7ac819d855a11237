package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	v1 "hecate/api/v1"
	"hecate/cmd/hecate/internal/operators"
	"hecate/cmd/hecate/internal/otlp"
	"hecate/cmd/hecate/internal/retain"
	"hecate/domain/permission"
	"hecate/domain/permission/host"
)

// config is the server's configuration by environment. A malformed value stops
// the start; nothing silently means the default.
type config struct {
	Address        string   `env:"HECATE_ADDRESS" envDefault:"127.0.0.1:8765"`
	AllowOpenBind  bool     `env:"HECATE_ALLOW_NON_LOOPBACK_BIND"`
	AllowedOrigins []string `env:"HECATE_ALLOWED_ORIGINS"`
	RuntimeToken   string   `env:"HECATE_RUNTIME_TOKEN"`
	OperatorsFile  string   `env:"HECATE_OPERATORS_FILE"`                            // default: operators.json in the data directory
	OperatorProof  v1.Proof `env:"HECATE_OPERATOR_TOKEN_REQUIRED" envDefault:"auto"` // when decisions need an operator's token
	AuditKeyFile   string   `env:"HECATE_AUDIT_KEY_FILE"`                            // default: audit.key in the data directory
	AuditWitness   string   `env:"HECATE_AUDIT_WITNESS"`                             // a file or an http(s) address that is told of checkpoints
	PublicURL      string   `env:"HECATE_PUBLIC_URL"`
	HostLabel      string   `env:"HECATE_RUNTIME_HOST_LABEL"`
	DataDir        string   `env:"HECATE_DATA_DIR" envDefault:".data"`
	LogLevel       string   `env:"LOG_LEVEL" envDefault:"INFO"`

	Backend           string        `env:"HECATE_BACKEND" envDefault:"sqlite"` // memory, sqlite or postgres
	SQLitePath        string        `env:"HECATE_SQLITE_PATH"`                 // default: hecate.db in the data directory
	SQLiteBusyTimeout time.Duration `env:"HECATE_SQLITE_BUSY_TIMEOUT" envDefault:"5s"`
	PostgresURL       string        `env:"HECATE_POSTGRES_URL"`
	DatabaseURL       string        `env:"DATABASE_URL"`
	SQLitePrefix      string        `env:"HECATE_SQLITE_TABLE_PREFIX"` // of table names; default hecate
	PostgresPrefix    string        `env:"HECATE_POSTGRES_TABLE_PREFIX"`
	PostgresConnsMax  int           `env:"HECATE_POSTGRES_MAX_OPEN_CONNS"` // that read the log; default 8

	WorkersEnabled       bool          `env:"HECATE_TASK_WORKERS_ENABLED" envDefault:"true"` // false: serve, but execute nothing
	Workers              int           `env:"HECATE_TASK_QUEUE_WORKERS" envDefault:"1"`
	RunsEnabled          bool          `env:"HECATE_TASK_RUNS_ENABLED" envDefault:"true"`      // false: execute no runs, only what is asked for on workspaces
	LeaseSeconds         int           `env:"HECATE_TASK_QUEUE_LEASE_SECONDS" envDefault:"30"` // of a worker process on PostgreSQL
	Reconcile            time.Duration `env:"HECATE_TASK_RECONCILE_INTERVAL" envDefault:"30s"`
	RunsMax              int           `env:"HECATE_TASK_MAX_CONCURRENT"`    // runs executed at a time by all processes; 0: no bound
	SharedRoots          []string      `env:"HECATE_TASK_SHARED_ROOTS"`      // directories that all nodes reach by the same path
	CostReservation      bool          `env:"HECATE_TASK_COST_RESERVATION"`  // a call is made only if the most that it can cost is left of the ceiling
	OutputTokensMax      int64         `env:"HECATE_TASK_MAX_OUTPUT_TOKENS"` // of one answer; 0: as the provider likes
	ShutdownMax          time.Duration `env:"HECATE_SHUTDOWN_TIMEOUT" envDefault:"10s"`
	RetentionEnabled     bool          `env:"HECATE_RETENTION_ENABLED"` // else nothing is removed because of its age or number
	RetentionInterval    time.Duration `env:"HECATE_RETENTION_INTERVAL" envDefault:"15m"`
	WorkspacesMaxAge     time.Duration `env:"HECATE_RETENTION_WORKSPACES_MAX_AGE" envDefault:"168h"` // since the end of the task's last run; 0: any
	WorkspacesMaxCount   int           `env:"HECATE_RETENTION_WORKSPACES_MAX_COUNT" envDefault:"1000"`
	WorkspacesChanged    bool          `env:"HECATE_RETENTION_WORKSPACES_CHANGED"` // those with changes, too
	OutputMaxBytes       int64         `env:"HECATE_TASK_MAX_OUTPUT_BYTES" envDefault:"4194304"`
	ModelCallsMax        int64         `env:"HECATE_TASK_AGENT_LOOP_MAX_MODEL_CALLS" envDefault:"8"`
	SystemPrompt         string        `env:"HECATE_TASK_AGENT_SYSTEM_PROMPT"`
	CheckProvider        string        `env:"HECATE_TASK_PROGRESS_CHECK_PROVIDER"` // of the model that looks at repeated calls; with no model: the run's own
	CheckModel           string        `env:"HECATE_TASK_PROGRESS_CHECK_MODEL"`
	CheckTimeout         time.Duration `env:"HECATE_TASK_PROGRESS_CHECK_TIMEOUT" envDefault:"20s"`
	ShellAllowPrivateIPs bool          `env:"HECATE_TASK_SHELL_ALLOW_PRIVATE_IPS"`
	ShellAllowedHosts    []string      `env:"HECATE_TASK_SHELL_ALLOWED_HOSTS"`
	HTTPTimeout          time.Duration `env:"HECATE_TASK_HTTP_TIMEOUT" envDefault:"30s"` // of one request with its redirects
	HTTPMaxBytes         int64         `env:"HECATE_TASK_HTTP_MAX_RESPONSE_BYTES" envDefault:"262144"`
	HTTPAllowPrivateIPs  bool          `env:"HECATE_TASK_HTTP_ALLOW_PRIVATE_IPS"`
	HTTPAllowedHosts     []string      `env:"HECATE_TASK_HTTP_ALLOWED_HOSTS"`
	SearchProvider       string        `env:"HECATE_TASK_WEB_SEARCH_PROVIDER"` // brave, tavily or exa; unset: no web_search
	SearchKey            string        `env:"HECATE_TASK_WEB_SEARCH_API_KEY"`  // or the provider's own variable, see searchKeys
	SearchEndpoint       string        `env:"HECATE_TASK_WEB_SEARCH_ENDPOINT"`
	SearchTimeout        time.Duration `env:"HECATE_TASK_WEB_SEARCH_TIMEOUT" envDefault:"15s"`
	SearchResultsMax     int           `env:"HECATE_TASK_WEB_SEARCH_MAX_RESULTS" envDefault:"5"` // of one search, at most 20
	SearchSafe           string        `env:"HECATE_TASK_WEB_SEARCH_SAFE_SEARCH" envDefault:"moderate"`
	SearchCountry        string        `env:"HECATE_TASK_WEB_SEARCH_COUNTRY"`
	SearchLanguage       string        `env:"HECATE_TASK_WEB_SEARCH_SEARCH_LANG"`
	TempDir              string        `env:"TMPDIR" envDefault:"/tmp"`
	Sandbox              string        `env:"HECATE_TASK_SANDBOX" envDefault:"auto"`         // auto: the wrapper that works here; none: no wrapper; required: no command without one
	Levels               string        `env:"HECATE_TASK_LEVELS_POSTURE" envDefault:"allow"` // forbid: no task may ask by levels

	Retention []retain.Policy     `env:"-"` // HECATE_RETENTION_… of each subsystem
	Policies  []permission.Policy `env:"-"` // HECATE_TASK_APPROVAL_POLICIES
	Outbound  outboundSettings    `env:"-"` // HECATE_FORWARD_URL, HECATE_WEBHOOK_…
	Telemetry otlp.Settings       `env:"-"` // HECATE_OTEL_…, HECATE_METRICS_ADDRESS, HECATE_TRACE_…
	environ   map[string]string
}

// tokenMin is the shortest token that a server accepts, in characters.
const tokenMin = 24

// outputTokensReserved bounds an answer whose cost is reserved for, unless the operator says otherwise.
const outputTokensReserved = 8192

// readConfig reads NAME=VALUE pairs. The error names every problem.
func readConfig(environ []string) (config, error) {
	c := config{environ: env.ToMap(environ)}
	values := map[string]string{}
	for k, v := range c.environ {
		if v != "" { // an empty variable is an unset one, but for the policies
			values[k] = v
		}
	}
	var problems []error
	if err := env.ParseWithOptions(&c, env.Options{Environment: values}); err != nil {
		problems = append(problems, flatten(err)...)
	}
	c.Policies = permission.Default
	if list, set := c.environ["HECATE_TASK_APPROVAL_POLICIES"]; set {
		p, err := permission.ParsePolicies(list)
		if err != nil {
			problems = append(problems, fmt.Errorf("HECATE_TASK_APPROVAL_POLICIES: %w", err))
		}
		c.Policies = p
	}
	var telemetry []error
	c.Telemetry, telemetry = otlp.Read(values)
	problems = append(problems, telemetry...)
	var retention []error
	c.Retention, retention = readRetention(values)
	problems = append(problems, retention...)
	var outbound []error
	c.Outbound, outbound = readOutbound(values)
	problems = append(problems, outbound...)
	problems = append(problems, c.check()...)
	if c.SQLitePath == "" {
		c.SQLitePath = filepath.Join(c.DataDir, "hecate.db")
	}
	if c.OperatorsFile == "" {
		c.OperatorsFile = filepath.Join(c.DataDir, operators.ListFile)
	}
	if c.AuditKeyFile == "" {
		c.AuditKeyFile = auditKeyPath(c.DataDir)
	}
	if c.PostgresURL == "" {
		c.PostgresURL = c.DatabaseURL
	}
	if c.ModelCallsMax == 0 {
		c.ModelCallsMax = 8
	}
	if c.LeaseSeconds <= 0 {
		c.LeaseSeconds = 30
	}
	if c.CostReservation && c.OutputTokensMax == 0 {
		c.OutputTokensMax = outputTokensReserved
	}
	return c, errors.Join(problems...)
}

// flatten turns the parser's collected error into one error a problem.
func flatten(err error) []error {
	var all env.AggregateError
	if !errors.As(err, &all) {
		return []error{err}
	}
	var out []error
	for _, e := range all.Errors {
		var parse env.ParseError
		if errors.As(e, &parse) { // named as the operator knows it
			if f, ok := reflect.TypeFor[config]().FieldByName(parse.Name); ok {
				e = fmt.Errorf("%s: %w", f.Tag.Get("env"), parse.Err)
			}
		}
		out = append(out, e)
	}
	return out
}

func (c *config) check() []error {
	var out []error
	add := func(format string, args ...any) { out = append(out, fmt.Errorf(format, args...)) }
	if c.Workers < 1 && c.environ["HECATE_TASK_QUEUE_WORKERS"] == strconv.Itoa(c.Workers) {
		add("HECATE_TASK_QUEUE_WORKERS must be at least 1, not %d", c.Workers)
	}
	if c.PostgresConnsMax < 0 {
		add("HECATE_POSTGRES_MAX_OPEN_CONNS must not be negative")
	}
	if c.OutputMaxBytes < 0 || c.ModelCallsMax < 0 {
		add("HECATE_TASK_MAX_OUTPUT_BYTES and HECATE_TASK_AGENT_LOOP_MAX_MODEL_CALLS must not be negative")
	}
	if c.RunsMax < 0 || c.OutputTokensMax < 0 || c.ShutdownMax < 0 || c.Reconcile < 0 {
		add("HECATE_TASK_MAX_CONCURRENT, HECATE_TASK_MAX_OUTPUT_TOKENS, HECATE_TASK_RECONCILE_INTERVAL and HECATE_SHUTDOWN_TIMEOUT must not be negative")
	}
	if c.RetentionEnabled && c.RetentionInterval <= 0 || c.WorkspacesMaxAge < 0 || c.WorkspacesMaxCount < 0 {
		add("HECATE_RETENTION_INTERVAL must be a positive duration such as 15m; HECATE_RETENTION_WORKSPACES_MAX_AGE and HECATE_RETENTION_WORKSPACES_MAX_COUNT must not be negative")
	}
	if (c.CheckProvider == "") != (c.CheckModel == "") {
		add("HECATE_TASK_PROGRESS_CHECK_PROVIDER and HECATE_TASK_PROGRESS_CHECK_MODEL go together: set both, or neither to ask the run's own model")
	}
	if c.CheckTimeout <= 0 {
		add("HECATE_TASK_PROGRESS_CHECK_TIMEOUT must be a positive duration such as 20s")
	}
	for _, dir := range c.SharedRoots {
		if !filepath.IsAbs(dir) {
			add("HECATE_TASK_SHARED_ROOTS: %q is no absolute path", dir)
		}
	}
	if c.RuntimeToken != "" && len(c.RuntimeToken) < tokenMin {
		add("HECATE_RUNTIME_TOKEN has %d characters; at least %d are needed", len(c.RuntimeToken), tokenMin)
	}
	if !c.OperatorProof.Valid() {
		add("HECATE_OPERATOR_TOKEN_REQUIRED is %q: use auto, always or never", c.OperatorProof)
	}
	c.checkHTTP(add)
	if scheme, _, ok := strings.Cut(c.AuditWitness, "://"); ok && scheme != "http" && scheme != "https" {
		add("HECATE_AUDIT_WITNESS is an address of %s://; it must be a file, or begin with http:// or https://", scheme)
	}
	c.checkSearch(add)
	if !slices.Contains([]string{sandboxAuto, sandboxNone, sandboxRequired}, c.Sandbox) {
		add("HECATE_TASK_SANDBOX is %q: use auto, none or required", c.Sandbox)
	}
	if c.Levels != "allow" && c.Levels != "forbid" {
		add("HECATE_TASK_LEVELS_POSTURE is %q: use allow or forbid", c.Levels)
	}
	switch c.Backend {
	case "memory", "sqlite":
	case "postgres":
		if c.PostgresURL == "" && c.DatabaseURL == "" {
			add("HECATE_BACKEND=postgres needs HECATE_POSTGRES_URL or DATABASE_URL")
		}
	default:
		add("HECATE_BACKEND is %q: use memory, sqlite or postgres", c.Backend)
	}
	for _, err := range []error{c.checkBind(), c.checkMetrics()} {
		if err != nil {
			out = append(out, err)
		}
	}
	for _, o := range c.AllowedOrigins {
		u, err := url.Parse(o)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
			add("HECATE_ALLOWED_ORIGINS: %q is no origin such as https://console.example", o)
		}
	}
	if key := c.environ["HECATE_CONTROL_PLANE_SECRET_KEY"]; key != "" {
		if raw, err := base64.StdEncoding.DecodeString(key); err != nil || len(raw) != 32 {
			add("HECATE_CONTROL_PLANE_SECRET_KEY must be base64 of 32 bytes")
		}
	}
	return out
}

// httpBytesMost is the most that can be read of an answer: as text it may take three times
// as much, which has to fit into the log.
const httpBytesMost = 16 << 20

// checkHTTP is about what tools may fetch. A host that equals none would let nothing
// through and look as if it did.
func (c *config) checkHTTP(add func(format string, args ...any)) {
	if c.HTTPTimeout < 0 || c.HTTPMaxBytes < 0 {
		add("HECATE_TASK_HTTP_TIMEOUT and HECATE_TASK_HTTP_MAX_RESPONSE_BYTES must not be negative")
	}
	if c.HTTPMaxBytes > httpBytesMost {
		add("HECATE_TASK_HTTP_MAX_RESPONSE_BYTES must be at most %d; a result that is larger could not be recorded", httpBytesMost)
	}
	c.HTTPAllowedHosts = slices.DeleteFunc(c.HTTPAllowedHosts, func(text string) bool { return strings.TrimSpace(text) == "" })
	for _, text := range c.HTTPAllowedHosts {
		if _, err := host.Parse(text); err != nil {
			add("HECATE_TASK_HTTP_ALLOWED_HOSTS: %q: %w", text, err)
		}
	}
}

// checkBind refuses to listen where others can reach the server without a token.
func (c *config) checkBind() error {
	host, _, err := net.SplitHostPort(c.Address)
	if err != nil {
		return fmt.Errorf("HECATE_ADDRESS: %q is no host:port", c.Address)
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	if !c.AllowOpenBind {
		return fmt.Errorf("HECATE_ADDRESS %s is reachable from outside; set HECATE_ALLOW_NON_LOOPBACK_BIND=1 and HECATE_RUNTIME_TOKEN if that is meant", c.Address)
	}
	if c.RuntimeToken == "" {
		return fmt.Errorf("HECATE_ADDRESS %s is reachable from outside; it needs HECATE_RUNTIME_TOKEN", c.Address)
	}
	return nil
}

// level reads LOG_LEVEL; an unknown one means INFO.
func (c *config) level() slog.Level {
	var l slog.Level
	if err := l.UnmarshalText([]byte(strings.TrimSpace(c.LogLevel))); err != nil {
		return slog.LevelInfo
	}
	return l
}
