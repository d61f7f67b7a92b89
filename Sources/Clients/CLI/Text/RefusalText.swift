import NightshiftAPI

/// The lines about tasks for which an action was refused.
enum RefusalText {
    /// Returns the lines. If several sentences differ only in the number of the task, the first is printed, followed by
    /// the numbers of the other tasks.
    static func lines(_ refused: [RefusedTask]) -> [String] {
        var groups: [String: [RefusedTask]] = [:]
        var order: [String] = []
        for task in refused {
            let number = "\(task.id)"
            let pattern = sentence(task).replacing(#/\d+/#) { $0.output == number ? "#" : String($0.output) }
            if groups[pattern] == nil { order.append(pattern) }
            groups[pattern, default: []].append(task)
        }
        return order.compactMap { groups[$0] }.map(line)
    }

    /// Returns the line for tasks with the same refusal.
    ///
    /// - Parameter tasks: the tasks, at least one.
    private static func line(_ tasks: [RefusedTask]) -> String {
        let sentence = sentence(tasks[0])
        let number = "\(tasks[0].id)"
        let namesIt = sentence.matches(of: #/\d+/#).contains { $0.output == number }
        let said = "nightshift: " + (namesIt ? "" : "\(number): ") + sentence
        guard tasks.count > 1 else { return said }
        return "\(said) The same applies to \(TaskRange.text(tasks.dropFirst().map(\.id)))."
    }

    private static func sentence(_ task: RefusedTask) -> String {
        TerminalText.escaped(task.problem.detail ?? task.problem.title)
    }
}
