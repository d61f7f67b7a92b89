import NightshiftAPI

/// Decides which continued tasks run. The user starts such work in an app in the foreground, and it continues in the
/// background. This is a pure function.
///
/// Tasks begin in the order of submission, until the maximum number runs.
package enum ContinuedAdmission {
    /// A waiting task.
    package struct Request: Hashable, Sendable {
        package var key: ProcessingPlanner.Key
        package var submitted: Double

        package init(key: ProcessingPlanner.Key, submitted: Double) {
            self.key = key
            self.submitted = submitted
        }
    }

    /// Returns the tasks to begin now.
    ///
    /// - Parameter running: the running tasks. A waiting task with the same key begins only after the running one ends.
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
