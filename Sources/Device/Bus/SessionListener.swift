import CNightshift
import Foundation
import Glibc
import NightshiftAPI

/// One connection to the session's bus, of one thread, for one part of the service.
protocol SessionBusConnection: AnyObject, SendableMetatype {
    associatedtype Request: Sendable
    associatedtype Event: Sendable

    /// Begins to connect to an address of the D-Bus specification's form.
    init(address: String) throws(BusFailure)

    var descriptor: Int32 { get }
    var events: Int16 { get }
    /// Seconds of CLOCK_MONOTONIC at which ``next()`` is to be called though nothing has arrived.
    var deadline: Double? { get }
    /// What there is to tell when the connection ends.
    var farewell: [Event] { get }

    /// False where it could not be sent, or there is nobody to send it to.
    func perform(_ request: Request) -> Bool
    /// What has happened next, nil when there is nothing more. Throws when the connection has ended.
    func next() throws(BusFailure) -> [Event]?
    /// What to tell of a request that could not be sent.
    static func refusal(of request: Request) -> Event?
}

/// The thread that listens to the session's bus for one part of the service, and tells the board.
///
/// It sleeps in poll(2). Where there is no session bus it waits for one to appear; a bus that goes away is connected to
/// again.
final class SessionListener<Connection: SessionBusConnection> {
    typealias Board = SessionBoard<Connection.Request, Connection.Event>

    private let board: Board
    private let environment: [String: String]
    private let session: @Sendable () -> [String: String]?
    private var connection: Connection?
    private var socketWatch: SocketWatch?
    private var watched: [String] = []
    private var reconnection = Reconnection()

    /// Begins to listen, the first time it is called for a board.
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

    /// Sleeps until something happens, and deals with it; false at the end.
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
            // Nothing says where a bus would be: nothing can be waited for either.
            socketWatch = nil
            return
        }
        let paths = BusAddress.socketPaths(address)
        // Before the attempt: a socket that appears after it has failed is then heard of.
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
                // Any answer shows that there is a bus.
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

    /// Where the session's bus is: as the service was told, as the session's manager tells others, or where systemd has
    /// it.
    private static func address(
        _ environment: [String: String], _ session: () -> [String: String]?
    ) -> String? {
        if let address = environment["DBUS_SESSION_BUS_ADDRESS"], !address.isEmpty { return address }
        if let address = session()?["DBUS_SESSION_BUS_ADDRESS"], !address.isEmpty { return address }
        return environment["XDG_RUNTIME_DIR"].map { "unix:path=\($0)/bus" }
    }
}
