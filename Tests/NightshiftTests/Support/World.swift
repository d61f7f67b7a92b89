import Foundation
import Nightshift
import NightshiftAPI
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A home directory with a scripted service, and successive processes of an app. One process, the test's, plays all of
/// them.
final class World: Sendable {
    let directory: TemporaryDirectory
    let service: ScriptedService
    private let processes = Watched<[AppProcess]>([])

    init() throws {
        directory = try TemporaryDirectory()
        service = try ScriptedService(home: directory.path)
    }

    /// Creates the world for this process's own connection, until the process ends. Without it, that connection would
    /// start a real service.
    static func ofThisProcess() throws -> World {
        let world = try World()
        own.update { $0 = (world, getpid()) }
        setenv("NIGHTSHIFT_HOME", world.directory.path, 1)
        atexit { World.removeOwn() }
        return world
    }

    /// The world for this process's own connection, and the process that created it.
    static let own = Watched<(world: World, process: pid_t)?>(nil)

    static func removeOwn() {
        // A forked child does not remove its parent's directory.
        guard let (world, process) = own.read({ $0 }), process == getpid() else { return }
        try? FileManager.default.removeItem(atPath: world.directory.path)
    }

    /// Creates a new process of the app, as far as the service and the files can tell.
    func process(environment: [String: String] = [:]) -> AppProcess {
        let process = AppProcess(home: directory.path, environment: environment)
        processes.update { $0.append(process) }
        return process
    }

    deinit {
        for process in processes.read({ $0 }) { process.die() }
    }
}

extension ScriptedService {
    /// Lets the service answer requests with this line as if it were too busy, until the refusals are removed.
    ///
    /// - Returns: A closure that waits until the request was retried for longer than two seconds.
    func isTooSlow(for line: String) -> () async throws -> Void {
        state.update { state in
            state.refusals[line] = .unavailable("It is busy.")
            state.log.removeAll { $0 == line }
        }
        // The pauses between attempts grow from 10 ms to half a second. The pauses of 15 attempts are longer than two
        // seconds, even if they restart.
        return { try await self.state.wait(for: "attempts") { $0.log.count { $0 == line } > 14 } }
    }
}

final class AppProcess: Sendable {
    let connection: ServiceConnection

    init(home: String, environment: [String: String] = [:]) {
        connection = ServiceConnection(
            environment: ["NIGHTSHIFT_HOME": home, "PATH": home].merging(environment) { $1 },
            executable: "\(home)/no/such/app", app: nil)
    }

    func die() {
        connection.close()
    }

    func session(
        _ delegate: any URLSessionDelegate, identifier: String = "org.example.photos", queue: OperationQueue? = nil,
        _ prepare: (BackgroundConfiguration) -> Void = { _ in }
    ) -> BackgroundURLSession {
        let configuration = BackgroundConfiguration(identifier: identifier)
        prepare(configuration)
        return BackgroundURLSession.session(
            configuration, delegate: delegate, delegateQueue: queue, connection: connection)
    }
}

func url(_ text: String = "http://example.org/file") -> URL {
    guard let url = URL(string: text) else { preconditionFailure("\(text) is a URL") }
    return url
}

extension Watched<[String]> {
    /// Waits for the last of `expected`, then returns whether exactly these lines were recorded.
    func are(_ expected: [String]) async throws -> Bool {
        try await wait(for: "\(expected)") { $0.count >= expected.count }
        let heard = read { $0 }
        if heard != expected { Issue.record("heard \(heard)") }
        return heard == expected
    }
}
