import Mounts
import NightshiftAPI
import Scheduler
import Sessions
import Store

/// A task that has a connection or is about to get one: its run, and the objects that execute the run's actions. Objects
/// of this type live in the service's actor.
///
/// The run changes only through its inputs. Code that has waited must check that the task still has the same object.
final class ActiveTransfer {
    var run: TransferRun
    /// A number that distinguishes this attempt from the other attempts of the task.
    let attempt: Int
    /// The file system of the transfer's files; nil for the service's own file system.
    let place: FileSystemKey?
    var exchange: Exchange = .starting
    /// The state machine of an upload, between its requests.
    var upload: ResumableUpload?
    var speed = Speedometer()
    /// The measured rate, which decides whether the transfer keeps its connection slot.
    var pace: Pace
    /// The app's answers to challenges that the current exchange received at its start. The key is
    /// ``Challenge/origin``.
    var shown: [String: OriginAnswer] = [:]
    /// How the transfer yields to other traffic.
    let yieldMeter = YieldMeter()
    /// The journal entries about that.
    var yieldWatch = YieldWatch()

    init(_ run: TransferRun, attempt: Int = 0, place: FileSystemKey? = nil) {
        self.run = run
        self.attempt = attempt
        self.place = place
        let record = run.record
        pace = Pace(count: record.kind == .download ? record.received : record.sent, at: run.startedAt)
    }

    /// The record of the run. It is read in place, because a copy would have to increment a hundred reference counts.
    var record: TaskRecord {
        _read { yield run.record }
    }

    enum Exchange {
        case starting
        case download(DownloadReceiver, any ExchangeHandle)
        case segments(SegmentedDownload)
        case upload(UploadReceiver, any ExchangeHandle, UploadFiles)
    }

    /// The handles of the transfer's exchanges.
    var handles: [any ExchangeHandle] {
        switch exchange {
        case .starting: []
        case .download(_, let handle), .upload(_, let handle, _): [handle]
        case .segments(let segments): segments.connections.values.map(\.handle)
        }
    }

    /// The state of the transfer's connections; nil if only one connection may be used.
    var segments: SegmentedDownload? { if case .segments(let segments) = exchange { segments } else { nil } }

    /// The number of connections that the transfer uses or is about to open.
    var connectionCount: Int { max(1, segments?.connections.count ?? 1) }

    /// The number of bytes of the file that have arrived, or of bytes of the upload that are known to have been sent.
    var count: Int64 {
        let record = run.shown
        return switch exchange {
        case .starting: record.kind == .download ? record.received : record.sent
        case .download(let receiver, _): receiver.position.value
        case .segments(let segments): segments.scheduler.map.count
        case .upload(let receiver, _, _): receiver.progress
        }
    }

    /// The path of the transfer's folder or file, for display.
    var path: String {
        record.request.destination?.directory ?? record.partial?.path ?? record.sentFiles?.files.first?.path ?? ""
    }

    /// Whether all bytes of an upload were sent. No byte moves until the server has answered.
    var awaitsResponse: Bool {
        guard case .upload(let receiver, _, _) = exchange else { return false }
        return receiver.awaitsResponse
    }

    /// Returns the facts about this transfer that admission considers.
    func running(_ yields: YieldHistory) -> Admission.Running {
        let record = run.shown
        return Admission.Running(
            id: record.id, priority: record.priority, isLarge: record.isLarge, startedAt: run.startedAt,
            isResumable: isResumable,
            // `fruitless` includes this attempt until bytes have arrived.
            hasFailed: record.fruitless > 1,
            slowness: pace.slowSince.map { since in
                let loss = loss
                return Admission.Slowness(
                    since: since, slice: yields.slice(of: record.id, losesBytes: loss.isOfBytes), loss: loss)
            }, isStopping: run.stopping != nil)
    }

    private var isResumable: Bool {
        let record = run.shown
        return record.upload != nil
            || record.partial.map { $0.bytes(count: 1, checksum: nil) }.map {
                ExchangePlan(partial: $0).asksForRange
            } ?? false
    }

    /// The loss if the transfer stops now.
    private var loss: Admission.Slowness.Loss {
        let record = run.shown
        // A transfer that is complete, or that may have had an effect on the server, must not be sent a second time.
        if awaitsResponse || run.phase != .exchanging { return .everything }
        if record.kind == .upload { return record.upload == nil ? .everything : .nothing }
        guard record.method == "GET" else { return .everything }
        if isResumable { return .nothing }
        return count == 0 ? .wait : .bytes(count)
    }

    /// Returns the full status of the task.
    ///
    /// - Parameters:
    ///   - row: the task's row, which has the owner's latest changes.
    ///   - silentWait: the wait for a file system that does not respond.
    func status(row: TaskRecord, _ silentWait: Wait?, _ now: ClockReading) -> TaskStatus {
        var status = run.shown.status(now: now)
        status.wait = silentWait
        status.state = silentWait == nil ? .running : .waiting
        status.priority = row.priority
        status.rateLimit = row.request.rateLimit
        status.description = row.request.description
        let progress = progress()
        if row.kind == .download {
            status.countOfBytesReceived = progress.countOfBytesReceived
            status.connections = connectionCount
        } else {
            status.countOfBytesSent = progress.countOfBytesSent
            if case .upload(let receiver, _, _) = exchange {
                status.informationalResponse = receiver.informationalResponse.map { ResponseSummary($0) }
                if let offset = receiver.upload.resource?.offset { status.upload?.countOfBytesAcknowledged = offset }
            }
        }
        status.bytesPerSecond = progress.bytesPerSecond
        status.yielding = yieldMeter.value
        return status
    }

    func progress() -> TaskProgress {
        let record = run.shown
        let isDownload = record.kind == .download
        var received = count
        // Before the response is accepted, the number of bytes is unknown.
        if case .download = exchange, !run.isAccepted { received = run.startCount }
        return TaskProgress(
            id: record.id, countOfBytesReceived: isDownload ? received : 0,
            countOfBytesExpectedToReceive: isDownload ? record.partial?.total ?? -1 : -1,
            countOfBytesSent: isDownload ? 0 : count,
            countOfBytesExpectedToSend: isDownload ? 0 : record.sentFiles?.length ?? -1,
            bytesPerSecond: speed.bytesPerSecond)
    }
}

/// A rate in bytes per second, smoothed over the last seconds.
struct Speedometer {
    private(set) var bytesPerSecond: Double = 0
    private var last: (count: Int64, time: Double)?

    /// Adds a reading. The reading counts only if at least a tenth of a second has passed since the previous one.
    mutating func read(_ count: Int64, at time: Double) {
        guard let last else {
            self.last = (count, time)
            return
        }
        let elapsed = time - last.time
        guard elapsed >= 0.1 else { return }
        let now = Double(max(0, count - last.count)) / elapsed
        // A time constant of about three seconds is quick enough to follow changes and slow enough to read.
        let weight = min(1, elapsed / 3)
        bytesPerSecond = bytesPerSecond == 0 ? now : bytesPerSecond + weight * (now - bytesPerSecond)
        self.last = (count, time)
    }
}

extension Admission.Slowness.Loss {
    fileprivate var isOfBytes: Bool {
        if case .bytes = self { true } else { false }
    }
}
