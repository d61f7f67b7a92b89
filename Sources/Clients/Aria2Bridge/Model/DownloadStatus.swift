import NightshiftAPI

/// The status of a download in aria2's words.
enum DownloadStatus: String, Sendable, CaseIterable {
    case active
    case waiting
    case paused
    case error
    case complete
    case removed

    /// Whether the download has ended.
    var isStopped: Bool {
        switch self {
        case .active, .waiting, .paused: false
        case .error, .complete, .removed: true
        }
    }

    /// Whether the download is in aria2's queue: it waits, or it is paused.
    var isQueued: Bool { self == .waiting || self == .paused }

    /// Returns the status of a transfer.
    ///
    /// aria2 calls a download waiting if others run instead of it. A download that waits for its server or the network
    /// is active, with a speed of 0.
    init(_ task: TaskStatus, _ note: DownloadNote) {
        self =
            switch task.state {
            case .suspended: .paused
            case .running, .finishing: .active
            case .waiting: Self.waitsInQueue(task) ? .waiting : .active
            case .completed: .complete
            case .failed: task.isNotModified(note) ? .complete : .error
            case .cancelled: .removed
            }
    }

    private static func waitsInQueue(_ task: TaskStatus) -> Bool {
        switch task.wait?.reason {
        case nil, .starting, .connectionLimit, .serviceLimit, .smallerFirst, .othersFirst, .slow, .beginDate,
            .relaunchDelay, .discretionary, .doze, .sleeping, .battery, .externalPower, .expensiveNetwork,
            .constrainedNetwork, .cellularNetwork, .serviceFault, .answer:
            true
        default: false
        }
    }
}

extension TaskStatus {
    /// Whether the server has answered a conditional request that the file has not changed. aria2 calls such a download
    /// complete.
    func isNotModified(_ note: DownloadNote) -> Bool {
        error?.status == 304 && note.options["conditional-get"] == .text("true")
    }
}

/// An event of a download, with the name of aria2's notification.
enum DownloadEvent: String, Sendable, CaseIterable {
    case start = "onDownloadStart"
    case pause = "onDownloadPause"
    case stop = "onDownloadStop"
    case complete = "onDownloadComplete"
    case error = "onDownloadError"

    /// Returns the events of a change of the status. A download that ends before the change is seen has started, too. As
    /// in aria2, the pause or removal of a queued download is no event.
    ///
    /// - Parameter old: the earlier status; nil for a new download.
    static func events(from old: DownloadStatus?, to new: DownloadStatus) -> [DownloadEvent] {
        guard old != new, old?.isStopped != true else { return [] }
        let started: [DownloadEvent] = old == .active ? [] : [.start]
        return switch new {
        case .active: [.start]
        case .waiting: []
        case .paused: old == .active ? [.pause] : []
        case .removed: old == .active ? [.stop] : []
        case .complete: started + [.complete]
        case .error: started + [.error]
        }
    }
}
