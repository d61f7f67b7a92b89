import Foundation
import Testing

@testable import CLI
@testable import NightshiftClient

/// B7: `nightshift aria2` beside the units of the package.
struct Aria2CommandTests {
    private let world: World
    private let environment: [String: String]

    init() throws {
        world = try World()
        try world.installDaemon("touch \"$HOME/started\"; exit 1")
        try world.install(
            "systemctl",
            """
            case "$*" in
            *' show '*nightshift-aria2.socket) echo LoadState=loaded; cat "$HOME/state" ;;
            *) exit 1 ;;
            esac
            """)
        environment = [
            "NIGHTSHIFT_HOME": "", "XDG_RUNTIME_DIR": try world.addUserManager(),
            "PATH": world.path + "/bin:/usr/bin:/bin",
        ]
        try set("ActiveState=active\nSubState=listening\n")
    }

    private func set(_ state: String) throws {
        try Data(state.utf8).write(to: world.root.appending(path: "state"))
    }

    private var hasStarted: Bool {
        FileManager.default.fileExists(atPath: world.root.appending(path: "started").path(percentEncoded: false))
    }

    @Test func `With systemd's socket, the command starts nothing and shows the address`() async throws {
        #expect(await world.run("aria2", environment: environment) == .whole)
        #expect(world.output.text.contains("http://127.0.0.1:6800/jsonrpc"))
        #expect(world.output.text.contains("systemd starts the bridge when a program connects."))
        #expect(await world.run("aria2", "--stop", environment: environment) == .whole)
        #expect(world.output.text.contains("systemctl --user disable --now nightshift-aria2.socket"))
        #expect(!hasStarted)
    }

    @Test(arguments: [["--secret", "x"], ["--port", "6801"], ["--allow-origin", "null"]])
    func `With systemd's socket, other options are refused`(_ options: [String]) async throws {
        #expect(await world.run("aria2", options[0], options[1], environment: environment) == .failed)
        #expect(world.errors.text.contains("systemctl --user disable --now nightshift-aria2.socket"))
        #expect(!hasStarted)
    }

    @Test func `Without the socket, the command starts the program`() async throws {
        try set("ActiveState=inactive\nSubState=dead\n")
        #expect(await world.run("aria2", environment: environment) != .whole)
        #expect(hasStarted)
    }
}
