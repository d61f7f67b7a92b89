import Foundation
import Testing

@testable import CLI

struct UnitFilesTests {
    @Test(arguments: [(UnitFiles.socketName, UnitFiles.socket), (UnitFiles.serviceName, UnitFiles.service)])
    func theProgramWritesWhatThePackageShips(_ name: String, _ text: String) throws {
        let file = Fixture.root.appending(path: "packaging/systemd/\(name)")
        #expect(try String(contentsOf: file, encoding: .utf8) == text)
    }

    @Test(arguments: [
        ("/opt/n/bin/nightshiftd", "/opt/n/bin/nightshiftd"), ("/home/a b/nightshiftd", "\"/home/a b/nightshiftd\""),
        ("/x/100%/$HOME/nightshiftd", "/x/100%%/$$HOME/nightshiftd"),
    ])
    func anotherPlace(_ daemon: String, _ written: String) {
        let lines = UnitFiles.service(daemon: daemon).split(separator: "\n")
        #expect(lines.filter { $0.hasPrefix("ExecStart=") } == ["ExecStart=\(written)"])
    }

    @Test func installAndUninstallWithoutSystemd() async throws {
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

    @Test func anotherHomeIsNotForUnits() async throws {
        let world = try World()
        #expect(await world.run("service", "install") == .usage)
    }
}
