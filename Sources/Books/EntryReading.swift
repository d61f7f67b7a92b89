package import NightshiftAPI

/// A reader of the apps' desktop entries for an actor. Answers can arrive out of order, so an answer that is older than
/// the newest information is read again.
///
/// All methods run on the actor that created it.
package final class EntryReading {
    private let manifests: @Sendable () async -> [AppManifest]?
    private var lastQuestion = 0
    /// The number of the newest information: a used answer, or a notification about an entry.
    private var newest = 0

    /// - Parameter manifests: returns the current entries; nil once the source is gone.
    package init(_ manifests: @escaping @Sendable () async -> [AppManifest]?) { self.manifests = manifests }

    /// Reads the entries, and repeats that if newer information arrived meanwhile.
    ///
    /// - Returns: nil once the source is gone. Pass the result to the book at once, because steps run in the order in
    ///   which they begin.
    package func read() async -> [AppManifest]? {
        while true {
            let question = nextQuestion()
            guard let answer = await manifests() else { return nil }
            guard question > newest else { continue }
            newest = question
            return answer
        }
    }

    /// Records that newer information about an entry arrived without a request.
    package func told() { newest = nextQuestion() }

    private func nextQuestion() -> Int {
        lastQuestion += 1
        return lastQuestion
    }
}
