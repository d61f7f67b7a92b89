import CNightshift
import Foundation
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

/// The thread that listens to the session bus for one feature of the service, and delivers its events to the channel.
///
/// The thread sleeps in poll(2). Without a session bus, it waits for one to appear. It reconnects to a bus that was
/// lost.
final class SessionListener<Connection: SessionBusConnection> {
    typealias Board = SessionChannel<Connection.Request, Connection.Event>

    private let board: Board
    private let environment: [String: String]
    private let session: @Sendable () -> [String: String]?
    private var connection: Connection?
    private var socketWatch: SocketWatch?
    private var watched: [String] = []
    private var reconnection = Reconnection()

    /// Starts a thread that listens for a channel. Later calls have no effect.
    static func start(
        _ name: String, _ board: Board, environment: [String: String],
        session: @escaping @Sendable () -> [String: String]?
    ) {
        guard board.begin() else { return }
        let thread = Thread {
            SessionListener(board: board, environment: environment, session: session).run()
        }
        thread.name = name
        thread.stackSize = 256 << 10
        thread.start()
    }

    private init(board: Board, environment: [String: String], session: @escaping @Sendable () -> [String: String]?) {
        self.board = board
        self.environment = environment
        self.session = session
    }

    private func run() {
        connect(hasAppeared: false)
        while wait() {}
    }

    /// Sleeps until an event arrives and handles it. Returns false at the end.
    private func wait() -> Bool {
        // poll(2) ignores negative descriptors.
        var polled = [
            pollfd(fd: board.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: connection?.descriptor ?? -1, events: connection?.events ?? 0, revents: 0),
            pollfd(fd: socketWatch?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        let deadline = connection.map(\.deadline) ?? reconnection.deadline
        let count = poll(&polled, nfds_t(polled.count), PollTimeout.milliseconds(until: deadline, now: now))
        guard count >= 0 || errno == EINTR else { return false }
        let hasAppeared = polled[2].revents != 0 && socketWatch?.isNews() == true
        if connection == nil, hasAppeared || reconnection.deadline.map({ $0 <= now }) == true {
            connect(hasAppeared: hasAppeared)
        }
        let (requests, isEnded) = board.takeRequests()
        for request in requests { perform(request) }
        listen()
        return !isEnded
    }

    private var now: Double { Double(nightshift_awake_nanoseconds()) / 1e9 }

    private func perform(_ request: Connection.Request) {
        let isSent = connection?.perform(request) ?? false
        if !isSent, let event = Connection.refusal(of: request) { board.tell(event) }
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
                for event in events { board.tell(event) }
            }
        } catch {
            disconnect(hasAppeared: false)
        }
    }

    private func disconnect(hasAppeared: Bool) {
        for event in connection?.farewell ?? [] { board.tell(event) }
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
