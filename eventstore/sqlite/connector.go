package sqlite

import (
	"context"
	"database/sql/driver"

	"modernc.org/sqlite"
)

// connector opens connections without going through the global driver table.
type connector struct{ dsn string }

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.Driver().Open(c.dsn) }

func (connector) Driver() driver.Driver { return sqliteDriver }

var sqliteDriver = &sqlite.Driver{}
