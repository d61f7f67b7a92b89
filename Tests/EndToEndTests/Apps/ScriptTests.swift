import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests of apps that do not link the library: their environment, and their state when the service dies.
@Suite(.serialized, .timeLimit(.minutes(20))) struct ScriptTests {
    private static let id = "org.example.Script"

    /// Starts the service and installs an app whose program is `script`.
    private func install(_ script: String, keys: String = "", on service: Service) async throws {
        if service.process == nil { try await service.start() }
        let program = try service.scratch.write(script, to: "program")
        let entry = try service.scratch.write(
            "[Desktop Entry]\nType=Application\nName=Script\nExec=sh \(program)\n\(keys)\n", to: "\(Self.id).desktop")
        try await service.api.post("/v1/apps", InstallRequest(entry: entry), as: AppStatus.self)
    }

    private func status(_ service: Service) async throws -> AppStatus {
        try await service.api.get("/v1/apps/\(Self.id)")
    }

    @discardableResult
    private func perform(_ verb: String, _ service: Service) async throws -> AppStatus {
        try JSON.decode(AppStatus.self, from: try await service.api.send("POST", "/v1/apps/\(Self.id)/\(verb)"))
    }

    private func wait(for what: String, _ service: Service, until isSatisfied: (AppStatus) -> Bool) async throws {
        try await eventually(what) { isSatisfied(try await status(service)) }
    }

    private func log(_ service: Service) -> String {
        let path = service.paths.apps.appending(path: "\(Self.id).log").path
        return [path + ".1", path].map { (try? String(contentsOfFile: $0, encoding: .utf8)) ?? "" }.joined()
    }

    // MARK: - Adoption

    @Test func `L1: An app that was suspended, adopted, activated and left is suspended again`() async throws {
        let service = try Service()
        defer { ProcessSweep(home: service.home).sweep(first: service.process) }
        try await install("exec sleep 1000\n", on: service)
        let process = try #require(try await perform("launch", service).processID)
        try await perform("background", service)
        try await wait(for: "suspension", service) { $0.state == .suspended }
        #expect(LiveProcess(process).isFrozen)

        try await service.kill()
        try await eventually("it to run without a service") { !LiveProcess(process).isFrozen }
        try await service.start()
        try await wait(for: "suspension by the next service", service) { $0.state == .suspended }
        for _ in 0..<2 {
            try await perform("activate", service)
            #expect(try await status(service).state == .active && !LiveProcess(process).isFrozen)
            try await perform("background", service)
            try await wait(for: "suspension after the user has left it", service) { $0.state == .suspended }
        }
        let status = try await status(service)
        #expect(status.processID == process && status.lastExit == nil && LiveProcess(process).isFrozen)
    }

    // MARK: - The environment

    /// Returns the environment that an app's process has found.
    private func environment(_ service: Service, launch: () async throws -> AppStatus) async throws -> [String: String]
    {
        let process = try #require(try await launch().processID)
        let text = String(decoding: try fileBytes("/proc/\(process)/environ"), as: UTF8.self)
        return Dictionary(
            text.split(separator: "\0").compactMap { word in
                word.firstIndex(of: "=").map { (String(word[..<$0]), String(word[word.index(after: $0)...])) }
            }, uniquingKeysWith: { $1 })
    }

    @Test func `L1: An app inherits no variables from the shell that started the service`() async throws {
        let bus = try await PrivateBus.started()
        let service = try Service(environment: [
            "API_TOKEN": "secret", "SSH_AUTH_SOCK": "/tmp/agent", "LD_LIBRARY_PATH": "/nonexistent", "LANG": "C.UTF-8",
            "PATH": ".:/usr/bin:/bin:bin", "NIGHTSHIFT_WAKE": "sessionEvents", "OLDPWD": "/",
            "DBUS_SESSION_BUS_ADDRESS": bus.address,
        ])
        defer { ProcessSweep(home: service.home).sweep(first: service.process) }
        try await install("exec sleep 1000\n", on: service)
        let login = try await environment(service) { try await perform("launch", service) }
        #expect(
            // The script's own shell adds PWD for the programs that it starts.
            Set(login.keys).subtracting(["USER", "LOGNAME", "SHELL", "PWD"]) == [
                "HOME", "LANG", "PATH", "TZ", "DBUS_SYSTEM_BUS_ADDRESS", "DBUS_SESSION_BUS_ADDRESS", "NIGHTSHIFT_APP",
                "NIGHTSHIFT_HOME", "NIGHTSHIFT_LAUNCH", "NIGHTSHIFT_LOG_LEVEL", "NIGHTSHIFT_SOCKET",
            ])
        #expect(login["PATH"] == "/usr/bin:/bin" && login["HOME"] == service.scratch.path)

        // The desktop starts later, and sets systemd's environment.
        let manager = try MockSessionManager(
            on: bus, environment: ["DISPLAY=:7", "LANG=de_DE.UTF-8", "PATH=/usr/local/bin:/usr/bin:/bin"])
        defer { withExtendedLifetime(manager) {} }
        try await eventually("what systemd says to reach apps") {
            try await perform("kill", service)
            return try await environment(service) { try await perform("launch", service) }["DISPLAY"] == ":7"
        }
        try await perform("kill", service)
        let session = try await environment(service) { try await perform("launch", service) }
        #expect(session["LANG"] == "de_DE.UTF-8" && session["PATH"] == "/usr/local/bin:/usr/bin:/bin")
        #expect(session["API_TOKEN"] == nil && session["TZ"] == nil && session["NIGHTSHIFT_HOME"] == service.home)
    }

    // MARK: - The log

    @Test func `L1: An app's log stays within its limit with and without a service, even after kills`()
        async throws
    {
        let limit = 65_536
        let service = try Service()
        defer { ProcessSweep(home: service.home).sweep(first: service.process) }
        let stop = service.scratch.path("stop")
        let script = """
            trap '' TERM
            while [ ! -e \(stop) ]; do
                echo "line of $(date +%s%N)"
                seq 1 20000
            done
            echo the last line
            exit 3
            """
        try await install(script, keys: "X-Nightshift-LogLimit=\(limit)", on: service)
        let process = try #require(try await perform("launch", service).processID)
        var largest = 0
        func expectMore(_ when: String) async throws {
            let before = log(service)
            try await eventually("more words \(when)") {
                let now = log(service)
                largest = max(largest, now.utf8.count)
                return !now.isEmpty && now.suffix(200) != before.suffix(200)
            }
            #expect(largest <= 2 * limit, "\(when)")
        }
        try await expectMore("with the service")
        try await service.kill()
        try await expectMore("without a service")
        try await expectMore("without a service, later")
        try await service.start()
        try await expectMore("with the next service")
        let keepers = self.keepers(service)
        #expect(keepers.count == 1)
        for keeper in keepers { kill(keeper, SIGKILL) }
        try await expectMore("after its keeper was killed")

        try await service.kill()
        for keeper in self.keepers(service) { kill(keeper, SIGKILL) }
        try await eventually("the keeper's end") { self.keepers(service).isEmpty }
        #expect(LiveProcess(process).isAlive)
        try await service.start()
        try await expectMore("after both were killed")
        #expect(LiveProcess(process).isAlive)

        _ = try service.scratch.write("", to: "stop")
        try await wait(for: "its end", service) { $0.state == .notRunning }
        try await eventually("its last words") {
            try await service.cli(["app", "log", Self.id]).output.hasSuffix("\nthe last line\n")
        }
        #expect(log(service).utf8.count <= 2 * limit)
    }

    /// Returns the processes that write logs and read a FIFO of this home.
    private func keepers(_ service: Service) -> [Int32] {
        ((try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []).compactMap { Int32($0) }.filter { pid in
            let name = try? String(contentsOfFile: "/proc/\(pid)/comm", encoding: .utf8)
            guard name == "nightshift-log\n", LiveProcess(pid).isAlive else { return false }
            let input = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/fd/3")
            return input?.hasPrefix(service.home) == true
        }
    }
}
