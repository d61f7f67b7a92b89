package import NightshiftAPI

extension SessionEnqueueRequest {
    /// Throws where the tasks are too many, or not numbered as the app's own are.
    package func check() throws(Problem) {
        let numbers = tasks.map(\.taskIdentifier)
        guard (1...Limits.tasksPerRequest).contains(numbers.count) else {
            throw .invalid("A request has 1 to \(Limits.tasksPerRequest) tasks.", pointer: "/tasks")
        }
        guard Set(numbers).count == numbers.count, numbers.allSatisfy({ (1...Limits.taskIdentifier).contains($0) })
        else {
            throw .invalid("Each task has a number of its own, from 1 to \(Limits.taskIdentifier).", pointer: "/tasks")
        }
        for (index, task) in tasks.enumerated() where task.clientData?.utf8.count ?? 0 > Limits.clientDataLength {
            throw .invalid(
                "A task's client data has at most \(Limits.clientDataLength) bytes.",
                pointer: "/tasks/\(index)/clientData")
        }
    }
}

extension SessionTaskRequest {
    /// The request, its source read through the calling process's descriptor; a copy is made of it in any case.
    package func opened(by process: Int32) -> TaskRequest {
        var request = request
        guard let sourceDescriptor, request.kind == .upload else { return request }
        request.source = "/proc/\(process)/fd/\(sourceDescriptor)"
        request.snapshot = .copy
        return request
    }
}
