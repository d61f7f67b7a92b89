import Dispatch
import Executors
import Foundation
package import NightshiftAPI
import NightshiftClient
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The connection of this process to the user's service. The connection consists of one channel that carries commands,
/// and of separate requests.
///
/// The channel is opened before any request is sent, because the service identifies a process by its channel and
/// refuses requests from a process without a channel. The first request opens the channel, and starts the service if it
/// is not running. The library reopens the channel when it breaks.
package final class ServiceConnection: Sendable {
    package let paths: ServicePaths
    /// The proxy variables of this process. They apply only to requests that this process sends itself.
    let proxies: ProxyVariables
    let client: ServiceClient
    let sessions = SessionRegistry()
    let commands = CommandHandler()
    let backgroundTasks = BackgroundTaskHandler()
    let refresh = RefreshHandler()
    let location = LocationHandler()
    let wakes = WakeHandler()
    let cancellations = TaskCancellations()
    let push = PushHandler()
    let notifications = NotificationHandler()
    let presenter = NotificationPresenter()
    private let launcher: ServiceLauncher
    private let channelSource: EventSource
    private let queue = WorkQueue()
    private let state = Mutex(State())

    private struct State: Sendable {
        var machine = ChannelMachine()
        /// The reader of the channel's stream, with the machine's number of the attempt that made it.
        var reader: (attempt: Int, stream: EventReader)?
        /// The threads that wait for the channel. The key is the machine's number of the waiter.
        var waiters: [Int: DispatchSemaphore] = [:]
    }

    /// The one connection of this process, configured by the environment.
    static let shared: ServiceConnection = {
        let environment = ProcessInfo.processInfo.environment
        let connection = ServiceConnection(
            environment: environment, executable: ServiceConnection.ownExecutable, app: environment["NIGHTSHIFT_APP"])
        // The process id is stored before the process can fork.
        _ = ServiceConnection.ownProcess
        atexit {
            // A child that has forked without executing a program inherits this handler. It does not inherit the
            // threads that would receive an answer.
            guard getpid() == ServiceConnection.ownProcess else { return }
            ServiceConnection.shared.sessions.handOverAll(timeout: .seconds(2))
        }
        return connection
    }()

    private static let ownProcess = getpid()

    private static let ownExecutable =
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
        ?? CommandLine.arguments.first ?? ""

    /// Creates a connection without opening its channel.
    ///
    /// - Parameters:
    ///   - executable: The app's own program. The service's program is searched for next to it.
    ///   - app: The id that the service gave the app at launch.
    package init(environment: [String: String], executable: String, app: String?) {
        paths = ServicePaths(
            environment: environment, homeDirectory: FileManager.default.homeDirectoryForCurrentUser)
        proxies = ProxyVariables(environment)
        launcher = ServiceLauncher(
            paths: paths, search: DaemonSearch(executable: executable, searchPath: environment["PATH"] ?? ""),
            // These variables are removed so that a service that an app starts is not mistaken for that app.
            environment: environment.filter { !Self.ownVariables.contains($0.key) })
        client = ServiceClient(paths: paths)
        channelSource = .commands(executable: executable, app: app)
        commands.connect(to: self)
        backgroundTasks.connect(to: self)
        refresh.connect(to: self)
        location.connect(to: self)
        wakes.connect(to: self)
        cancellations.connect(to: self)
        push.connect(to: self)
        notifications.connect(to: self)
        presenter.connect(to: self)
    }

    /// The environment variables that the service sets for an app at its launch.
    private static let ownVariables: Set<String> = [
        "NIGHTSHIFT_APP", "NIGHTSHIFT_LAUNCH", "NIGHTSHIFT_PAYLOAD", "NIGHTSHIFT_SESSION", "NIGHTSHIFT_SOCKET",
        "NIGHTSHIFT_TASK", "NIGHTSHIFT_WAKE", "NIGHTSHIFT_WAKE_LIMIT",
    ]

    // MARK: - Requests

    /// Sends a request and returns its answer. The request is retried until `timeout` is over, because every request of
    /// the library may be repeated. This method blocks the thread, so never call it on ``queue``.
    ///
    /// - Parameters:
    ///   - hasty: Whether to fail immediately if no service is running and none can be started.
    /// - Throws: ``Problem`` for a permanent refusal, `CancellationError` after ``close()``, and ``ServiceUnreachable``
    ///   in all other cases.
    func request<Answer>(
        _ endpoint: Endpoint<Answer>, hasty: Bool = false, timeout: Duration, while isWanted: () -> Bool = { true }
    ) throws -> Answer {
        try endpoint.answer(
            from: send(try endpoint.encoded(), nil, hasty, timeout, while: isWanted, retries: \.isPassing))
    }

    /// Repeats `ask` while the service is reachable, even if the service is slow. Use this method only for requests
    /// that do not block a thread of the app. The requests that `ask` sends must set `hasty`, so that they fail fast.
    ///
    /// - Returns: The result of `ask`. The result is nil if the service cannot be reached or refuses the request, or if
    ///   the app is terminating.
    func patiently<Answer>(_ ask: () throws -> Answer) -> Answer? {
        while true {
            do {
                return try ask()
            } catch is ServiceUnreachable where !isUnreachable {
                continue
            } catch {
                return nil
            }
        }
    }

    /// Sends a request and waits until the service has accepted it. This method discards the answer.
    ///
    /// - Parameters:
    ///   - channel: The only channel on which the request may be sent. If the channel is nil, the request is sent on
    ///     the channel that is open at that time.
    ///   - isWanted: A closure that returns whether to retry the request.
    ///   - retries: A closure that returns whether a refusal is temporary.
    /// - Throws: The same errors as ``request(_:hasty:timeout:while:)``, and `CancellationError` if `channel` is no
    ///   longer open.
    func notify<Answer>(
        _ endpoint: Endpoint<Answer>, on channel: String? = nil, hasty: Bool = false, timeout: Duration,
        while isWanted: () -> Bool = { true }, retries: (Problem) -> Bool = \.isPassing
    ) throws {
        _ = try send(try endpoint.encoded(), channel, hasty, timeout, while: isWanted, retries: retries)
    }

    private func send(
        _ request: EncodedRequest, _ channel: String?, _ hasty: Bool, _ timeout: Duration, while isWanted: () -> Bool,
        retries: (Problem) -> Bool
    ) throws -> Data {
        let deadline = ContinuousClock.now + timeout
        var pause: Duration = .milliseconds(10)
        while true {
            var message: String
            let hello = try openChannel(until: deadline, hasty: hasty)
            if let channel, hello.channel != channel { throw CancellationError() }
            do {
                let left = Double((deadline - .now).components.seconds) + 1
                return try client.on(hello.channel).wait(for: request, within: max(1, left))
            } catch let problem as Problem where retries(problem) {
                if problem.type == Problem.notConnectedType { dropChannel(hello) }
                message = problem.detail ?? problem.title
            } catch let failure as ServiceUnreachable {
                message = failure.message
            }
            guard ContinuousClock.now + pause < deadline, isWanted() else {
                // The service was too slow, or this process was frozen.
                apply { $0.machine.doubt(hello) }
                throw ServiceUnreachable(message: message)
            }
            Thread.sleep(forTimeInterval: Double(pause.components.attoseconds) / 1e18)
            pause = min(pause * 2, .milliseconds(500))
        }
    }

    /// Sends unsent reports when the service answers again. The reports do not wait for the next channel, because that
    /// channel may open much later.
    private func check(_ hello: ProcessHello, after pause: Duration) {
        // The check does not run on the channel's queue, so that the queue can still handle events of the channel.
        WorkQueue.start(after: pause) { [weak self] in
            guard let self, state.withLock({ $0.machine.isOpen(hello) }) else { return }
            do {
                _ = try client.on(hello.channel).wait(for: .status, within: Self.lookTimeout)
            } catch let problem as Problem where problem.status != 503 {
                // A refusal shows that the service answers.
            } catch {
                return check(hello, after: min(pause * 2, Self.lastLook))
            }
            apply { $0.machine.answered(hello) }
        }
    }

    /// The first pause before the service is checked again. Each further pause is twice as long as the previous pause,
    /// up to `lastLook`.
    private static let firstLook: Duration = .seconds(1)
    private static let lastLook: Duration = .seconds(8)
    /// The timeout in seconds of a request that checks whether the service answers again.
    private static let lookTimeout: Double = 5

    /// Notifies all parts of the library that the service can be reached, for the first time or again. Each part then
    /// sends its unsent requests and reports.
    private func onReconnect() {
        backgroundTasks.onReconnect()
        commands.onReconnect()
        sessions.onReconnect()
        cancellations.onReconnect()
        wakes.onReconnect()
        refresh.onReconnect()
        push.onReconnect()
        notifications.onReconnect()
        location.onReconnect()
    }

    // MARK: - The channel

    /// Sends an input to the machine, and executes the actions that it returns.
    private func apply(_ input: (inout State) -> [ChannelAction]) {
        execute(state.withLock { input(&$0) })
    }

    private func execute(_ actions: [ChannelAction]) {
        for action in actions {
            switch action {
            case .connect(let attempt, let pause): queue.add(after: pause) { [self] in connect(attempt) }
            case .stopReading(let attempt):
                state.withLock { $0.reader?.attempt == attempt ? $0.reader?.stream : nil }?.cancel()
            case .resume(let numbers):
                let waiters = state.withLock { state in
                    numbers.compactMap { state.waiters.removeValue(forKey: $0) }
                }
                for waiter in waiters { waiter.signal() }
            case .report(let trouble):
                Notice.print(
                    "The service cannot be reached. Transfers and background tasks wait for it. 'nightshift service "
                        + "start' starts it, and 'nightshift doctor' shows what is wrong. \(trouble)")
            case .reportReconnect: onReconnect()
            case .check(let hello): check(hello, after: Self.firstLook)
            }
        }
    }

    /// Waits until the channel is open, and returns the service's greeting. The greeting names the app that this
    /// process belongs to.
    @discardableResult
    package func openChannel(until deadline: ContinuousClock.Instant, hasty: Bool = false) throws -> ProcessHello {
        while true {
            let waiter = DispatchSemaphore(value: 0)
            let (access, trouble, actions) = state.withLock { state in
                let (access, actions) = state.machine.requestAccess(failsFast: hasty)
                if case .waiting(let number) = access { state.waiters[number] = waiter }
                return (access, state.machine.trouble, actions)
            }
            execute(actions)
            switch access {
            case .open(let hello): return hello
            case .closed: throw CancellationError()
            case .unreachable: throw ServiceUnreachable(message: trouble ?? "The service cannot be reached.")
            case .waiting(let number):
                let left = deadline - .now
                if left > .zero, waiter.wait(within: left) { continue }
                state.withLock { state in
                    state.machine.stopWaiting(number)
                    state.waiters[number] = nil
                }
                throw ServiceUnreachable(message: trouble ?? "The service does not respond.")
            }
        }
    }

    /// Disconnects from the service as if the process had ended. Afterwards, the connection delivers and sends nothing,
    /// and does not reconnect.
    package func close() {
        apply { $0.machine.close() }
        sessions.abandonAll()
    }

    /// Makes an immediate attempt to open the channel, because the app makes a new request. The attempt may start a
    /// service that was stopped.
    func wake() { apply { $0.machine.wake() } }

    /// Drops a channel that the service no longer knows. The next channel is opened immediately.
    ///
    /// - Parameter hello: The greeting of the channel to drop. A newer channel is not affected.
    package func dropChannel(_ hello: ProcessHello) { apply { $0.machine.drop(hello) } }

    /// Makes an attempt to open the channel. Runs on ``queue``.
    private func connect(_ attempt: Int) {
        let (isDue, wasStopped) = state.withLock { ($0.machine.isDue(attempt), $0.machine.wasStopped) }
        guard isDue else { return }
        if wasStopped, ServiceSocket.state(of: launcher.socket) != .accepting {
            return ended(attempt, trouble: "The service was stopped.")
        }
        do {
            try launcher.waitUntilRunning()
        } catch {
            return ended(attempt, trouble: (error as? ServiceUnusable)?.message ?? "\(error)")
        }
        guard state.withLock({ $0.machine.isDue(attempt) }) else { return }
        let reader = EventReader(client: client, source: channelSource, queue: queue) {
            [weak self] event in
            self?.receive(event)
        } onEnd: { [weak self] end in
            if case .refused(let problem) = end {
                self?.ended(attempt, trouble: problem.detail ?? problem.title)
            } else {
                self?.ended(attempt, trouble: "The service closed the connection before its response was complete.")
            }
        }
        let isWanted = state.withLock { state in
            guard state.machine.connected(attempt) else { return false }
            state.reader = (attempt, reader)
            return true
        }
        if !isWanted { reader.cancel() }
    }

    private func receive(_ event: ServerSentEvent) {
        let data = Data(event.data.utf8)
        if event.name == "hello", let hello = try? JSON.decodeKnown(ProcessHello.self, from: data) {
            state.withLock { $0.machine.greeted(hello) }
            guard backgroundTasks.channelOpened(self, hello) else { return dropChannel(hello) }
            apply { $0.machine.opened() }
        } else if event.name == "stopping" {
            state.withLock { $0.machine.stopping() }
        } else if event.name == "command", let command = try? JSON.decodeKnown(ProcessCommand.self, from: data) {
            commands.receive(command, on: state.withLock(\.machine.channel))
        } else if event.name == "refresh", let notice = try? JSON.decode(RefreshNotice.self, from: data) {
            if refresh.receive(notice) { commands.refreshStatusChanged() }
        } else if event.name == "push", let notice = try? JSON.decode(PushNotice.self, from: data) {
            push.receive(notice)
        } else if event.name == "location", let notice = try? JSON.decode(LocationNotice.self, from: data) {
            location.receive(notice)
        }
    }

    /// Handles the end of a channel, or a failure to open one. While the process lives, the attempts are repeated with
    /// increasing pauses.
    private func ended(_ attempt: Int, trouble: String) { apply { $0.machine.ended(attempt, trouble: trouble) } }

    /// The app that this process belongs to, according to the service. The value is nil while no channel is open.
    var app: AppID? { state.withLock(\.machine.hello?.app) }

    /// Whether the last attempt to reach the service has failed.
    var isUnreachable: Bool { state.withLock(\.machine.isUnreachable) }
}

extension Problem {
    static let notConnectedType = "/problems/not-connected"
    static let sessionInUseType = "/problems/session-in-use"
    static let noSessionType = "/problems/no-session"

    /// Whether the problem is temporary, so that a retry may succeed.
    var isPassing: Bool {
        status == 503 || status == 429 || type == Self.notConnectedType
    }

    /// Whether the content of the request is invalid, so that a retry cannot succeed.
    var isAboutContent: Bool { status == 400 || status == 413 || status == 422 }
}
