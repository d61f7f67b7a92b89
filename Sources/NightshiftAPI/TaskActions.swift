/// An action on many transfers at once.
package enum TaskAction: String, Sendable, Codable, CaseIterable {
    case suspend
    case resume
    case cancel
    /// Removes transfers that have ended.
    case remove
    /// Changes transfers that have not ended.
    case change
}

/// The body of `POST /v1/actions`: one action for many transfers. A refusal for one transfer does not affect the
/// others.
package struct TaskActionRequest: Sendable, Codable {
    package var action: TaskAction
    /// The transfers: at most ``Limits/tasksPerAction``, each once.
    package var tasks: [TaskID]
    /// For ``TaskAction/cancel``: whether downloaded bytes are kept and the response contains tokens to resume from, if
    /// the servers support it.
    package var producingResumeData: Bool?
    /// The change for ``TaskAction/change``, where it is required.
    package var change: TaskChange?

    package init(
        _ action: TaskAction, _ tasks: [TaskID], producingResumeData: Bool? = nil, change: TaskChange? = nil
    ) {
        self.action = action
        self.tasks = tasks
        self.producingResumeData = producingResumeData
        self.change = change
    }
}

/// The response of `POST /v1/actions`: one result for each transfer, in the order of the request.
package struct TaskActionAnswer: Sendable, Codable {
    package var results: [TaskActionResult]

    package init(results: [TaskActionResult]) {
        self.results = results
    }
}

/// The result for one transfer: its new status, a refusal, or neither if it was removed.
package struct TaskActionResult: Hashable, Sendable, Codable {
    package var id: TaskID
    package var task: TaskStatus?
    package var problem: Problem?

    package init(id: TaskID, task: TaskStatus? = nil, problem: Problem? = nil) {
        self.id = id
        self.task = task
        self.problem = problem
    }
}
