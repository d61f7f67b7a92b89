import Foundation
import NightshiftAPI
import TestSupport
import Testing

@testable import CLI

/// A separate directory for a test, an invocation in it, and the output of the program.
final class World: Sendable {
    let root: URL
    let output = Ear()
    let errors = Ear()

    init() throws {
        // The path is short, because a socket's path has at most 107 bytes.
        root = URL(filePath: "/tmp/nightshift-cli-" + String(UInt64.random(in: 0...UInt64.max), radix: 36))
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: root)
    }

    var path: String { root.path(percentEncoded: false) }

    func invocation(
        _ arguments: [String], environment: [String: String] = [:], outputIsTerminal: Bool = false
    ) -> Invocation {
        Invocation(
            arguments: arguments,
            environment: ["NIGHTSHIFT_HOME": path, "HOME": path, "PATH": path + "/bin"].merging(environment) { $1 },
            directory: path, homeDirectory: path, executable: path + "/bin/nightshift",
            output: output.output(isTerminal: outputIsTerminal), errors: errors.output(), timeZone: .gmt,
            now: { Samples.now })
    }

    func run(_ arguments: String..., environment: [String: String] = [:]) async -> CLI.ExitStatus {
        await CommandLineProgram.run(invocation(arguments, environment: environment))
    }

    /// Installs a shell script where the program searches for the service.
    func installDaemon(_ script: String) throws {
        try install("nightshiftd", script)
    }

    /// Installs a shell script where the program searches for other programs.
    func install(_ program: String, _ script: String) throws {
        let folder = root.appending(path: "bin")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: program).path(percentEncoded: false)
        let draft = file + ".draft"
        try Data(("#!/bin/sh\n" + script).utf8).write(to: URL(filePath: draft))
        // install(1) writes the file in a separate process. If this process wrote it, a child of another test could
        // inherit the open descriptor, and executing the file would fail with ETXTBSY.
        let copying = try ChildProcess("install", arguments: ["-m", "755", draft, file])
        try #require(copying.blockUntilExit(within: .seconds(20)) == .code(0))
    }

    /// Creates the file that shows that the systemd user manager runs, and returns the runtime directory.
    func addUserManager() throws -> String {
        let runtime = root.appending(path: "rt")
        try FileManager.default.createDirectory(
            at: runtime.appending(path: "systemd"), withIntermediateDirectories: true)
        try Data().write(to: runtime.appending(path: "systemd/private"))
        return runtime.path(percentEncoded: false)
    }

    func service(_ handler: @escaping @Sendable (ScriptedService.Request) throws -> ScriptedService.Reply) throws
        -> ScriptedService
    {
        try ScriptedService(home: root) { request in
            do {
                return try handler(request)
            } catch let problem as Problem {
                return .json(problem.status, (try? JSON.encode(problem)) ?? Data())
            } catch {
                return .hangUp
            }
        }
    }
}

extension ScriptedService.Reply {
    static func json(_ value: some Encodable) throws -> Self {
        .json(200, try JSON.encode(value))
    }

    static func events(_ events: [ServiceEvent], staysOpen: Bool) throws -> Self {
        .events(
            try events.map { event in
                let (id, data) =
                    switch event {
                    case .journal(let entry): ("id: \(entry.id)\n", try JSON.encode(entry))
                    case .progress(let progress): ("", try JSON.encode(progress))
                    case .reset(let last): ("id: \(last)\n", try JSON.encode(StreamReset(lastEntry: last)))
                    }
                return "event: \(event.name)\n\(id)data: \(String(decoding: data, as: UTF8.self))\n\n"
            }, staysOpen: staysOpen)
    }
}
