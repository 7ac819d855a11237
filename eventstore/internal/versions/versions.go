// Package versions remembers at which versions streams were seen last.
package versions

// eachMax is how many streams each half of a cache remembers.
const eachMax = 8192

// Cache remembers the versions of the streams that were touched last. It has two
// halves: when the young one is full it becomes the old one, and what was not
// touched since is forgotten. It is for one goroutine.
type Cache struct{ young, old map[string]int64 }

// Get returns the version that was put last, if it is still known.
func (c *Cache) Get(stream string) (version int64, ok bool) {
	if version, ok = c.young[stream]; ok {
		return version, true
	}
	version, ok = c.old[stream]
	return version, ok
}

// Put remembers a version.
func (c *Cache) Put(stream string, version int64) {
	if c.young == nil || len(c.young) >= eachMax {
		c.young, c.old = map[string]int64{}, c.young
	}
	c.young[stream] = version
}
