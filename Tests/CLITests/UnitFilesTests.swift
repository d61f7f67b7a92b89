import Foundation
import Testing

@testable import CLI

struct UnitFilesTests {
    @Test(arguments: [(UnitFiles.socketName, UnitFiles.socket), (UnitFiles.serviceName, UnitFiles.service)])
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
        let service = try String(contentsOf: folder.appending(path: UnitFiles.serviceName), encoding: .utf8)
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
            *'show --property=SubState --value nightshiftd.socket'*) cat "$HOME/state" ;;
            *is-active*) exit 0 ;;
            *) exit 1 ;;
            esac
            """)
        let runtime = world.root.appending(path: "rt")
        try FileManager.default.createDirectory(
            at: runtime.appending(path: "systemd"), withIntermediateDirectories: true)
        try Data().write(to: runtime.appending(path: "systemd/private"))
        let state = world.root.appending(path: "state")
        try Data("listening\n".utf8).write(to: state)
        let service = try ScriptedService(home: world.root, folder: "rt/nightshift") { _ in
            (try? .json(Samples.status)) ?? .hangUp
        }
        defer { service.stop() }
        let environment = [
            "NIGHTSHIFT_HOME": "", "XDG_RUNTIME_DIR": runtime.path(percentEncoded: false),
            "PATH": world.path + "/bin:/usr/bin:/bin",
        ]
        #expect(await world.run("status", environment: environment) == .unreachable)
        #expect(await world.run("service", "stop", environment: environment) == .whole)
        #expect(world.output.text.hasSuffix("The service does not run.\n"))
        _ = await world.run("doctor", environment: environment)
        #expect(world.output.text.contains("systemd starts it for the first command that needs it"))
        // The service accepts connections in order, so this one comes after all others.
        try Data("running\n".utf8).write(to: state)
        #expect(await world.run("status", environment: environment) == .whole)
        #expect(service.requests.map(\.path) == ["/v1/status"])
        #expect(service.connections <= 2)
    }

    @Test func `service install refuses a home other than the default`() async throws {
        let world = try World()
        #expect(await world.run("service", "install") == .usage)
    }
}
