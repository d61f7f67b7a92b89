import Foundation

/// An HTTP/1.1 origin on loopback that behaves correctly, or wrongly in the ways that its resources specify.
///
/// It supports GET and HEAD with ranges and conditions, PUT and POST, and persistent connections, with one thread per
/// connection. It ends with ``stop()``, with this object, or after its lifetime, whichever comes first.
package final class OriginServer: Sendable {
    private let core: OriginCore
    private let acceptor: Acceptor

    /// Starts an origin that listens on `port`, or on a free port. `sendBuffer` limits the bytes that the kernel
    /// buffers before the client reads them.
    package init(
        host: Loopback = .ipv4, port: UInt16 = 0, lifetime: Duration = .seconds(1_800), sendBuffer: Int32? = nil
    ) throws {
        let core = OriginCore(deadline: .now + lifetime, bodies: try TemporaryDirectory())
        self.core = core
        acceptor = try Acceptor(host: host, port: port) { socket in
            if let sendBuffer { socket.set(SOL_SOCKET, SO_SNDBUF, sendBuffer) }
            core.serve(socket)
        }
    }

    deinit {
        stop()
    }

    package var port: UInt16 { acceptor.port }

    package func url(_ path: String = "/") -> String { "http://\(acceptor.host.urlHost):\(port)\(path)" }

    /// Ends all connections and refuses new ones. Returns once the origin's threads have ended.
    package func stop() {
        core.state.update { $0.isStopped = true }
        acceptor.close()
        closeConnections()
        _ = core.state.block(within: .seconds(5)) { $0.openConnections.isEmpty }
    }

    // MARK: - Resources

    /// Serves `resource` at `path` from now on, instead of any earlier one, with new counts of its behaviours. A path
    /// that ends in a slash also covers everything below it.
    package func serve(_ path: String, _ resource: Resource) {
        core.state.update { $0.serve(path, resource) }
    }

    /// Responds with 404 at `path` from now on.
    package func remove(_ path: String) {
        core.state.update { $0.serve(path, nil) }
    }

    /// Sets the behaviours of the resource at `path` from the next request on.
    package func setBehaviours(_ behaviours: [Behaviour], for path: String) {
        core.state.update { state in
            guard var resource = state.served[path]?.resource else { return }
            resource.behaviours = behaviours
            state.serve(path, resource)
        }
    }

    package func resource(at path: String) -> Resource? {
        core.state.read { $0.served[path]?.resource }
    }

    // MARK: - Received requests

    /// All requests that the origin received, oldest first.
    package var requests: [OriginRequest] { core.state.read { $0.requests } }

    package func requests(for path: String) -> [OriginRequest] {
        core.state.read { $0.requests.filter { $0.path == path } }
    }

    /// Returns the totals over all requests for `path`, or for all paths.
    package func totals(for path: String? = nil) -> OriginTotals {
        core.state.read { $0.totals(for: path) }
    }

    /// Returns the number of body bytes written to sockets for `path` over all requests. The client may not have read
    /// the last of them: bytes that were left in the socket buffers when the client disconnected count here.
    package func bodyBytesSent(for path: String) -> Int64 { totals(for: path).bodyBytesSent }

    /// The number of connections that were accepted so far.
    package var connectionCount: Int { core.state.read { $0.connectionCount } }

    package var openConnectionCount: Int { core.state.read { $0.openConnections.count } }

    /// Suspends until `count` requests have arrived, for `path` if it is given.
    package func waitForRequest(
        count: Int = 1, for path: String? = nil, within bound: Duration = .seconds(20)
    ) async throws {
        try await core.state.wait(within: bound, for: "\(count) requests for \(path ?? "anything")") {
            $0.totals(for: path).requests >= count
        }
    }

    /// Suspends until the totals for `path`, or for all paths, satisfy the condition.
    package func wait(
        for what: String, path: String? = nil, within bound: Duration = .seconds(20),
        until isSatisfied: @escaping @Sendable (OriginTotals) -> Bool
    ) async throws {
        try await core.state.wait(within: bound, for: what) { isSatisfied($0.totals(for: path)) }
    }

    // MARK: - Trouble for all requests

    /// Ends every open connection.
    package func closeConnections() {
        core.state.update { state in
            for socket in state.openConnections.values { socket.shutdown() }
        }
    }

    /// Refuses connections, and ends the open ones, until ``startListening()``.
    package func stopListening() {
        acceptor.close()
        closeConnections()
    }

    /// Listens on the same port again.
    package func startListening() throws {
        try acceptor.open()
    }
}

/// The objects that an origin's connections use. They do not keep the origin itself alive.
final class OriginCore: Sendable {
    let state = Watched(OriginState())
    let deadline: ContinuousClock.Instant
    /// The directory of large request bodies.
    let bodies: TemporaryDirectory

    init(deadline: ContinuousClock.Instant, bodies: TemporaryDirectory) {
        self.deadline = deadline
        self.bodies = bodies
    }

    var isAlive: Bool { ContinuousClock.now < deadline && !state.read { $0.isStopped } }

    func serve(_ socket: Socket) {
        let number = state.update { state -> Int? in
            guard !state.isStopped, ContinuousClock.now < deadline else { return nil }
            defer { state.connectionCount += 1 }
            state.openConnections[state.connectionCount] = socket
            return state.connectionCount
        }
        guard let number else { return socket.close() }
        Thread.detachNewThread { OriginConnection(core: self, socket: socket, number: number).run() }
    }

    /// Returns the response to a request, and the behaviours that apply to it.
    func plan(_ request: OriginRequest, _ head: RequestReader.Head) -> (ResponsePlan, [Behaviour]) {
        switch state.update({ $0.decide(request, head) }) {
        case .answer(var plan, let behaviours):
            if request.method == "HEAD" { plan.omitsBody = true }
            for behaviour in behaviours { ResponsePlanner.bend(&plan, by: behaviour) }
            return (plan, behaviours)
        case .resource(let resource, let behaviours):
            // This runs outside the lock, because computing a digest may take some time.
            return (ResponsePlanner(request: request, resource: resource, behaviours: behaviours).plan(), behaviours)
        }
    }
}

extension OriginState {
    fileprivate func totals(for path: String?) -> OriginTotals {
        path.map { totals[$0] ?? OriginTotals() } ?? overall
    }
}
