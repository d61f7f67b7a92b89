import Apps
import NightshiftAPI
import Sessions
import Synchronization
import Transfers

/// The behaviour of an app's program.
struct ScriptedProgram {
    /// Whether the program links the library, so that it connects, reads messages and executes commands. Otherwise the
    /// service sees only its exit status.
    var links = true
    /// The exit status of a program that does not link the library. If it is nil, the program keeps running.
    var status: Int32? = 0
    /// The identifiers of the sessions to which the program attaches at its start.
    var sessions: [String] = []
    /// Whether the program reads its messages.
    var reads = true
    /// Whether the program calls the completion handlers of its wakes.
    var completes = true
    /// Whether the program executes all other commands.
    var obeys = true
    /// The number of wakes at which the program will still crash.
    var crashes = 0
    var answer: @Sendable (SessionMessage) -> MessageAnswer? = { message in
        MessageAnswer(
            message: message.id, disposition: message.kind == .challenge ? .performDefaultHandling : .continueLoading)
    }
}

/// The events that apps have received from their sessions.
struct DeliveryRecord {
    struct Sighting: Hashable {
        var app: AppID
        var session: String
        var message: Int64
        var kind: SessionMessage.Kind
        var task: Int64
    }

    /// Every message in the order of arrival, including repeated ones.
    var sightings: [Sighting] = []
    /// The messages that the service has confirmed as removed.
    var acknowledged: Set<Sighting> = []
    /// The last message of each session whose wake the service has confirmed as completed.
    var completed: [SessionID: Int64] = [:]
    var progress: [SessionID: Int] = [:]
    var questions: [SessionMessage] = []
    var states: [Int32: [AppState]] = [:]

    func tasks(_ app: AppID, _ session: String, _ kind: SessionMessage.Kind = .ended) -> [Int64] {
        sightings.filter { $0.app == app && $0.session == session && $0.kind == kind }.map(\.task)
    }
}

/// One process of a program. It collects the service's messages and commands until its next action.
final class ScriptedActor {
    let process: Int32
    let app: AppID
    /// Whether the process tries to connect at its next action.
    var hasToConnect = true
    var hello: ProcessHello?
    /// The commands that the process has not finished.
    var commands: [ProcessCommand] = []
    /// The sessions whose messages the process reads.
    var attached: Set<String> = []
    private let inbox = Inbox()
    private var readers: [Task<Void, Never>] = []

    init(_ process: Int32, _ app: AppID) {
        self.process = process
        self.app = app
    }

    func follow(_ events: AsyncStream<ProcessEvent>) {
        readers.append(
            Task { [inbox] in
                for await event in events { inbox.add(.process(event)) }
            })
    }

    func follow(_ session: String, _ events: AsyncStream<SessionEvent>) {
        attached.insert(session)
        readers.append(
            Task { [inbox] in
                for await event in events { inbox.add(.session(session, event)) }
            })
    }

    /// Returns the news since the last call, and clears the inbox.
    func takeNews() -> [News] { inbox.take() }

    /// Ends the streams of the process.
    func disconnect() {
        for reader in readers { reader.cancel() }
        readers = []
        attached = []
        _ = inbox.take()
        hasToConnect = true
    }

    /// Removes the connection and all pending requests after the service has gone.
    func loseService() {
        disconnect()
        commands = []
        hello = nil
    }

    enum News: Sendable {
        case process(ProcessEvent)
        case session(String, SessionEvent)
    }

    private final class Inbox: Sendable {
        private let news = Mutex<[News]>([])

        func add(_ item: News) { news.withLock { $0.append(item) } }

        func take() -> [News] {
            news.withLock { news in
                defer { news = [] }
                return news
            }
        }
    }
}
