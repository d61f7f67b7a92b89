import NightshiftAPI
import Store
import TestSupport
import Transfers

/// A run with all its inputs. The scene executes the run's actions instead of the service.
struct TransferRunScene {
    var run: TransferRun
    var hosts = HostTable()
    var now: ClockReading
    var hold: WaitReason?
    var isBehindPortal = false
    var isServiceStopping = false
    var random = SplitMix64(seed: 1)

    static let way = HostTable.Way(origin: "http://h:80", proxy: nil)
    static let lost = TransferFailure(.connectionLost, "gone")
    static let refused = TransferFailure(.httpStatus, "404", status: 404)

    init(inputs: [String: String] = [:], _ change: (inout TaskRecord) -> Void = { _ in }) {
        now = TaskMachineTests.start
        var record = TaskMachineTests.record()
        change(&record)
        run = TransferRun(record: record, startedAt: now.bootSeconds, inputs: inputs)
        run.admitted(now)
    }

    var context: RunContext {
        RunContext(
            now: now, way: Self.way, hold: hold, isBehindPortal: isBehindPortal, isServiceStopping: isServiceStopping,
            random: { 0.5 }, token: { "token" })
    }

    /// Returns bytes from the task's own URL from which the download can resume.
    static func partial(_ count: Int64) -> PartialFile {
        var partial = PartialFile(path: "/p/a", bootID: "b")
        partial.total = 1_000_000
        partial.entityTag = "\"a\""
        partial.synced = count
        return partial
    }

    mutating func ended(_ conclusion: DownloadConclusion, hasFile: Bool = true, at point: FailurePoint? = nil)
        -> [TransferAction]
    {
        run.ended(conclusion, hasFile: hasFile, at: point, context, &hosts)
    }

    mutating func troubled(_ failure: TransferFailure, at point: FailurePoint? = nil) -> [TransferAction] {
        run.troubled(failure, at: point, context, &hosts)
    }

    mutating func saved(_ isSaved: Bool = true) -> [TransferAction] { run.saved(isSaved, context, &hosts) }

    mutating func synced(_ isSynced: Bool? = true) -> [TransferAction] { run.synced(isSynced, context, &hosts) }
}

extension TransferAction {
    /// The kind of an action, without its values.
    enum Kind: Hashable, Sendable {
        case ask, cancel, closeFile, syncFile, cutFile, save, note, finish, question, saveQuestion, discard
        case abandonUpload, release, report, fault, keepBody, concludeLater, admitOthers, removeCopies
    }

    var kind: Kind {
        switch self {
        case .ask: .ask
        case .cancel: .cancel
        case .closeFile: .closeFile
        case .syncFile: .syncFile
        case .cutFile: .cutFile
        case .save: .save
        case .note: .note
        case .finish: .finish
        case .question: .question
        case .saveQuestion: .saveQuestion
        case .discard: .discard
        case .abandonUpload: .abandonUpload
        case .release: .release
        case .report: .report
        case .fault: .fault
        case .keepBody: .keepBody
        case .concludeLater: .concludeLater
        case .admitOthers: .admitOthers
        case .removeCopies: .removeCopies
        }
    }

    /// Whether the action continues or ends the run, as the result of an input.
    var isStep: Bool {
        switch kind {
        case .ask, .syncFile, .cutFile, .save, .finish, .question, .saveQuestion, .release, .keepBody, .concludeLater:
            true
        case .cancel, .closeFile, .note, .discard, .abandonUpload, .report, .fault, .admitOthers, .removeCopies: false
        }
    }

    /// The record that the actions commit.
    var record: TaskRecord? {
        switch self {
        case .save(let record, _), .note(let record, _), .saveQuestion(_, let record, _): record
        default: nil
        }
    }

    var entries: [JournalEntry] {
        switch self {
        case .save(_, let entries), .note(_, let entries), .finish(let entries), .saveQuestion(_, _, let entries):
            entries
        default: []
        }
    }
}
