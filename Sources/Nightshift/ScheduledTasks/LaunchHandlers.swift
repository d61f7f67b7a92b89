import Dispatch

/// What an app has registered for its tasks.
struct LaunchHandlers: Sendable {
    struct Entry: @unchecked Sendable {
        // Unchecked: the handler is called on the queue that the app has named with it, or in the background where it names none.
        var queue: DispatchQueue?
        var handler: (BGTask) -> Void
        /// Whether it came when the app's launch was over, as those of continued tasks may.
        var isLate: Bool
    }

    private var entries: [String: Entry] = [:]
    /// Identifiers that were to be registered, and that the app's entry does not declare.
    private var undeclared: Set<String> = []

    func contains(_ identifier: String) -> Bool { entries[identifier] != nil }

    /// - Returns: false where there is one already.
    mutating func add(_ entry: Entry, for identifier: String) -> Bool {
        guard entries[identifier] == nil else { return false }
        entries[identifier] = entry
        undeclared.remove(identifier)
        return true
    }

    /// - Returns: whether that is new.
    mutating func refuse(_ identifier: String) -> Bool { undeclared.insert(identifier).inserted }

    /// Whether the app has tried to register it in vain: what it submits is the service's to refuse.
    func isRefused(_ identifier: String) -> Bool { undeclared.contains(identifier) }

    /// What runs a task: what was registered for its identifier, or else for the longest `name.*` that stands for it.
    func entry(for identifier: String) -> Entry? {
        if let entry = entries[identifier] { return entry }
        let pattern = entries.keys
            .filter { $0.hasSuffix(".*") && identifier.hasPrefix($0.dropLast()) }
            .max { $0.utf8.count < $1.utf8.count }
        return pattern.flatMap { entries[$0] }
    }
}
