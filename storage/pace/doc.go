// Package pace lets requests in while long work runs.
//
// A refresh of a million positions is half a second of work, and the count of a
// new filter several milliseconds. On a machine whose processors are all busy a
// request would wait for most of that, so the work is cut into strides with a
// pause after each.
//
// What the pause does matters more than the length of a stride. The scheduler
// looks at the network only when nothing else can run, and every 10 ms in any
// case. After runtime.Gosched the work itself can run, so requests wait for
// those 10 ms. A sleep of 20 µs does let the network in, but with one processor
// nothing wakes the sleeper before the kernel's millisecond is over, so that an
// undisturbed refresh takes eight times as long. Here the work sends itself a
// byte through a pipe and waits for it as a connection waits for a request: the
// scheduler has to look at the network to find it, and finds the requests that
// came before it too. With nobody asking, that takes 5 µs.
//
// With several processors the work has a thread of its own beside those that answer requests,
// and the kernel has to find a processor for each. So the thread gives up its own first.
//
// Beside more requests than the node can answer, a look at the network lasts until all
// that it finds are answered, and work in short strides would never end: a node that
// starts again under such load would stay without its columns, which make its answers
// cheap. So strides grow with the looks before them, and the work keeps a sixth of the
// time.
//
// Work that nobody waits for has more patience: it goes on in short strides until
// requests have made it wait for a tenth of a second too long. It makes nearly all of
// the garbage too. While the collector runs, it takes a third of a processor, and beside
// requests and a refresh there is no more than that. So background work collects its own
// garbage, before the runtime would begin to, and while requests come it waits for that.
package pace
