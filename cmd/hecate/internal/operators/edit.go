package operators

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// ErrUnknown says that no active operator has the name.
var ErrUnknown = errors.New("no active operator has this name")

// ErrTaken says that an active operator has the name already.
var ErrTaken = errors.New("an active operator has this name already; revoke it first, or take another name")

// Add makes an operator and returns the token, which stands nowhere else. A list that
// does not exist is made.
func Add(path, name string, at time.Time) (token string, err error) {
	if !Sane(name) {
		return "", fmt.Errorf("add operator %.80q: %w", name, errName)
	}
	token = newToken()
	err = edit(path, func(list []Operator, _ bool) ([]Operator, error) {
		if find(list, name) >= 0 {
			return nil, fmt.Errorf("add operator %s: %w", name, ErrTaken)
		}
		return append(list, made(name, token, at)), nil
	})
	if err != nil {
		return "", err
	}
	return token, nil
}

// Revoke ends the authority of an operator's token, for servers that run as well. It
// returns the entry.
func Revoke(path, name string, at time.Time) (Operator, error) {
	var revoked Operator
	err := edit(path, func(list []Operator, exists bool) ([]Operator, error) {
		i := find(list, name)
		if i < 0 || !exists {
			return nil, fmt.Errorf("revoke operator %.80q: %w", name, ErrUnknown)
		}
		list[i].Revoked = at.UTC().Truncate(time.Second)
		revoked = list[i]
		return list, nil
	})
	return revoked, err
}

// First makes the first operator if there is no list yet, and keeps the token in
// tokenPath, readable to this user only. It reports whether it did. A list without
// anybody active is a choice, and is left alone.
func First(path, tokenPath, name string, at time.Time) (bool, error) {
	if _, err := os.Stat(path); err == nil {
		return false, nil
	}
	done := false
	err := edit(path, func(list []Operator, exists bool) ([]Operator, error) {
		if exists {
			return nil, errNothing
		}
		token := newToken()
		// Before the list: a token that nobody knows is harmless, an operator without one is lost.
		if err := write(tokenPath, []byte(token+"\n")); err != nil {
			return nil, err
		}
		done = true
		return append(list, made(name, token, at)), nil
	})
	return done, err
}

func made(name, token string, at time.Time) Operator {
	return Operator{Name: name, Token: digest(token), Created: at.UTC().Truncate(time.Second)}
}

// find returns the index of the active operator with the name, or -1.
func find(list []Operator, name string) int {
	for i, o := range list {
		if o.Name == name && o.Active() {
			return i
		}
	}
	return -1
}

// errNothing ends an edit that has nothing to do.
var errNothing = errors.New("nothing to do")

// edit replaces the list by what change makes of it. Of several processes that edit,
// one after the other does.
func edit(path string, change func(list []Operator, exists bool) ([]Operator, error)) error {
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("lock the list of operators: %w", err)
	}
	defer lock.Close() // and with it the lock
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock the list of operators: %w", err)
	}
	list, err := Read(path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return err
	}
	list, err = change(list, !missing)
	if errors.Is(err, errNothing) {
		return nil
	}
	if err != nil {
		return err
	}
	raw, err := json.MarshalIndent(file{list}, "", "  ")
	if err != nil {
		return fmt.Errorf("write the list of operators: %w", err)
	}
	return write(path, append(raw, '\n'))
}

// write replaces a file, all or nothing, and makes it readable to this user only.
func write(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-") // mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // it may be gone already
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
