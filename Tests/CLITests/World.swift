import Foundation
import NightshiftAPI
import TestSupport
import Testing

@testable import CLI

/// A directory of its own for one test, an invocation within it, and what the program said.
final class World: Sendable {
    let root: URL
    let output = Ear()
    let errors = Ear()

    init() throws {
        // Short: a socket's path has 107 bytes.
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
        await Program.run(invocation(arguments, environment: environment))
    }

    /// Puts a shell script where the program looks for the service.
    func installDaemon(_ script: String) throws {
        try install("nightshiftd", script)
    }

    /// Puts a shell script where the program looks for others.
    func install(_ program: String, _ script: String) throws {
        let folder = root.appending(path: "bin")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: program).path(percentEncoded: false)
        let draft = file + ".draft"
        try Data(("#!/bin/sh\n" + script).utf8).write(to: URL(filePath: draft))
        // Another test that starts a program in this moment would hold a file open for writing that this process had open, and
        // nobody could run it (ETXTBSY).
        let copying = try ChildProcess("install", arguments: ["-m", "755", draft, file])
        try #require(copying.blockUntilExit(within: .seconds(20)) == .code(0))
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
