package sqlite

// versionsMax is how many streams each half of the cache remembers.
const versionsMax = 8192

// versionCache remembers the versions of the streams that were touched last. It
// is a cache in two halves: when the young one is full it becomes the old one,
// and what was not touched since is forgotten.
type versionCache struct{ young, old map[string]int64 }

func (c *versionCache) get(stream string) (int64, bool) {
	if v, ok := c.young[stream]; ok {
		return v, true
	}
	v, ok := c.old[stream]
	return v, ok
}

func (c *versionCache) put(stream string, version int64) {
	if c.young == nil || len(c.young) >= versionsMax {
		c.young, c.old = map[string]int64{}, c.young
	}
	c.young[stream] = version
}
