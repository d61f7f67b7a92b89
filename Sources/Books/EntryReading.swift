package import NightshiftAPI

/// What apps' entries say, as an actor asks for it: what was asked earlier may be answered later, by then with entries of before.
///
/// Belongs to the actor that has made it, on which all its methods run.
package final class EntryReading {
    private let manifests: @Sendable () async -> [AppManifest]?
    private var lastQuestion = 0
    /// The question whose answer was taken, or the number of what was told without one.
    private var newest = 0

    /// - Parameter manifests: what the entries say now; nil once there is nobody to ask.
    package init(_ manifests: @escaping @Sendable () async -> [AppManifest]?) { self.manifests = manifests }

    /// Asks until no newer answer was taken meanwhile, and nobody has told what an entry says.
    ///
    /// - Returns: nil once there is nobody to ask. To be given to the book at once: steps keep the order in which they begin.
    package func read() async -> [AppManifest]? {
        while true {
            let question = nextQuestion()
            guard let answer = await manifests() else { return nil }
            guard question > newest else { continue }
            newest = question
            return answer
        }
    }

    /// Somebody tells what an entry says now, without having been asked.
    package func told() { newest = nextQuestion() }

    private func nextQuestion() -> Int {
        lastQuestion += 1
        return lastQuestion
    }
}
