// Package envfile reads and edits the files that give a service its options,
// such as /etc/default/openvswitch-switch and /etc/sysconfig/openvswitch.
//
// # Two readers
//
// systemd reads such a file as an EnvironmentFile, systemd.exec(5); an init script and
// many people read it as a shell does. They differ where it hurts: systemd
// expands nothing, so that $NAME stays as it is written; it knows no comment behind
// a value, no "export" and no "+="; and quotes are quotes only where the value
// begins. [Systemd] and [Shell] are the two. [Words] is how systemd splits a value
// into the arguments of a command.
//
// # Editing
//
// [Replace] changes lines and keeps every other byte; what [Quote] writes
// reads the same to both.
package envfile
