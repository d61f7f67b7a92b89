package import Foundation

/// A request of an app to be launched once for its own work (`BGTaskRequest`).
package struct ScheduledTask: Hashable, Sendable, Codable {
    /// An identifier that the desktop entry declares (`X-Nightshift-TaskIdentifiers`). A request replaces a waiting
    /// request with the same identifier.
    package var identifier: String
    package var kind: Kind
    /// The earliest start; nil to start as soon as possible. It is ignored for ``Kind/continued``.
    package var earliestBegin: Date?
    /// Whether the task requires a network, for ``Kind/processing``.
    package var requiresNetwork: Bool?
    /// Whether the task requires external power, for ``Kind/processing``.
    package var requiresPower: Bool?
    /// The title that the user sees, for ``Kind/continued``.
    package var title: String?
    /// The subtitle that the user sees, for ``Kind/continued``.
    package var subtitle: String?
    /// The behaviour if a ``Kind/continued`` task cannot start now; ``Strategy/queue`` by default.
    package var strategy: Strategy?

    package enum Kind: String, Hashable, Sendable, Codable, CaseIterable {
        /// A task of thirty seconds to get new content (`BGAppRefreshTask`).
        case refresh
        /// A task of several minutes while nobody uses the device (`BGProcessingTask`).
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

    /// Returns whether a desktop entry that declares `declared` allows the app to submit `identifier`. The identifier
    /// must be equal to a declared identifier, or match a declared identifier whose last part is `*`.
    package static func isDeclared(_ identifier: String, in declared: [String]) -> Bool {
        declared.contains { pattern in
            guard pattern.hasSuffix(".*") else { return pattern == identifier }
            let stem = pattern.dropLast()
            return identifier.hasPrefix(stem) && identifier.utf8.count > stem.utf8.count
        }
    }
}

/// The response of `GET /v1/process/scheduled-tasks`: the waiting scheduled tasks of the app. Running tasks are not
/// included.
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

/// The status of a scheduled task for display.
package struct ScheduledTaskStatus: Hashable, Sendable, Codable {
    package var task: ScheduledTask
    package var submitted: Date
    /// The time at which the task started; nil while it waits.
    package var began: Date?
    /// A sentence that explains why the task waits.
    package var sentence: String?
    /// The end of the wait, if known.
    package var until: Date?
    package var progress: ScheduledTaskProgress?

    package init(task: ScheduledTask, submitted: Date) {
        self.task = task
        self.submitted = submitted
    }
}
