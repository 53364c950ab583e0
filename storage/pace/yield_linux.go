package pace

import "syscall"

// yieldThread lets the threads run that wait for the processor of this one, and takes about as
// long as a pause without it when none does. The thread of a long piece of work is otherwise
// one among those that answer requests, and each of these waits for up to 3 ms, which is how
// long the kernel lets a thread run.
func yieldThread() { syscall.Syscall(syscall.SYS_SCHED_YIELD, 0, 0, 0) }
