package stored

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// file hands out what SQLite has read of a file without copying it, on connections of its
// own. By way of the driver, taking over the columns costs more than all of verifying them.
type file struct {
	name string // as SQLite wants it
	mu   sync.Mutex
	free []*fileConn
}

// fileConn is used by one goroutine at a time.
type fileConn struct {
	tls *libc.TLS
	db  uintptr
}

// fileSetup is what each connection is told. A long log is read once and in order: there
// is nothing to keep pages for.
const fileSetup = `PRAGMA busy_timeout = 30000; PRAGMA mmap_size = 0; PRAGMA temp_store = memory; PRAGMA cache_size = -1024`

func (f *file) scan(ctx context.Context, query string, args []any, do func([]cell) error) error {
	c, err := f.conn()
	if err != nil {
		return err
	}
	if err := c.scan(ctx, query, args, do); err != nil {
		c.close()
		return err
	}
	f.mu.Lock()
	f.free = append(f.free, c)
	f.mu.Unlock()
	return nil
}

func (f *file) conn() (*fileConn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(f.free); n > 0 {
		c := f.free[n-1]
		f.free = f.free[:n-1]
		return c, nil
	}
	return openConn(f.name)
}

func (f *file) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.free {
		c.close()
	}
	f.free = nil
}

func openConn(name string) (*fileConn, error) {
	c := &fileConn{tls: libc.NewTLS()}
	db, err := c.pointer(func(out uintptr) error {
		return c.text(name, func(p uintptr) int32 {
			return sqlite3.Xsqlite3_open_v2(c.tls, p, out, sqlite3.SQLITE_OPEN_READONLY|sqlite3.SQLITE_OPEN_NOMUTEX|sqlite3.SQLITE_OPEN_URI, 0)
		})
	})
	c.db = db // there is one even if the file could not be opened
	if err == nil {
		err = c.text(fileSetup, func(p uintptr) int32 { return sqlite3.Xsqlite3_exec(c.tls, db, p, 0, 0, 0) })
	}
	if err != nil {
		c.close()
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	return c, nil
}

func (c *fileConn) close() {
	sqlite3.Xsqlite3_close_v2(c.tls, c.db)
	c.tls.Close()
}

// scan runs a query and hands its rows to do. Cells are good until do returns.
func (c *fileConn) scan(ctx context.Context, query string, args []any, do func([]cell) error) error {
	statement, err := c.pointer(func(out uintptr) error {
		return c.text(query, func(p uintptr) int32 { return sqlite3.Xsqlite3_prepare_v2(c.tls, c.db, p, -1, out, 0) })
	})
	if err != nil {
		return err
	}
	defer sqlite3.Xsqlite3_finalize(c.tls, statement)
	for i, arg := range args {
		if err := c.bind(statement, int32(i+1), arg); err != nil {
			return err
		}
	}
	defer c.interruptWith(ctx)()
	cells := make([]cell, sqlite3.Xsqlite3_column_count(c.tls, statement))
	for ctx.Err() == nil {
		switch rc := sqlite3.Xsqlite3_step(c.tls, statement); rc {
		case sqlite3.SQLITE_ROW:
		case sqlite3.SQLITE_DONE:
			return nil
		default:
			return errors.Join(c.fault(rc), ctx.Err())
		}
		for i := range cells {
			cells[i] = c.cell(sqlite3.Xsqlite3_column_value(c.tls, statement, int32(i)))
		}
		if err := do(cells); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// cell reads a value. What it refers to belongs to SQLite, up to the next step.
func (c *fileConn) cell(value uintptr) cell {
	switch sqlite3.Xsqlite3_value_type(c.tls, value) {
	case sqlite3.SQLITE_INTEGER:
		return cell{kind: integer, n: sqlite3.Xsqlite3_value_int64(c.tls, value)}
	case sqlite3.SQLITE_TEXT:
		return cell{kind: text, b: c.bytes(value)}
	case sqlite3.SQLITE_BLOB:
		return cell{kind: blob, b: c.bytes(value)}
	case sqlite3.SQLITE_NULL:
		return cell{kind: null}
	default:
		return cell{kind: other}
	}
}

func (c *fileConn) bytes(value uintptr) []byte {
	p := sqlite3.Xsqlite3_value_blob(c.tls, value) // of texts too: there is no need for the zero at their end
	if p == 0 {
		return nil
	}
	return libc.GoBytes(p, int(sqlite3.Xsqlite3_value_bytes(c.tls, value)))
}

func (c *fileConn) bind(statement uintptr, i int32, arg any) error {
	switch v := arg.(type) {
	case int64:
		return c.fault(sqlite3.Xsqlite3_bind_int64(c.tls, statement, i, v))
	case string:
		return c.text(v, func(p uintptr) int32 {
			return sqlite3.Xsqlite3_bind_text(c.tls, statement, i, p, int32(len(v)), sqlite3.SQLITE_TRANSIENT)
		})
	default:
		return fmt.Errorf("bind parameter %d: a %T", i, arg)
	}
}

// interruptWith ends what runs on the connection when ctx is done. The function that it
// returns waits until that cannot happen any more.
func (c *fileConn) interruptWith(ctx context.Context) (end func()) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		tls := libc.NewTLS() // the other one is in use
		defer tls.Close()
		sqlite3.Xsqlite3_interrupt(tls, c.db)
	})
	return func() {
		if !stop() {
			<-done
		}
	}
}

// pointer returns what put has left at the address that it is given.
func (c *fileConn) pointer(put func(out uintptr) error) (uintptr, error) {
	const size = 8 // room for any pointer
	out := libc.Xcalloc(c.tls, 1, size)
	if out == 0 {
		return 0, errors.New("out of memory")
	}
	defer libc.Xfree(c.tls, out)
	err := put(out)
	return uintptr(binary.NativeEndian.Uint64(libc.GoBytes(out, size))), err
}

// text lends a text to SQLite.
func (c *fileConn) text(s string, use func(p uintptr) int32) error {
	p, err := libc.CString(s)
	if err != nil {
		return err
	}
	defer libc.Xfree(c.tls, p)
	return c.fault(use(p))
}

// fault turns a result code into an error.
func (c *fileConn) fault(rc int32) error {
	if rc == sqlite3.SQLITE_OK {
		return nil
	}
	message := sqlite3.Xsqlite3_errstr(c.tls, rc)
	if c.db != 0 {
		message = sqlite3.Xsqlite3_errmsg(c.tls, c.db)
	}
	return fmt.Errorf("%s (SQLite error %d)", libc.GoString(message), rc)
}
