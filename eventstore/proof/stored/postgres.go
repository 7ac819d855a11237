package stored

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
)

// server hands out what a PostgreSQL server has sent, as it stands in the driver's memory.
type server struct{ db *sql.DB }

func (server) close() {}

func (s server) scan(ctx context.Context, query string, args []any, do func([]cell) error) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Raw(func(raw any) error {
		c, ok := raw.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("%T is no connection of pgx", raw)
		}
		rows, err := c.Conn().Query(ctx, query, append([]any{pgx.QueryResultFormats{pgx.BinaryFormatCode}}, args...)...)
		if err != nil {
			return err
		}
		defer rows.Close()
		cells := make([]cell, len(rows.FieldDescriptions()))
		for rows.Next() {
			values := rows.RawValues()
			for i, f := range rows.FieldDescriptions() {
				cells[i] = sentCell(f.DataTypeOID, values[i])
			}
			if err := do(cells); err != nil {
				return err
			}
		}
		return cmp.Or(rows.Err(), ctx.Err())
	})
}

// sentCell reads a value in the binary form of the protocol.
func sentCell(oid uint32, b []byte) cell {
	switch {
	case b == nil:
		return cell{kind: null}
	case oid == pgtype.Int8OID && len(b) == 8:
		return cell{kind: integer, n: int64(binary.BigEndian.Uint64(b))}
	case oid == pgtype.Int4OID && len(b) == 4:
		return cell{kind: integer, n: int64(int32(binary.BigEndian.Uint32(b)))}
	case oid == pgtype.TextOID:
		return cell{kind: text, b: b}
	case oid == pgtype.ByteaOID:
		return cell{kind: blob, b: b}
	default:
		return cell{kind: other}
	}
}
