package import NightshiftAPI

/// A reader of the apps' desktop entries for an actor. Answers can arrive out of order. If newer information has
/// arrived before an answer, the entries are read again.
///
/// All methods run on the actor that created the reader.
package final class EntryReading {
    private let manifests: @Sendable () async -> [AppManifest]?
    private var lastQuestion = 0
    /// The number of the newest information. Each answer that was used has a number, and so has each notification about
    /// an entry.
    private var newest = 0

    /// Creates a reader.
    ///
    /// - Parameter manifests: returns the current entries; nil if the source no longer exists.
    package init(_ manifests: @escaping @Sendable () async -> [AppManifest]?) { self.manifests = manifests }

    /// Reads the entries. Repeats this if newer information arrives in the meantime.
    ///
    /// - Returns: nil if the source no longer exists. Callers must apply the result to their state at once, because
    ///   steps run in the order in which they begin.
    package func read() async -> [AppManifest]? {
        while true {
            let question = nextQuestion()
            guard let answer = await manifests() else { return nil }
            guard question > newest else { continue }
            newest = question
            return answer
        }
    }

    /// Records that newer information about an entry has arrived without a request.
    package func told() { newest = nextQuestion() }

    private func nextQuestion() -> Int {
        lastQuestion += 1
        return lastQuestion
    }
}
