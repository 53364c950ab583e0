package main

import "time"

func measureLive(time.Duration) ([]figure, error) { return nil, nil }
