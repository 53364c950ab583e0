package render

import (
	"tidemark/rankings/chart"
	"tidemark/rankings/value"
)

var bases = [...]string{
	chart.BasisTicks: "ticks", chart.BasisHours: "hours", chart.BasisDays: "days",
}

// AppendEstimate begins the body of an estimate.
func AppendEstimate(dst []byte, e *chart.Estimate) []byte {
	dst = number(append(dst, `{"feesUsd":`...), e.FeesUsd)
	dst = number(append(dst, `,"feeApr":`...), value.ClampPercent(e.FeeAPR))
	dst = number(append(dst, `,"timeInRange":`...), e.TimeInRange)
	dst = number(append(dst, `,"divergenceLossUsd":`...), e.DivergenceUsd)
	dst = integer(append(dst, `,"from":`...), e.From)
	dst = integer(append(dst, `,"to":`...), e.To)
	dst = append(append(append(dst, `,"basis":"`...), bases[e.Basis]...), '"')

	// No estimate knows what the position itself would have changed.
	dst = append(dst, `,"approximated":["dilution"`...)
	if e.OwnPrice {
		dst = append(dst, `,"valueUsd"`...)
	}
	if e.SplitFees {
		dst = append(dst, `,"feesUsd","feeApr"`...)
	}
	if e.SplitTime {
		dst = append(dst, `,"timeInRange"`...)
	}
	return append(dst, ']')
}
