import NightshiftAPI

extension RequestRules {
    /// Checks the request for one action on many tasks.
    static func check(_ request: TaskActionRequest) throws(Problem) {
        guard (1...Limits.tasksPerAction).contains(request.tasks.count) else {
            throw .invalid("A request must name 1 to \(Limits.tasksPerAction) transfers.", pointer: "/tasks")
        }
        guard Set(request.tasks).count == request.tasks.count else {
            throw .invalid("Name each transfer only once.", pointer: "/tasks")
        }
        try check(request.tasks)
        guard request.producingResumeData == nil || request.action == .cancel else {
            throw .invalid("Only the action 'cancel' can produce resume data.", pointer: "/producingResumeData")
        }
        guard (request.change != nil) == (request.action == .change) else {
            let detail =
                request.change == nil
                ? "The action 'change' requires the values to change."
                : "Only the action 'change' accepts values to change."
            throw .invalid(detail, pointer: "/change")
        }
        try check(request.change ?? TaskChange(), pointer: "/change")
    }
}
