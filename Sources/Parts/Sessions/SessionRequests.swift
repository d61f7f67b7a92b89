package import NightshiftAPI

extension SessionEnqueueRequest {
    /// Checks the request. Throws if the number of tasks, the number of a task, or the size of its client data is not
    /// valid.
    package func check() throws(Problem) {
        let numbers = tasks.map(\.taskIdentifier)
        guard (1...Limits.tasksPerRequest).contains(numbers.count) else {
            throw .invalid("A request must contain 1 to \(Limits.tasksPerRequest) transfers.", pointer: "/tasks")
        }
        guard Set(numbers).count == numbers.count, numbers.allSatisfy({ (1...Limits.taskIdentifier).contains($0) })
        else {
            throw .invalid(
                "Each transfer must have a unique number from 1 to \(Limits.taskIdentifier).", pointer: "/tasks")
        }
        for (index, task) in tasks.enumerated() {
            try Problem.check(clientData: task.clientData, pointer: "/tasks/\(index)/clientData")
        }
    }
}

extension SessionTaskRequest {
    /// Returns a copy of the request whose source is opened through the calling process's descriptor. The source file
    /// is copied in any case.
    package func opened(by process: Int32) -> TaskRequest {
        var request = request
        guard let sourceDescriptor, request.kind == .upload else { return request }
        request.source = "/proc/\(process)/fd/\(sourceDescriptor)"
        request.snapshot = .copy
        return request
    }
}
