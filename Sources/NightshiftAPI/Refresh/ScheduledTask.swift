package import Foundation

/// A request of an app to be launched once for work of its own: a `BGTaskRequest`.
package struct ScheduledTask: Hashable, Sendable, Codable {
    /// An identifier that the desktop entry declares (`X-Nightshift-TaskIdentifiers`). A request replaces a waiting one
    /// with the same identifier.
    package var identifier: String
    package var kind: Kind
    /// The earliest start; nil to start as soon as possible. Ignored for ``Kind/continued``.
    package var earliestBegin: Date?
    /// For ``Kind/processing``: whether the task requires a network, and whether it requires external power.
    package var requiresNetwork: Bool?
    package var requiresPower: Bool?
    /// For ``Kind/continued``: the text that the user sees.
    package var title: String?
    package var subtitle: String?
    /// For ``Kind/continued``: the behaviour if the task cannot start now; ``Strategy/queue`` by default.
    package var strategy: Strategy?

    package enum Kind: String, Hashable, Sendable, Codable, CaseIterable {
        /// Thirty seconds to get new content (`BGAppRefreshTask`).
        case refresh
        /// Several minutes while nobody uses the device (`BGProcessingTask`).
        case processing
        /// Work that the user started in the app, can see, and can cancel (`BGContinuedProcessingTask`).
        case continued

        /// The source of the wake for this kind of task.
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

    /// Whether a desktop entry that declares `declared` allows the app to submit `identifier`. It must be equal to one
    /// of them, or match one that ends in the part `*`.
    package static func isDeclared(_ identifier: String, in declared: [String]) -> Bool {
        declared.contains { pattern in
            guard pattern.hasSuffix(".*") else { return pattern == identifier }
            let stem = pattern.dropLast()
            return identifier.hasPrefix(stem) && identifier.utf8.count > stem.utf8.count
        }
    }
}

/// The response of `GET /v1/process/scheduled-tasks`: the waiting scheduled tasks, without running ones.
package struct ScheduledTaskList: Hashable, Sendable, Codable {
    package var tasks: [ScheduledTask]

    package init(tasks: [ScheduledTask]) {
        self.tasks = tasks
    }
}

/// The body of `PATCH /v1/process/scheduled-tasks/{identifier}`: the progress of a continued task, and the texts that
/// the user sees.
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

/// The status of a scheduled task for people.
package struct ScheduledTaskStatus: Hashable, Sendable, Codable {
    package var task: ScheduledTask
    package var submitted: Date
    /// The time at which the task started; nil while it waits.
    package var began: Date?
    /// The reason why the task waits, as a sentence, and the end of the wait, if known.
    package var sentence: String?
    package var until: Date?
    package var progress: ScheduledTaskProgress?

    package init(task: ScheduledTask, submitted: Date) {
        self.task = task
        self.submitted = submitted
    }
}
