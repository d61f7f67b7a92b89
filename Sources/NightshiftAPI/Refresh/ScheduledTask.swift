package import Foundation

/// A request of an app to be launched for work of its own once: a `BGTaskRequest`.
package struct ScheduledTask: Hashable, Sendable, Codable {
    /// One that its entry declares (`X-Nightshift-TaskIdentifiers`). The same identifier replaces what waits under it.
    package var identifier: String
    package var kind: Kind
    /// Before this it does not begin; nil for as soon as may be. Not looked at for ``Kind/continued``.
    package var earliestBegin: Date?
    /// For ``Kind/processing``: whether it waits for a network, and for external power.
    package var requiresNetwork: Bool?
    package var requiresPower: Bool?
    /// For ``Kind/continued``: what its user reads.
    package var title: String?
    package var subtitle: String?
    /// For ``Kind/continued``: what happens where there is no room for it now; ``Strategy/queue`` unless given.
    package var strategy: Strategy?

    package enum Kind: String, Hashable, Sendable, Codable, CaseIterable {
        /// Thirty seconds for new content (`BGAppRefreshTask`).
        case refresh
        /// Minutes, while nobody uses the device (`BGProcessingTask`).
        case processing
        /// Work that its user has begun in front of the app, sees and may cancel (`BGContinuedProcessingTask`).
        case continued

        /// What wakes the app for it.
        package var source: WakeSource {
            switch self {
            case .refresh: .fetch
            case .processing: .processing
            case .continued: .continued
            }
        }
    }

    package enum Strategy: String, Hashable, Sendable, Codable, CaseIterable {
        case fail
        case queue
    }

    package init(identifier: String, kind: Kind) {
        self.identifier = identifier
        self.kind = kind
    }

    /// Whether an entry that declares `declared` lets the app submit `identifier`: the same, or one that a last part `*` stands for.
    package static func isDeclared(_ identifier: String, in declared: [String]) -> Bool {
        declared.contains { pattern in
            guard pattern.hasSuffix(".*") else { return pattern == identifier }
            let stem = pattern.dropLast()
            return identifier.hasPrefix(stem) && identifier.utf8.count > stem.utf8.count
        }
    }
}

/// `GET /v1/process/scheduled-tasks`: what waits, without what runs.
package struct ScheduledTaskList: Hashable, Sendable, Codable {
    package var tasks: [ScheduledTask]

    package init(tasks: [ScheduledTask]) {
        self.tasks = tasks
    }
}

/// `PATCH /v1/process/scheduled-tasks/{identifier}`: how far a continued task is, and what its user reads of it.
package struct ScheduledTaskProgress: Hashable, Sendable, Codable {
    package var title: String?
    package var subtitle: String?
    package var completedUnits: Int64?
    package var totalUnits: Int64?

    package init(
        title: String? = nil, subtitle: String? = nil, completedUnits: Int64? = nil, totalUnits: Int64? = nil
    ) {
        self.title = title
        self.subtitle = subtitle
        self.completedUnits = completedUnits
        self.totalUnits = totalUnits
    }
}

/// A scheduled task as people see it.
package struct ScheduledTaskStatus: Hashable, Sendable, Codable {
    package var task: ScheduledTask
    package var submitted: Date
    /// Since when it runs; nil while it waits.
    package var began: Date?
    /// Why it waits, in a sentence, and until when, as far as that is known.
    package var sentence: String?
    package var until: Date?
    package var progress: ScheduledTaskProgress?

    package init(task: ScheduledTask, submitted: Date) {
        self.task = task
        self.submitted = submitted
    }
}
