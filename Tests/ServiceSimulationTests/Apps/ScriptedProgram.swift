import Apps
import NightshiftAPI
import Sessions
import Synchronization
import Transfers

/// How an app's program behaves.
struct ScriptedProgram {
    /// It links the library: connects, reads, and does what it is told. Otherwise its exit status is all it has to say.
    var links = true
    /// For one that does not link the library: nil lets it run on.
    var status: Int32? = 0
    /// What its sessions are called: it takes them up as it starts.
    var sessions: [String] = []
    /// Whether it reads its messages.
    var reads = true
    /// Whether it calls the completion handlers of its wakes.
    var completes = true
    /// Whether it does what it is told beside that.
    var obeys = true
    /// How many times more it dies instead of handling a wake.
    var crashes = 0
    var answer: @Sendable (SessionMessage) -> MessageAnswer? = { message in
        MessageAnswer(
            message: message.id, disposition: message.kind == .challenge ? .performDefaultHandling : .continueLoading)
    }
}

/// What apps have seen of their sessions.
struct DeliveryRecord {
    struct Sighting: Hashable {
        var app: AppID
        var session: String
        var message: Int64
        var kind: SessionMessage.Kind
        var task: Int64
    }

    /// Every message as it came, again where it came again.
    var sightings: [Sighting] = []
    /// What the service has said is forgotten.
    var acknowledged: Set<Sighting> = []
    /// How far wakes are completed for good.
    var completed: [SessionID: Int64] = [:]
    var progress: [SessionID: Int] = [:]
    var questions: [SessionMessage] = []
    var states: [Int32: [AppState]] = [:]

    func tasks(_ app: AppID, _ session: String, _ kind: SessionMessage.Kind = .ended) -> [Int64] {
        sightings.filter { $0.app == app && $0.session == session && $0.kind == kind }.map(\.task)
    }
}

/// One process of a program: what the service sends it gathers here until it acts.
final class ScriptedActor {
    let process: Int32
    let app: AppID
    /// What is going to be tried next time.
    var hasToConnect = true
    var hello: ProcessHello?
    /// Commands that it has not finished.
    var commands: [ProcessCommand] = []
    /// Sessions whose messages it reads.
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

    /// What has come since.
    func takeNews() -> [News] { inbox.take() }

    /// Its streams break.
    func disconnect() {
        for reader in readers { reader.cancel() }
        readers = []
        attached = []
        _ = inbox.take()
        hasToConnect = true
    }

    /// The service is gone, and with it what it had asked for.
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
