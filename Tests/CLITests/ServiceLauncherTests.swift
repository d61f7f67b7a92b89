import Foundation
import NightshiftAPI
import NightshiftClient
import TestSupport
import Testing

@testable import CLI

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

struct ServiceLauncherTests {
    @Test func `The launcher searches the program's own directory before PATH`() throws {
        let search = DaemonSearch(executable: "/opt/n/bin/nightshift", searchPath: "/usr/bin:relative::/bin")
        #expect(
            search.candidates == [
                "/opt/n/bin/nightshiftd", "/opt/n/libexec/nightshift/nightshiftd", "/usr/bin/nightshiftd",
                "/bin/nightshiftd",
            ])
    }

    @Test func `The launcher prints the output of a service that fails to start`() async throws {
        let world = try World()
        try world.installDaemon("echo 'database is newer'\nexit 1\n")
        #expect(await world.run("list") == .unreachable)
        #expect(world.errors.text.contains("exited while it was starting"))
        #expect(world.errors.text.contains("  database is newer"))
        let log = world.root.appending(path: "state/nightshiftd.log").path(percentEncoded: false)
        let mode = try FileManager.default.attributesOfItem(atPath: log)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let state = world.root.appending(path: "state").path(percentEncoded: false)
        #expect(try FileManager.default.attributesOfItem(atPath: state)[.posixPermissions] as? Int == 0o700)
    }

    /// A script replaces the service and records how it was started. The test answers requests.
    @Test func `The launcher starts the service in a new session, without the client's descriptors`() async throws {
        let world = try World()
        try world.installDaemon(
            """
            exec 3>"$NIGHTSHIFT_HOME/told.new"
            echo "$# $(pwd) $NIGHTSHIFT_HOME $NIGHTSHIFT_STARTED_BY_CLIENT" >&3
            cut -d' ' -f1,6 /proc/$$/stat >&3
            readlink /proc/$$/fd/0 >&3
            exec 3>&-
            ls /proc/$$/fd >"$NIGHTSHIFT_HOME/descriptors"
            tr '\\n' ' ' <"$NIGHTSHIFT_HOME/descriptors" >>"$NIGHTSHIFT_HOME/told.new"
            mv "$NIGHTSHIFT_HOME/told.new" "$NIGHTSHIFT_HOME/told"
            while [ -e "$NIGHTSHIFT_HOME/told" ]; do sleep 0.05; done
            """)
        // The launcher searches another PATH than the one of the script, which needs real programs.
        let environment = ["PATH": world.path + "/bin:/usr/bin:/bin", "NIGHTSHIFT_HOME": world.path]
        async let status = world.run("service", "start", environment: environment)
        let told = world.root.appending(path: "told")
        try await eventually("the script") {
            FileManager.default.fileExists(atPath: told.path(percentEncoded: false))
        }
        let service = try world.service { _ in try .json(Samples.status) }
        defer { service.stop() }
        #expect(await status == .whole)
        let lines = try String(contentsOf: told, encoding: .utf8).split(separator: "\n").map { String($0) }
        try #require(lines.count == 4)
        #expect(lines[0] == "0 / \(world.path) 1")
        let ids = lines[1].split(separator: " ")
        #expect(ids[0] == ids[1], "not the leader of a session of its own")
        #expect(lines[2] == "/dev/null")
        // The script has the descriptors 0, 1 and 2 and the shell's own ones (10 and more, or 255). A pipeline would
        // add a pipe for a moment.
        #expect(!lines[3].split(separator: " ").contains { (3...9).contains(Int($0) ?? 0) })
    }

    /// Runs `service start` beside a `systemctl` whose `start` has the given exit status.
    private func start(_ world: World, _ status: Int, state: String = "") async throws -> CLI.ExitStatus {
        try world.install(
            "systemctl",
            """
            case "$*" in
            *' show '*) printf '\(state)' ;;
            *' start '*) echo "$*" >>"$HOME/calls"; touch "$HOME/started"; exit \(status) ;;
            esac
            """)
        try world.installDaemon(
            #"case "$1" in check) echo 'nightshiftd: The database is newer.' >&2; exit 6 ;; esac; touch "$HOME/loose"; exit 1"#
        )
        return await world.run(
            "service", "start",
            environment: [
                "NIGHTSHIFT_HOME": "", "XDG_RUNTIME_DIR": try world.addUserManager(),
                "PATH": world.path + "/bin:/usr/bin:/bin",
            ])
    }

    private func exists(_ name: String, in world: World) -> Bool {
        FileManager.default.fileExists(atPath: world.root.appending(path: name).path(percentEncoded: false))
    }

    @Test func `The launcher asks systemd to start the unit, and waits for its socket`() async throws {
        let world = try World()
        async let status = start(world, 0)
        try await eventually("systemctl") { exists("started", in: world) }
        let service = try ScriptedService(home: world.root, folder: "rt/nightshift") { _ in
            (try? .json(Samples.status)) ?? .hangUp
        }
        defer { service.stop() }
        #expect(try await status == .whole)
        #expect(
            try String(contentsOf: world.root.appending(path: "calls"), encoding: .utf8)
                == "--user --quiet --no-ask-password start nightshiftd.service\n")
        #expect(!exists("loose", in: world))
    }

    @Test func `The launcher reports why a unit failed, and starts no process of its own`() async throws {
        let world = try World()
        let state = "LoadState=loaded\nActiveState=failed\nResult=exit-code\nExecMainStatus=6\n"
        #expect(try await start(world, 1, state: state) == .unreachable)
        #expect(
            world.errors.text.contains(
                "systemd could not start the service (nightshiftd.service: exit-code, status 6). The database is newer."
            ))
        #expect(!exists("loose", in: world))
    }

    @Test(arguments: [(5, "LoadState=not-found\n"), (1, "")])
    func `Without a unit or an answer of systemd, the launcher starts the service itself`(
        _ status: Int, _ state: String
    ) async throws {
        let world = try World()
        #expect(try await start(world, status, state: state) == .unreachable)
        #expect(exists("started", in: world) && exists("loose", in: world))
        #expect(world.errors.text.contains("exited while it was starting"))
    }

    @Test func `The launcher reports a socket path that is too long`() async throws {
        let world = try World()
        let home = world.path + "/" + String(repeating: "x", count: 120)
        #expect(await world.run("list", environment: ["NIGHTSHIFT_HOME": home]) == .unreachable)
        #expect(world.errors.text.contains("107 bytes"))
    }

    @Test func `service stop waits until the service's process has ended`() async throws {
        let world = try World()
        let child = Process()
        child.executableURL = URL(filePath: "/bin/sleep")
        child.arguments = ["600"]
        try child.run()
        var status = Samples.status
        status.processID = child.processIdentifier
        let answer = status
        let service = try world.service { request in
            if request.method == "POST" { kill(answer.processID, SIGKILL) }
            return try .json(answer)
        }
        defer { service.stop() }
        #expect(await world.run("service", "stop", "--json") == .whole)
        #expect(kill(answer.processID, 0) == -1)
        #expect(service.requests.map(\.path) == ["/v1/status", "/v1/shutdown"])
        child.waitUntilExit()
    }
}
