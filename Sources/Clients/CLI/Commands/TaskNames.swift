import NightshiftAPI

extension Invocation {
    /// Returns the ids of the transfers that the arguments name, in ascending order. If several transfers have a name,
    /// the newest is chosen.
    ///
    /// - Parameter json: whether the output is for a program, so that the choice is not printed.
    func taskIDs(_ subjects: [SubjectArgument], json: Bool) async throws -> [TaskID] {
        var ids: Set<TaskID> = []
        for subject in subjects {
            switch subject {
            case .tasks(let range): ids.formUnion(TaskRange.ids([range]))
            case .name(let name): ids.insert(try await taskID(named: name, json: json))
            }
        }
        return ids.sorted()
    }

    private func taskID(named name: String, json: Bool) async throws -> TaskID {
        let isURL = name.contains("://")
        var matches = TaskMatches(name: name, path: isURL ? nil : try? absolute(name))
        try await service.forEachTask { matches.add($0) }
        guard let newest = matches.ids.last else {
            throw CommandFailure.failed(
                "There is no transfer '\(isURL ? Redaction.url(name) : name)'. 'nightshift list --all' lists all transfers."
            )
        }
        if !json, let note = matches.note { errors.line(note) }
        return newest
    }
}
