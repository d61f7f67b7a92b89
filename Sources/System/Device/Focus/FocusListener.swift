import Glibc
import NightshiftAPI
import Synchronization

/// The loop that listens to the display and publishes the reports.
final class FocusListener: PollLoop {
    private let thread: PollThread<Never, FrontApplication?>
    private let latest: LatestFocusReport
    private let environment: [String: String]
    private let session: @Sendable () -> [String: String]?
    private var connection: Connection?
    /// The reason why there is no connection.
    private var absence = "there is no display"
    /// The watch for a display's socket, while there is no connection.
    private var socketWatch: SocketWatch?
    private var watched: [String] = []
    private var reconnection = Reconnection()
    private var settling = FrontSettling()
    /// The last report of the display, before ``settling`` is applied to it.
    private var report = FocusReport.nobody("not checked yet")

    private enum Connection {
        case wayland(WaylandConnection, desktop: String?)
        case x11(X11Connection)

        var descriptor: Int32 {
            switch self {
            case .wayland(let wayland, _): wayland.descriptor
            case .x11(let x11): x11.descriptor
            }
        }

        var report: FocusReport? {
            switch self {
            case .x11(let x11): return x11.report
            case .wayland(let wayland, let desktop):
                var report = wayland.report
                if let desktop, let detail = report?.detail { report?.detail = "\(detail) (\(desktop))" }
                return report
            }
        }

        func process() throws(FocusFailure) {
            switch self {
            case .wayland(let wayland, _): try wayland.process()
            case .x11(let x11): try x11.process()
            }
        }
    }

    init(
        _ thread: PollThread<Never, FrontApplication?>, _ latest: LatestFocusReport, environment: [String: String],
        session: @escaping @Sendable () -> [String: String]?
    ) {
        self.thread = thread
        self.latest = latest
        self.environment = environment
        self.session = session
    }

    var sources: [pollfd] { [pollfd(reading: connection?.descriptor), pollfd(reading: socketWatch?.descriptor)] }

    var deadline: Double? { [reconnection.deadline, settling.deadline].compactMap(\.self).min() }

    func begin(_: [Never]) {
        connect(hasAppeared: false)
        listen()
        publish()
    }

    func wake(_ isReady: [Bool], _: [Never]) {
        let hasAppeared = isReady[1] && socketWatch?.isNews() == true
        if connection == nil, hasAppeared || reconnection.deadline.map({ $0 <= now }) == true {
            connect(hasAppeared: hasAppeared)
        }
        listen()
        publish()
    }

    func end(_: [Never]) {}

    /// Connects to the first display that can be reached.
    private func connect(hasAppeared: Bool) {
        let displays = Displays(session: session(), service: environment)
        // The watch begins before the attempt, so that a socket that appears right after a failed attempt is noticed.
        if socketWatch == nil || watched != displays.socketPaths {
            watched = displays.socketPaths
            socketWatch = SocketWatch(paths: watched)
        }
        var failures: [String] = []
        for display in displays.found {
            do throws(FocusFailure) {
                connection =
                    switch display {
                    case .wayland(let path): .wayland(try WaylandConnection(path: path), desktop: displays.desktop)
                    case .x11(let display): .x11(try X11Connection(display))
                    }
                reconnection.reached()
                return
            } catch {
                failures.append(error.text)
            }
        }
        absence = failures.isEmpty ? "there is no display" : failures.joined(separator: "; ")
        // A starting desktop may have created its socket before it reports its display to the systemd user manager.
        let isAbout =
            reconnection.deadline == nil && displays.found.isEmpty
            && displays.socketPaths.contains { access($0, F_OK) == 0 }
        reconnection.failed(hasAppeared: hasAppeared || isAbout, now: now)
    }

    private func listen() {
        guard let connection else { return }
        do throws(FocusFailure) {
            try connection.process()
            guard connection.report != nil else { return }
            // Any answer shows that a display is present.
            reconnection.succeeded()
            socketWatch = nil
        } catch {
            self.connection = nil
            absence = error.text
            socketWatch = SocketWatch(paths: watched)
            reconnection.failed(hasAppeared: false, now: now)
        }
    }

    private func publish() {
        // Before all answers have arrived, a report would be replaced at once.
        let complete = connection.map(\.report) ?? .nobody(absence)
        if let complete { report = complete }
        let isNews = settling.follow(report, isComplete: complete != nil, hasDisplay: connection != nil, now: now)
        var told = report
        if report.source != nil { told.application = settling.told }
        latest.report.withLock { $0 = told }
        if isNews { thread.publish(told.application) }
    }
}
