package market

// Durations in seconds.
const (
	Minute = 60
	Hour   = 3600
	Day    = 86400
)

// HoursOfDay is how many hours a day has.
const HoursOfDay = Day / Hour

// HourOf returns the hour of a unix time, counted from the epoch.
func HourOf(unix int64) uint32 { return uint32(unix / Hour) }

// DayOf returns the UTC day of a unix time, counted from the epoch.
func DayOf(unix int64) uint32 { return uint32(unix / Day) }

// MinuteOf returns the minute of a unix time, counted from the epoch.
func MinuteOf(unix int64) uint32 { return uint32(unix / Minute) }
