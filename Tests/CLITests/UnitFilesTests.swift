import Foundation
import Testing

@testable import CLI
@testable import NightshiftClient

struct UnitFilesTests {
    @Test(arguments: [(UserManager.socket, UnitFiles.socket), (UserManager.service, UnitFiles.service)])
    func `The installed units equal those of the package`(_ name: String, _ text: String) throws {
        let file = Fixture.root.appending(path: "packaging/systemd/\(name)")
        #expect(try String(contentsOf: file, encoding: .utf8) == text)
    }

    @Test(arguments: [
        ("/opt/n/bin/nightshiftd", "/opt/n/bin/nightshiftd"), ("/home/a b/nightshiftd", "\"/home/a b/nightshiftd\""),
        ("/x/100%/$HOME/nightshiftd", ":/x/100%%/$HOME/nightshiftd"),
        ("/a $b/nightshiftd", ":\"/a $b/nightshiftd\""),
    ])
    func `The unit file quotes the path of the service's program`(_ daemon: String, _ written: String) {
        let lines = UnitFiles.service(daemon: daemon).split(separator: "\n")
        #expect(lines.filter { $0.hasPrefix("ExecStart=") } == ["ExecStart=\(written)"])
    }

    @Test func `service install and uninstall work without systemd`() async throws {
        let world = try World()
        try world.installDaemon("exit 0")
        let environment = ["NIGHTSHIFT_HOME": "", "XDG_RUNTIME_DIR": world.path]
        #expect(await world.run("service", "install", environment: environment) == .whole)
        let folder = world.root.appending(path: ".config/systemd/user")
        let service = try String(contentsOf: folder.appending(path: UserManager.service), encoding: .utf8)
        #expect(service.contains("ExecStart=\(world.path)/bin/nightshiftd\n"))
        #expect(world.output.text.contains("systemctl --user enable --now"))
        #expect(await world.run("service", "uninstall", environment: environment) == .whole)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false)).isEmpty)
    }

    @Test func `Commands that inspect or stop the service do not make systemd start it`() async throws {
        let world = try World()
        // This script answers like systemctl(1): the socket is listening, or its service runs.
        try world.install(
            "systemctl",
            """
            case "$*" in
            *' show '*nightshiftd.socket) echo LoadState=loaded; echo ActiveState=active; cat "$HOME/state" ;;
            *) exit 1 ;;
            esac
            """)
        let runtime = try world.addUserManager()
        let state = world.root.appending(path: "state")
        try Data("SubState=listening\n".utf8).write(to: state)
        let service = try ScriptedService(home: world.root, folder: "rt/nightshift") { _ in
            (try? .json(Samples.status)) ?? .hangUp
        }
        defer { service.stop() }
        let environment = [
            "NIGHTSHIFT_HOME": "", "XDG_RUNTIME_DIR": runtime, "PATH": world.path + "/bin:/usr/bin:/bin",
        ]
        #expect(await world.run("status", environment: environment) == .unreachable)
        #expect(await world.run("service", "stop", environment: environment) == .whole)
        #expect(world.output.text.hasSuffix("The service does not run.\n"))
        _ = await world.run("doctor", environment: environment)
        #expect(world.output.text.contains("systemd starts it for the first command that needs it"))
        // The service accepts connections in order, so this one comes after all others.
        try Data("SubState=running\n".utf8).write(to: state)
        #expect(await world.run("status", environment: environment) == .whole)
        #expect(service.requests.map(\.path) == ["/v1/status"])
        #expect(service.connections <= 2)
    }

    /// A `systemctl` that records its arguments, and that knows the given state of the units.
    private static func systemctl(_ state: String) -> String {
        """
        echo "$*" >>"$HOME/calls"
        case "$*" in
        *' show '*) printf '\(state)' ;;
        *'--global'*) exit 1 ;;
        esac
        """
    }

    @Test func `service install enables installed units, and removes copies that hide them`() async throws {
        let world = try World()
        try world.installDaemon("exit 0")
        try world.install("systemctl", Self.systemctl("LoadState=loaded\nActiveState=active\n"))
        let environment = [
            "NIGHTSHIFT_HOME": "", "XDG_RUNTIME_DIR": try world.addUserManager(),
            "PATH": world.path + "/bin:/usr/bin:/bin",
        ]
        func calls() throws -> [Substring] {
            try String(contentsOf: world.root.appending(path: "calls"), encoding: .utf8).split(separator: "\n")
                .filter { !$0.contains(" show ") }
        }
        // Without installed units, the command writes copies.
        #expect(await world.run("service", "install", environment: environment) == .whole)
        let copies = world.root.appending(path: ".config/systemd/user")
        #expect(try FileManager.default.contentsOfDirectory(atPath: copies.path(percentEncoded: false)).count == 2)
        #expect(
            try calls() == [
                "--user --no-pager daemon-reload",
                "--user --no-pager enable nightshiftd.socket nightshiftd.service",
                "--user --no-pager start nightshiftd.socket nightshiftd.service",
            ])
        // Units of a program in another directory are not used.
        let installed = world.root.appending(path: ".local/share/systemd/user")
        try FileManager.default.createDirectory(at: installed, withIntermediateDirectories: true)
        try Data(UnitFiles.socket.utf8).write(to: installed.appending(path: UserManager.socket))
        let file = installed.appending(path: UserManager.service)
        try Data(UnitFiles.service.utf8).write(to: file)
        #expect(await world.run("service", "install", environment: environment) == .whole)
        #expect(try FileManager.default.contentsOfDirectory(atPath: copies.path(percentEncoded: false)).count == 2)
        try Data(UnitFiles.service(daemon: world.path + "/bin/nightshiftd").utf8).write(to: file)
        _ = await world.run("doctor", environment: environment)
        #expect(world.output.text.contains("hides the installed unit"))
        #expect(await world.run("service", "install", environment: environment) == .whole)
        #expect(try FileManager.default.contentsOfDirectory(atPath: copies.path(percentEncoded: false)).isEmpty)
        #expect(world.output.text.contains("Uses the units in \(installed.path(percentEncoded: false))"))
        #expect(try calls().count == 9)
    }

    @Test func `doctor fails if a unit has failed`() async throws {
        let world = try World()
        try world.installDaemon("exit 0")
        try world.install(
            "systemctl",
            Self.systemctl("LoadState=loaded\nActiveState=failed\nResult=exit-code\nExecMainStatus=6\n"))
        let environment = [
            "NIGHTSHIFT_HOME": "", "XDG_RUNTIME_DIR": try world.addUserManager(),
            "PATH": world.path + "/bin:/usr/bin:/bin",
        ]
        #expect(await world.run("doctor", environment: environment) == .failed)
        #expect(world.output.text.contains("nightshiftd.service failed (exit-code, status 6)"))
        // The check of the program says more than the state of the unit.
        try world.installDaemon("echo 'nightshiftd: The database is newer.' >&2; exit 6")
        #expect(await world.run("doctor", environment: environment) == .failed)
        #expect(world.output.text.contains("cannot start: The database is newer."))
    }

    @Test func `The state of a unit is parsed from the output of systemctl`() {
        let state = UnitState(
            parsing: "LoadState=loaded\nActiveState=failed\nSubState=failed\nResult=exit-code\nExecMainStatus=6\n"
                + "FragmentPath=/usr/lib/a=b\n")
        #expect(state.isLoaded && state.hasFailed && !state.isActive && state.exitStatus == 6)
        #expect(state.path == "/usr/lib/a=b")
        #expect(!UnitState(parsing: "LoadState=not-found\nResult=success\n").hasFailed)
    }

    @Test func `The user manager ends at log-out unless the user lingers`() throws {
        let world = try World()
        try world.install("systemctl", "exit 0")
        let environment = ["XDG_RUNTIME_DIR": try world.addUserManager(), "PATH": world.path + "/bin"]
        let manager = UserManager(environment: environment, lingerDirectory: world.path)
        #expect(manager.endsAtLogout)
        try Data().write(to: world.root.appending(path: NSUserName()))
        #expect(!manager.endsAtLogout)
        #expect(!UserManager(environment: [:], lingerDirectory: "/nonexistent").endsAtLogout)
    }

    @Test func `service install refuses a home other than the default`() async throws {
        let world = try World()
        #expect(await world.run("service", "install") == .usage)
    }
}
