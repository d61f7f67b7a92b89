import Dispatch

/// The launch handlers that an app has registered for its tasks.
struct LaunchHandlers: Sendable {
    struct Entry: @unchecked Sendable {
        // This type is unchecked because the handler is called only on the queue that the app passed with it, or on a
        // background queue if the app passed none.
        var queue: DispatchQueue?
        var handler: (BGTask) -> Void
        /// Whether the handler was registered after the app's launch, which is allowed for continued tasks.
        var isLate: Bool
    }

    private var entries: [String: Entry] = [:]
    /// The identifiers that the app tried to register although its desktop entry does not declare them.
    private var undeclared: Set<String> = []

    func contains(_ identifier: String) -> Bool { entries[identifier] != nil }

    /// Adds a handler for an identifier.
    ///
    /// - Returns: False if the identifier already has a handler.
    mutating func add(_ entry: Entry, for identifier: String) -> Bool {
        guard entries[identifier] == nil else { return false }
        entries[identifier] = entry
        undeclared.remove(identifier)
        return true
    }

    /// Records that the app's desktop entry does not declare an identifier.
    ///
    /// - Returns: Whether this is the first refusal of the identifier.
    mutating func refuse(_ identifier: String) -> Bool { undeclared.insert(identifier).inserted }

    /// Returns whether the registration of the identifier failed. A request with such an identifier is sent to the
    /// service, which refuses it.
    func isRefused(_ identifier: String) -> Bool { undeclared.contains(identifier) }

    /// Returns the handler that runs a task: the one registered for its identifier, or otherwise for the longest
    /// matching `name.*`.
    func entry(for identifier: String) -> Entry? {
        if let entry = entries[identifier] { return entry }
        let pattern = entries.keys
            .filter { $0.hasSuffix(".*") && identifier.hasPrefix($0.dropLast()) }
            .max { $0.utf8.count < $1.utf8.count }
        return pattern.flatMap { entries[$0] }
    }
}
