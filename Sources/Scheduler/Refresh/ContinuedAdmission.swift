import NightshiftAPI

/// Decides which continued tasks run: work that its user has begun in front of an app, that goes on behind it.
///
/// Pure. They begin in the order in which they were submitted, as long as there is room.
package enum ContinuedAdmission {
    /// A task that waits.
    package struct Request: Hashable, Sendable {
        package var key: ProcessingPlanner.Key
        package var submitted: Double

        package init(key: ProcessingPlanner.Key, submitted: Double) {
            self.key = key
            self.submitted = submitted
        }
    }

    /// Whom to begin now.
    ///
    /// - Parameter running: those that run. One with the same key waits for the end of that.
    package static func admitted(_ waiting: [Request], running: Set<ProcessingPlanner.Key>) -> [ProcessingPlanner.Key] {
        let order = waiting.sorted {
            ($0.submitted, $0.key.app.rawValue, $0.key.identifier)
                < ($1.submitted, $1.key.app.rawValue, $1.key.identifier)
        }
        var (running, admitted) = (running, [ProcessingPlanner.Key]())
        for request in order where running.count < Limits.runningContinuedTasks {
            guard running.insert(request.key).inserted else { continue }
            admitted.append(request.key)
        }
        return admitted
    }
}
