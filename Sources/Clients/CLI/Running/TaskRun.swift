import Foundation
import NightshiftAPI
import NightshiftClient

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A run of one program as background work.
struct TaskRun: Sendable {
    var invocation: Invocation
    var name: String?
    var command: [String]
    var isJSON: Bool

    /// The exit status for a program that is not executable, as in shells.
    static let notRunnable: Int32 = 126
    static let notFound: Int32 = 127
    /// The maximum time to wait for the first response of the service. It is longer than a start of the service may
    /// take.
    private static let timeout: Duration = .seconds(15)
    /// The maximum time in seconds for reporting the end of the program. Without a report, the service detects the end
    /// itself.
    private static let endTimeout = 2.0
    /// The number of the background task. This process has only this one.
    private static let number: Int64 = 1

    private enum Event: Sendable {
        case channel(ProcessChannel.Event)
        case process(GatedProcess.Event)
        case signal(Int32)
        case timeoutIsOver
    }

    /// Runs the program, and returns the exit status.
    func run() async -> Int32 {
        let file: ProgramFile
        do {
            file = try ProgramFile(command[0], in: invocation)
        } catch {
            return printError((error as? CommandFailure)?.message ?? "\(error)", Self.notFound)
        }
        let program: String
        switch file {
        case .found(let path): program = path
        case .notRunnable(let path): return printError("\(path) is not an executable file.", Self.notRunnable)
        case .missing: return printError("The program \(command[0]) was not found.", Self.notFound)
        }
        // The process is created before the signal handlers, so that it inherits the signal actions with which this
        // program was started.
        let process: GatedProcess
        do {
            process = try GatedProcess(
                executable: invocation.executable, program: program, arguments: command,
                environment: invocation.environment, leadsGroup: app == nil)
        } catch {
            return printError((error as? CommandFailure)?.message ?? "\(error)", RunEnd.refused("").exitStatus)
        }
        return await follow(process, program)
    }

    private var app: String? {
        invocation.environment["NIGHTSHIFT_APP"].flatMap { $0.isEmpty ? nil : $0 }
    }

    private var title: String {
        name ?? URL(filePath: command[0]).lastPathComponent
    }

    private func channel(_ process: GatedProcess, _ program: String) -> ProcessChannel {
        let source: EventSource =
            if let app {
                .commands(executable: invocation.executable, app: app, isGuest: true)
            } else {
                .commands(executable: program, run: process.id)
            }
        return ProcessChannel(
            service: invocation.service, source: source, task: BackgroundTaskRequest(number: Self.number, name: title))
    }

    private func follow(_ process: GatedProcess, _ program: String) async -> Int32 {
        let signals = ForwardedSignals()
        defer { withExtendedLifetime(signals) {} }
        let numbers = signals.stream
        let channel = channel(process, program)
        return await withTaskGroup(of: Void.self) { group in
            let (events, continuation) = AsyncStream<Event>.makeStream()
            group.addTask { await channel.run { continuation.yield(.channel($0)) } }
            group.addTask { for await event in process.events { continuation.yield(.process(event)) } }
            group.addTask { for await number in numbers { continuation.yield(.signal(number)) } }
            group.addTask {
                if (try? await Task.sleep(for: Self.timeout)) != nil { continuation.yield(.timeoutIsOver) }
            }
            defer { group.cancelAll() }
            return await decide(events, process, channel)
        }
    }

    private func decide(_ events: AsyncStream<Event>, _ process: GatedProcess, _ channel: ProcessChannel) async -> Int32
    {
        var machine = RunMachine(name: title, isInApp: app != nil)
        var begun: ContinuousClock.Instant?
        let jobs = app == nil ? JobControl(group: process.id) : nil
        for await event in events {
            let actions =
                switch event {
                case .channel(let event): machine.heard(event)
                case .process(let event): machine.heard(event)
                case .signal(let number): machine.received(number)
                case .timeoutIsOver: machine.timeoutIsOver()
                }
            for action in actions {
                switch action {
                case .begin:
                    jobs?.pass()
                    begun = .now
                    process.begin()
                case .abandon: process.abandon()
                case .signal(let number): kill(app == nil ? -process.id : process.id, number)
                case .stopAlong(let number): jobs?.stopAlong(number)
                case .print(let text): printNotice(text)
                case .finish(let end):
                    jobs?.takeBack()
                    if app != nil { endTask(channel) }
                    record(end, begun.map { ContinuousClock.now - $0 } ?? .zero)
                    return end.exitStatus
                }
            }
        }
        // This line is never reached, because the machine finishes when the process ends.
        return RunEnd.refused("").exitStatus
    }

    /// Ends the app's background task. Closing the connection would also end the task, but a little later.
    private func endTask(_ channel: ProcessChannel) {
        try? channel.service.client.wait(for: .endBackgroundTask(channel.task.number), within: Self.endTimeout)
    }

    private func record(_ end: RunEnd, _ time: Duration) {
        guard isJSON else { return }
        let seconds = Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
        try? invocation.json(RunRecord(name: title, seconds: (seconds * 1_000).rounded() / 1_000, end: end))
    }

    private func printNotice(_ text: String) {
        invocation.errors.line("nightshift: " + TerminalText.escaped(text, keepingNewlines: true))
    }

    private func printError(_ text: String, _ status: Int32) -> Int32 {
        printNotice(text)
        record(.refused(text), .zero)
        return status
    }
}
