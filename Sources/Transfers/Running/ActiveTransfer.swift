import NightshiftAPI
import Scheduler
import Store

/// A task that has a connection, or is about to get one. Lives in the service's actor.
struct ActiveTransfer {
    /// As it is in the store, but for what the present exchange has brought.
    var record: TaskRecord
    /// What its owner asks for, the same for all copies of this value.
    let wishes: OwnerWishes
    /// Boot seconds.
    var startedAt: Double
    var exchange: Exchange = .starting
    /// Where a download asks.
    var round: SourceRound
    /// An upload's machine, between its requests.
    var upload: ResumableUpload?
    /// Why the service ends the exchange; nil while it may run.
    var stopping: Interruption?
    /// While its connection is in doubt.
    var probation: Probation?
    /// What was looked at when it was admitted; goes with the entry that says so.
    var inputs: [String: String] = [:]
    /// Questions asked again at once since the task was started.
    var repetitions = 0
    /// Where the last exchange found the bytes, or the task's start an upload's: progress is counted from here.
    var startCount: Int64 = 0
    /// Whether the row says that this attempt was begun.
    var isNoted = false
    var speed = Speedometer()
    /// Boot seconds at which bytes were last synced.
    var checkpointAt: Double = 0
    /// Whether the record tells of the response that is being received.
    var isAccepted = false
    /// What the row says of the bytes here, while mirrors are asked to go on with them.
    var ownPartial: PartialFile?
    /// Boot seconds at which the present exchange was begun, and at which its answer was taken.
    var begunAt: Double = 0
    var answeredAt: Double?
    /// Why one connection has to do, where an answer gave the reason.
    var singleReason: String?
    /// Whether several connections have brought its bytes.
    var wasDivided = false
    /// The answers that the present exchange began with, by ``Challenge/origin``.
    var shown: [String: OriginAnswer] = [:]
    /// Entries of the journal that go into the next commit.
    var entries: [JournalEntry] = []

    init(record: TaskRecord, startedAt: Double) {
        self.record = record
        wishes = OwnerWishes(record)
        self.startedAt = startedAt
        // Rows of older services may have them whatever is sent.
        let mirrors = record.request.isHarmlessElsewhere ? record.request.mirrors ?? [] : []
        // Resume data of a task that had others.
        if let mirror = record.partial?.mirror, !mirrors.contains(mirror) { self.record.partial?.leaveURL() }
        round = SourceRound(
            own: record.request.url ?? "", mirrors: mirrors, bytes: self.record.bytesURL, wrong: record.wrongSources)
    }

    /// No mirror has gone on with the bytes: they are what they were.
    mutating func returnFromMirrors() {
        if let ownPartial, record.partial?.isOfAnotherURL == true { record.partial = ownPartial }
        ownPartial = nil
    }

    /// Whether the bytes that are here may be given up for what is at the URL that is asked.
    var mayRestart: Bool { round.mayRestart(bytes: record.bytesURL) || record.partial?.lossReason != nil }

    enum Exchange {
        case starting
        case download(DownloadReceiver, any ExchangeHandle)
        case segments(SegmentedDownload)
        case upload(UploadReceiver, any ExchangeHandle, UploadFiles)
    }

    /// What its connections are held by.
    var handles: [any ExchangeHandle] {
        switch exchange {
        case .starting: []
        case .download(_, let handle), .upload(_, let handle, _): [handle]
        case .segments(let segments): segments.connections.values.map(\.handle)
        }
    }

    /// Nil unless several connections may fetch it.
    var segments: SegmentedDownload? {
        get { if case .segments(let segments) = exchange { segments } else { nil } }
        set { if let newValue { exchange = .segments(newValue) } }
    }

    /// Connections that it holds or is about to open.
    var connectionCount: Int { max(1, segments?.connections.count ?? 1) }

    /// Bytes of the file that are here, or of the upload that have arrived as far as can be told.
    var count: Int64 {
        switch exchange {
        case .starting: record.kind == .download ? record.received : record.sent
        case .download(let receiver, _): receiver.position.value
        case .segments(let segments): segments.scheduler.map.count
        case .upload(let receiver, _, _): receiver.progress
        }
    }

    /// Whether its owner or the service has ended it for good, or for another reason than its connection.
    var isEnding: Bool {
        switch stopping {
        case nil, .reconnect: false
        case .wait, .hold: true
        }
    }

    /// Whether all bytes of an upload were handed on: nothing moves until the server has answered.
    var awaitsResponse: Bool {
        guard case .upload(let receiver, _, _) = exchange else { return false }
        return receiver.awaitsResponse
    }

    /// What admission weighs.
    var running: Admission.Running {
        Admission.Running(
            id: record.id, priority: wishes.priority, isLarge: record.isLarge, startedAt: startedAt,
            isResumable: record.upload != nil
                || record.partial.map { $0.bytes(count: 1, checksum: nil) }.map {
                    ExchangePlan(partial: $0).asksForRange
                } ?? false,
            // This attempt is one of them until it has brought something.
            hasFailed: record.fruitless > 1)
    }

    func progress() -> TaskProgress {
        let isDownload = record.kind == .download
        return TaskProgress(
            id: record.id, countOfBytesReceived: isDownload ? count : 0,
            countOfBytesExpectedToReceive: isDownload ? record.partial?.total ?? -1 : -1,
            countOfBytesSent: isDownload ? 0 : count,
            countOfBytesExpectedToSend: isDownload ? 0 : record.sentFiles?.length ?? -1,
            bytesPerSecond: speed.bytesPerSecond)
    }
}

extension TaskRecord {
    /// The URL that the bytes here came from has sent the whole, and it is not what was asked for.
    ///
    /// Without a checksum nothing says that another URL's file is the right one.
    ///
    /// - Returns: whether there is another URL that may have it.
    mutating func noteWrongSource() -> Bool {
        guard request.checksum != nil else { return false }
        let urls = [request.url ?? ""] + (request.mirrors ?? [])
        let source = bytesURL ?? urls[0]
        let places = urls.indices.filter { urls[$0] == source && !wrongSources.contains($0) }
        wrongSources += places
        return !places.isEmpty && wrongSources.count < urls.count
    }

    /// Where the bytes here came from; nil where there are none.
    fileprivate var bytesURL: String? { partial.map { $0.mirror ?? request.url ?? "" } }
}

/// Bytes per second, smoothed over the last seconds.
struct Speedometer {
    private(set) var bytesPerSecond: Double = 0
    private var last: (count: Int64, time: Double)?

    /// Takes a reading; at least a tenth of a second has to lie between two for the second to count.
    mutating func read(_ count: Int64, at time: Double) {
        guard let last else {
            self.last = (count, time)
            return
        }
        let elapsed = time - last.time
        guard elapsed >= 0.1 else { return }
        let now = Double(max(0, count - last.count)) / elapsed
        // A time constant of about three seconds: quick enough to follow, slow enough to read.
        let weight = min(1, elapsed / 3)
        bytesPerSecond = bytesPerSecond == 0 ? now : bytesPerSecond + weight * (now - bytesPerSecond)
        self.last = (count, time)
    }
}
