import CNightshift
import Glibc
import NightshiftAPI

/// The thread that listens to the session's bus, and tells the board.
final class DesktopListener {
    private let board: DesktopBoard
    private let environment: [String: String]
    private let session: @Sendable () -> [String: String]?
    private var connection: DesktopConnection?
    private var socketWatch: SocketWatch?
    private var watched: [String] = []
    private var reconnection = Reconnection()

    init(board: DesktopBoard, environment: [String: String], session: @escaping @Sendable () -> [String: String]?) {
        self.board = board
        self.environment = environment
        self.session = session
    }

    func run() {
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

    private func perform(_ request: DesktopRequest) {
        let isSent = connection?.perform(request) ?? false
        if case .show(_, let token) = request, !isSent {
            board.tell(.refused(token: token, isGone: true, detail: "there is no notification server"))
        }
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
            let made = try DesktopConnection(address: address)
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
        if connection?.hasServer == true { board.tell(.server(nil)) }
        connection = nil
        if socketWatch == nil { socketWatch = SocketWatch(paths: watched) }
        reconnection.failed(hasAppeared: hasAppeared, now: now)
    }

    /// Where the session's bus is: as the service was told, as the session's manager tells others, or where systemd has it.
    private static func address(
        _ environment: [String: String], _ session: () -> [String: String]?
    ) -> String? {
        if let address = environment["DBUS_SESSION_BUS_ADDRESS"], !address.isEmpty { return address }
        if let address = session()?["DBUS_SESSION_BUS_ADDRESS"], !address.isEmpty { return address }
        return environment["XDG_RUNTIME_DIR"].map { "unix:path=\($0)/bus" }
    }
}
