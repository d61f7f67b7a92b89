import NightshiftAPI
import Store

/// A finishing file with the next actions of its run.
struct FinishStep: Sendable {
    var job: Publisher.Job
    var actions: [FinishAction]
    /// The path of the published file if its directory could not be synced.
    private(set) var unsyncedFile: String?

    /// Sends an input to the run of a file.
    init(_ job: Publisher.Job, _ input: (inout FinishRun) -> [FinishAction]) {
        self.job = job
        actions = input(&self.job.run)
    }

    /// Sends the result of ``Publisher/prepare(_:)`` to the run of a file.
    init(_ preparation: Publisher.Preparation, now: ClockReading, random: () -> Double) {
        switch preparation {
        case .ready(let item): self.init(item.job) { $0.prepared(item.publication, now: now) }
        case .failed(let job, let failure): self.init(job) { $0.unprepared(failure, now: now, random: random) }
        case .homeless(let job, let failure): self.init(job) { $0.folderIsMissing(failure, now: now) }
        case .unplaced(let job, let failure):
            self.init(job) { $0.unprepared(failure, areBytesSafe: true, now: now, random: random) }
        case .replaced(let job, let failure): self.init(job) { $0.replaced(failure, now: now) }
        }
    }

    /// Sends the result of ``Publisher/publish(_:)`` to the run of a file.
    init(_ outcome: Publisher.Outcome, now: ClockReading) {
        switch outcome {
        case .published(let item): self.init(item.job) { $0.published(now: now) }
        case .nameTaken(let item): self.init(item.job) { $0.nameTaken() }
        case .unreachable(let item): self.init(item.job) { $0.unreachable(now: now) }
        case .unsynced(let item):
            self.init(item.job) { $0.unsynced() }
            unsyncedFile = item.publication.to
        case .replaced(let item, let failure): self.init(item.job) { $0.replaced(failure, now: now) }
        case .failed(let item, let failure): self.init(item.job) { $0.unplaced(failure, now: now) }
        }
    }

    /// The remains that the actions request to remove.
    var remains: [FinishAction.Remains] {
        actions.compactMap { if case .remove(let remains) = $0 { remains } else { nil } }
    }
}

extension Publisher.Job {
    /// The current path of the file, for display.
    var path: String { record.request.destination?.directory ?? record.partial?.path ?? "" }
}

extension PartialStorage {
    func remove(_ remains: [FinishAction.Remains]) {
        for remains in remains {
            switch remains {
            case .all(let record): discard(record)
            case .rest(let record): discardRest(record)
            }
        }
    }
}
