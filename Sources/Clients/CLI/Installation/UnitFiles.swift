import Foundation
import NightshiftClient

/// The systemd user units. They are equal to the units in `packaging/systemd`.
enum UnitFiles {
    /// The program that ``service`` starts. ``service(daemon:)`` replaces this path.
    static let packagedDaemon = "/usr/bin/nightshiftd"

    static let socket = """
        [Unit]
        Description=Nightshift background transfers, API socket
        Documentation=man:nightshiftd(1)

        [Socket]
        ListenStream=%t/nightshift/nightshift.sock
        SocketMode=0600
        DirectoryMode=0700

        [Install]
        WantedBy=sockets.target

        """

    static let service = """
        [Unit]
        Description=Nightshift background transfers
        Documentation=man:nightshiftd(1)
        Requires=nightshiftd.socket
        After=nightshiftd.socket

        [Service]
        Type=notify
        ExecStart=/usr/bin/nightshiftd
        Restart=on-failure
        RestartSec=1s
        # A restart does not mend a wrong configuration (2), an unusable directory (5) or an unusable database (6).
        RestartPreventExitStatus=2 5 6
        WatchdogSec=5min
        # Checkpoints take less than 2 s; a stuck disk may take longer.
        TimeoutStopSec=15s
        # Apps have units of their own. This setting and the next one are for processes that keep logs, and for apps that an earlier
        # version started inside this unit.
        KillMode=process
        Delegate=yes

        # Apps do not inherit these settings, because systemd starts them. There are no namespaces, such as those of ProtectSystem=
        # and PrivateTmp=, because downloads go wherever the user may write, with the permissions of the user's umask.
        NoNewPrivileges=yes
        KeyringMode=private
        LockPersonality=yes
        MemoryDenyWriteExecute=yes
        RestrictAddressFamilies=AF_INET AF_INET6 AF_NETLINK AF_UNIX
        RestrictNamespaces=yes
        RestrictRealtime=yes
        RestrictSUIDSGID=yes
        SystemCallArchitectures=native
        SystemCallFilter=@system-service
        SystemCallFilter=~@clock @cpu-emulation @debug @module @mount @obsolete @raw-io @reboot @swap
        # A call that is not listed fails. Without this line it would kill the service.
        SystemCallErrorNumber=EPERM

        [Install]
        # The service also starts at login, or at boot if the user lingers, so that transfers continue after a restart of the
        # machine.
        Also=nightshiftd.socket
        WantedBy=default.target

        """

    /// Returns the service unit for a daemon at another path.
    static func service(daemon: String) -> String {
        service.split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0 == "ExecStart=" + packagedDaemon ? start(of: daemon) : String($0) }
            .joined(separator: "\n")
    }

    /// Returns the line of a unit that starts a daemon.
    private static func start(of daemon: String) -> String {
        // systemd splits the line at spaces and expands %. In the path of a program, $$ does not mean $. A colon before
        // the path turns off the expansion of $ (systemd.service(5), "Command lines").
        let quoted =
            daemon.contains(where: { " \t\"\\'".contains($0) })
            ? "\"" + daemon.map { "\"\\".contains($0) ? "\\\($0)" : String($0) }.joined() + "\"" : daemon
        return "ExecStart=" + (daemon.contains("$") ? ":" : "") + quoted.replacing("%", with: "%%")
    }

    /// Returns the first directory with installed units that start this daemon; nil if none has them.
    static func directory(of directories: [URL], daemon: String) -> URL? {
        directories.first { directory in
            let names = [UserManager.socket, UserManager.service].map { directory.appending(path: $0) }
            guard let texts = try? names.map({ try String(contentsOf: $0, encoding: .utf8) }) else { return false }
            return texts[1].split(separator: "\n").contains { $0 == start(of: daemon) }
        }
    }
}
