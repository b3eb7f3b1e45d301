// Package envfile reads and edits the files that give a service its options,
// such as /etc/default/openvswitch-switch and /etc/sysconfig/openvswitch.
//
// # Two readers
//
// systemd reads such a file as an EnvironmentFile, systemd.exec(5); an init script and many people read it as a shell
// does. They differ where it hurts: systemd expands nothing, so $NAME stays; it knows no comments after a value, no
// "export" and no "+="; and quotes count only where the value begins. [Systemd] and [LastShell] are the two. [Words]
// splits a value into command arguments as systemd does.
//
// # Editing
//
// [Replace] changes lines and keeps every other byte; both read what [Quote] writes alike.
package envfile
