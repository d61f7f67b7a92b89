import Apps
import Foundation
import HTTPTypes
import Hummingbird
import Location
import Logging
import NIOCore
import NightshiftAPI
import Notifications
import Operations
import Push
import Refresh
import ServiceLifecycle
import TestSupport

@testable import LocalAPI

/// A server on its own socket, for the duration of a test.
struct TestServer: Sendable {
    let path: String
    let group: ServiceGroup

    func client() throws -> UnixClient { try UnixClient(path) }

    /// Starts the graceful stop.
    func stop() async {
        await group.triggerGracefulShutdown()
    }

    /// Sends one request on a new connection.
    func request(
        _ method: String, _ target: String, headers: [String: String] = [:], body: String? = nil
    ) async throws -> Answer {
        try await client().request(method, target, headers: headers, body: body)
    }
}

/// A service that runs a closure, which reports when it listens.
private struct Listener: Service {
    var serve: @Sendable (@escaping @Sendable () async -> Void) async throws -> Void
    var onListening: @Sendable () -> Void

    func run() async throws { try await serve { onListening() } }
}

private func withListener<Result: Sendable>(
    at path: String, serve: @escaping @Sendable (@escaping @Sendable () async -> Void) async throws -> Void,
    body: @Sendable (TestServer) async throws -> Result
) async throws -> Result {
    let (listening, continuation) = AsyncStream<Void>.makeStream()
    let group = ServiceGroup(
        configuration: ServiceGroupConfiguration(
            services: [.init(service: Listener(serve: serve, onListening: { continuation.yield() }))],
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })))
    return try await withThrowingTaskGroup(of: Void.self) { tasks in
        tasks.addTask {
            defer { continuation.finish() }
            try await group.run()
        }
        for await _ in listening { break }
        let result: Result
        do {
            result = try await body(TestServer(path: path, group: group))
        } catch {
            await group.triggerGracefulShutdown()
            throw error
        }
        await group.triggerGracefulShutdown()
        try await tasks.waitForAll()
        return result
    }
}

/// Returns a stream of changes that neither sends events nor finishes. If it finished, the server would poll instead.
private func nothingHappens() -> AsyncStream<Void> {
    AsyncStream { continuation in continuation.onTermination = { _ in withExtendedLifetime(continuation) {} } }
}

/// Runs a server with `routes` while `body` runs.
func withServer<Result: Sendable>(
    routes: [Route], owner: uid_t = geteuid(), limits: ConnectionLimits = ConnectionLimits(),
    socket: ListeningSocket? = nil, body: @Sendable (TestServer) async throws -> Result
) async throws -> Result {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    let path = directory.path("s")
    let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
    let dispatcher = Dispatcher(routes: routes, onLargeRequest: {}, logger: logger)
    let server = SocketServer(
        socket: socket ?? .path(path), owner: owner, limits: limits, logger: logger,
        changes: { _ in nothingHappens() }, respond: dispatcher.respond, refuse: Dispatcher.refuse)
    return try await withListener(at: path, serve: { try await server.run(onListening: $0) }, body: body)
}

/// Runs the whole API with its own service while `body` runs.
///
/// - Parameter asked: a counter of the shutdown requests.
func withAPI<Result: Sendable>(
    asked: Watched<Int> = Watched(0), body: @Sendable (TestServer, TestService) async throws -> Result
) async throws -> Result {
    let test = try makeService()
    defer { withExtendedLifetime(test) {} }
    let path = test.directory.path("s")
    let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
    return try await withListener(
        at: path,
        serve: { onListening in
            let server = LocalAPIServer(
                operations: test.operations, device: TestDevice().access, socket: .path(path), logger: logger,
                changes: { _ in nothingHappens() }, onListening: onListening,
                onShutdownRequest: { asked.update { $0 += 1 } })
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                // This order is that of the daemon, and all of these steps precede the first response.
                try await test.apps.prepare()
                try await test.refresh.prepare()
                try await test.location.prepare()
                try await test.notifications.prepare()
                try await test.push.prepare()
                tasks.addTask { await test.apps.run() }
                tasks.addTask { await test.refresh.run() }
                tasks.addTask { await test.location.run() }
                tasks.addTask { await test.notifications.run() }
                tasks.addTask { await test.push.run() }
                try await server.run()
                await test.refresh.stop()
                await test.location.stop()
                await test.notifications.stop()
                await test.push.stop()
                await test.apps.stop()
                try await tasks.waitForAll()
            }
        },
        body: { try await body($0, test) })
}

extension Route {
    /// A route that responds immediately.
    static let hello = Route(.get, "/hello") { _ in try Reply.json(["ok": true]).response }
}
