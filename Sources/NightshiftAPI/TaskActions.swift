/// What can be done to many tasks at once.
package enum TaskAction: String, Sendable, Codable, CaseIterable {
    case suspend
    case resume
    case cancel
    /// Forgets tasks that have ended.
    case remove
    /// Changes tasks that have not ended.
    case change
}

/// `POST /v1/actions`: does one thing to many tasks. What is refused for one does not keep it from the others.
package struct TaskActionRequest: Sendable, Codable {
    package var action: TaskAction
    /// At most ``Limits/tasksPerAction``, each once.
    package var tasks: [TaskID]
    /// For ``TaskAction/cancel``: keeps the bytes and answers with tokens to continue from, where servers allow it.
    package var producingResumeData: Bool?
    /// For ``TaskAction/change``, and needed there.
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

/// The answer: for each task, in the order of the request.
package struct TaskActionAnswer: Sendable, Codable {
    package var results: [TaskActionResult]

    package init(results: [TaskActionResult]) {
        self.results = results
    }
}

/// What has come of it for one task: the task as it is now, a refusal, or neither where it is forgotten.
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
