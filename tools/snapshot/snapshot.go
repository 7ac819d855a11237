// Package snapshot keeps a hidden history of directories: it takes snapshots of a
// workspace, compares them, lands what changed between two of them on another
// directory, and puts a directory back to where it was.
//
// Snapshots are git trees in a bare store outside of the workspace. Git never looks at
// the workspace itself: files are read here, through os.Root, and become objects byte
// for byte. So nothing that a workspace can configure (filters, attributes, hooks,
// monitors, alternates, included configuration, submodules) has anything to act on. Git
// only shows differences, merges texts and drops old objects, in the store, with the
// store's own configuration.
//
// What is in a snapshot: regular files with their bit for execution, and symbolic links
// as links. Not in it: empty directories, owners, other permissions, times, everything
// called .git at any depth (a nested repository is a plain directory), devices, pipes and
// sockets, and what .gitignore files name. A path that one snapshot of a directory has
// stays in the next ones while it exists, also if a .gitignore comes to name it or it
// cannot be read: otherwise an ignore rule would look like the removal of files.
package snapshot

// Tree names a snapshot: the id of a git tree (64 hexadecimal digits, SHA-256).
type Tree string

// Limits. They keep a hostile or mistaken workspace from filling a disk or memory.
const (
	FileBytesMax    = 256 << 20 // a larger file is skipped
	IgnoredBytesMax = 256 << 20 // default for Options.IgnoredBytes
	ReadBytesMax    = 32 << 20  // largest blob that Read returns
	entriesMax      = 500_000   // files in a snapshot; more are an error
	depthMax        = 200       // directories in directories; what is deeper is skipped
	pathMax         = 4096      // bytes of a path, as for most kernels; what is longer is skipped
	changesMax      = 100_000   // changed paths between two snapshots; more are an error
)

// Modes of what a tree holds, as git has them.
const (
	ModeFile uint32 = 0o100644
	ModeExec uint32 = 0o100755
	ModeLink uint32 = 0o120000
	modeDir  uint32 = 0o040000
)

// Options say what a snapshot holds.
type Options struct {
	// Ignored includes what .gitignore files name, up to IgnoredBytes in all
	// (0: IgnoredBytesMax); what is beyond is skipped.
	Ignored      bool
	IgnoredBytes int64
	// Include are paths that are included even if they are ignored, such as files that a
	// repository tracks all the same. Needed in the first snapshot of a directory only.
	Include []string
	// Peek leaves the last snapshot of the directory the one before (see Store.Last).
	Peek bool
	// Exclude are directories and files that stay out, with all below them, whatever else is
	// said; slash-separated paths below the root.
	Exclude []string
	// Skipped, if not nil, receives what could not be included, in no certain order.
	Skipped *[]Skip
}

// Skip is something that a snapshot could not include. If the snapshot before had it,
// it stands in this one as it was there.
type Skip struct {
	Path   string // below the root; raw bytes, which need not be UTF-8
	Reason string // such as "is too large", to go after the path
}

// Kinds of changes.
const (
	Add    = "add"
	Update = "update"
	Delete = "delete"
)

// Change is one path that differs between two snapshots. A renamed file is a delete
// and an add.
type Change struct {
	Path             string // raw bytes, which need not be UTF-8
	Kind             string // Add, Update or Delete
	OldMode, NewMode uint32 // 0 where there is nothing
	OldBlob, NewBlob string // "" where there is nothing
	Binary           bool   // the old or the new content has a NUL among its first 8000 bytes
	Size             int64  // bytes of the new content, or of the old one of a Delete
}
