import Foundation
import NightshiftAPI
import TestSupport

/// A home in which one line of a document is run: a service with transfers and apps, an origin, and the files that
/// documents name.
final class DocumentedHome: Sendable {
    let service: Service
    private let origin: OriginServer
    private let files: TemporaryDirectory
    /// The gate that keeps transfers 12 and 17 running while it is closed.
    private let gate = Gate()
    private let environment: [String: String]
    /// The content of every file at the origin.
    private static let content = Content.seeded(size: 300_000, seed: 34)

    /// The files in the working directory, each with its source; nil for a file that is written here.
    static let inputs: [String: String?] = [
        "list.txt": nil, "report.pdf": nil, "evening.jsonl": "Examples/traces/opportunistic.jsonl",
    ]

    /// The programs that do nothing here, each with the part of a line that needs it.
    static let idlePrograms = ["restic": "restic ", "xdg-open": "nightshift page"]

    /// - Parameter hasExamples: whether the programs of the examples are in `PATH`.
    init(hasExamples: Bool = true) throws {
        files = try TemporaryDirectory()
        origin = try OriginServer(sendBuffer: 65_536)
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        let common = [
            "HOME": files.path("home"), "XDG_RUNTIME_DIR": files.path("run"), "TZ": "UTC",
            "PATH": "\(files.path("bin")):\(Programs.folder):\(path)",
            "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent",
        ]
        service = try Service(environment: common)
        environment = common.merging(["NIGHTSHIFT_HOME": service.home, "S": service.paths.socket.path]) { $1 }
        try prepareFiles()
        guard hasExamples else { return }
        for example in ["arrivals/arrivals.sh", "feeds/feeds.py"] {
            try link("bin/\(URL(filePath: example).lastPathComponent)", to: "\(Programs.source)/Examples/\(example)")
        }
    }

    deinit {
        ProcessSweep(home: service.home).sweep(first: service.process)
    }

    private func prepareFiles() throws {
        for folder in ["home/Downloads", "run", "bin", "work"] {
            try FileManager.default.createDirectory(atPath: files.path(folder), withIntermediateDirectories: true)
        }
        // The service's socket is also at the path that it has in a default home.
        try link("run/nightshift", to: service.paths.socket.deletingLastPathComponent().path)
        try link("work/Examples", to: "\(Programs.source)/Examples")
        for (name, source) in Self.inputs {
            if let source {
                try link("work/\(name)", to: "\(Programs.source)/\(source)")
            } else {
                let list = "\(origin.url("/a"))\n\(origin.url("/b"))\n"
                try files.write(name == "list.txt" ? list : name, to: "work/\(name)")
            }
        }
        for name in Self.idlePrograms.keys { try writeProgram(name, "exit 0") }
        // With this option a refused request fails, as a mistake in a document must.
        try writeProgram("curl", "PATH=${PATH#*:} exec curl --fail-with-body --silent --show-error \"$@\"")
        // This app runs until it is ended, and handles every wake.
        try writeProgram("stub-app", "echo started; [ -n \"$NIGHTSHIFT_WAKE\" ] || exec sleep 300")
    }

    private func link(_ name: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(atPath: files.path(name), withDestinationPath: target)
    }

    private func writeProgram(_ name: String, _ text: String) throws {
        let path = try files.write("#!/bin/sh\n\(text)\n", to: "bin/\(name)")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    }

    // MARK: - The state that a line finds

    /// Starts the service, and creates the transfers and apps that `text` may name.
    func prepare(for text: String) async throws {
        origin.serve("/", Resource(content: Self.content))
        origin.serve("/held/big.iso", Resource(content: Self.content, behaviours: [.holdFrom(150_000, gate)]))
        try await service.start()
        try await addTransfers(for: text)
        for match in text.matches(of: /[\w.\/-]*\/?(org\.example\.\w+)\.desktop/) {
            try writeEntry(of: String(match.output.1), to: adapted(String(match.output.0)))
        }
        for app in Set(text.matches(of: /org\.example\.[A-Z]\w+/).map { String($0.output) })
        where !text.contains("\(app).desktop") {
            let entry = try writeEntry(of: app, to: files.path("\(app).desktop"))
            try await service.api.post("/v1/apps", InstallRequest(entry: entry), as: AppStatus.self)
            if text.contains(" app log ") {
                try await service.api.post("/v1/apps/\(app)/launch", LaunchRequest(), as: AppStatus.self)
            }
        }
    }

    /// Adds transfers 1 to 19. Transfers 12 and 17 keep running unless the line waits for one of them or needs its end.
    private func addTransfers(for text: String) async throws {
        let requests = (1...19).map { number in
            let isHeld = number == 12 || number == 17
            var request = TaskRequest(url: origin.url(isHeld ? "/held/big.iso" : "/\(number)"))
            // The service keeps the content of transfer 17.
            if number != 17 { request.destination = Destination(directory: files.path("home/transfers/\(number)")) }
            return request
        }
        let ids = try await service.api.enqueue(requests)
        for number in [12, 17] where text.contains(/\b(12|17)\b/) {
            try await service.wait(ids[number - 1], for: "bytes") { $0.countOfBytesReceived > 0 }
        }
        let needsEnd = text.contains(/-X DELETE|\/content/)
        if needsEnd || text.hasPrefix("nightshift wait ") { gate.open() }
        if needsEnd { try await service.waitForEnd(ids[16]) }
    }

    /// Copies the entry of an example, or writes one that has every background mode. `path` is absolute, or relative to
    /// the line's working directory.
    @discardableResult
    private func writeEntry(of app: String, to path: String) throws -> String {
        let target = path.hasPrefix("/") ? path : files.path("work/\(path)")
        if FileManager.default.fileExists(atPath: target) { return target }
        let name = app.split(separator: ".").last ?? ""
        let example = "\(Programs.source)/Examples/\(name.lowercased())/\(app).desktop"
        let text =
            (path.hasPrefix("/") ? nil : try? String(contentsOfFile: example, encoding: .utf8))
                ?? """
                [Desktop Entry]
                Type=Application
                Name=\(name)
                Exec=stub-app
                X-Nightshift-BackgroundModes=\(BackgroundMode.allCases.map { $0.rawValue + ";" }.joined())
                X-Nightshift-LocationReason=To be woken.

                """
        let url = URL(filePath: target)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
        return target
    }

    // MARK: - The line

    /// Returns the line as a user would type it here, with this origin and this home.
    private func adapted(_ text: String) -> String {
        text.replacing(/https:\/\/(?:[a-z]+\.)?(?:example\.org|mirror\.example)/, with: origin.url(""))
            .replacing("/home/ada/", with: files.path("home/"))
            .replacing(/sha-256:[0-9a-f]{64}/, with: "sha-256:\(Self.content.sha256().hex)")
    }

    /// Runs the line in a shell.
    ///
    /// - Parameter followed: whether to interrupt it, as ^C on a terminal does, after its first output.
    func run(_ text: String, followed: Bool) async throws -> ChildProcess.Outcome {
        let (output, errors) = (files.path("out"), files.path("err"))
        let shell = try ChildProcess(
            "/bin/sh", arguments: ["-c", adapted(text)], environment: environment, output: .file(output),
            errors: .file(errors), directory: files.path("work"), ownGroup: true)
        func read(_ path: String) -> String {
            String(decoding: (try? fileBytes(path)) ?? [], as: UTF8.self)
        }
        defer {
            if shell.exit == nil { kill(-shell.pid, SIGKILL) }
        }
        if followed {
            try await eventually("output of '\(text)'", within: .seconds(60)) {
                shell.exit != nil || !read(output).isEmpty || !read(errors).isEmpty
            }
            if shell.exit == nil { kill(-shell.pid, SIGINT) }
        }
        do {
            let exit = try await shell.waitForExit()
            return ChildProcess.Outcome(exit: exit, output: read(output), errors: read(errors))
        } catch is WaitedTooLong {
            throw Unfinished(text: text, output: read(output), errors: read(errors), log: service.log)
        }
    }

    /// The error of a line that did not end.
    struct Unfinished: Error, CustomStringConvertible {
        let text: String
        let output: String
        let errors: String
        let log: String

        var description: String {
            "'\(text)' did not end. It printed:\n\(output)\n\(errors)\nThe service's log:\n\(log.suffix(2_000))"
        }
    }
}
