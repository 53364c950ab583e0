// Command tidemark is the node and everything that administers it. It only binds
// flags and settings to the packages that do the work, and these to each other.
//
// A node is started in this order, from the configuration to the servers, and its parts
// are stopped in the reverse order:
//
//	main, hangup, serve              the command line, and a node's life from start to stop
//	configload, configfile           defaults, file, environment and flags, laid over each
//	                                 other into a Config
//	config, settings, configcheck    what can be set, and what its values may be
//	configchains, endpoints,         the same for chains, for addresses of nodes, for those
//	defaultchains, configcluster     that are built in, and for a cluster
//	configcmd, reload                the configuration printed, checked and read again
//	identity                         what data depends on, and may not change under it
//	private, recovery                who may read data, and the way out when it is damaged
//	node                             the parts of a node and how they are wired
//	listen, certificate, ops,        listeners, TLS on them, the operators' server, and the
//	systemd                          service manager
//	feeds, archives                  where each chain's events come from
//	joincluster, latestart, sharing, what a node shares with the others of its cluster
//	sharedaccounts, sharedwalks
//	firstkey, welcome, shell, ready  what a user is shown, and when requests may come
//	logging, repeats, screen         log lines, those that repeat, and progress below them
//	completion                       commands and flags completed by the shell
//
// Commands that ask a running node go through admin, over its socket: accounts, keys,
// usage, chains, clustercmd, backup, verify and ready. Commands on a stopped node's data
// are check, restore and archiveimport, which compares what it imports with the chain's
// nodes (headercheck). rebuild does both: a running node rebuilds the chain itself.
// archivecmd exports the files of the archive, whether the node runs or not. checkurl
// compares the answers of a node with each other. bench, benchrun, benchoutput and
// benchcluster measure (bench).
package main
