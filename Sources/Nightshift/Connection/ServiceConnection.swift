import Dispatch
import Foundation
package import NightshiftAPI
import NightshiftClient
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The process's connection with the user's service: one channel that carries commands, and requests beside it.
///
/// The channel comes first: the service knows a process by it, and refuses requests of others. It is opened by the first
/// request, starting the service where nobody else does, and opened again when it breaks off.
package final class ServiceConnection: Sendable {
    package let paths: ServicePaths
    /// The proxies of this process: they are for its own requests, not for those of others.
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
    private let queue = DispatchQueue(label: "nightshift.channel")
    private let state = Mutex(State())

    fileprivate struct State: Sendable {
        var hello: ProcessHello?
        /// The name of the last channel, which may not be ready yet: ``ProcessHello/channel``.
        var channel: String?
        var reader: EventReader?
        /// Whether the channel under way was given up here, which is no failure of the service.
        var isDropped = false
        /// Whether the queue is at work on opening the channel, or will be.
        var isOpening = false
        /// Tells the attempt that is due from one that was put off before it.
        var attempt = 0
        /// Whether an attempt has failed since the channel was last open: a hasty caller does not wait for the next one.
        var isUnreachable = false
        /// The channel on which a request was given up, and nothing has been answered since.
        var doubted: String?
        var isClosed = false
        /// Somebody has stopped the service: it is waited for, and started only when the app wants something new of it.
        var wasStopped = false
        var pause: Duration = .zero
        /// Why the last attempt failed.
        var trouble: String?
        /// Threads that wait for the channel.
        var waiters: [DispatchSemaphore] = []
        /// Threads that wait for the end of the attempt under way, whether there is a channel then or not.
        var hastyWaiters: [DispatchSemaphore] = []
    }

    /// The connection of this process, as its environment says.
    static let shared: ServiceConnection = {
        let environment = ProcessInfo.processInfo.environment
        let connection = ServiceConnection(
            environment: environment, executable: ServiceConnection.ownExecutable, app: environment["NIGHTSHIFT_APP"])
        // Known before anything can be forked off.
        _ = ServiceConnection.ownProcess
        atexit {
            // A child without a program of its own has this handler, too, and none of the threads that would get it an answer.
            guard getpid() == ServiceConnection.ownProcess else { return }
            ServiceConnection.shared.sessions.handOverAll(patience: .seconds(2))
        }
        return connection
    }()

    private static let ownProcess = getpid()

    private static let ownExecutable =
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
        ?? CommandLine.arguments.first ?? ""

    /// - Parameters:
    ///   - executable: the app's own program; the service's program is looked for beside it.
    ///   - app: the id that the service has given it at its launch.
    package init(environment: [String: String], executable: String, app: String?) {
        paths = ServicePaths(
            environment: environment, homeDirectory: FileManager.default.homeDirectoryForCurrentUser)
        proxies = ProxyVariables(environment)
        launcher = ServiceLauncher(
            paths: paths, search: DaemonSearch(executable: executable, searchPath: environment["PATH"] ?? ""),
            // A service that an app starts is not that app.
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

    /// Sends a request and returns its answer. It is sent again until `patience` is over: every request of the library may be
    /// repeated. Blocks; never to be called on ``queue``.
    ///
    /// Throws ``Problem`` for a refusal that will stand, ``ServiceUnreachable`` otherwise, `CancellationError` behind ``close()``, and
    /// where the channel that it was meant for is gone.
    ///
    /// - Parameters:
    ///   - hasty: whether to give up at once where there is no service, and none can be started.
    func request<Answer>(
        _ endpoint: Endpoint<Answer>, hasty: Bool = false, patience: Duration, while isWanted: () -> Bool = { true }
    ) throws -> Answer {
        try endpoint.answer(
            from: send(try endpoint.encoded(), nil, hasty, patience, while: isWanted, retries: \.isPassing))
    }

    /// Asks for what no thread of the app stands still for: for as long as the service is there, however slow it is. What `ask` sends
    /// has to be hasty.
    ///
    /// - Returns: nil where the service cannot be reached or refuses, and where the app is ending.
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

    /// Sends a request whose answer is not needed: it only matters that the service has accepted it.
    ///
    /// - Parameters:
    ///   - channel: the only one that it is meant for; without one, it is for whichever is open when it is sent.
    ///   - isWanted: whether it is to be sent again.
    ///   - retries: which refusals pass.
    func notify<Answer>(
        _ endpoint: Endpoint<Answer>, on channel: String? = nil, hasty: Bool = false, patience: Duration,
        while isWanted: () -> Bool = { true }, retries: (Problem) -> Bool = \.isPassing
    ) throws {
        _ = try send(try endpoint.encoded(), channel, hasty, patience, while: isWanted, retries: retries)
    }

    private func send(
        _ request: EncodedRequest, _ channel: String?, _ hasty: Bool, _ patience: Duration, while isWanted: () -> Bool,
        retries: (Problem) -> Bool
    ) throws -> Data {
        let deadline = ContinuousClock.now + patience
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
                doubt(hello)
                throw ServiceUnreachable(message: message)
            }
            Thread.sleep(forTimeInterval: Double(pause.components.attoseconds) / 1e18)
            pause = min(pause * 2, .milliseconds(500))
        }
    }

    /// A request was given up although there is a channel: the service was too slow, or this process was frozen meanwhile. What was
    /// to be told is told when the service answers again; the next channel may be far away.
    private func doubt(_ hello: ProcessHello) {
        let isNew = state.withLock { state in
            guard state.hello?.channel == hello.channel, state.doubted != hello.channel else { return false }
            state.doubted = hello.channel
            return true
        }
        if isNew { lookAgain(at: hello, after: Self.firstLook) }
    }

    private func lookAgain(at hello: ProcessHello, after pause: Duration) {
        // Not on the channel's queue: what comes on it goes on meanwhile.
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(Int(pause.components.seconds))) { [weak self] in
            guard let self, isOpen(hello) else { return }
            do {
                _ = try client.on(hello.channel).wait(for: .status, within: Self.lookPatience)
            } catch let problem as Problem where problem.status != 503 {
                // An answer, too.
            } catch {
                return lookAgain(at: hello, after: min(pause * 2, Self.lastLook))
            }
            state.withLock { if $0.doubted == hello.channel { $0.doubted = nil } }
            if isOpen(hello) { serviceIsBack() }
        }
    }

    private func isOpen(_ hello: ProcessHello) -> Bool { state.withLock { $0.hello?.channel == hello.channel } }

    /// Pauses before the service is asked whether it answers again; they double.
    private static let firstLook: Duration = .seconds(1)
    private static let lastLook: Duration = .seconds(8)
    /// Seconds that it has for that.
    private static let lookPatience: Double = 5

    /// It can be reached (again): whoever has to tell it something does.
    private func serviceIsBack() {
        backgroundTasks.serviceIsBack()
        commands.serviceIsBack()
        sessions.serviceIsBack()
        cancellations.serviceIsBack()
        wakes.serviceIsBack()
        refresh.serviceIsBack()
        push.serviceIsBack()
        notifications.serviceIsBack()
        location.serviceIsBack()
    }

    // MARK: - The channel

    /// The app that the service takes this process for. Waits until the channel is open.
    @discardableResult
    package func openChannel(until deadline: ContinuousClock.Instant, hasty: Bool = false) throws -> ProcessHello {
        while true {
            let waiter = DispatchSemaphore(value: 0)
            let (hello, trouble, isClosed, isHopeless) = state.withLock { state in
                let isHopeless = hasty && state.isUnreachable
                if state.hello == nil && !state.isClosed && !isHopeless {
                    if hasty { state.hastyWaiters.append(waiter) } else { state.waiters.append(waiter) }
                    open(&state, after: .zero)
                }
                return (state.hello, state.trouble, state.isClosed, isHopeless)
            }
            if let hello { return hello }
            if isClosed { throw CancellationError() }
            if isHopeless { throw ServiceUnreachable(message: trouble ?? "The service cannot be reached.") }
            let left = deadline - .now
            if left <= .zero || !waiter.wait(within: left) {
                state.withLock { state in
                    state.waiters.removeAll { $0 === waiter }
                    state.hastyWaiters.removeAll { $0 === waiter }
                }
                throw ServiceUnreachable(message: trouble ?? "The service does not answer.")
            }
        }
    }

    /// Lets go of the service as the end of the process would: nothing more is delivered, told or connected again.
    package func close() {
        let (reader, waiters) = state.withLock { state in
            state.isClosed = true
            state.hello = nil
            return (state.reader, state.takeWaiters())
        }
        reader?.cancel()
        for waiter in waiters { waiter.signal() }
        sessions.abandonAll()
    }

    /// The app wants something new: a service that was stopped may be started again, and is tried at once.
    func wake() {
        state.withLock { state in
            guard state.wasStopped else { return }
            state.wasStopped = false
            state.isUnreachable = false
            state.pause = .zero
            guard state.hello == nil, state.reader == nil, !state.isClosed else { return }
            state.isOpening = false
            open(&state, after: .zero)
        }
    }

    /// Gives up a channel that the service does not know any more; the next one is opened at once.
    ///
    /// - Parameter hello: whose channel it is; one that has taken its place meanwhile, or is about to, stays.
    package func dropChannel(_ hello: ProcessHello) {
        let reader = state.withLock { state -> EventReader? in
            guard state.channel == hello.channel else { return nil }
            state.hello = nil
            state.isDropped = true
            return state.reader
        }
        reader?.cancel()
    }

    private func open(_ state: inout State, after pause: Duration) {
        guard !state.isOpening, !state.isClosed else { return }
        state.isOpening = true
        state.attempt += 1
        let attempt = state.attempt
        let milliseconds = Int(pause.components.seconds * 1_000 + pause.components.attoseconds / 1_000_000_000_000_000)
        queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { [self] in connect(attempt) }
    }

    private func connect(_ attempt: Int) {
        guard isDue(attempt) else { return }
        do {
            if state.withLock(\.wasStopped), ServiceSocket.state(of: launcher.socket) != .accepting {
                if isDue(attempt) { ended(trouble: "The service was stopped.") }
                return
            }
            try launcher.waitUntilRunning()
        } catch {
            if isDue(attempt) { ended(trouble: (error as? ServiceUnusable)?.message ?? "\(error)") }
            return
        }
        guard isDue(attempt) else { return }
        let reader = EventReader(client: client, source: channelSource, queue: queue) { [weak self] event in
            self?.receive(event)
        } onEnd: { [weak self] end in
            if case .refused(let problem) = end {
                self?.ended(trouble: problem.detail ?? problem.title)
            } else {
                self?.ended(trouble: "The service broke off.")
            }
        }
        state.withLock { $0.reader = reader }
    }

    /// Whether this is still the attempt to make, and no other has a reader: ``wake()`` may have begun one while it was under way.
    private func isDue(_ attempt: Int) -> Bool {
        state.withLock { !$0.isClosed && $0.attempt == attempt && $0.reader == nil }
    }

    private func receive(_ event: ServerSentEvent) {
        let data = Data(event.data.utf8)
        if event.name == "hello", let hello = try? JSON.decodeKnown(ProcessHello.self, from: data) {
            state.withLock { $0.channel = hello.channel }
            guard backgroundTasks.channelOpened(self, hello) else { return dropChannel(hello) }
            let waiters = state.withLock { state in
                guard !state.isClosed else { return [DispatchSemaphore]() }
                state.hello = hello
                state.wasStopped = false
                state.isUnreachable = false
                state.pause = .zero
                state.trouble = nil
                return state.takeWaiters()
            }
            for waiter in waiters { waiter.signal() }
            serviceIsBack()
        } else if event.name == "stopping" {
            state.withLock { $0.wasStopped = true }
        } else if event.name == "command", let command = try? JSON.decodeKnown(ProcessCommand.self, from: data) {
            commands.receive(command, on: state.withLock(\.channel))
        } else if event.name == "refresh", let notice = try? JSON.decode(RefreshNotice.self, from: data) {
            if refresh.receive(notice) { commands.refreshStatusChanged() }
        } else if event.name == "push", let notice = try? JSON.decode(PushNotice.self, from: data) {
            push.receive(notice)
        } else if event.name == "location", let notice = try? JSON.decode(LocationNotice.self, from: data) {
            location.receive(notice)
        }
    }

    /// The channel is gone, or was not to be had: tried again after a pause that grows, for as long as the process lives.
    private func ended(trouble: String) {
        let (waiters, isNews) = state.withLock { state -> ([DispatchSemaphore], Bool) in
            // One that was open is opened again before anybody is told to wait.
            let hasFailed = state.hello == nil && !state.isDropped
            state.isDropped = false
            let isNews = hasFailed && !state.isUnreachable && !state.wasStopped && !state.isClosed
            state.isUnreachable = state.isUnreachable || hasFailed
            state.hello = nil
            // A caller that is refused for having used it does not drop the one that is being opened.
            state.channel = nil
            state.reader = nil
            state.trouble = trouble
            state.isOpening = false
            open(&state, after: state.pause)
            state.pause = min(max(state.pause * 2, .milliseconds(50)), .seconds(5))
            guard hasFailed else { return ([], false) }
            defer { state.hastyWaiters = [] }
            return (state.hastyWaiters, isNews)
        }
        // Before anybody goes on, and perhaps ends the process.
        if isNews {
            Notice.print(
                "The service cannot be reached. Transfers and background tasks wait until it can be; 'nightshift service start' "
                    + "starts it, 'nightshift doctor' says what is wrong. \(trouble)")
        }
        for waiter in waiters { waiter.signal() }
    }

    /// The app that the service takes this process for; nil while there is no channel.
    var app: AppID? { state.withLock(\.hello?.app) }

    /// Whether the last attempt to reach the service has failed.
    var isUnreachable: Bool { state.withLock(\.isUnreachable) }
}

extension ServiceConnection.State {
    fileprivate mutating func takeWaiters() -> [DispatchSemaphore] {
        defer { (waiters, hastyWaiters) = ([], []) }
        return waiters + hastyWaiters
    }
}

extension Problem {
    static let notConnectedType = "/problems/not-connected"
    static let sessionInUseType = "/problems/session-in-use"
    static let noSessionType = "/problems/no-session"

    /// Whether asking again may help.
    var isPassing: Bool {
        status == 503 || status == 429 || type == Self.notConnectedType
    }

    /// Whether the request asks for what cannot be, and will not be had by asking again.
    var isAboutContent: Bool { status == 400 || status == 413 || status == 422 }
}
