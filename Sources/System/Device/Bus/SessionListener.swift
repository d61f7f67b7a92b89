import Glibc
import NightshiftAPI

/// A connection to the session bus for one feature of the service. Used by one thread.
protocol SessionBusConnection: AnyObject, SendableMetatype {
    associatedtype Request: Sendable
    associatedtype Event: Sendable

    /// Begins to connect to an address in the form of the D-Bus specification.
    init(address: String) throws(BusFailure)

    var descriptor: Int32 { get }
    var events: Int16 { get }
    /// The time in seconds of CLOCK_MONOTONIC at which ``next()`` must be called even if no message has arrived.
    var deadline: Double? { get }
    /// The events that are delivered when the connection ends.
    var farewell: [Event] { get }

    /// Sends a request. Returns false if the request could not be sent or has no recipient.
    func perform(_ request: Request) -> Bool
    /// Returns the next events, or nil if there are no more. Throws when the connection has ended.
    func next() throws(BusFailure) -> [Event]?
    /// Returns the event that is delivered for a request that could not be sent.
    static func refusal(of request: Request) -> Event?
}

/// The loop that listens to the session bus for one feature of the service and publishes its events.
///
/// Without a session bus, it waits for one to appear. It reconnects to a bus that was lost.
final class SessionListener<Connection: SessionBusConnection>: PollLoop {
    typealias Thread = PollThread<Connection.Request, Connection.Event>

    private let thread: Thread
    private let environment: [String: String]
    private let session: @Sendable () -> [String: String]?
    private var connection: Connection?
    private var socketWatch: SocketWatch?
    private var watched: [String] = []
    private var reconnection = Reconnection()

    /// Returns a thread that listens.
    ///
    /// - Parameters:
    ///   - environment: the environment of the service, which may contain the address of the session bus.
    ///   - session: a function that returns the current environment that the systemd user manager gives to the programs
    ///     it starts. It may block for a moment.
    static func thread(
        _ name: String, environment: [String: String], session: @escaping @Sendable () -> [String: String]?
    ) -> Thread {
        Thread(name) { SessionListener($0, environment: environment, session: session) }
    }

    private init(
        _ thread: Thread, environment: [String: String], session: @escaping @Sendable () -> [String: String]?
    ) {
        self.thread = thread
        self.environment = environment
        self.session = session
    }

    var sources: [pollfd] {
        [
            pollfd(reading: connection?.descriptor, events: connection?.events ?? 0),
            pollfd(reading: socketWatch?.descriptor),
        ]
    }

    var deadline: Double? { connection.map(\.deadline) ?? reconnection.deadline }

    func begin(_ orders: [Connection.Request]) {
        connect(hasAppeared: false)
        handle(orders)
    }

    func wake(_ isReady: [Bool], _ orders: [Connection.Request]) {
        let hasAppeared = isReady[1] && socketWatch?.isNews() == true
        if connection == nil, hasAppeared || reconnection.deadline.map({ $0 <= now }) == true {
            connect(hasAppeared: hasAppeared)
        }
        handle(orders)
    }

    func end(_ orders: [Connection.Request]) { handle(orders) }

    private func handle(_ orders: [Connection.Request]) {
        for request in orders { perform(request) }
        listen()
    }

    private func perform(_ request: Connection.Request) {
        let isSent = connection?.perform(request) ?? false
        if !isSent, let event = Connection.refusal(of: request) { thread.publish(event) }
    }

    private func connect(hasAppeared: Bool) {
        guard let address = Self.address(environment, session) else {
            // If the address of the bus is unknown, there is no socket to wait for.
            socketWatch = nil
            return
        }
        let paths = BusAddress.socketPaths(address)
        // The watch begins before the attempt, so that a socket that appears right after a failed attempt is noticed.
        if socketWatch == nil || watched != paths {
            watched = paths
            socketWatch = SocketWatch(paths: paths)
        }
        do throws(BusFailure) {
            let made = try Connection(address: address)
            reconnection.reached()
            connection = made
            listen()
        } catch {
            disconnect(hasAppeared: hasAppeared)
        }
    }

    private func listen() {
        guard let connection else { return }
        do throws(BusFailure) {
            while let events = try connection.next() {
                // Any answer shows that a bus is present.
                reconnection.succeeded()
                socketWatch = nil
                for event in events { thread.publish(event) }
            }
        } catch {
            disconnect(hasAppeared: false)
        }
    }

    private func disconnect(hasAppeared: Bool) {
        for event in connection?.farewell ?? [] { thread.publish(event) }
        connection = nil
        if socketWatch == nil { socketWatch = SocketWatch(paths: watched) }
        reconnection.failed(hasAppeared: hasAppeared, now: now)
    }

    /// Returns the address of the session bus: from the service's environment, from the environment of the systemd user
    /// manager, or systemd's default.
    private static func address(
        _ environment: [String: String], _ session: () -> [String: String]?
    ) -> String? {
        if let address = environment["DBUS_SESSION_BUS_ADDRESS"], !address.isEmpty { return address }
        if let address = session()?["DBUS_SESSION_BUS_ADDRESS"], !address.isEmpty { return address }
        return environment["XDG_RUNTIME_DIR"].map { "unix:path=\($0)/bus" }
    }
}
